"""The text of a kernel."""

import importlib.util
import linecache
import math

import numpy as np
import pytest

from bough.compile.kernel import from_text
from bough.compile.lower.source import definition
from bough.compile.run import direct
from bough.compile.scalar import sincos
from bough.errors import KernelError


def test_definitions_are_found_in_their_files():
    assert definition(sincos).name == "sincos"


@pytest.mark.parametrize("body", ["x[1] = x[0] + 1.0", "x[0] = 2.0", "x[1] = 1.0"])
def test_a_file_that_has_changed_since_is_not_read(tmp_path, body):
    """Instructions alone do not tell: another constant has the same ones."""
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    x[0] = 1.0\n")
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text(f"def f(x):\n    {body}\n")
    linecache.checkcache()
    with pytest.raises(KernelError, match=r"changing\.f has another text in"):
        direct.call(module.f, np.zeros(2))


def test_other_names_are_a_change(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("import math\n\ndef f(x):\n    x[0] = math.sin(x[0])\n")
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("import math\n\ndef f(x):\n    x[0] = math.cos(x[0])\n")
    linecache.checkcache()
    with pytest.raises(KernelError, match="has another text"):
        direct.call(module.f, np.zeros(2))


def test_kernels_typed_in_say_what_they_lack():
    scope = {"__name__": "typed"}
    exec("def f(x):\n    x[0] = 1.0\n", scope)
    with pytest.raises(KernelError, match=r"typed\.f has no text in '<string>'.*define kernels in a file, or by"):
        direct.call(scope["f"], np.zeros(2))


def test_mistakes_in_kernels_say_where():
    scope = {"math": math}
    for body in ("x[0] = math.sinus(x[0])", "x[0] = (1, 2)[2]", "a, b = (1, 2, 3)", "x[0] = 1 // 0"):
        f = from_text(f"def f(x):\n    {body}\n", dict(scope))
        with pytest.raises(KernelError, match=r"\.f, line 2 of its file"):
            direct.call(f, np.zeros(2))
