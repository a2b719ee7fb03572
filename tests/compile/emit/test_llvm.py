"""Compiled programs against the reference interpreter, for every dtype and number of lanes."""

import ctypes
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphs
from bough.compile.emit import llvm
from bough.compile.emit.llvm_lanes import covering_windows, zero_windows
from bough.compile.graph import schedule
from bough.compile.graph.expr import ATAN, COS, SIN, Expr, Graph
from bough.compile.graph.program import Array, Program
from bough.compile.run import native
from compile.programs import arm, cholesky_solve, program, random_inputs, random_programs

pytestmark = pytest.mark.native("writes LLVM text and runs it as machine code")

KINDS = [(np.float64, lanes) for lanes in (1, 2, 4, 8)] + [(np.float32, lanes) for lanes in (1, 4, 16)]
TOLERANCE = {np.float64: 1e-12, np.float32: 2e-5}


@lru_cache(4)
def loaded(texts, host):
    return native.load(native.compile_parts(texts, level=1), llvm.ENTRY)


def run(p, inputs, dtype, lanes, chunk=llvm.CHUNK, width=8, units=None, parts=0, looks=None):
    """Outputs of the compiled program, with guard numbers around them that must survive.

    `looks`: whether the code is to tell if all are finite; lanes always do, and a single row as it likes if not given.
    """
    texts = llvm.emit(p, np.dtype(dtype), lanes, width, chunk, parts, units)
    code = loaded(tuple(texts), repr(native.host()))
    batch = len(inputs[0])
    given = [np.ascontiguousarray(x, dtype) for x in inputs]
    guarded = [np.full(batch * spec.size + 32, 77.0, dtype) for spec in p.outputs]
    item = np.dtype(dtype).itemsize
    addresses = [x.ctypes.data for x in given] + [x.ctypes.data + 16 * item for x in guarded]
    pointers = (ctypes.c_void_p * len(addresses))(*addresses)
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(code.address)
    seen = entry(pointers, batch, None)
    for x in guarded:
        assert (x[:16] == 77.0).all()
        assert (x[-16:] == 77.0).all()
    small = all((np.abs(x) < 1e20).all() for x in guarded)  # numbers whose sum is finite, too
    finite = all(np.isfinite(x).all() for x in guarded)
    assert seen <= finite
    if batch and (small or not finite) and (lanes > 1 or looks is not None):
        assert seen == (finite and looks is not False)
    return [x[16:-16].reshape(batch, *spec.shape) for x, spec in zip(guarded, p.outputs, strict=True)]


def assert_agrees(p, optimised, dtype, lanes, batch, **options):
    inputs = [x.astype(dtype) for x in random_inputs(p, batch)]
    expected = graphs.evaluate(p, [x.astype(float) for x in inputs])
    for x, y in zip(run(optimised, inputs, dtype, lanes, **options), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * (1 + np.abs(y).max(initial=0)))


@pytest.mark.parametrize(("dtype", "lanes"), KINDS)
@pytest.mark.parametrize("make", [arm, cholesky_solve])
def test_large_programs(make, dtype, lanes):
    p = make()
    for batch in (1, 2, 19):
        assert_agrees(p, schedule.optimise(p), dtype, lanes, batch, chunk=400)


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 4), (np.float64, 8), (np.float32, 16)])
@pytest.mark.parametrize("size", [64, 67])
def test_wide_arrays_are_read_from_their_rows(dtype, lanes, size):
    """Chunks transpose what they use of a wide array; one that many chunks read is gathered."""
    graph = Graph()
    wide, often = ([graph.input(k, c) for c in range(size)] for k in (0, 1))
    sums = [wide[c] * often[0] - wide[size - 1 - c] * often[c % 3] for c in range(size)]
    roots = tuple((x * often[k % 5]).id for k, x in enumerate(sums))
    p = Program(graph, (Array("x", (size,)), Array("y", (size,))), (Array("z", (size,)),), (roots,))
    for batch in (1, 3, 16, 21):
        assert_agrees(p, p, dtype, lanes, batch, chunk=10_000)
    text = "".join(llvm.emit(p, np.dtype(dtype), lanes, lanes, 10_000))
    assert f"%x0 = alloca [{lanes} x ptr]" in text
    assert f"%x0 = alloca [{lanes} x ptr]" not in "".join(llvm.emit(p, np.dtype(dtype), lanes, lanes, 5))
    assert_agrees(p, p, dtype, lanes, 21, chunk=5)
    for part in llvm.emit(p, np.dtype(dtype), lanes, lanes, 40, 2):
        native.compile_ir(part, level=1)  # each stands on its own


