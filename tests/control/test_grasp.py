"""The augmented object against the closed chain, solved as one dense system."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bough
from bough import zoo
from bough.control import augmented_object, internal_forces, rigid_object, share_wrench
from bough.control.grasp import grasp_matrix
from bough.errors import ShapeError

HANDS = ("left_hand", "right_hand")


@cache
def robot():
    model = zoo.ck_standin()
    return model, bough.OperationalSpace(model, [bough.pose(hand) for hand in HANDS]), bough.Dynamics(model)


class Held:
    """A two-handed robot that holds a box between its hands, moving."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.model, self.space, self.dynamics = robot()
        self.q = self.model.random_configuration(rng)
        at = [self.dynamics.placement(self.q, hand)[:3, 3] for hand in HANDS]
        self.reference = np.mean(at, axis=0) + 0.1
        self.points = [p - self.reference for p in at]
        twist, still = rng.normal(size=6), self.space(self.q, np.zeros(self.model.nv))
        own = still.nullspace @ rng.normal(size=self.model.nv)
        self.v = still.jbar @ grasp_matrix(self.points).T @ twist + own  # hands and box move as one body
        A = rng.normal(size=(3, 3))
        self.box = rigid_object(
            2.0, rng.normal(size=3) * 0.1, 0.02 * (A @ A.T + np.eye(3)), angular_velocity=twist[3:],
            gravity=self.model.gravity,
        )  # fmt: skip
        self.w = twist[3:]
        self.op = self.space(self.q, self.v)

    def closed_chain(self, tau):
        """The box's acceleration from one system in qdd, a and the grip forces f."""
        H, C = self.dynamics.mass_matrix(self.q), self.dynamics.bias_force(self.q, self.v)
        J, G, n = self.op.J, grasp_matrix(self.points), self.model.nv
        turning = np.concatenate([np.r_[np.cross(self.w, np.cross(self.w, p)), 0, 0, 0] for p in self.points])
        A = np.zeros((n + 18, n + 18))
        A[:n, :n], A[:n, n + 6 :] = H, J.T
        A[n : n + 6, n : n + 6], A[n : n + 6, n + 6 :] = self.box.inertia, -G
        A[n + 6 :, :n], A[n + 6 :, n : n + 6] = J, -G.T
        b = np.concatenate([tau - C, -self.box.bias, turning - self.op.drift])
        x = np.linalg.solve(A, b)
        return x[n : n + 6], x[n + 6 :]


@pytest.mark.parametrize("seed", range(4))
def test_the_augmented_object_moves_as_the_closed_chain(seed):
    held = Held(seed)
    F = np.random.default_rng(seed).normal(size=12) * 10
    augmented = augmented_object(held.op, held.points, held.box)
    a, _ = held.closed_chain(held.op.J.T @ F)
    np.testing.assert_allclose(augmented.acceleration(F), a, rtol=1e-8, atol=1e-8 * np.abs(a).max())


def test_object_level_control_with_internal_forces():
    held = Held(7)
    augmented = augmented_object(held.op, held.points, held.box)
    wanted, squeeze = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]), np.arange(12.0)
    forces = augmented.forces(wanted, squeeze)
    a, _ = held.closed_chain(held.op.J.T @ forces)
    np.testing.assert_allclose(a, wanted, atol=1e-8)
    moving = augmented.forces(wanted)
    part = internal_forces(held.points, squeeze.reshape(2, 6)).ravel()
    np.testing.assert_allclose(forces - moving, part, atol=1e-9)
    np.testing.assert_allclose(augmented.grasp @ part, 0.0, atol=1e-9)


def test_two_independent_hands_add_up():
    """Lambda_+ = Lambda_object + sum W Lambda W', as in Khatib 1988, when nothing couples the hands."""
    held = Held(3)
    augmented = augmented_object(held.op, held.points, held.box)
    G, Lam = grasp_matrix(held.points), held.op.inertia
    blocks = sum(
        G[:, s] @ Lam[s, t] @ G[:, t].T for s in (slice(0, 6), slice(6, 12)) for t in (slice(0, 6), slice(6, 12))
    )
    np.testing.assert_allclose(augmented.inertia, held.box.inertia + blocks)
    np.testing.assert_allclose(augmented.inertia, augmented.inertia.T)
    assert np.linalg.eigvalsh(augmented.inertia).min() > 0


def test_shared_wrenches_add_up():
    points, wrench = [(0.1, 0.2, 0.3), (-0.3, 0, 0.1), (0, 0, 0)], np.arange(6.0)
    shares = share_wrench(points, wrench)
    np.testing.assert_allclose(grasp_matrix(points) @ shares.ravel(), wrench, atol=1e-12)
    np.testing.assert_allclose(internal_forces(points, shares), 0.0, atol=1e-12)


def test_a_wrong_number_of_hands_is_refused():
    held = Held(0)
    with pytest.raises(ShapeError, match="3 grips need 18 rows"):
        augmented_object(held.op, [*held.points, (0, 0, 0)], held.box)
