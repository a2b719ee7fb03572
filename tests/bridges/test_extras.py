"""Libraries that are missing or too old are named in one sentence, with the extra that brings them."""

import sys
import types

import pytest

import bough
from bough.bridges.extras import required


def test_a_missing_library_names_its_extra():
    with pytest.raises(bough.BoughError, match=r'bough.casadi needs no_such_library: pip install "bough\[casadi\]"'):
        required("no_such_library", "casadi")


def test_a_library_that_is_too_old(monkeypatch):
    old = types.ModuleType("casadi")
    old.__version__ = "3.5.6"
    monkeypatch.setitem(sys.modules, "casadi", old)
    monkeypatch.delitem(sys.modules, "bough.bridges.casadi", raising=False)
    with pytest.raises(bough.BoughError, match=r"bough\.casadi needs casadi 3\.6 or newer, found 3\.5\.6"):
        bough.casadi  # noqa: B018
    old.__version__ = "3.10.0rc1"
    assert required("casadi", "casadi", at_least="3.6") is old
