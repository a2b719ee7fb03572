"""C export of operational space, compiled with every warning an error, and run beside the Python one."""

import shutil

import numpy as np
import pytest

import bough
from bough import zoo
from bough.opspace.functions import PUBLIC
from dynamics.test_export import compiled, run
from opspace.cases import state

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
MODEL = zoo.arm(4)
TASKS = [bough.position("hand")]


@needs_gcc
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-3)])
@pytest.mark.parametrize("inputs", [(), ("inertia", "gravity")])
def test_every_function_agrees(tmp_path, dtype, tolerance, inputs):
    space = bough.OperationalSpace(MODEL, TASKS, inputs=inputs)
    source, header = space.export_c(list(PUBLIC), tmp_path / "arm.c", dtype=dtype)
    library = compiled(tmp_path, source)
    q, v = state(MODEL)
    heavy = {"inertia": 1.5 * MODEL.inertias, "gravity": np.array([0.0, 1.0, -3.0])}
    given = {name: heavy[name] for name in inputs}
    op = space(q, v, **given)
    named = {
        "J": op.J,
        "jacobian": op.J,
        "drift": op.drift,
        "bias": op.bias,
        "jbar": op.jbar,
        "nullspace": op.nullspace,
        "mu_rho": op.mu_rho,
    }
    named |= {"inverse_inertia": op.inverse_inertia, "inertia": op.inertia}
    arrays = {"q": q, "v": v, "damping": np.zeros(1), **given}
    takes = {
        "mu_rho": ("q", "damping", "v"),
        "drift": ("q", "v"),
        "bias": ("q", "v"),
        "jacobian": ("q",),
        "inverse_inertia": ("q",),
    }
    for name in PUBLIC:
        if name in ("torques", "operational_space"):
            continue
        data = [arrays[x].astype(dtype) for x in (*takes.get(name, ("q", "damping")), *inputs)]
        found = run(getattr(library, f"arm_{name}"), data, named[name].astype(dtype))
        assert np.abs(found - named[name]).max() <= tolerance * max(1.0, np.abs(named[name]).max()), name
    order = ("jacobian", "drift", "bias", "inverse_inertia", "inertia", "jbar", "nullspace")
    data = [arrays[x].astype(dtype) for x in ("q", "damping", "v", *inputs)]
    for name, found in zip(
        order, run(library.arm_operational_space, data, [named[x].astype(dtype) for x in order]), strict=True
    ):
        assert np.abs(found - named[name]).max() <= tolerance * max(1.0, np.abs(named[name]).max()), name
    a, tau0, damping = np.array([1.0, 2.0, 3.0]), np.arange(4.0), np.array([1e-3])
    wanted = space.torques(q, v, a, tau0, damping=1e-3, **given)
    data = [x.astype(dtype) for x in (q, v, a, tau0, damping, *given.values())]
    found = run(library.arm_torques, data, wanted.astype(dtype))
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()
    text = header.read_text()
    assert "position(hand)" in text
    assert MODEL.hash in text


def test_bad_input(tmp_path):
    space = bough.OperationalSpace(MODEL, TASKS)
    with pytest.raises(bough.BoughError, match="no function 'lambda'"):
        space.export_c(["lambda"], tmp_path / "arm.c")
    with pytest.raises(bough.BoughError, match="write \\['torques'\\]"):
        space.export_c("torques", tmp_path / "arm.c")
