"""The text of a kernel."""

import importlib.util
import linecache

import numpy as np
import pytest

from bough.compile.lower.source import definition
from bough.compile.run import direct
from bough.compile.scalar import sincos
from bough.errors import KernelError


def test_definitions_are_found_in_their_files():
    assert definition(sincos).name == "sincos"


def test_a_file_that_has_changed_since_is_not_read(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    x[0] = 1.0\n")
    spec = importlib.util.spec_from_file_location("changing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("def f(x):\n    x[1] = x[0] + 1.0\n")
    linecache.checkcache()
    with pytest.raises(KernelError, match="the text of f"):
        direct.call(module.f, np.zeros(2))
