"""`Dynamics` on a card beside `Dynamics` on the CPU, function by function; what can be said without a card first."""

import pickle

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.functions import FUNCTIONS
from card import needs_card

MODEL = zoo.humanoid()


def test_devices_and_layouts_that_do_not_exist():
    with pytest.raises(bough.BoughError, match="no device 'gpu'"):
        bough.Dynamics(MODEL, device="gpu")
    with pytest.raises(bough.BoughError, match="no layout 'columns'"):
        bough.Dynamics(MODEL, layout="columns")
    with pytest.raises(bough.BoughError, match="no general code"):
        bough.Dynamics(MODEL, general=True, device="cuda")


def test_the_device_survives_pickling():
    dyn = pickle.loads(pickle.dumps(bough.Dynamics(MODEL, device="cuda", layout="columns")))
    assert dyn.device == ("cuda", "columns")
    assert "cuda" in repr(dyn)


def test_functions_of_the_cpu_are_refused():
    with pytest.raises(bough.BoughError, match="on the CPU"):
        bough.Dynamics(MODEL, device="cuda").factorize(MODEL.neutral)


def arguments(names, batch):
    rng = np.random.default_rng(0)
    special = {"q": lambda: MODEL.random_configuration(rng, batch), "dt": lambda: rng.uniform(0.001, 0.01, (batch, 1))}
    return [special.get(name, lambda: rng.normal(size=(batch, MODEL.nv)))() for name in names]


@needs_card
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "factorize"])
def test_every_function_of_the_table(name):
    row = FUNCTIONS[name]
    options = {"frame": MODEL.frame_names[-1]} if "frame" in row.options else {}
    x = arguments(row.arguments, 20)
    cpu, card = bough.Dynamics(MODEL, general=True), bough.Dynamics(MODEL, device="cuda")
    wanted, got = getattr(cpu, name)(*x, **options), getattr(card, name)(*x, **options)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, wanted)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12 * max(1.0, np.abs(b).max()))


@needs_card
def test_forces_and_derivatives():
    q, v, tau = arguments(("q", "v", "tau"), 40)
    cpu, card = bough.Dynamics(MODEL), bough.Dynamics(MODEL, device="cuda")
    forces = {MODEL.frame_names[3]: np.arange(6.0)}
    every = np.random.default_rng(1).normal(size=(40, len(MODEL.body_names), 6))
    for given in (forces, every):
        wanted = cpu.forward_dynamics(q, v, tau, given)
        np.testing.assert_allclose(card.forward_dynamics(q, v, tau, given), wanted, atol=1e-12 * np.abs(wanted).max())
    for a, b in zip(
        card.inverse_dynamics_derivatives(q, v, tau), cpu.inverse_dynamics_derivatives(q, v, tau), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(b).max())
