"""Rigid clusters beside dense matrices: composite inertia and acceleration (`test_locked`: release of joints)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bough.adaptive.tree import rigid
from bough.dynamics.coriolis import cross_force
from bough.spatial import add6, rigid_add, rigid_in, rigid_solve, rigid_times, sub6

pytestmark = pytest.mark.interpreted


def skew(a):
    return np.cross(np.eye(3), a)


def motion_transform(R, p):
    """Motions from a frame into the one placed at (R, p) in it."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(p), R.T]])


def random_inertia(rng):
    """The ten numbers, and (6, 6)."""
    points, m = rng.normal(size=(5, 3)), 10.0 ** rng.uniform(-1, 1)
    c = points.mean(axis=0)
    J = m / 5 * sum((x @ x) * np.eye(3) - np.outer(x, x) for x in points)
    h = m * c
    ten = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2], *h, m)
    return ten, np.block([[J, skew(h)], [skew(h).T, m * np.eye(3)]])


def placement(rng):
    return Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)


def force_product(v, f):
    """v x* f."""
    w, l = v[:3], v[3:]
    return np.concatenate([np.cross(w, f[:3]) + np.cross(l, f[3:]), np.cross(w, f[3:])])


class Chain:
    """Bodies in a row, each placed in the one before; X takes motions from the first frame into each of theirs."""

    def __init__(self, seed, bodies=5):
        self.rng = rng = np.random.default_rng(seed)
        self.ten, self.I = zip(*(random_inertia(rng) for _ in range(bodies)), strict=True)
        self.F = rng.normal(size=(bodies, 6))
        self.place = [placement(rng) for _ in range(bodies - 1)]
        self.X = [np.eye(6)]
        for R, p in self.place:
            self.X.append(motion_transform(R, p) @ self.X[-1])

    def pose(self):
        """Where the last body is in the frame of the first."""
        R, p = np.eye(3), np.zeros(3)
        for r, x in self.place:
            R, p = R @ r, p + R @ x
        return tuple(R.ravel()), tuple(p)

    def record(self):
        """(I_C, F_C), from the last body to the first."""
        I, F = self.ten[-1], tuple(self.F[-1])
        for k in range(len(self.place) - 1, -1, -1):
            R, p = tuple(self.place[k][0].ravel()), tuple(self.place[k][1])
            I = rigid_add(self.ten[k], rigid_in(R, p, I))
            F = rigid.handle_force(tuple(self.F[k]), F, R, p)
        return I, F


@pytest.mark.parametrize("seed", range(5))
def test_a_rigid_cluster_is_one_body(seed):
    chain = Chain(seed)
    I, F = chain.record()
    dense = sum(X.T @ J @ X for X, J in zip(chain.X, chain.I, strict=True))
    f = chain.rng.normal(size=6)
    np.testing.assert_allclose(rigid_solve(I, tuple(f)), np.linalg.solve(dense, f), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(F, sum(X.T @ g for X, g in zip(chain.X, chain.F, strict=True)), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_body_of_a_moving_cluster_obeys_newton(seed):
    """Forces on both handles, own forces and a velocity; the sum over the bodies is in balance."""
    chain = Chain(seed)
    f1, f2, v = chain.rng.normal(size=(3, 6))
    f = rigid.handle_force(tuple(f1), tuple(f2), *chain.pose())
    np.testing.assert_allclose(f, f1 + chain.X[-1].T @ f2, atol=1e-12)
    I_C, F_C = chain.record()
    a = np.array(rigid_solve(I_C, sub6(add6(f, F_C), cross_force(tuple(v), rigid_times(I_C, tuple(v))))))
    total = np.array(f)
    for X, I, F in zip(chain.X, chain.I, chain.F, strict=True):
        total += X.T @ (F - I @ X @ a - force_product(X @ v, I @ X @ v))
    np.testing.assert_allclose(total, 0.0, atol=1e-10 * np.abs(chain.I).max())
