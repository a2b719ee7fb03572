"""Inputs of a simulation: forces, torques, gravity and the configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.forces import Changes, Forces, Load, vector
from bough.adaptive.potentials import Function, Potential, Potentials
from bough.adaptive.tree.layout import make_shared
from bough.adaptive.tree.regular import regular
from bough.errors import ModelError, NonFiniteError, ShapeError, UnknownNameError
from bough.joints import Mechanism
from bough.model import Model
from bough.types import FloatArray


def model_without(model: Model, effects: Collection[str]) -> Model:
    """The model less some effects of its joints: "damping", "springs", "friction", "limits", "closures"."""
    if not effects:
        return model
    passive, limits, none = model.passive, model.limits, np.zeros(model.nv)
    off = {"damping": "damping", "friction": "friction", "springs": "stiffness"}
    passive = passive._replace(**{name: none for effect, name in off.items() if effect in effects})
    if "limits" in effects:
        limits = limits._replace(lower=np.full(model.nv, -np.inf), upper=np.full(model.nv, np.inf))
    return replace(model, passive=passive, limits=limits, closures=() if "closures" in effects else model.closures)


class Inputs:
    """Inputs of a simulation; every one of them notes in `changes` what must be found again."""

    def __init__(self, model: Model) -> None:
        if model.couplings:
            name = model.couplings[0].follower
            raise ModelError(f"joint {name!r} mimics another: adaptive simulations have no coupled joints")
        self.masses = model.inertias[:, 0]  # (bodies,)
        self.model, self.changes = regular(model), Changes(len(model.mechanism.parent))
        model = self.model
        self.forces, self.shared = Forces(model, self.changes), make_shared(model)
        self.groups: list[Load] = []
        self.restraints: list[Any] = []  # whose loads are among the groups
        self._gravity = np.array(model.mechanism.gravity)
        seen = self._gravity.view()
        seen.flags.writeable = False
        self.potentials = Potentials(model, self.shared.q, self.shared.tau)
        self.mechanism: Mechanism = self.potentials.mechanism._replace(gravity=seen)  # as the engines see it

    def clear_forces(self) -> None:
        """See `QuasiStatics.clear_forces`."""
        self.remove(list(self.forces.row_of))
        self.groups.clear()
        self.restraints.clear()

    def remove(self, numbers: list[int]) -> None:
        """Take forces away. A body without any is in no list of loads: its force is zero until one is found there."""
        self.shared.force[self.forces.remove(numbers)] = 0.0

    def loads(self, bodies: Iterable[str | int], points: npt.ArrayLike | None, frame: str, moments: bool) -> Load:
        """See `QuasiStatics.loads`."""
        frames = self.forces.frames(bodies)
        at = np.zeros((len(frames), 3)) if points is None else np.array(points, float)
        if at.shape != (len(frames), 3):
            raise ShapeError(f"points: expected shape ({len(frames)}, 3), one for each body, got {at.shape}")
        if not np.isfinite(at).all():
            raise NonFiniteError(f"points: must be finite, got {at[~np.isfinite(at)][0]}")
        numbers = self.forces.add_many(frames, at, frame, np.zeros((len(frames), 6)))
        self.groups.append(Load(self.forces, numbers, 6 if moments else 3))
        return self.groups[-1]

    def remove_load(self, given: Any) -> None:
        """See `QuasiStatics.remove_load`."""
        load = given.load if given in self.restraints else given
        if load not in self.groups:
            raise UnknownNameError("there is no such load: it was taken away, or belongs to another simulation")
        self.remove(load.numbers.tolist())
        self.groups.remove(load)
        self.restraints = [r for r in self.restraints if r.load is not load]

    def set_torque(self, joint: str | None, value: npt.ArrayLike) -> None:
        """See `QuasiStatics.set_torque`."""
        m, v = self.mechanism, slice(0, self.model.nv) if joint is None else self.model.joint(joint).v
        given = vector(value, v.stop - v.start, "torque")
        dofs = self.potentials.place[v]
        changed = dofs[self.potentials.given[dofs] != given]
        self.potentials.give(dofs, given)
        self.changes.torque((np.searchsorted(m.dof, changed, side="right") - 1).tolist())

    def set_potential(self, joints: str | int | Iterable[str | int], *potentials: Potential | Function) -> None:
        """See `Simulation.set_potential`."""
        self.potentials.set(joints, *potentials)
        self.changes.all()

    @property
    def gravity(self) -> FloatArray:
        """Acceleration of free fall (3,), a copy."""
        return self._gravity.copy()

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        new = vector(value, 3, "gravity")
        if not np.array_equal(new, self._gravity):
            self._gravity[:] = new
            self.changes.all()

    @property
    def configuration(self) -> FloatArray:
        """q (nq,), a copy."""
        return self.shared.q.copy()

    @configuration.setter
    def configuration(self, q: npt.ArrayLike) -> None:
        before, self.shared.q[:] = self.configuration, vector(q, self.model.nq, "configuration")
        try:
            self.potentials.refresh()
        except BaseException:
            self.shared.q[:] = before
            raise
        self.changes.all()

    def state(self) -> dict[str, Any]:
        """Everything set so far, for a checkpoint."""
        groups = [group for group in self.groups if len(group)]
        return {
            "q": self.shared.q, "tau": self.potentials.given, "gravity": self._gravity,
            "potentials": self.potentials.state(), "forces": self.forces.state(),
            "loads": [[int(group.numbers[0]), len(group), group.size] for group in groups],
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned."""
        self.shared.q[:], self.potentials.given[:], self._gravity[:] = state["q"], state["tau"], state["gravity"]
        self.potentials.restore(state["potentials"])
        self.forces.restore(state["forces"])
        self.groups += [Load(self.forces, np.arange(n, n + count), size) for n, count, size in state["loads"]]
        self.changes.all()