@settings(max_examples=40, deadline=None)
@given(random_programs(), st.sampled_from(KINDS), st.integers(1, 20), st.sampled_from([3, 20, 1000]))
def test_random_programs(p, kind, batch, chunk):
    dtype, lanes = kind
    assert_agrees(p, p, dtype, lanes, batch, chunk=chunk)


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 4), (np.float64, 8), (np.float32, 16)])
@pytest.mark.parametrize("size", [3, 21])
def test_one_number_that_is_not_finite_is_seen(dtype, lanes, size):
    """`run` asserts what the entry says; here in every row of odd batches, in narrow and in wide results."""
    g = Graph()
    roots = tuple((g.input(0, k) + g.input(0, k)).id for k in range(size))
    p = Program(g, (Array("x", (size,)),), (Array("y", (size,)), Array("z", (2,))), (roots, (roots[0], roots[-1])))
    for batch in (1, lanes - 1, lanes, lanes + 1):
        for row in range(batch):
            x = np.ones((batch, size), dtype)
            x[row, (7 * row) % size] = (np.nan, np.inf, -np.inf, np.finfo(dtype).max)[row % 4]
            y, _ = run(p, [x], dtype, lanes)
            assert np.argwhere(~np.isfinite(y)).tolist() == [[row, (7 * row) % size]]


@pytest.mark.parametrize("lanes", [1, 8])
def test_empty_batch_touches_nothing(lanes):
    p = arm(3)
    assert run(p, [np.zeros((0, 3)), np.zeros((0, 3))], np.float64, lanes)[0].shape == (0, 3)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_constant_and_mostly_zero_outputs(lanes):
    def function(x):
        H = np.zeros((7, 7), dtype=object)
        H[0, 0], H[3, 4], H[6, 6], H[6, 5] = x[0] * x[1], x[1], 2.5, -0.5
        return H, np.zeros(40)

    p = program(function, {"x": (2,)}, {"H": (7, 7), "zeros": (40,)})
    for batch in (1, 5, 8):
        assert_agrees(p, p, np.float64, lanes, batch, looks=True)
        for bad in (np.nan, np.inf):
            x = np.ones((batch, 2))
            x[batch // 2, batch % 2] = bad
            H, _ = run(p, [x], np.float64, lanes, looks=True)
            assert np.flatnonzero(~np.isfinite(H).all(axis=(1, 2))).tolist() == [batch // 2]


def test_sine_of_a_sine_takes_another_stage():
    def function(x):
        s = x[0].unary(SIN)
        return ([(s * 3.0 + x[1]).unary(COS), s.unary(SIN), s, x[1].unary(SIN), x[0].unary(COS)],)

    p = program(function, {"x": (2,)}, {"y": (5,)})
    for dtype, lanes in KINDS:
        assert_agrees(p, p, dtype, lanes, 3)


@pytest.mark.parametrize("parts", [1, 3, 50])
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_program_in_several_modules_has_the_bits_of_one_in_one(parts, lanes):
    p = schedule.optimise(arm(4))
    inputs = random_inputs(p, 5)
    texts = list(llvm.emit(p, np.dtype(float), lanes, 4, 40, parts))
    assert len(texts) == 1 + min(parts, sum("define void @chunk" in line for t in texts for line in t.splitlines()))
    whole, cut = (run(p, inputs, np.float64, lanes, 40, 4, parts=k) for k in (0, parts))
    for x, y in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_text_of_a_module_is_deterministic():
    texts = {tuple(llvm.emit(schedule.optimise(arm(8)), np.dtype(np.float64), 4, 4)) for _ in range(3)}
    assert len(texts) == 1


@given(st.lists(st.booleans(), min_size=4, max_size=60))
def test_windows_cover_every_column_and_clear_only_zeros(zero):
    cleared = {c for start in zero_windows(zero, 4) for c in range(start, start + 4)}
    assert all(zero[c] for c in cleared)
    starts = covering_windows(len(zero), 4, cleared)
    assert all(0 <= start <= len(zero) - 4 for start in starts)
    assert {c for start in starts for c in range(start, start + 4)} | cleared == set(range(len(zero)))


def functions_of(x, operations, dtype, lanes):
    """Compiled functions of one number, each an array like x, which is given in rows of eight."""
    graph, width = Graph(), 8
    numbers = [graph.input(0, i) for i in range(width)]
    roots = tuple(Expr(graph, a.id).unary(op).id for op in operations for a in numbers)
    p = Program(graph, (Array("x", (width,)),), (Array("y", (len(operations), width)),), (roots,))
    rows = np.append(x, x[: -len(x) % width]).reshape(-1, width)
    return run(p, [rows], dtype, lanes)[0].swapaxes(0, 1).reshape(len(operations), -1)[:, : len(x)]


def sines_and_cosines(x, dtype, lanes):
    return functions_of(x, (SIN, COS), dtype, lanes)


@pytest.fixture
def plain_cpu(monkeypatch):
    """A processor of the oldest kind of this architecture: no AVX, no fused multiply-add."""
    host = native.host()
    if not host.triple.startswith("x86_64"):
        pytest.skip("knows only x86-64")
    plain = native.Host(host.triple, "x86-64", "", host.llvm)
    monkeypatch.setattr(native, "host", lambda: plain)
    return plain


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cpu_without_avx(plain_cpu, dtype):
    lanes = plain_cpu.lanes(np.dtype(dtype))
    assert lanes == 16 // np.dtype(dtype).itemsize
    for p in (arm(5), cholesky_solve(4)):
        for count in (1, lanes, 8):
            assert_agrees(p, schedule.optimise(p), dtype, count, 5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sincos_without_fused_operations(plain_cpu, dtype):
    test_sincos_is_within_one_ulp(dtype, plain_cpu.lanes(np.dtype(dtype)))


ANGLES = [np.linspace(-30, 30, 997), np.arange(-40, 41) * np.pi / 2, np.arange(-40, 41) * np.pi / 4]
ANGLES += [np.geomspace(1e-300, 1e6, 400), -np.geomspace(1e-30, 1e6, 400), np.arange(1, 60000, 151) * np.pi / 2]
ANGLES += [np.random.default_rng(0).uniform(-1, 1, 2000) * 10 ** np.linspace(-2, 6, 2000)]


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 1), (np.float64, 8), (np.float32, 1), (np.float32, 16)])
def test_sincos_is_within_one_ulp(dtype, lanes):
    x = np.concatenate(ANGLES).astype(dtype)
    wide = x.astype(np.longdouble if dtype is np.float64 else np.float64)
    for got, expected in zip(sines_and_cosines(x, dtype, lanes), (np.sin(wide), np.cos(wide)), strict=True):
        ulp = np.spacing(np.abs(expected).astype(dtype)).astype(wide.dtype)
        assert float(np.max(np.abs(got - expected) / ulp)) < 1.0


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 1), (np.float64, 4), (np.float32, 8)])
def test_sincos_of_huge_and_non_finite_angles(dtype, lanes):
    x = np.array([1e7, -3e9, 1e22, 0.5, np.nan, np.inf, -np.inf, 0.0], dtype)
    with np.errstate(invalid="ignore"):
        expected = np.sin(x.astype(float)), np.cos(x.astype(float))
    np.testing.assert_allclose(sines_and_cosines(x, dtype, lanes), expected, rtol=3 * np.finfo(dtype).eps)


