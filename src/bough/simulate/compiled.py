"""Steps with contacts on planes, many states at once, by the traced kernel of `step`.

What the kernel cannot know beforehand is decided here, state by state: sweeps that have not converged go on from the
impulses found, joints that would pass a limit are asked again with limits among the rows, and points that went into the
ground are lifted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bough.simulate.contacts import Contacts, Plane, tangent_axes
from bough.simulate.joint_effects import JointEffects
from bough.simulate.kernels import Kernels, Setting, Situation, is_small, plane, put_rows
from bough.simulate.step import CHANGE, DEPTH, EXCESS, SLIPS, SPENT
from bough.types import FloatArray

DEEP = 1e-6  # metres: points that are further inside the ground are lifted


class Stepped(NamedTuple):
    """States after a step, a row for each."""

    q: FloatArray
    v: FloatArray
    lam: FloatArray  # (batch, rows): those of joints with friction or a limit, then three of each contact
    residual: FloatArray  # (batch,) how far the last sweep still moved a velocity, or what is left where all stick
    slid: FloatArray | None = None  # (batch,) how many contacts slipped


Advance: TypeAlias = Callable[[Situation, float], Stepped]


def serves(effects: JointEffects, contacts: Contacts | None) -> bool:
    """Whether steps can be traced: planes, no loops, no mimic joints, a graph that is not too large."""
    model, general = effects.model, effects.dynamics.general
    if contacts is None or effects.closures or model.couplings or general:
        return False
    flat = all(isinstance(ground, Plane) for ground in contacts.grounds)
    return flat and is_small(model.nv, int(np.count_nonzero(effects.friction)), contacts.count)


class CompiledSteps:
    """Steps of a model with contacts.

    Where limits of joints would make too many rows for a graph, states in which they act are stepped by `otherwise`.
    """

    def __init__(self, setting: Setting, otherwise: Advance) -> None:
        effects, space = setting.effects, setting.space
        self.model, self.space, self.otherwise = effects.model, space, otherwise
        rubbing, limited = set(np.flatnonzero(effects.friction).tolist()), set(effects.limited.tolist())
        self.without_limits = Kernels(setting, rubbing)
        self.full: Kernels | None = None
        self.joints = effects.rows.tolist()
        if is_small(self.model.nv, len(effects.rows), space.count):
            self.full = self.without_limits if limited <= rubbing else Kernels(setting, rubbing | limited)
            self.joints = self.full.joints
        # normal and tangents (contacts, 3, 3)
        self.axes = tangent_axes(np.repeat([plane(g).unit for g in space.contacts.grounds], len(space.points), axis=0))
        # where the joints of rows without limits, and all contacts, are among all rows
        known = {v: i for i, v in enumerate(self.joints)}
        first, count = len(self.joints), 3 * space.count
        places = [*(known[v] for v in self.without_limits.joints), *range(first, first + count)]
        last = places == [*range(first, first + count)]
        rubs = set(self.without_limits.joints)
        self._only_limited = [known[v] for v in self.joints if v not in rubs]
        self._among_all: Any = slice(first, None) if last else np.array(places, np.int64)

    def __call__(self, now: Situation, dt: float) -> Stepped:
        """The states after dt. Rows in which a stop acted in the last step have limits among their rows at once."""
        wide = now.start.shape[1] != self.without_limits.width
        stopped = now.start[:, self._only_limited].any(axis=1) if wide and self.full else np.zeros(0, bool)
        if stopped.size and stopped.all() and self.full:
            found = self.full.converged(now, dt)
        elif stopped.any():
            others, again = np.flatnonzero(~stopped), np.flatnonzero(stopped)
            found = self._limits_if_met(now.some(others), dt)[0]
            found = (*found[:2], self._widened(found[2]), found[3])
            whole = tuple(np.empty((len(now.q), *x.shape[1:])) for x in found)
            put_rows(whole, others, found)
            assert self.full is not None
            put_rows(whole, again, self.full.converged(now.some(again), dt))
            found = whole
        else:
            found, beyond = self._limits_if_met(now, dt)
            q_after, v_after, lam, report = found
            if len(beyond) and self.full is None:
                self._lift(q_after, report, now.given)
                now = now._replace(start=self._widened(now.start))
                slow, residual = self.otherwise(now.some(beyond), dt), report[:, CHANGE]
                q_after[beyond], v_after[beyond], lam[beyond], residual[beyond] = slow[:4]
                return Stepped(q_after, v_after, lam, residual, report[:, SLIPS])
        q_after, v_after, lam, report = found
        self._lift(q_after, report, now.given)
        return Stepped(q_after, v_after, lam, report[:, CHANGE], report[:, SLIPS])

    def _limits_if_met(self, now: Situation, dt: float) -> tuple[Any, Any]:
        """The outputs of the kernel without limits, and again with them for the rows, given too, that pass some."""
        whole = self.full is self.without_limits
        few = now.start if now.start.shape[1] == self.without_limits.width else now.start[:, self._among_all]
        found = self.without_limits.converged(now._replace(start=few), dt)
        beyond = np.flatnonzero(found[3][:, EXCESS] > 0.0)
        if len(beyond) and not whole:
            found = (*found[:2], self._widened(found[2]), found[3])
            if self.full is not None:
                again = now._replace(start=self._widened(now.start)).some(beyond)
                put_rows(found, beyond, self.full.converged(again, dt))
        return found, beyond

    def _lift(self, q_after: FloatArray, report: FloatArray, given: tuple[FloatArray, ...]) -> None:
        """Points that went into the ground, out of it."""
        deep = np.flatnonzero((report[:, DEPTH] > DEEP) & (report[:, SPENT] > 0.0))
        if len(deep):
            q_after[deep] = (self.full or self.without_limits).lift.call(
                q_after[deep], report[deep, SPENT : SPENT + 1], *(x[deep] for x in given)
            )

    def _widened(self, lam: FloatArray) -> FloatArray:
        """Impulses with those of all joints, zero where there are none yet."""
        if lam.shape[1] != self.without_limits.width:
            return lam
        wide = np.zeros((len(lam), len(self.joints) + 3 * self.space.count))
        wide[:, self._among_all] = lam
        return wide
