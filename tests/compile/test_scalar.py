"""Comparisons without branches: the same numbers in every execution, slopes included."""

import ctypes
import shutil
import subprocess
from collections import namedtuple

import numpy as np
import pytest

import graphs
from bough.compile import derived
from bough.compile.emit import c
from bough.compile.executions import bind_arrays
from bough.compile.kernel import kernel
from bough.compile.routine import Routine, interpret, trace
from bough.compile.scalar import larger, positive, sincos, size, sqrt, step
from bough.errors import NumericalError

Numbers = namedtuple("Numbers", ["two"])
GROUPS, SIZES = (Numbers(np.array([2.0])),), {}
X = np.array([[-3.0, 1.5], [0.0, -0.25], [4.0, 4.0], [0.5, 7.0], [-1.0, -2.0], [2.0, 0.0], [1e-300, 1.0], [-2.0, 9.0]])


@kernel
def compare(m, x, y, w):
    y[0] = positive(m.two[0] * x[0])
    y[1] = step(x[0])
    y[2] = larger(x[0], x[1])
    y[3] = size(x[1])


ROUTINE = Routine("compare", compare, inputs={"x": "2"}, outputs={"y": "4"})


def expected(x):
    a, b = x[..., 0], x[..., 1]
    return np.stack([np.maximum(2 * a, 0.0), (a >= 0.0).astype(float), np.maximum(a, b), np.abs(b)], axis=-1)


@pytest.mark.interpreted
def test_interpreted_and_traced_alike():
    program = trace(ROUTINE, GROUPS, SIZES)
    np.testing.assert_array_equal(graphs.evaluate(program, [X])[0], expected(X))
    for x in X:
        np.testing.assert_array_equal(interpret(ROUTINE, GROUPS, SIZES, x)[0], expected(x))


@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_alike(general, dtype):
    f = bind_arrays(ROUTINE, GROUPS, SIZES, general=general, dtype=dtype)
    x = X.astype(dtype)
    np.testing.assert_array_equal(f(x), expected(x).astype(dtype))
    np.testing.assert_array_equal(f(x[0]), expected(x[0]).astype(dtype))


@kernel
def leave_the_reals(m, x, y, w):
    y[0] = sqrt(x[0])
    y[1], y[2] = sincos(x[1])
    y[3] = sqrt(x[2]) / sqrt(x[3])


@pytest.mark.interpreted
@pytest.mark.parametrize("execution", ["interpreted", "specialised", "general"])
def test_what_is_not_real_is_nan_in_every_execution(execution):
    routine = Routine("leave", leave_the_reals, inputs={"x": "4"}, outputs={"y": "4"})
    f = bind_arrays(routine, GROUPS, SIZES, execution=execution)
    x = np.array([[4.0, 0.0, 1.0, 4.0], [-1.0, 0.0, 1.0, 0.0], [-1e300, 1.0, 0.0, 0.0]])
    with pytest.raises(NumericalError) as raised:
        f(x)
    assert raised.value.rows == (1, 2)
    found = interpret(routine, GROUPS, SIZES, [-1.0, np.inf, 1.0, 0.0])[0]
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan, np.inf])


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
def test_exported_alike(tmp_path):
    source, _ = c.export({"compare": trace(ROUTINE, GROUPS, SIZES)}, tmp_path / "f.c", "f")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, "-o", str(tmp_path / "f.so"), str(source), "-lm"], check=True)
    library, y = ctypes.CDLL(str(tmp_path / "f.so")), np.empty(4)
    for x in X:
        library.f_compare(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        np.testing.assert_array_equal(y, expected(x))


def test_slopes():
    f = bind_arrays(derived.jvp(ROUTINE), GROUPS, SIZES)
    rate = f(np.array([3.0, -2.0]), np.array([1.0, 10.0]))
    np.testing.assert_array_equal(rate, [2.0, 0.0, 1.0, -10.0])


def test_constants_fold():
    @kernel
    def constant(m, x, y, w):
        y[0] = positive(m.two[0]) + step(-m.two[0]) + 0 * x[0]

    program = trace(Routine("constant", constant, inputs={"x": "1"}, outputs={"y": "1"}), GROUPS, SIZES)
    assert program.graph.value[program.roots[0][0]] == 2.0
