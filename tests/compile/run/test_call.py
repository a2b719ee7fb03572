"""BoundFunction: every way to pass arrays in and out, and every complaint."""

import ctypes
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import bough.compile
import graphs
from bough.compile.graph.program import Array
from bough.compile.run import native, threads
from bough.compile.run.call import BoundFunction
from bough.compile.run.entry import Entry, NativeCode
from bough.errors import NonFiniteError, NumericalError, ShapeError
from compile.programs import arm, program, random_inputs
from graphs import specialise

SOURCE = str(Path(threads.__file__).parents[3])


def weigh(x, y):
    return ([[x[0] / y[0], x[1] * y[1], 2.0], [x[2] + y[1], x[0], 0.0]],)


@pytest.fixture(scope="module", params=[np.float64, np.float32])
def function(request):
    return specialise("weigh", program(weigh, {"x": (3,), "y": (2,)}, {"z": (2, 3)}), request.param)


def expected(x, y):
    x, y = np.asarray(x, float), np.asarray(y, float)
    p = program(weigh, {"x": (3,), "y": (2,)}, {"z": (2, 3)})
    return graphs.evaluate(p, [x, y])[0]


def close(got, x, y, dtype):
    assert got.dtype == dtype
    want = expected(x, y)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)


X, Y = np.array([1.5, -2.0, 3.25]), np.array([0.5, 4.0])
BX, BY = np.arange(1.0, 61.0).reshape(20, 3), np.arange(1.0, 41.0).reshape(20, 2)

WAYS = {
    "exact": lambda d: (X.astype(d), Y.astype(d)),
    "lists": lambda d: ([1.5, -2.0, 3.25], (0.5, 4)),
    "integers": lambda d: (np.array([1, 2, 3]), np.array([4, 5], np.int8)),
    "strided": lambda d: (np.repeat(X, 2).astype(d)[::2], Y.astype(d)),
    "reversed": lambda d: (X.astype(d)[::-1], Y.astype(d)[::-1]),
    "big-endian": lambda d: (X.astype(">f8"), Y.astype(">f4")),
    "other dtype object": lambda d: pickle.loads(pickle.dumps((X.astype(d), Y.astype(d)))),
    "subclass": lambda d: (X.astype(d).view(np.recarray), Y.astype(d)),
    "read-only": lambda d: (np.frombuffer(X.astype(d).tobytes(), d), Y.astype(d)),
    "batch": lambda d: (BX.astype(d), BY.astype(d)),
    "batch of one": lambda d: (BX[:1].astype(d), BY[:1].astype(d)),
    "batch of none": lambda d: (BX[:0].astype(d), BY[:0].astype(d)),
    "batch by columns": lambda d: (np.asfortranarray(BX.astype(d)), BY.astype(d)),
    "every other row": lambda d: (BX.astype(d)[::2], BY.astype(d)[::2]),
    "one for all": lambda d: (BX.astype(d), Y.astype(d)),
    "all for one": lambda d: (X, BY),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_pass_arrays(function, way):
    x, y = WAYS[way](function.dtype)
    close(function(x, y), x, y, function.dtype)
    close(function.call(x, y), x, y, function.dtype)  # and again, now that the code is there


@pytest.mark.parametrize("rows", [None, 20])
def test_out_is_filled_and_returned(function, rows):
    x, y = (X, Y) if rows is None else (BX, BY)
    x, y = x.astype(function.dtype), y.astype(function.dtype)
    for _ in range(2):
        out = np.full((2, 3) if rows is None else (rows, 2, 3), 9.0, function.dtype)
        assert function(x, y, out=out) is out
        close(out, x, y, function.dtype)


def test_out_may_have_another_dtype_object(function):
    for out in (
        pickle.loads(pickle.dumps(np.zeros((2, 3), function.dtype))),
        np.zeros((2, 3), function.dtype).view(np.recarray),
    ):
        assert function(X, Y, out=out) is out
        close(np.asarray(out), X, Y, function.dtype)


def test_out_may_overlap_an_input(function):
    memory = np.zeros(6, function.dtype)
    memory[:3] = X
    assert function(memory[:3], Y, out=memory.reshape(2, 3)).base is memory
    close(memory.reshape(2, 3), X, Y, function.dtype)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda d: np.zeros((3, 2), d), r"out for z must be a \S+ array \(2, 3\), got \S+ \(3, 2\)"),
        (lambda d: np.zeros((2, 3), np.float16), "float16"),
        (lambda d: [[0.0] * 3] * 2, "got list"),
        (lambda d: np.zeros((3, 2), d).T, "C-contiguous"),
    ],
)
def test_unfit_out_is_refused(function, out, message):
    with pytest.raises(ShapeError, match=message):
        function(X, Y, out=out(function.dtype))


