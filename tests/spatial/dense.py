"""The same by matrices: the reference of the tests of this package."""

import numpy as np
from scipy.spatial.transform import Rotation

from bough import spatial

rng = np.random.default_rng(0)
R, P = Rotation.from_quat(rng.normal(size=4)).as_matrix(), rng.normal(size=3)
FLAT = tuple(R.ravel())
ANGLE, D = 0.7, 0.3
C, S = np.cos(ANGLE), np.sin(ANGLE)
V, F = rng.normal(size=(2, 6))
X_TURN = np.array([[1, 0, 0], [0, C, -S], [0, S, C]])
Z_TURN = np.array([[C, -S, 0], [S, C, 0], [0, 0, 1]])
SCREWS = {"z": (Z_TURN, np.array([0, 0, D])), "x": (X_TURN, np.array([D, 0, 0]))}
# Every way to place a child: prefix of the functions' names, their first arguments, and the placement as matrices
WAYS = {f"{axis}_": ((C, S, D), place) for axis, place in SCREWS.items()} | {"": ((FLAT, P), (R, P))}


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def motion_matrix(R, p):
    """Of motions from the child's frame, placed at (R, p), to the parent's."""
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def symmetric_matrix(S):
    return spatial.inertia_matrix(np.r_[np.asarray(S), np.zeros(4)])


def rigid_matrix(I):
    J, h = spatial.inertia_matrix(np.asarray(I)), skew(np.asarray(I)[6:9])
    return np.block([[J, h], [h.T, I[9] * np.eye(3)]])


def articulated_matrix(IA):
    B = np.reshape(IA[6:15], (3, 3))
    return np.block([[symmetric_matrix(IA[:6]), B], [B.T, symmetric_matrix(IA[15:])]])
