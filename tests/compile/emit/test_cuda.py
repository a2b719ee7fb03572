"""CUDA text, compiled for the stand-in of a GPU, beside the interpreted kernel."""

import numpy as np
import pytest

from bough import zoo
from bough.compile.emit import cuda, limits
from bough.compile.executions import traced
from bough.compile.routine import interpret
from bough.dynamics import Dynamics
from bough.dynamics.aba import ABA
from bough.dynamics.crba import CRBA
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.rnea import RNEA
from bough.errors import TooLargeError
from bough.joints import DIFFERENCE, INTEGRATE
from bough.model.limbs import mark_limbs
from stand_in import COMPILER, LIMITS, StandInGpu

pytestmark = pytest.mark.native("writes CUDA text and compiles it as C++")

ROBOTS = {
    "humanoid": zoo.humanoid(),
    "star": zoo.star(6),
    "dog": zoo.quadruped(),
    "random": zoo.random_tree(12, seed=3),
}
ROUTINES = {
    "aba": ABA,
    "rnea": RNEA,
    "crba": CRBA,
    "inverse": INVERSE_MASS_MATRIX,
    "integrate": INTEGRATE,
    "difference": DIFFERENCE,
}
FORMS = [
    cuda.Form(1),
    cuda.Form(2, "columns", results="columns"),
    cuda.Form(4),
    cuda.Form(4, staged=True),
    cuda.Form(1, resident=6),
    cuda.Form(4, "columns", resident=4, results="columns"),
    cuda.Form(4, "rows", resident=4, results="columns"),
    cuda.Form(4, staged=True, resident=4),
]


