"""Executions: the one choice between them, and a new one in two files."""

import re
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import bough.compile
from bough.compile import executions
from bough.compile.function import CompiledFunction
from bough.compile.kernel import kernel
from bough.compile.routine import Constants, Routine
from bough.compile.run.entry import Entry
from bough.compile.run.gate import make_front
from bough.compile.run.interpreted import PythonCode


@kernel
def shear(m, x, y, w):
    for k in range(len(x)):
        y[k] = m.factor[k] * x[k] + x[0]


Factors = namedtuple("Factors", ["factor"])


ROUTINE = Routine("shear", shear, inputs={"x": "n"}, outputs={"y": "n"})
SIZES, GROUPS = {"n": 3}, (Factors(np.array([1.0, 2.0, 3.0])),)


def chosen(wanted="specialised", sizes=SIZES):
    return executions.choose(wanted, ROUTINE, Constants(GROUPS), sizes).__name__.rpartition(".")[2]


def test_which_execution_serves(monkeypatch):
    monkeypatch.delenv("BOUGH_INTERPRET", raising=False)
    assert chosen() == "specialised"
    assert chosen("general") == "general"
    assert chosen(sizes={"n": 10**6}) == "general"
    for text in ("0", "", "off"):
        monkeypatch.setenv("BOUGH_INTERPRET", text)
        assert chosen() == "specialised"
    monkeypatch.setenv("BOUGH_INTERPRET", "1")
    assert chosen() == chosen("general") == "interpreted"


def test_the_gpu_is_chosen_here_and_nowhere_else():
    found = executions.bind_arrays(ROUTINE, GROUPS, SIZES, device=executions.Device("cuda", "columns"), name="sheared")
    assert (type(found).__name__, found.name, found.layouts) == (
        "CudaFunction",
        "sheared",
        ("columns", "columns", False),
    )
    for path in Path(bough.compile.__file__).parents[1].rglob("*.py"):
        if (
            "run/cuda" not in path.as_posix()
            and path.name != "executions.py"
            and path.parts[-2] not in ("bench", "bridges")
        ):
            assert "compile.run.cuda import" not in path.read_text(), path


@pytest.mark.parametrize("device", [executions.CPU, executions.GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("inputs", [(), ("gravity",)], ids=["plain", "parameters"])
def test_every_function_has_the_whole_protocol(device, inputs):
    """`mypy` compares the signatures; here every method is called with every keyword it takes."""
    model = bough.zoo.arm(2)
    bound: CompiledFunction = bough.Dynamics(model, inputs=inputs, device=device.name)._library.function("gravity")
    assert {name for name in vars(CompiledFunction) if not name.startswith("_")} <= {*dir(bound)}
    assert [x.name for x in bound.inputs] == ["q"]
    assert bound.makers["make"](None) is None  # what does not fit is left to others
    method = make_front(lambda q, out=None, **_: "otherwise", 1, bound.makers, longer="forces")
    assert isinstance(method(q="no array"), str)
    assert bound.with_code_of(lambda batch: bound).name == bound.name


@pytest.mark.parametrize("batch", [(), (5,)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_executions_agree(batch, dtype, monkeypatch):
    monkeypatch.setenv("BOUGH_INTERPRET", "0")
    x = np.arange(1.0, 4.0, dtype=dtype) * np.ones((*batch, 1), dtype)
    want = GROUPS[0].factor * x + x[..., :1]
    for general in (False, True):
        got = executions.bind_arrays(ROUTINE, GROUPS, SIZES, general=general)(x)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == np.float32 else 1e-15)
    monkeypatch.setenv("BOUGH_INTERPRET", "1")
    got = executions.bind_arrays(ROUTINE, GROUPS, SIZES)(x)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == np.float32 else 1e-15)


def test_a_new_execution_is_a_module_that_compiles(monkeypatch):
    """What runs it is one file of `run`; no other file is touched."""
    module, asked = ModuleType("bough.compile.run.abacus"), []

    def compile(routine, constants, sizes, dtype):
        asked.append((routine.name, sizes["n"], np.dtype(dtype)))
        code = PythonCode(lambda x: (x + 1.0,))
        return Entry(lambda: code, lambda: code)

    module.compile = compile
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("BOUGH_INTERPRET", "0")
    f = executions.bind_arrays(ROUTINE, GROUPS, SIZES, execution="abacus")
    np.testing.assert_array_equal(f(np.zeros(3)), np.ones(3))
    np.testing.assert_array_equal(f(np.zeros((4, 3))), np.ones((4, 3)))
    assert asked == [("shear", 3, np.dtype(float))]


def test_the_compiler_knows_no_robots():
    sources = [p for p in Path(bough.compile.__file__).parent.rglob("*") if p.suffix in (".py", ".ll")]
    assert len(sources) > 20
    for path in sources:
        assert not re.search(r"\b(limb|robot|mechanism|joint|torque)s?\b", path.read_text().lower()), path
