"""Exported C compiles without a warning and computes what the interpreter computes."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import graphs
from bough.compile.emit import c
from bough.compile.graph.expr import ATAN, COS, SIN, SQRT, Expr, Graph
from bough.compile.graph.program import Array, Program
from compile.programs import arm, cholesky_solve, program, random_inputs, random_programs

pytestmark = pytest.mark.native("writes C and compiles it")

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-fPIC", "-shared"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


def build(programs, folder, dtype=np.float64, prefix="robot", banner="made for a test"):
    source, _ = c.export(programs, folder / "robot.c", prefix, dtype, banner)
    library = folder / "robot.so"
    subprocess.run(["gcc", *FLAGS, "-o", str(library), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def run(function, p, inputs, dtype):
    given = [np.ascontiguousarray(x, dtype) for x in inputs]
    outputs = [np.full(spec.shape, np.nan, dtype) for spec in p.outputs]
    function.restype = None
    function(*(ctypes.c_void_p(x.ctypes.data) for x in given + outputs))
    return outputs


def assert_agrees(function, p, dtype=np.float64, tolerance=1e-12):
    inputs = [x.astype(dtype) for x in random_inputs(p)]
    expected = graphs.evaluate(p, [x.astype(float) for x in inputs])
    for x, y in zip(run(function, p, inputs, dtype), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@needs_gcc
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_large_programs(tmp_path, dtype, tolerance):
    programs = {"arm": arm(), "solve": cholesky_solve()}
    library = build(programs, tmp_path, dtype)
    for name, p in programs.items():
        assert_agrees(library[f"robot_{name}"], p, dtype, tolerance)


@needs_gcc
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(p=random_programs())
def test_random_programs(tmp_path_factory, p):
    assert_agrees(build({"f": p}, tmp_path_factory.mktemp("c"))["robot_f"], p, tolerance=1e-11)


@needs_gcc
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-15), (np.float32, 1e-6)])
def test_functions_of_the_library(tmp_path, dtype, tolerance):
    p = program(lambda x: ([(x[0] * x[0]).unary(op) for op in (SQRT, SIN, COS, ATAN)],), {"x": (1,)}, {"y": (4,)})
    assert_agrees(build({"f": p}, tmp_path, dtype)["robot_f"], p, dtype, tolerance)
    suffix = "f" if dtype is np.float32 else ""
    text = (tmp_path / "robot.c").read_text()
    assert all(f"{name}{suffix}(" in text for name in ("sqrt", "sin", "cos", "atan"))


@needs_gcc
def test_awkward_names(tmp_path):
    shapes = {"double": (1,), "n1": (1,), "w": (1,), "y z": (1,), "unused": (2,)}
    p = program(
        lambda a, b, c, d, e: ([a[0] + b[0] * 0.1, c[0].unary(SIN) - d[0]], [-2.5e-300]), shapes, {"w": (2,), "k": ()}
    )
    library = build({"f": p}, tmp_path, banner="ends a comment: */ int x;")
    assert_agrees(library["robot_f"], p)
    header = (tmp_path / "robot.h").read_text()
    assert "#define ROBOT_F_UNUSED_SIZE 2" in header
    assert "ends a comment" in header


def test_names_are_distinct():
    names = c.parameter_names([Array("q", (1,)), Array("for", (1,)), Array("n3", (1,))], [Array("q", (1,))])
    assert names == ["q", "xfor", "xn3", "q_out"]


def test_constants_round_trip(tmp_path):
    values = [0.1, -1.0 / 3.0, 1e-300, 5e-324, 1.7976931348623157e308, 3.0]
    graph = Graph()
    x = graph.input(0, 0)
    roots = tuple((x * Expr(graph, graph.const(v))).id for v in values)
    p = Program(graph, (Array("x", (1,)),), (Array("y", (len(values),)),), (roots,))
    text = c.export({"f": p}, tmp_path / "f.c", "p")[0].read_text()
    for v in values:
        assert repr(abs(v)) in text


def test_constant_out_of_range_is_refused(tmp_path):
    p = program(lambda x: ([x[0] * 1e300],), {"x": (1,)}, {"y": (1,)})
    with pytest.raises(ValueError, match="not a finite float"), np.errstate(over="ignore"):
        c.export({"f": p}, tmp_path / "f.c", "p", np.float32)
