"""A word to whoever waits at a terminal."""

import io
import sys
import time

import pytest

from bough.compile.run import cache, notice
from patience import until


class Terminal(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


@pytest.mark.parametrize(("is_terminal", "patience", "lines"), [(True, 0.01, 1), (True, 1e4, 0), (False, 0.01, 0)])
def test_one_line_if_it_takes_long(is_terminal, patience, lines, monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(notice, "PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", Terminal(is_terminal))

    def build():
        time.sleep(5 * patience if not is_terminal else 0.0)
        until(lambda: sys.stderr.getvalue().count("\n") == lines)
        return b"code"

    cache.fetch("something", build)
    cache.fetch("something", build)
    said = sys.stderr.getvalue()
    assert said.count("\n") == lines
    assert said.startswith("bough: compiling" if lines else "")


def test_no_standard_error_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with notice.compiling():
        pass
