"""Rigid clusters beside dense matrices: composite inertia, acceleration, and what release would add."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bough.adaptive import handles
from bough.adaptive.tree import rigid

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
            I = rigid.joined_inertia(self.ten[k], I, R, p)
            F = rigid.joined_force(tuple(self.F[k]), F, R, p)
        return I, F


@pytest.mark.parametrize("seed", range(5))
def test_a_rigid_cluster_is_one_body(seed):
    chain = Chain(seed)
    I, F = chain.record()
    dense = sum(X.T @ J @ X for X, J in zip(chain.X, chain.I, strict=True))
    f = chain.rng.normal(size=6)
    np.testing.assert_allclose(rigid.rigid_solve(I, tuple(f)), np.linalg.solve(dense, f), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(F, sum(X.T @ g for X, g in zip(chain.X, chain.F, strict=True)), atol=1e-12)
    v = chain.rng.normal(size=6)
    assert rigid.twice_energy(I, tuple(v)) == pytest.approx(v @ dense @ v, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_body_of_a_moving_cluster_obeys_newton(seed):
    """Forces on both handles, own forces and a velocity; the sum over the bodies is in balance."""
    chain = Chain(seed)
    f1, f2, v = chain.rng.normal(size=(3, 6))
    f = rigid.handle_force(tuple(f1), tuple(f2), *chain.pose())
    np.testing.assert_allclose(f, f1 + chain.X[-1].T @ f2, atol=1e-12)
    a = np.array(rigid.rigid_acceleration(*chain.record(), tuple(v), f))
    total = np.array(f)
    for X, I, F in zip(chain.X, chain.I, chain.F, strict=True):
        total += X.T @ (F - I @ X @ a - force_product(X @ v, I @ X @ v))
    np.testing.assert_allclose(total, 0.0, atol=1e-10 * np.abs(chain.I).max())


def released(chain, axes, Q, f):
    """Accelerations of all bodies with free joints: M y = J' (F + f) + Q, y = (first body, joints). Dense."""
    n, J = len(chain.I), []
    for k in range(n):
        columns = [chain.X[k] @ np.linalg.inv(chain.X[j]) @ axes[j - 1] if j <= k else np.zeros(6) for j in range(1, n)]
        J.append(np.column_stack([chain.X[k], *columns]))
    M = sum(A.T @ I @ A for A, I in zip(J, chain.I, strict=True))
    force = sum(A.T @ F for A, F in zip(J, chain.F, strict=True)) + J[0].T @ f[:6] + J[-1].T @ f[6:]
    y = np.linalg.solve(M, force + np.concatenate([np.zeros(6), Q]))
    return [A @ y for A in J]


@pytest.mark.parametrize("seed", range(5))
def test_what_release_would_add_is_a_quadratic_form_of_the_handle_forces(seed):
    """E(f) = f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk, beside the dense sum over bodies."""
    chain = Chain(seed)
    n = len(chain.I)
    axes, Q = np.eye(6)[chain.rng.integers(0, 6, n - 1)], chain.rng.normal(size=n - 1)
    # everything in the frame of the first body, as `handles` wants it; the kernels do the scalars
    inertia = [X.T @ I @ X for X, I in zip(chain.X, chain.I, strict=True)]
    force = [X.T @ F for X, F in zip(chain.X, chain.F, strict=True)]
    C, kappa = handles.leaf(0, inertia[0], force[0]), rigid.locked_square(chain.ten[0], tuple(chain.F[0]))
    for k in range(1, n):
        B = handles.leaf(k, inertia[k], force[k])
        pair, S = handles.side_by_side(C, B), np.linalg.solve(chain.X[k], axes[k - 1]).reshape(6, 1)
        old, new = pair.at(k - 1), pair.at(k)
        K = pair.Phi[old, old] + pair.Phi[new, new]
        W, U, D = handles.joint_response(K, S)
        beta = pair.b[old] - pair.b[new]
        q = Q[k - 1 : k]
        gamma, R = W @ beta + U.T @ q, D @ q - U @ beta
        own = rigid.locked_square(chain.ten[k], tuple(chain.F[k]))
        kappa = rigid.joined_kappa(kappa, own, tuple(gamma), tuple(beta)) + float(q @ R)
        C = handles.close(pair, k - 1, k, S, q).keep(0, k)
    I_C, F_C = chain.record()
    f = chain.rng.normal(size=12)
    there = np.concatenate([f[:6], chain.X[-1].T @ f[6:]])
    near = rigid.handle_force(tuple(f[:6]), tuple(f[6:]), *chain.pose())
    rest = (0.0,) * 6
    bare, own = (np.array(rigid.rigid_acceleration(I_C, g, rest, rest)) for g in (near, F_C))
    dk = kappa - rigid.locked_square(I_C, F_C)
    found = there @ C.Phi @ there - np.dot(near, bare) + 2.0 * (there @ C.b - np.dot(near, own)) + dk
    a = np.array(rigid.rigid_acceleration(I_C, F_C, rest, near))
    moved = released(chain, axes, Q, f)
    expected = sum((x - X @ a) @ I @ (x - X @ a) for x, X, I in zip(moved, chain.X, chain.I, strict=True))
    assert found == pytest.approx(expected, rel=1e-8)
    assert expected > 0.0
