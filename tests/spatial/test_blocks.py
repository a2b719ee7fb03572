"""Symmetric and general blocks, by matrices."""

import numpy as np

from bough.spatial import blocks
from spatial.dense import FLAT, Z_TURN, C, P, R, S, rng, skew, symmetric_matrix

SYMMETRIC, GENERAL = tuple(rng.normal(size=6)), tuple(rng.normal(size=9))
DENSE, MATRIX = symmetric_matrix(SYMMETRIC), np.reshape(GENERAL, (3, 3))


def square(B):
    return np.reshape(B, (3, 3))


def test_congruences():
    np.testing.assert_allclose(symmetric_matrix(blocks.z_turn_symmetric(C, S, SYMMETRIC)), Z_TURN @ DENSE @ Z_TURN.T)
    np.testing.assert_allclose(square(blocks.z_turn_general(C, S, GENERAL)), Z_TURN @ MATRIX @ Z_TURN.T)
    np.testing.assert_allclose(square(blocks.turn_general(FLAT, GENERAL)), R @ MATRIX @ R.T, atol=1e-14)


def test_layouts():
    np.testing.assert_array_equal(square(blocks.full(SYMMETRIC)), DENSE)
    assert blocks.upper(blocks.full(SYMMETRIC)) == SYMMETRIC
    assert blocks.uncycle_symmetric(blocks.cycle_symmetric(SYMMETRIC)) == SYMMETRIC
    assert blocks.uncycle_general(blocks.cycle_general(GENERAL)) == GENERAL
    np.testing.assert_array_equal(
        square(blocks.cycle_general(blocks.full(SYMMETRIC))), symmetric_matrix(blocks.cycle_symmetric(SYMMETRIC))
    )


def test_products():
    np.testing.assert_allclose(blocks.symmetric_times(SYMMETRIC, P), DENSE @ P)
    np.testing.assert_allclose(square(blocks.cross_columns(P, GENERAL)), skew(P) @ MATRIX)
