"""Tests that need a CUDA device are marked `needs_card`."""

import pytest

import bough
from bough.compile.run.cuda.card import the_card


def has_card() -> bool:
    try:
        the_card()
    except bough.BoughError:
        return False
    return True


needs_card = pytest.mark.skipif(not has_card(), reason="no CUDA device")
