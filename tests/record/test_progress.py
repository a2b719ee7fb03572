"""A bar appears beside work that takes long, and only then."""

import time

import pytest

from bough.record import progress, progress_bar
from patience import until


@pytest.fixture
def screen(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    return lambda: capsys.readouterr().err


def test_a_bar_beside_long_work(screen):
    with progress_bar("sweeping", 4) as advance:
        advance(1)
        until(progress._SCREEN.locked)
        advance(3)
    shown = screen()
    assert "sweeping" in shown
    assert "4/4" in shown


@pytest.mark.parametrize("shown", [True, False])
def test_none_beside_short_work_or_where_nobody_looks(screen, monkeypatch, shown):
    monkeypatch.setattr(progress, "PATIENCE", 1e4 if shown else 0.0)
    with progress_bar("sweeping", 4, shown) as advance:
        advance(4)
    assert screen() == ""


def test_one_bar_at_a_time(screen):
    with progress_bar("outer", 2) as advance:
        until(progress._SCREEN.locked)
        with progress_bar("inner", None):
            time.sleep(0.3)
        advance(2)
    shown = screen()
    assert "outer" in shown
    assert "inner" not in shown
    assert not progress._SCREEN.locked()


def test_errors_end_it(screen):
    def fail():
        with progress_bar("outer", None):
            until(progress._SCREEN.locked)
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        fail()
    assert not progress._SCREEN.locked()
