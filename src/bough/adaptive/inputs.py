"""What a user sets on a simulation: forces, torques, gravity and the configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.changes import Changes
from bough.adaptive.forces import Forces, vector
from bough.adaptive.node import make_shared
from bough.joints import Mechanism
from bough.model import Model
from bough.types import FloatArray


class Inputs:
    """Inputs of a simulation; every one of them notes in `changes` what must be found again."""

    def __init__(self, model: Model) -> None:
        self.model, self.changes = model, Changes(len(model.mechanism.parent))
        self.forces, self.shared = Forces(model), make_shared(model)
        self._gravity = np.array(model.mechanism.gravity)
        seen = self._gravity.view()
        seen.flags.writeable = False
        self.mechanism: Mechanism = model.mechanism._replace(gravity=seen)  # as the engines see it

    def apply_force(
        self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None = None, frame: str = "world"
    ) -> int:
        """See `QuasiStatics.apply_force`."""
        number = self.forces.add(body, force, point, frame)
        self._touch(self.forces.applied[number].body)
        return number

    def change_force(self, number: int, force: npt.ArrayLike) -> None:
        """See `QuasiStatics.change_force`."""
        self._touch(self.forces.change(number, force))

    def remove_force(self, number: int) -> None:
        """See `QuasiStatics.remove_force`."""
        self._touch(self.forces.remove(number))

    def clear_forces(self) -> None:
        """See `QuasiStatics.clear_forces`."""
        for number in list(self.forces.applied):
            self.remove_force(number)

    def _touch(self, body: int) -> None:
        """A body without any force is in no list of loads: its force is zero until one is found there."""
        self.shared.force[body] = 0.0
        self.changes.force(body)

    def set_torque(self, joint: str | None, value: npt.ArrayLike) -> None:
        """See `QuasiStatics.set_torque`."""
        m, v = self.mechanism, slice(0, self.model.nv) if joint is None else self.model.joint(joint).v
        given = vector(value, v.stop - v.start, "torque")
        everywhere = np.arange(len(m.axis))
        dofs = everywhere if joint is None else np.flatnonzero((m.v_index >= v.start) & (m.v_index < v.stop))
        new = given[m.v_index[dofs] - v.start]
        changed = dofs[self.shared.tau[dofs] != new]
        self.shared.tau[dofs] = new
        self.changes.torque((np.searchsorted(m.dof, changed, side="right") - 1).tolist())

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,), a copy."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        self._gravity[:] = vector(value, 3, "gravity")
        self.changes.all()

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy."""
        return self.shared.q.copy()

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        self.shared.q[:] = vector(q, self.model.nq, "configuration")
        self.changes.all()

    def state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Everything set so far, as arrays and as plain facts."""
        arrays = {"q": self.shared.q, "tau": self.shared.tau, "gravity": self._gravity}
        return arrays | self.forces.state(), {"following": self.forces.following}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> None:
        """What `state` gave."""
        self.shared.q[:], self.shared.tau[:], self._gravity[:] = arrays["q"], arrays["tau"], arrays["gravity"]
        self.forces.restore(arrays, facts["following"])
        self.changes.all()
