"""C export of a model's functions: compiled with every warning an error, and run beside the Python ones."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import bough

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]


def compiled(source, folder):
    library = folder / "model.so"
    subprocess.run([shutil.which("gcc"), *FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def call(function, dtype, *arrays):
    function.restype = None
    function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
    assert all(a.dtype == dtype for a in arrays)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_exported_functions_agree(tmp_path, dtype, tolerance):
    model = bough.zoo.random_tree(9, seed=4)
    frame = model.frame_names[-1]
    source, header = bough.export_c(
        model, ["forward_dynamics", "mass_matrix", ("jacobian", {"frame": frame})], tmp_path / "robot.c", dtype=dtype
    )
    library, dyn = compiled(source, tmp_path), bough.Dynamics(model)
    rng = np.random.default_rng(0)
    q, v, tau = (x.astype(dtype) for x in (model.random_configuration(rng), *rng.normal(size=(2, model.nv))))
    prefix = "random_tree"
    for name, inputs, expected in (
        ("forward_dynamics", (q, v, tau), dyn.forward_dynamics(q, v, tau, method="aba")),
        ("mass_matrix", (q,), dyn.mass_matrix(q)),
        (f"jacobian_{frame}", (q,), dyn.jacobian(q, frame, "local")),
    ):
        out = np.empty_like(expected)
        call(getattr(library, f"{prefix}_{name}"), dtype, *inputs, out)
        assert np.abs(out - expected).max() <= tolerance * np.abs(expected).max()
    text = header.read_text()
    assert model.hash in text
    assert bough.__version__ in text
    assert "#define RANDOM_TREE_MASS_MATRIX_Q_SIZE" in text


def test_unknown_functions_are_refused(tmp_path):
    with pytest.raises(bough.BoughError, match="unknown function"):
        bough.export_c(bough.zoo.arm(3), ["fly"], tmp_path / "x.c")
    assert not (tmp_path / "x.c").exists()
