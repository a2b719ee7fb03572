"""Motions and forces: what goes in comes out, work is the same in both frames, and sums are sums."""

import numpy as np
import pytest

from bough import spatial
from bough.spatial import screws
from spatial.dense import FLAT, SCREWS, C, D, F, P, R, S, V, motion_matrix, skew


def test_placed_motions_and_forces():
    M = motion_matrix(R, P)
    np.testing.assert_allclose(spatial.motion_in(FLAT, P, V), M @ V)
    np.testing.assert_allclose(spatial.motion_out(FLAT, P, V), np.linalg.solve(M, V))
    np.testing.assert_allclose(spatial.force_in(FLAT, P, F), np.linalg.solve(M.T, F))
    np.testing.assert_allclose(spatial.force_out(FLAT, P, F), M.T @ F)


@pytest.mark.parametrize("axis", SCREWS)
def test_axial_screws(axis):
    M = motion_matrix(*SCREWS[axis])
    np.testing.assert_allclose(getattr(screws, f"{axis}_motion_out")(C, S, D, V), np.linalg.solve(M, V))
    np.testing.assert_allclose(getattr(screws, f"{axis}_force_in")(C, S, D, F), np.linalg.solve(M.T, F))


def test_sums_and_products():
    np.testing.assert_array_equal(screws.add6(V, F), V + F)
    np.testing.assert_array_equal(screws.sub6(V, F), V - F)
    np.testing.assert_array_equal(screws.scale6(2.5, V), 2.5 * V)
    np.testing.assert_allclose(screws.dot6(V, F), V @ F)
    assert screws.join(screws.angular(tuple(V)), screws.linear(tuple(V))) == tuple(V)
    np.testing.assert_allclose(screws.uncycle(screws.cycle(tuple(V))), V)


def test_cross_motion():
    """v x m = [w x m_w; v_o x m_w + w x m_o]."""
    w, l = skew(V[:3]), skew(V[3:])
    np.testing.assert_allclose(screws.cross_motion(V, F), np.r_[w @ F[:3], l @ F[:3] + w @ F[3:]])
