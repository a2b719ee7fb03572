"""Rows are the same in whichever chunk they are."""

import numpy as np
import pytest

from bough import zoo
from bough.errors import OptionError, ShapeError
from bough.sweep import ArrayRows, DrawnRows
from bough.sweep.rows import rows_at_a_time

ARM = zoo.arm(3)


@pytest.mark.parametrize("cut", [7, 31, 32, 33, 50])
def test_drawn_rows_do_not_depend_on_chunks(cut):
    rows, long = DrawnRows(75, seed=5, spread=0.2), zoo.chain(5000)
    assert rows_at_a_time(long) == 32
    whole = rows.take(long, ("q", "tau"), 0, 75)
    parts = [rows.take(long, ("q", "tau"), a, min(a + cut, 75)) for a in range(0, 75, cut)]
    for name in ("q", "tau", "inertia"):
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), whole[name])


def test_what_is_drawn_does_not_depend_on_what_is_asked():
    rows = DrawnRows(10)
    np.testing.assert_array_equal(rows.take(ARM, ("tau",), 2, 5)["tau"], rows.take(ARM, ("q", "tau"), 2, 5)["tau"])


def test_masses_are_within_the_spread():
    drawn = DrawnRows(64, spread=0.25).take(ARM, (), 0, 64)["inertia"]
    ratio = drawn[:, :, 0] / ARM.inertias[:, 0]
    assert 0.75 <= ratio.min() < 0.8
    assert 1.2 < ratio.max() <= 1.25


def test_seeds_differ():
    assert not np.array_equal(*(DrawnRows(3, seed).take(ARM, ("q",), 0, 3)["q"] for seed in (0, 1)))


def test_given_rows():
    rows = ArrayRows({"q": np.arange(12.0).reshape(4, 3), "gravity": np.zeros((4, 3))})
    assert rows.count == 4
    assert rows.parameters == ("gravity",)
    assert rows.take(ARM, ("q",), 1, 3)["q"].tolist() == [[3, 4, 5], [6, 7, 8]]
    other = ArrayRows({"q": np.arange(12.0).reshape(4, 3) + 1, "gravity": np.zeros((4, 3))})
    assert rows.describe() != other.describe()


def test_refusals():
    with pytest.raises(ShapeError, match="q 4, v 3"):
        ArrayRows({"q": np.zeros((4, 3)), "v": np.zeros((3, 3))})
    with pytest.raises(ShapeError, match="at least one"):
        ArrayRows({})
    with pytest.raises(OptionError, match="have no 'v'"):
        ArrayRows({"q": np.zeros((4, 3))}).take(ARM, ("q", "v"), 0, 1)
    with pytest.raises(ShapeError, match=r"q of 'arm' has rows of shape \(3,\), got \(5,\)"):
        ArrayRows({"q": np.zeros((4, 5))}).take(ARM, ("q",), 0, 1)
    for wrong in (np.array(["a", "b"]), np.zeros((4, 3), complex)):
        with pytest.raises(ShapeError, match="'q' must be an array of real numbers"):
            ArrayRows({"q": wrong})
    with pytest.raises(OptionError, match="'weight' cannot be drawn"):
        DrawnRows(3).take(ARM, ("weight",), 0, 1)
    with pytest.raises(OptionError, match="spread"):
        DrawnRows(3, spread=1.0)
    for count, seed in ((0, 0), (1.5, 0), (3, 0.5), (3, -1)):
        with pytest.raises(OptionError, match="one row or more"):
            DrawnRows(count, seed)
