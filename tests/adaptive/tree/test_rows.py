"""Rows in vector registers mean what the plain functions say."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive.tree import blocks
from bough.compile import vectors as rows
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled

BLOCKS, RECORD = 4, 60


@loop_kernel
def through_rows(S, r):
    """Every function of `rows` once."""
    x = rows.unpacked(r, 3)
    y = rows.flipped(blocks.get_all(S, 1))
    for i in range(6):
        rows.give(r, 24 + 6 * i, rows.row(S, 2, i))
    rows.pack(r, 1, blocks.get_all(S, 3))
    a = rows.plus(rows.scaled(S[0, 0, 1], x[2]), r[2], rows.taken(r, 25))
    rows.put(S, 0, 3, rows.replaced(a, 4, r[0]))
    rows.put(S, 0, 5, rows.joined(r[1], r[2], r[3], r[4], r[5], r[6]))
    blocks.put_all(S, 2, y)
    blocks.put_all(S, 1, x)


@loop_kernel
def through_blocks(S, r):
    """Every product of blocks once."""
    blocks.put_all(S, 0, rows.unpacked(r, 2))
    blocks.put_all(S, 3, rows.flipped(blocks.taken_all(r, 11)))
    blocks.multiply(S, 1, 0, 3)
    blocks.transposed_multiply(S, 2, 1, 3)
    blocks.multiply_less(S, 0, 1, 2, 3)
    blocks.add_transposed(S, 3, 0, 1)
    blocks.subtract_transposed(S, 3, 2, 0)
    blocks.sweep(S, 3, 2)
    blocks.store_full(S, 3, r, 9)
    blocks.store_symmetric(S, 1, r, 0)


@pytest.mark.parametrize("function", [through_rows, through_blocks])
def test_compiled_rows_are_the_interpreted_ones(function):
    rng = np.random.default_rng(0)
    S, r = rng.normal(size=(BLOCKS, 6, rows.WIDTH)), rng.normal(size=RECORD)
    expected, record = S.copy(), r.copy()
    function(expected, record)
    compiled(function)(S, r)
    np.testing.assert_allclose(S[:, :, :6], expected[:, :, :6], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(r, record, rtol=1e-11, atol=1e-11)


def test_blocks_are_matrices():
    """Interpreted, against dense products."""
    rng = np.random.default_rng(1)
    S = rng.normal(size=(5, 6, rows.WIDTH))
    A, B, D = (S[k, :, :6].copy() for k in (0, 1, 2))
    blocks.multiply_less(S, 3, 0, 1, 2)
    np.testing.assert_allclose(S[3, :, :6], A @ B - D, atol=1e-14)
    blocks.subtract_transposed(S, 2, 0, 1)
    np.testing.assert_allclose(S[2, :, :6], D - A.T @ B, atol=1e-14)
    spd = A @ A.T + np.eye(6)
    S[4, :, :6] = spd
    for axis in range(6):
        blocks.sweep(S, 4, axis)
    np.testing.assert_allclose(-S[4, :, :6], np.linalg.inv(spd), atol=1e-12)
    record = np.zeros(21)
    rows.pack(record, 0, blocks.get_all(S, 4))
    np.testing.assert_allclose(rows.unpacked(record, 0), S[4, :, :6], atol=1e-13)


def test_a_placement_transforms_motions_and_forces():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(2)
    R, p = Rotation.from_quat(rng.normal(size=4)).as_matrix(), rng.normal(size=3)
    px = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    X = np.block([[R.T, np.zeros((3, 3))], [-R.T @ px, R.T]])
    S = rng.normal(size=(3, 6, rows.WIDTH))
    blocks.carry(S, 1, 0, R.ravel(), p)
    blocks.transform(S, 2, R.ravel(), p)
    np.testing.assert_allclose(S[1, :, :6], X @ S[0, :, :6], atol=1e-14)
    np.testing.assert_allclose(S[2, :, :6], X.T, atol=1e-14)
