"""CUDA text, compiled as C++ with the threads of a row as elements of an array, beside the interpreted kernel."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bough import zoo
from bough.compile.emit import cuda, shelves
from bough.compile.executions import traced
from bough.compile.routine import interpret
from bough.dynamics.aba import ABA
from bough.dynamics.crba import CRBA
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.rnea import RNEA
from bough.errors import TooLargeError
from bough.joints import DIFFERENCE, INTEGRATE
from bough.model.limbs import mark_limbs

pytestmark = pytest.mark.native("writes CUDA text and compiles it as C++")

ROBOTS = {"humanoid": zoo.humanoid(), "star": zoo.star(6), "asimo": zoo.asimo(), "random": zoo.random_tree(12, seed=3)}
ROUTINES = {
    "aba": ABA,
    "rnea": RNEA,
    "crba": CRBA,
    "inverse": INVERSE_MASS_MATRIX,
    "integrate": INTEGRATE,
    "difference": DIFFERENCE,
}


def build(text: str, folder: Path):
    """The kernel and a loop over rows, as a shared library."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    source = folder / "kernel.cpp"
    rows = 'extern "C" void set_row(long long row) { current_row = row; }\n'
    source.write_text(f"#define BOUGH_THREADS_ARE_ELEMENTS\n{text}{rows}")
    library = folder / "kernel.so"
    command = ["g++", "-O0", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wno-unused", "-I", str(Path(__file__).parent)]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def run(library, inputs, outputs, dtype):
    batch = len(inputs[0])
    bad = np.zeros(batch, np.uint8)
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*inputs, *outputs, bad)]
    strides = [ctypes.c_longlong(x[0].size) for x in inputs]
    for row in range(batch):
        library.set_row(ctypes.c_longlong(row))
        library.entry(*pointers, ctypes.c_longlong(batch), *strides)
    return bad


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize(("robot", "name"), [("humanoid", name) for name in ROUTINES] + [(r, "aba") for r in ROBOTS])
def test_threads_compute_what_the_kernel_does(robot, name, lanes, tmp_path):
    model, routine = ROBOTS[robot], ROUTINES[name]
    program = traced(routine, (model.mechanism,), model.sizes, mark_limbs if lanes > 1 else None)
    library = build(cuda.emit(program, np.float64, cuda.Form(lanes)).text, tmp_path)
    rng = np.random.default_rng(0)
    inputs = []
    for array in program.inputs:
        configurations = array.name in ("q", "q0", "q1")
        x = model.random_configuration(rng, 3) if configurations else rng.normal(size=(3, *array.shape))
        inputs.append(np.ascontiguousarray(x))
    outputs = [np.full((3, *a.shape), np.nan) for a in program.outputs]
    assert not run(library, inputs, outputs, np.float64).any()
    for row in range(3):
        expected = interpret(routine, (model.mechanism,), model.sizes, *(x[row] for x in inputs))
        for y, z in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(y[row], z, atol=1e-11 * max(1.0, np.abs(z).max()))


@pytest.mark.parametrize("lanes", [1, 4])
def test_values_on_shelves_come_back(lanes, tmp_path, monkeypatch):
    monkeypatch.setattr(shelves, "AT_WORK", {8: 215})
    model, routine = zoo.humanoid(), ROUTINES["aba"]
    program = traced(routine, (model.mechanism,), model.sizes, mark_limbs if lanes > 1 else None)
    source = cuda.emit(program, np.float64, cuda.Form(lanes, shelved=4))
    assert source.block == shelves.SHELF_BLOCK
    assert 0 < source.row_bytes * source.block // lanes <= shelves.SHELF_BYTES // 4 - 1024
    assert cuda.needs(program, np.float64, lanes).registers > 200
    library = build(source.text, tmp_path)
    rng = np.random.default_rng(0)
    inputs = [model.random_configuration(rng, 3), *rng.normal(size=(2, 3, model.nv))]
    qdd = np.full((3, model.nv), np.nan)
    assert not run(library, inputs, [qdd], np.float64).any()
    for row in range(3):
        (expected,) = interpret(routine, (model.mechanism,), model.sizes, *(x[row] for x in inputs))
        np.testing.assert_allclose(qdd[row], expected, atol=1e-11 * np.abs(expected).max())


def test_what_one_kernel_does_not_take_is_refused(monkeypatch):
    model = zoo.arm(3)
    program = traced(ROUTINES["aba"], (model.mechanism,), model.sizes, None)
    monkeypatch.setattr(cuda, "LARGEST", 50)
    with pytest.raises(TooLargeError, match=r"operations are more than one CUDA kernel takes \(50\)"):
        cuda.emit(program, np.float64, cuda.Form(1))


def test_rows_that_are_not_finite_are_marked(tmp_path):
    model = zoo.humanoid()
    program = traced(ABA, (model.mechanism,), model.sizes, mark_limbs)
    library = build(cuda.emit(program, np.float64, cuda.Form(4)).text, tmp_path)
    q = model.random_configuration(np.random.default_rng(1), 3)
    q[1, 3:7] = 0.0
    q[2, 9] = 1e12  # too many turns for the reduction
    v = np.zeros((3, model.nv))
    assert run(library, [q, v, v.copy()], [np.empty((3, model.nv))], np.float64).tolist() == [0, 1, 1]