def test_wrong_shapes_are_named(function):
    with pytest.raises(ShapeError, match=r"weigh: y must have shape \(2,\) or \(batch, 2\), got \(3,\)"):
        function(X, X)
    with pytest.raises(ShapeError, match=r"weigh: x must have shape"):
        function(np.zeros((2, 2, 3)), Y)
    with pytest.raises(ShapeError, match="y has 3 rows where an earlier input has 20"):
        function(BX, BY[:3])
    with pytest.raises(ShapeError, match="real numbers, got dtype complex128"):
        function(X * 1j, Y)
    with pytest.raises(TypeError):
        function(X)


def test_non_finite_inputs_are_named(function):
    for _ in range(2):
        with pytest.raises(NonFiniteError, match=r"weigh: y\[1\] is nan"):
            function(X, [1.0, np.nan])
        bad = BX.astype(function.dtype)
        bad[7, 2] = -np.inf
        with pytest.raises(NonFiniteError, match=r"weigh: x\[\(7, 2\)\] is -inf"):
            function(bad, BY)


def test_non_finite_results_are_named(function):
    with pytest.raises(NumericalError, match="weigh: no finite z"):
        function(X, [0.0, 1.0])
    bad = BY.copy()
    bad[5, 0] = 0.0
    with pytest.raises(NumericalError, match="in row 5"):
        function(BX, bad)


def test_all_bad_rows_are_named(function):
    bad = np.tile(BY, (10, 1))
    bad[[5, 60, 7, 150, 151, 152, 199], 0] = 0.0
    for workers in (1, 3):
        with pytest.raises(NumericalError, match="no finite z in rows 5, 7, 60, 150, 151 and 2 more") as caught:
            function(np.tile(BX, (10, 1)), bad, threads=workers)
        assert caught.value.rows == (5, 7, 60, 150, 151, 152, 199)
    bad[3, 1] = np.inf
    with pytest.raises(NonFiniteError) as caught:
        function(np.tile(BX, (10, 1)), bad)
    assert caught.value.rows == (3,)
    with pytest.raises(NumericalError) as caught:
        function(X, [0.0, 1.0])
    assert caught.value.rows == ()


@pytest.mark.parametrize("out", [False, True])
def test_a_status_instead_of_an_error(function, out):
    x, y = (np.tile(a, (20, 1)).astype(function.dtype) for a in (BX, BY))
    y[[5, 399], 0], x[100, 2] = 0.0, np.nan
    memory = np.zeros((400, 2, 3), function.dtype) if out else None
    result, status = function.with_status(x, y, out=memory)
    assert memory is None or result is memory
    assert {row: int(status[row]) for row in np.flatnonzero(status)} == {5: 3, 100: 2, 399: 3}
    assert np.isnan(result[100]).all()
    good = status == 0
    close(result[good], x[good], y[good], function.dtype)
    result, status = function.with_status(x[:5], y[:5])
    assert not status.any()
    for value, expected_status in ((0.0, 3), (np.nan, 2), (2.0, 0)):
        result, status = function.with_status(X, [value, 1.0])
        assert (result.shape, status.shape, int(status)) == ((2, 3), (), expected_status)


def test_why_there_is_no_result():
    p = program(weigh, {"x": (3,), "y": (2,)}, {"z": (2, 3)})
    plain = specialise("weigh", p)
    with pytest.raises(NumericalError, match="weigh: no finite z; it is singular there"):
        plain(X, [0.0, 1.0])
    with pytest.raises(NumericalError, match=r"z in row 1; overflow: numbers in x are as large as 1e\+300"):
        plain([X, [1.0, 1e300, 1.0]], [Y, [1.0, 1e300]])
    asked = []

    def explain(inputs):
        asked.append({name: x.copy() for name, x in inputs.items()})
        return "the first y is zero" if inputs["y"][0] == 0.0 else None

    f = BoundFunction("public_name", p.inputs, p.outputs, plain.entry, explain=explain)
    bad = BY.copy()
    bad[5, 0] = 0.0
    with pytest.raises(NumericalError, match="public_name: no finite z in row 5; the first y is zero"):
        f(BX, bad)
    np.testing.assert_array_equal(asked[0]["x"], BX[5])
    with pytest.raises(NumericalError, match="the first y is zero"):
        f(X.astype(np.float32), np.array([0.0, 1.0], np.float32))


