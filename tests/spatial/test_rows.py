"""Rows of arrays: what is put is what is got, and the rest of the array stays."""

import numpy as np
import pytest

from bough.spatial import rows


@pytest.mark.parametrize("size", [3, 6, 9, 10, 21])
def test_what_is_put_is_got(size):
    a, x = np.full((3, 25), -1.0), tuple(np.arange(float(size)))
    getattr(rows, f"put{size}")(a, 1, x)
    assert getattr(rows, f"get{size}")(a, 1) == x
    a[1, :size] = -1.0
    assert (a == -1.0).all()


def test_the_tail_of_a_placement():
    a = np.full((2, 12), -1.0)
    rows.put_tail(a, 1, (1.0, 2.0, 3.0))
    assert rows.get_tail(a, 1) == (1.0, 2.0, 3.0)
    assert a[1].tolist() == [-1.0] * 9 + [1.0, 2.0, 3.0]
