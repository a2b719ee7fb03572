"""What comes back for some bodies: poses, accelerations, rates of points, and which of them moved."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.compiled import compiled
from bough.adaptive.tree.passes import rigid_groups
from bough.errors import ShapeError
from bough.types import FloatArray, IntArray


class Outputs:
    """Answers about bodies or frames, given by name or as places in `body_names`."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.inputs = solver, solver.inputs  # a `Solver`, or a `Mover`

    def _frames(self, bodies: Iterable[str | int] | None) -> IntArray:
        return self.inputs.model.body_frames if bodies is None else self.inputs.forces.frames(bodies)

    def poses(self, bodies: Iterable[str | int] | None) -> FloatArray:
        """World placements (k, 4, 4)."""
        return self._poses(self._frames(bodies))

    def _poses(self, ks: IntArray) -> FloatArray:
        frames = self.inputs.model.frames
        body = frames.body[ks]
        laid = self.solver.poses(np.maximum(body, 0))
        laid[body < 0] = np.eye(4, 3).ravel()
        R = laid[:, :9].reshape(-1, 3, 3)
        out = np.zeros((len(ks), 4, 4))
        out[:, :3, :3] = R @ frames.R[ks]
        out[:, :3, 3] = laid[:, 9:] + np.einsum("nij,nj->ni", R, frames.p[ks])
        out[:, 3, 3] = 1.0
        return out

    def accelerations(self, bodies: Iterable[str | int] | None) -> FloatArray:
        """[linear, angular] (k, 6) at the origins of frames, in the world's axes; exact, whatever the error allowed."""
        return self._accelerations(self._frames(bodies), None)

    def rates(self, bodies: Iterable[str | int], points: npt.ArrayLike | None) -> FloatArray:
        """How fast points (k, 3) of frames move as pseudo-time goes on, m / s^2; exact, whatever the error allowed."""
        ks = self._frames(bodies)
        at = None if points is None else np.array(points, float)
        if at is not None and at.shape != (len(ks), 3):
            raise ShapeError(f"points: expected shape ({len(ks)}, 3), one for each body, got {at.shape}")
        return self._accelerations(ks, at)[:, :3]

    def moved(self, since: int, pairs: Iterable[Iterable[str | int]] | None) -> npt.NDArray[np.bool_]:
        """See `QuasiStatics.moved`."""
        group = self._groups(since)
        if pairs is None:
            return np.asarray(group[self._frames(None)] != -1)
        ks = np.array([self.inputs.forces.frames(pair) for pair in pairs], np.int64).reshape(-1, 2)
        return np.asarray(group[ks[:, 0]] != group[ks[:, 1]])

    def _groups(self, since: int) -> IntArray:
        """By frame: the body with which it has moved as one since a step; -1 with the ground. O(n)."""
        body, solver = np.asarray(self.inputs.model.frames.body), self.solver
        if solver.all_moved > since:
            return np.where(body < 0, -1, body)
        tree = solver.tree
        if tree is None:
            return np.full(len(body), -1, np.int64)
        group = np.empty(len(tree.plan.parent), np.int64)
        compiled(rigid_groups)(tree.plan, tree.state, float(since), group)
        return np.where(body < 0, -1, group[tree.link.host[np.maximum(body, 0)]])

    def _accelerations(self, ks: IntArray, points: FloatArray | None) -> FloatArray:
        frames = self.inputs.model.frames
        body = frames.body[ks]
        found = self._respond(np.maximum(body, 0))  # angular, linear, in laid frames, relative to free fall
        laid = self.solver.poses(np.maximum(body, 0))
        R = laid[:, :9].reshape(-1, 3, 3)
        arm = frames.p[ks] if points is None else frames.p[ks] + np.einsum("nij,nj->ni", frames.R[ks], points)
        linear = found[:, 3:] + np.cross(found[:, :3], arm)
        turned = [np.einsum("nij,nj->ni", R, x) for x in (linear, found[:, :3])]
        out = np.concatenate([turned[0] + self.inputs.gravity, turned[1]], axis=1)
        out[body < 0] = 0.0
        return out

    def transmitted(self, joints: Iterable[str | int] | None) -> FloatArray:
        """See `QuasiStatics.constraint_forces`."""
        model, frames = self.inputs.model, self.inputs.model.frames
        bodies = None if joints is None else [model.joint(j).body if isinstance(j, str) else j for j in joints]
        ks = self._frames(bodies)
        laid, found = self.solver.poses(frames.body[ks]), self._respond(frames.body[ks], forces=True)
        R = laid[:, :9].reshape(-1, 3, 3)
        moment = found[:, :3] - np.cross(frames.p[ks], found[:, 3:])
        return np.concatenate([np.einsum("nij,nj->ni", R, x) for x in (found[:, 3:], moment)], axis=1)

    def _respond(self, bodies: IntArray, forces: bool = False) -> FloatArray:
        """(k, 6) accelerations of primitives in their laid frames, angular first, relative to free fall; exact.

        Or, likewise, the forces on them through their joints.
        """
        solver, qdd = self.solver, self.inputs.shared.qdd
        if not solver.is_plain:
            with nullcontext() if solver.region is None or solver.is_exact else solver.region.undisturbed():
                tree = solver.ready_tree()
                if tree.has_bodies(bodies):
                    return tree.transmit(bodies) if forces else tree.respond(bodies)
        kept = qdd.copy()
        solver.solve_plainly()
        if forces and getattr(solver, "closures", None) is not None:
            solver.plain.reload(bodies)  # with the forces of the loops as any others
        found = solver.plain.transmitted(bodies) if forces else solver.plain.work.a[bodies].copy()
        if not solver.is_plain or not solver.changes.solution:
            qdd[:] = kept
        return found


class MotionOutputs(Outputs):
    """Answers about a linkage that moves: of its `Mover`."""

    def motions(self, bodies: Iterable[str | int] | None) -> FloatArray:
        """[linear, angular] (k, 6): velocities at the origins of frames, in the world's axes; of a moving linkage."""
        frames, ks = self.inputs.model.frames, self._frames(bodies)
        body = frames.body[ks]
        found, laid = (f(np.maximum(body, 0)) for f in (self.solver.velocities, self.solver.poses))
        R = laid[:, :9].reshape(-1, 3, 3)
        linear = found[:, 3:] + np.cross(found[:, :3], frames.p[ks])
        out = np.concatenate([np.einsum("nij,nj->ni", R, x) for x in (linear, found[:, :3])], axis=1)
        out[body < 0] = 0.0
        return out

    def _respond(self, bodies: IntArray, forces: bool = False) -> FloatArray:
        assert forces  # accelerations of points of moving bodies are not offered
        return self.solver.transmitted(bodies)
