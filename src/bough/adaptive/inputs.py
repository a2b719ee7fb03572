"""What a user sets on a simulation: forces, torques, gravity, configuration, error; and what must then be redone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bough.adaptive.engines import PlainEngine, TreeEngine
from bough.adaptive.forces import Forces, vector
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.node import make_shared
from bough.model import Model

FloatArray = npt.NDArray[np.float64]


class Inputs:
    """Inputs of a simulation, and notes of what changed since the tree was last brought up to date."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._mechanism = model.mechanism
        self._shared, self._forces = make_shared(model), Forces(model)
        self._plain = PlainEngine(model, self._shared)
        self._tree: TreeEngine | None = None
        self._dirty_bodies: list[int] = []
        self._dirty_joints: list[int] = []
        self._solved = False

    @property
    def error(self) -> ErrorMeasure:
        """The error measure; another may be assigned between steps."""
        return self._error

    @error.setter
    def error(self, measure: ErrorMeasure) -> None:
        self._error, self._solved = measure, False

    def apply_force(
        self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None = None, frame: str = "world"
    ) -> int:
        """Apply a force (3,), or [force, moment] (6,), to a body until it is changed; returns its number.

        `body` is a name (of any frame) or a place in `body_names`. `point` (3,) is fixed to the body, in its frame;
        without it the force acts at the frame's origin. With frame "world" it keeps its direction in space, with
        "body" it turns along.
        """
        number = self._forces.add(body, force, point, frame)
        self._touch(self._forces.applied[number].body)
        return number

    def change_force(self, number: int, force: npt.ArrayLike) -> None:
        """Give a force applied before another value; body, point and frame stay."""
        self._touch(self._forces.change(number, force))

    def remove_force(self, number: int) -> None:
        """Take a force away."""
        self._touch(self._forces.remove(number))

    def clear_forces(self) -> None:
        """Take all forces away."""
        for number in list(self._forces.applied):
            self.remove_force(number)

    def _touch(self, body: int) -> None:
        self._shared.force[body] = 0.0
        self._dirty_bodies.append(body)
        self._solved = False

    def set_torque(self, joint: str | None, value: npt.ArrayLike) -> None:
        """Set the torque of one joint (d,), or with None those of all (nv,)."""
        m, v = self._mechanism, slice(0, self.model.nv) if joint is None else self.model.joint(joint).v
        given = vector(value, v.stop - v.start, "torque")
        dofs = (
            np.arange(len(m.axis)) if joint is None else np.flatnonzero((m.v_index >= v.start) & (m.v_index < v.stop))
        )
        new = given[m.v_index[dofs] - v.start]
        changed = dofs[self._shared.tau[dofs] != new]
        self._shared.tau[dofs] = new
        self._dirty_joints.extend((np.searchsorted(m.dof, changed, side="right") - 1).tolist())
        self._solved = False

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,) in m/s^2, the model's until another is assigned."""
        return np.array(self._mechanism.gravity)

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        g = vector(value, 3, "gravity")
        g.flags.writeable = False
        self._mechanism = self._plain.mechanism = self._mechanism._replace(gravity=g)
        if self._tree is not None:
            self._tree.mechanism = self._mechanism
        self._make_stale()

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy; assigning moves the linkage there."""
        return self._shared.q.copy()

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        self._shared.q[:] = vector(q, self.model.nq, "configuration")
        self._make_stale()

    def _make_stale(self) -> None:
        if self._tree is not None:
            self._tree.stale = True
        self._solved = False

    def _forget_changes(self) -> None:
        self._dirty_bodies.clear()
        self._dirty_joints.clear()
