"""Transforms of motions, forces and inertias: what goes in comes out, and work is the same in both frames."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bough import spatial

rng = np.random.default_rng(0)
R, P = Rotation.from_quat(rng.normal(size=4)).as_matrix(), rng.normal(size=3)
ANGLE, D = 0.7, 0.3
C, S = np.cos(ANGLE), np.sin(ANGLE)
V, F = rng.normal(size=(2, 6))
X_TURN = np.array([[1, 0, 0], [0, C, -S], [0, S, C]])
Z_TURN = np.array([[C, -S, 0], [S, C, 0], [0, 0, 1]])
SCREWS = {"z": (Z_TURN, np.array([0, 0, D])), "x": (X_TURN, np.array([D, 0, 0]))}


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def motion_matrix(R, p):
    """Of motions from the child's frame, placed at (R, p), to the parent's."""
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def rigid_matrix(I):
    J, h = spatial.inertia_matrix(np.asarray(I)), skew(np.asarray(I)[6:9])
    return np.block([[J, h], [h.T, I[9] * np.eye(3)]])


def articulated_matrix(IA):
    A, B, C = np.asarray(IA[:6]), np.reshape(IA[6:15], (3, 3)), np.asarray(IA[15:])
    pad = np.zeros(4)
    return np.block([[spatial.inertia_matrix(np.r_[A, pad]), B], [B.T, spatial.inertia_matrix(np.r_[C, pad])]])


def test_placed_motions_and_forces():
    M = motion_matrix(R, P)
    flat = tuple(R.ravel())
    np.testing.assert_allclose(spatial.motion_in(flat, P, V), M @ V)
    np.testing.assert_allclose(spatial.motion_out(flat, P, V), np.linalg.solve(M, V))
    np.testing.assert_allclose(spatial.force_in(flat, P, F), np.linalg.solve(M.T, F))
    np.testing.assert_allclose(spatial.force_out(flat, P, F), M.T @ F)


@pytest.mark.parametrize("axis", SCREWS)
def test_screws(axis):
    M = motion_matrix(*SCREWS[axis])
    np.testing.assert_allclose(getattr(spatial, f"{axis}_motion_out")(C, S, D, V), np.linalg.solve(M, V))
    np.testing.assert_allclose(getattr(spatial, f"{axis}_force_in")(C, S, D, F), np.linalg.solve(M.T, F))


@pytest.mark.parametrize("axis", [*SCREWS, "placed"])
def test_inertias(axis):
    """X^-T I X^-1 by matrices."""
    I = tuple(rng.normal(size=10))
    IA = tuple(rng.normal(size=21))
    back = np.linalg.inv(motion_matrix(*SCREWS.get(axis, (R, P))))
    prefix, place = ("", (tuple(R.ravel()), P)) if axis == "placed" else (f"{axis}_", (C, S, D))
    found = getattr(spatial, f"{prefix}rigid_in")(*place, I)
    np.testing.assert_allclose(rigid_matrix(found), back.T @ rigid_matrix(I) @ back, atol=1e-13)
    found = getattr(spatial, f"{prefix}articulated_in")(*place, IA)
    np.testing.assert_allclose(articulated_matrix(found), back.T @ articulated_matrix(IA) @ back, atol=1e-13)


def test_products_and_columns():
    I, IA = tuple(rng.normal(size=10)), tuple(rng.normal(size=21))
    np.testing.assert_allclose(spatial.rigid_times(I, V), rigid_matrix(I) @ V)
    np.testing.assert_allclose(spatial.articulated_times(IA, V), articulated_matrix(IA) @ V)
    np.testing.assert_allclose(articulated_matrix(spatial.articulated(I, 0.0)), rigid_matrix(I))
    for axis in range(6):
        np.testing.assert_allclose(spatial.rigid_column(I, axis, 0.0), rigid_matrix(I)[:, axis])
        np.testing.assert_allclose(spatial.articulated_column(IA, axis), articulated_matrix(IA)[:, axis])
    np.testing.assert_allclose(
        articulated_matrix(spatial.articulated_downdate(IA, 2.0 * F, F)), articulated_matrix(IA) - 2.0 * np.outer(F, F)
    )
