"""Restraints: springs from points of bodies to points in space or of other bodies, followed in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.engines.contracted import ContractedLinkage
from bough.adaptive.engines.rest import Ties, tie_bodies
from bough.compile.run.direct import compiled
from bough.dynamics.prescribed import numbers
from bough.errors import SettingError, ShapeError
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.adaptive.inputs import Inputs


class Restraints:
    """Springs, made by `restraints` of a simulation. They act in the call of `run` or `minimize` that takes them.

    `QuasiStatics.run(..., load=restraints)` takes its steps in compiled code; `minimize` knows their stiffness.

    Called with the simulation, as any load of `run` and `minimize` is, it sets the forces where bodies are now.
    """

    def __init__(self, owner: Owner, bodies: list[str | int], others: list[str | int] | None, **given: Any) -> None:
        self._owner, self._pairs, k = owner, others is not None, len(bodies)
        if others is not None and len(others) != k:
            raise ShapeError(f"others: expected {k} bodies, one for each of the first, got {len(others)}")
        first, second = given["points"], given["other_points"] if self._pairs else given["targets"]
        at = [numbers("restraints: points have", 0.0 if first is None else first, (k, 3), strict=True)]
        at.append(numbers("restraints: targets have", 0.0 if second is None else second, (k, 3), strict=True))
        self.stiffness = numbers("restraints: stiffness has", given["stiffness"], (k,), strict=True)
        self.length = numbers("restraints: length has", given["length"], (k,), strict=True)
        if (self.stiffness < 0.0).any() or (self.length < 0.0).any():
            raise SettingError("restraints: stiffness and length must not be negative")
        self._targets = np.zeros((k, 3)) if self._pairs else at.pop()
        self._drift, self._passed, self._since = np.zeros((k, 3)), np.zeros(1), self._now
        self.load = owner.inputs.loads([*bodies, *(others or [])], np.concatenate(at), "world", False)
        self._begin()

    def _begin(self) -> None:
        self._energy, self._acts = math.nan, False
        self._ties: dict[bool, tuple[Any, Ties]] = {}  # on the plain mechanism, and on a contracted one
        self._owner.inputs.restraints.append(self)

    @classmethod
    def restored(cls, owner: Owner, state: dict[str, Any]) -> Restraints:
        """Those of which `state` gave this; their load is there."""
        found = cls.__new__(cls)
        found._owner, (number, found._pairs, found._since, acts) = owner, state["facts"]
        found.load = next(load for load in owner.inputs.groups if load.numbers[0] == number)
        found.stiffness, found.length = state["stiffness"], state["length"]
        found._targets, found._drift, found._passed = state["targets"], state["drift"], np.zeros(1)
        found._begin()
        found._acts = acts
        return found

    def state(self) -> dict[str, Any]:
        """Everything but the values of the load, for a checkpoint."""
        facts = [int(self.load.numbers[0]), self._pairs, self._since, self._acts]
        arrays = {"stiffness": self.stiffness, "length": self.length, "targets": self._targets, "drift": self._drift}
        return {"facts": facts, **arrays}

    def release(self) -> None:
        """Let the springs act no longer; `energy` stays that of the last step."""
        if self._acts:
            self._acts = False
            self.load.values[:] = 0.0

    def __len__(self) -> int:
        return len(self.stiffness)

    def __repr__(self) -> str:
        return f"Restraints of {len(self)} {'pairs' if self._pairs else 'points'}"

    @property
    def targets(self) -> FloatArray:
        """Where the springs lead in space now (k, 3), a copy; others may be assigned."""
        return np.asarray(self._targets + (self._now - self._since) * self._drift)

    @targets.setter
    def targets(self, value: npt.ArrayLike) -> None:
        self._refuse_pairs("targets")
        new = numbers("restraints: targets have", value, self._targets.shape, strict=True)
        self._targets[:], self._since = new, self._now
        self._ties.clear()

    @property
    def drift(self) -> FloatArray:
        """How far targets move for each unit of pseudo-time (k, 3), a copy; zero until others are assigned."""
        return self._drift.copy()

    @drift.setter
    def drift(self, value: npt.ArrayLike) -> None:
        self._refuse_pairs("drift")
        new = numbers("restraints: drift has", value, self._drift.shape, strict=True)
        self._targets[:], self._since = self.targets, self._now
        self._drift[:] = new
        self._ties.clear()

    @property
    def _now(self) -> float:
        return self._owner.now()

    def _refuse_pairs(self, what: str) -> None:
        if self._pairs:
            raise SettingError(f"restraints between bodies have no {what} in space")

    @property
    def bodies(self) -> IntArray:
        """Those that the springs pull."""
        return self.load.bodies

    @property
    def energy(self) -> float:
        """Of all springs (J) where forces were last set; NaN before."""
        return self._energy

    def __call__(self, simulation: Any = None) -> None:
        """Set the forces where the bodies are now."""
        self._passed[0] = self._now - self._since
        inputs, t = self._owner.inputs, self.ties(None)
        bodies = np.unique(t.body[t.body >= 0])
        t.pose[bodies] = self._owner.poses(bodies)
        self.note(float(compiled(tie_bodies)(t, inputs.forces.loads())))
        inputs.changes.many_forces(self.load.bodies)

    def note(self, energy: float) -> None:
        """The forces are those of the springs where bodies are now, with this energy."""
        self._energy, self._acts = energy, True
        self.load.read()

    def ties(self, hybrid: ContractedLinkage | None) -> Ties:
        """The springs as the kernels read them, on all bodies or on the clusters of a contracted tree."""
        inputs = self._owner.inputs
        loads, forces = inputs.forces.loads(), inputs.forces
        key = loads if hybrid is None else hybrid.clusters
        known = self._ties.get(hybrid is None)
        if known is not None and known[0] is key:
            return known[1]
        rows = self.load.rows()
        body, point, place = self.load.bodies, forces.rows.point[rows], forces.places(rows)
        size = len(inputs.mechanism.parent)
        if hybrid is not None:
            body, point = hybrid.carried(loads.slot[body], point)
            size = len(hybrid.mechanism.parent)
        k, none = len(self), np.full(len(self), -1, np.int64)
        second = [body[k:], point[k:], place[k:]] if self._pairs else [none, self._targets, none]
        ends = zip([body[:k], point[:k], place[:k]], second, strict=True)
        bodies, points, places = (np.stack(pair, axis=1) for pair in ends)
        made = Ties(
            np.ascontiguousarray(bodies), points.reshape(-1, 3), np.ascontiguousarray(places), self.stiffness,
            self.length, self._drift, self._passed, np.zeros((size, 12)),
        )  # fmt: skip
        self._ties[hybrid is None] = key, made
        return made


class Owner(NamedTuple):
    """The simulation that restraints act on."""

    inputs: Inputs
    now: Callable[[], float]  # pseudo-time, or time
    poses: Callable[[IntArray], FloatArray]  # (k, 12) of bodies of the mechanism, now


def listed(bodies: Iterable[str | int] | None) -> list[str | int] | None:
    """Bodies by name or place; one name is not a list of letters."""
    return None if bodies is None else [bodies] if isinstance(bodies, str) else list(bodies)