def test_tiny_angles_are_kept():
    got = sines_and_cosines(np.array([-0.0, 0.0, 5e-324, -1e-310]), np.float64, 4)
    assert got[0].tolist() == [0.0, 0.0, 5e-324, -1e-310]
    assert got[1].tolist() == [1.0] * 4


SLOPES = np.concatenate([np.geomspace(1e-40, 1e40, 3000), np.linspace(0.4, 2.6, 3000), [0.0, 1.0, 2.5, np.inf]])


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 1), (np.float64, 8), (np.float32, 1), (np.float32, 16)])
def test_atan_is_within_two_ulp(dtype, lanes):
    with np.errstate(over="ignore"):
        x = np.concatenate([SLOPES, -SLOPES]).astype(dtype)
    expected = np.arctan(x.astype(np.longdouble if dtype is np.float64 else np.float64))
    (got,) = functions_of(x, (ATAN,), dtype, lanes)
    ulp = np.spacing(np.abs(expected).astype(dtype)).astype(expected.dtype)
    assert float(np.max(np.abs(got - expected) / ulp)) < 2.0
    assert (np.signbit(got) == np.signbit(x)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_atan_without_fused_operations(plain_cpu, dtype):
    test_atan_is_within_two_ulp(dtype, plain_cpu.lanes(np.dtype(dtype)))


@pytest.mark.parametrize(("dtype", "lanes"), [(np.float64, 1), (np.float64, 4), (np.float32, 8)])
def test_atan_of_tiny_huge_and_missing_numbers(dtype, lanes):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    (got,) = functions_of(np.array([tiny, -tiny, huge, -huge, np.nan], dtype), (ATAN,), dtype, lanes)
    np.testing.assert_array_equal(got, np.array([tiny, -tiny, np.pi / 2, -np.pi / 2, np.nan], dtype))