def run(source, inputs, shapes, model="H200", dtype=np.float64):
    """What the kernel makes of rows of inputs in the layout of its form: outputs, and a byte for each row."""
    if COMPILER is None:
        pytest.skip("needs a C++ compiler")
    gpu, form, batch = StandInGpu(model), source.form, len(inputs[0])
    across = {"rows": lambda x, *_: x, "columns": np.moveaxis}
    given = [np.ascontiguousarray(across[form.layout](x, 0, -1), dtype) for x in inputs]
    rows = [np.full((batch, *shape), np.nan, dtype) for shape in shapes]
    outputs = [np.ascontiguousarray(across[form.results](y, 0, -1)) for y in rows]
    bad, block = np.zeros(batch, np.uint8), source.block or 32
    strides = [x[0].size for x in inputs]
    arguments = [*(x.ctypes.data for x in (*given, *outputs, bad)), batch, *strides]
    per_block = block // form.lanes
    kernel = gpu.load(gpu.compile(source.text, fast=dtype == np.float32))
    gpu.prepared(kernel, -(-batch // per_block), block, source.row_bytes * per_block, len(arguments))(arguments, 0)
    return [across[form.results](y, -1, 0) for y in outputs], bad


def states(model, specs, batch=11):
    rng = np.random.default_rng(0)
    return [
        model.random_configuration(rng, batch) if x.name in ("q", "q0", "q1") else rng.normal(size=(batch, *x.shape))
        for x in specs
    ]


def check(model, routine, form, limits=LIMITS["H200"], dtype=np.float64):
    program = traced(routine, (model.mechanism,), model.sizes, mark_limbs if form.lanes > 1 else None)
    source = cuda.emit(cuda.arrangements(lambda: program)(form.lanes), dtype, form, limits)
    inputs = states(model, program.inputs)
    outputs, bad = run(source, inputs, [a.shape for a in program.outputs], dtype=dtype)
    assert not bad.any()
    for row in (0, 7, 10):
        expected = interpret(routine, (model.mechanism,), model.sizes, *(x[row] for x in inputs))
        for y, z in zip(outputs, expected, strict=True):
            tolerance = 1e-11 if dtype == np.float64 else 1e-4
            np.testing.assert_allclose(y[row], z, atol=tolerance * max(1.0, np.abs(z).max()))
    return source


CASES = [
    *(("dog", "aba", form) for form in FORMS),
    *(("star", name, form) for name in ROUTINES for form in (FORMS[2], FORMS[4])),
    ("dog", "inverse", FORMS[3]),
    ("random", "aba", FORMS[5]),
]


@pytest.mark.parametrize(("robot", "name", "form"), CASES, ids=str)
def test_threads_compute_what_the_kernel_does(robot, name, form):
    check(ROBOTS[robot], ROUTINES[name], form, dtype=np.float32 if form.lanes == 2 else np.float64)


@pytest.mark.parametrize(("lanes", "gpu"), [(1, "H200"), (4, "H200"), (4, "A100"), (1, "RTX 4090"), (4, "T4")])
def test_spilled_values_are_reloaded(lanes, gpu, monkeypatch):
    monkeypatch.setattr(limits, "AT_WORK", {8: 215})
    source = check(ROBOTS["dog"], ROUTINES["aba"], cuda.Form(lanes, resident=4), LIMITS[gpu])
    assert source.block == limits.SPILL_BLOCK
    size = source.row_bytes * source.block // lanes
    assert 0 < size <= LIMITS[gpu].shared // 4 - LIMITS[gpu].reserved


@pytest.mark.parametrize(
    ("name", "layout", "expected"), [("aba", "rows", True), ("aba", "columns", False), ("rnea", "rows", False)]
)
def test_rows_are_prefetched_where_a_kernel_computes_long(name, layout, expected):
    model = ROBOTS["humanoid"]
    program = traced(ROUTINES[name], (model.mechanism,), model.sizes, mark_limbs)
    source = cuda.emit(cuda.arrangements(lambda: program)(4), np.float64, cuda.Form(4, layout), LIMITS["H200"])
    assert [f"PREFETCH(x{k}, {x.size});" in source.text for k, x in enumerate(program.inputs)] == [expected] * 3


def test_what_one_kernel_does_not_take_is_refused(monkeypatch):
    model = zoo.arm(3)
    program = traced(ROUTINES["aba"], (model.mechanism,), model.sizes, None)
    monkeypatch.setattr(cuda, "LARGEST", 50)
    with pytest.raises(TooLargeError, match=r"operations are more than one GPU kernel takes \(50\)"):
        cuda.arrangements(lambda: program)(1)


def test_rows_that_are_not_finite_are_marked():
    model = ROBOTS["dog"]
    program = traced(ABA, (model.mechanism,), model.sizes, mark_limbs)
    q = model.random_configuration(np.random.default_rng(1), 3)
    q[1, 3:7] = 0.0
    q[2, 9] = 1e12  # too many turns for the reduction
    v = np.zeros((3, model.nv))
    source = cuda.emit(cuda.arrangements(lambda: program)(4), np.float64, cuda.Form(4), LIMITS["H200"])
    assert run(source, [q, v, v], [(model.nv,)])[1].tolist() == [0, 1, 1]


def test_floats_of_many_turns_are_reduced():
    model = zoo.arm(1)
    program = traced(ROUTINES["rnea"], (model.mechanism,), model.sizes, None)
    size = np.array([1.0, 10.0, 1e3, 1e5, 1e6]).repeat(40)
    q = np.append(np.random.default_rng(3).uniform(-size, size), 1.1e6).astype(np.float32)[:, None]
    v = np.zeros_like(q)
    source = cuda.emit(cuda.arrangements(lambda: program)(1), np.float32, cuda.Form(1), LIMITS["H200"])
    (tau,), bad = run(source, [q, v, v], [(1,)], dtype=np.float32)
    expected = Dynamics(model).inverse_dynamics(q.astype(float), v.astype(float), v.astype(float))
    assert np.abs(tau - expected)[:-1].max() <= 1e-6 * np.abs(expected).max()
    assert not bad[:-1].any()
    assert bad[-1]