@pytest.mark.parametrize(
    "wrong", [np.array(["a", "b"]), np.array([1, None]), [1j, 2.0], np.array(["2020"] * 2, "M8[D]")]
)
def test_numbers_that_are_none_are_refused_by_the_name_of_the_function(function, wrong):
    with pytest.raises(ShapeError, match="weigh: y must be an array of real numbers, got dtype"):
        function(X, wrong)


def test_masked_arrays_are_refused(function):
    for masked in (np.ma.masked_array(Y, [True, False]), np.ma.masked_array(BY, BY > 3.0)):
        with pytest.raises(ShapeError, match="weigh: y is a masked array, whose mask would be lost; fill it first"):
            function(X, masked)


def test_several_outputs():
    p = arm(4)
    f = specialise("arm", p)
    for batch in (None, 3, 3):
        inputs = random_inputs(p, batch)
        want = graphs.evaluate(p, inputs)
        got = f(*inputs)
        out = tuple(np.zeros_like(y) for y in want)
        again = f(*inputs, out=out)
        assert type(got) is type(again) is tuple
        for x, y, z in zip(got, want, again, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
            np.testing.assert_array_equal(x, z)
    with pytest.raises(ShapeError, match="tuple of 2 arrays"):
        f(*random_inputs(p), out=np.zeros(4))
    shared = np.zeros(16)
    with pytest.raises(ShapeError, match="overlap"):
        f(*random_inputs(p), out=(shared[2:6], shared[4:].reshape(4, 3)))


SCRATCH = """
define i64 @entry(ptr %arrays, i64 %batch, ptr %context) {
  %count = load i64, ptr %context
  %more = add i64 %count, %batch
  store i64 %more, ptr %context
  %y = load ptr, ptr %arrays
  store double 1.0, ptr %y
  ret i64 0
}"""


def test_contexts_are_made_once_and_reused():
    code = native.load(native.compile_ir(SCRATCH), "entry")
    made = []

    def new_context():
        made.append(ctypes.c_int64(0))
        return ctypes.addressof(made[-1]), made[-1]

    native_code = NativeCode(code.address, code, new_context)
    f = BoundFunction("count", (), (Array("y", (1,)),), lambda dtype: Entry(lambda: native_code, lambda: native_code))
    for _ in range(10):
        f()
    assert [c.value for c in made] == [10]


def test_code_is_compiled_once_by_many_threads():
    compiled = []
    p = program(weigh, {"x": (3,), "y": (2,)}, {"z": (2, 3)})
    real = specialise("weigh", p)

    def provide(dtype):
        compiled.append(1)
        return real.entry(dtype)

    f = BoundFunction("weigh", p.inputs, p.outputs, provide)
    workers = [threading.Thread(target=lambda: close(f(X, Y), X, Y, float)) for _ in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(compiled) == 1


def test_repr_names_the_arrays(function):
    assert repr(function) == f"<weigh(x[3], y[2]) -> z[2, 3], {function.dtype}>"


def test_arrays_without_elements():
    f = specialise("nothing", program(lambda x, y: (x, [y[0] * 2.0]), {"x": (0,), "y": (1,)}, {"z": (0,), "w": (1,)}))
    for lead in ((), (5,), (0,)):
        z, w = f(np.zeros((*lead, 0)), np.ones((*lead, 1)))
        assert z.shape == (*lead, 0)
        assert (w == 2.0).all()


def test_an_empty_part_of_an_input_as_out():
    f = specialise("nothing", program(lambda y: ([],), {"y": (3,)}, {"z": (0,)}))
    y = np.ones(3)
    for _ in range(2):
        assert f(y, out=y[1:1]).shape == (0,)


def test_importing_the_compiler_does_not_load_llvm():
    folder = Path(bough.compile.__file__).parent
    found = [path.relative_to(folder).with_suffix("") for path in folder.rglob("*.py")]
    # those that speak to the libraries of a card are imported where these are there
    files = [file for file in found if not file.stem.startswith("by_")]
    script = "import sys\n" + "".join(f"import bough.compile.{'.'.join(file.parts)}\n" for file in files)
    script += "assert 'llvmlite' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": SOURCE})
