"""A word to whoever waits at a terminal."""

import io
import sys
import time

import pytest

from bough.compile.run import cache, notice


class Terminal(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.isatty = lambda: is_terminal


@pytest.mark.parametrize(("is_terminal", "seconds", "lines"), [(True, 0.2, 1), (True, 0.0, 0), (False, 0.2, 0)])
def test_one_line_if_it_takes_long(is_terminal, seconds, lines, monkeypatch, tmp_path):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(notice, "PATIENCE", 0.05)
    monkeypatch.setattr(sys, "stderr", Terminal(is_terminal))

    def build():
        time.sleep(seconds)
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
