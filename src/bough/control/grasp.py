"""Grasps: several hands move one object, with the inertia of the augmented object.

Khatib 1988, as used by Chang & Khatib 2001: hands and object together are Lambda_+ = Lambda_object + G Lambda G', for
hands that are coupled through their robot, too. Wrenches and motions are [linear, angular] in world axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import ShapeError
from bough.opspace import OperationalState
from bough.types import FloatArray


@explained
def grasp_matrix(points: Sequence[npt.ArrayLike]) -> FloatArray:
    """G (6, 6 k): the wrench on an object, about its reference point, from those on k grips at `points` from there."""
    p = np.asarray(points, float).reshape(-1, 3)
    G = np.zeros((6, 6 * len(p)))
    for k, x in enumerate(p):
        G[:, 6 * k : 6 * k + 6] = np.eye(6)
        G[3:, 6 * k : 6 * k + 3] = _cross(x)
    return G


@explained
def share_wrench(points: Sequence[npt.ArrayLike], wrench: npt.ArrayLike) -> FloatArray:
    """Forces and moments (k, 6) on k grips that add up to `wrench` (6,) = [force, moment about the origin].

    All in the same axes; the least of all such forces (the augmented object's grasp, without internal forces).
    """
    return np.linalg.lstsq(grasp_matrix(points), np.asarray(wrench, float), rcond=None)[0].reshape(-1, 6)


@explained
def internal_forces(points: Sequence[npt.ArrayLike], forces: npt.ArrayLike) -> FloatArray:
    """The part (k, 6) of grip forces (k, 6) that squeezes the object and does not move it."""
    given = np.asarray(forces, float).reshape(-1, 6)
    return given - share_wrench(points, grasp_matrix(points) @ given.ravel())


class RigidObject(NamedTuple):
    """A grasped object, about its reference point: Lambda_object (6, 6), and h (6,) in Lambda a + h = wrench."""

    inertia: FloatArray
    bias: FloatArray


@explained
def rigid_object(
    mass: float,
    com: npt.ArrayLike,
    inertia: npt.ArrayLike,
    *,
    angular_velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
) -> RigidObject:
    """A body with its centre of mass `com` (3,) from the reference point; `inertia` (3, 3) about that centre."""
    r, w, J = _cross(com), np.asarray(angular_velocity, float), np.asarray(inertia, float)
    Lam = np.block([[mass * np.eye(3), -mass * r], [mass * r, J - mass * r @ r]])
    push = mass * (np.cross(w, np.cross(w, np.asarray(com, float))) - np.asarray(gravity, float))
    return RigidObject(Lam, np.concatenate([push, r @ push + np.cross(w, J @ w)]))


class AugmentedObject(NamedTuple):
    """Hands and object as one: Lambda_+ a + h_+ = G F for grip forces F and the object's acceleration a."""

    inertia: FloatArray  # (6, 6) Lambda_+
    bias: FloatArray  # (6,) h_+
    grasp: FloatArray  # (6, 6 k) G

    def forces(self, acceleration: npt.ArrayLike, internal: npt.ArrayLike | None = None) -> FloatArray:
        """Task forces (6 k,) that give the object this acceleration: the least ones, and internal ones (6 k,) added.

        Only the part of `internal` that moves nothing is taken.
        """
        wrench = self.inertia @ np.asarray(acceleration, float) + self.bias
        squeeze = np.zeros(self.grasp.shape[1]) if internal is None else np.asarray(internal, float).ravel()
        return squeeze + np.linalg.lstsq(self.grasp, wrench - self.grasp @ squeeze, rcond=None)[0]

    def acceleration(self, forces: npt.ArrayLike) -> FloatArray:
        """The object's acceleration (6,) under task forces (6 k,)."""
        wrench = self.grasp @ np.asarray(forces, float).ravel()
        return np.linalg.solve(self.inertia, wrench - self.bias)


@explained
def augmented_object(op: OperationalState, points: Sequence[npt.ArrayLike], held: RigidObject) -> AugmentedObject:
    """Lambda_+ = Lambda_object + G Lambda G' and its bias, for poses of hands that hold an object at `points`.

    `op` has the pose task (local_world_aligned) of each hand, in the order of `points`, and a velocity at which the
    hands move as one body. From a = Lambda^-1 (F - f) + beta of the hands and G f = Lambda_object a + h of the object.
    """
    G = grasp_matrix(points)
    if op.bias.shape != (G.shape[1],):
        raise ShapeError(f"{G.shape[1] // 6} grips need {G.shape[1]} rows, six for each hand: got {op.bias.shape}")
    w = op.velocity[3:6]
    turning = np.zeros((G.shape[1] // 6, 6))
    for k, x in enumerate(np.asarray(points, float).reshape(-1, 3)):
        turning[k, :3] = np.cross(w, np.cross(w, x))
    carried = G @ op.inertia
    return AugmentedObject(held.inertia + carried @ G.T, held.bias - carried @ (op.bias - turning.ravel()), G)


def _cross(a: npt.ArrayLike) -> FloatArray:
    x, y, z = np.asarray(a, float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
