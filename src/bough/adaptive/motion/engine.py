"""A linkage that moves, whole or contracted: a mechanism with its working space, stepped by compiled sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines import mark_needs
from bough.adaptive.motion.layout import Effort, Moving, Room, make_room
from bough.adaptive.motion.steps import march_euler, march_momentum, march_rk4
from bough.adaptive.motion.stops import loosen, solve_with_stops, weld
from bough.adaptive.motion.sweeps import from_momenta, kinetic_energy, solve, tally, transmit
from bough.adaptive.passes import Loads
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray

INTEGRATORS = {"semi_implicit": march_euler, "rk4": march_rk4, "momentum": march_momentum}


class MotionEngine:
    """Steps of one tree of rigid bodies."""

    def __init__(self, mechanism: Mechanism, effort: Effort, state: Moving) -> None:
        self.mechanism, self.effort, self.state = mechanism, effort, state
        self.work: Room = make_room(len(mechanism.parent), len(mechanism.axis))
        self._loaded: Loads | None = None
        self.felt = True  # whether what friction and stops did in the last step is known to surveys
        self._yields = bool(effort.stops[0] or effort.damping.any() or effort.stiffness.any())
        self._steps: tuple[float, Mechanism, Mechanism] | None = None  # size, and the mechanism with it

    @property
    def nbytes(self) -> int:
        """Memory of its working space."""
        return sum(a.nbytes for a in self.work)

    def load(self, loads: Loads) -> None:
        """Other bodies may be under forces."""
        if loads is not self._loaded:
            if self._loaded is not None or len(loads.body):
                self.work.force[:] = 0.0
                compiled(mark_needs)(self.mechanism, loads, self.work)
            self._loaded = loads

    def implicit(self, h: float) -> tuple[Mechanism, Mechanism]:
        """The mechanism with the armature of springs and dampers in a step of h, and that without gravity."""
        if self._steps is None or self._steps[0] != h:
            m = with_armature(self.mechanism, self.effort, h) if self._yields else self.mechanism
            self._steps = h, m, m._replace(gravity=np.zeros(3))
        return self._steps[1:]

    def march(self, loads: Loads, integrator: str, h: float, steps: int) -> int:
        """Take steps; returns how many are left before one that diverges."""
        self.load(loads)
        self.felt = False
        pair = self.implicit(0.0 if integrator == "rk4" else h)
        m: Any = pair if integrator == "momentum" else pair[0]
        return int(compiled(INTEGRATORS[integrator])(m, self.state, self.effort, loads, self.work, h, steps))

    @property
    def stuck(self) -> int:
        """The place in v of the freedom that diverged."""
        return int(self.mechanism.v_index[int(self.work.u[0])])

    def solve(self, loads: Loads, h: float) -> None:
        """Accelerations here and now; with h those that a step of that size would have."""
        self.load(loads)
        compiled(solve)(self.implicit(h)[0], self.state, self.effort, loads, self.work, h)

    def solve_gripped(self, loads: Loads, h: float) -> None:
        """The same, with friction and stops as they were lately."""
        e, m = self.effort, self.implicit(h)[0]
        if e.stops[0]:
            e, m = e._replace(tau=e.tau + e.grip), m._replace(armature=m.armature + e.weld)
        self.load(loads)
        compiled(solve)(m, self.state, e, loads, self.work, h)

    def feel_all(self, loads: Loads, h: float) -> None:
        """What friction and stops do now to joints of the linkage, for all surveys to come. O(n)."""
        self.solve_with_stops(loads, h)
        self.feel(1.0)

    def solve_with_stops(self, loads: Loads, h: float) -> None:
        """Accelerations of a step of h, with friction and limits."""
        self.load(loads)
        compiled(solve_with_stops)(self.implicit(h)[0], self.state, self.effort, loads, self.work, h)

    def feel(self, share: float) -> None:
        """Let surveys know what friction and stops did in the last step; of joints that are held, a share of it."""
        compiled(weld)(self.effort, self.work, share)
        self.felt = True

    def loosen(self, loads: Loads) -> IntArray:
        """Primitives whose joints friction does not hold easily any more, though surveys think so, as the linkage moves
        now. O(n)."""
        self.transmitted(loads)
        if not compiled(loosen)(self.mechanism, self.state, self.effort, self.work):
            return np.zeros(0, np.int64)
        return np.searchsorted(self.mechanism.dof, np.flatnonzero(self.work.held), "right") - 1

    def kinetic_energy(self) -> float:
        """Of bodies and rotors, J."""
        return float(compiled(kinetic_energy)(self.mechanism, self.state, self.effort, self.work))

    def tally(self) -> FloatArray:
        """(9,) kinetic, gravity's and springs' energy, and momentum [linear, angular] about the world's origin."""
        out = np.zeros(9)
        compiled(tally)(self.mechanism, self.state, self.effort, self.work, out)
        return out

    def transmitted(self, loads: Loads) -> FloatArray:
        """(N, 6) forces on bodies through their joints, in their frames, at the accelerations found last."""
        self.load(loads)
        compiled(transmit)(self.mechanism, self.state, loads, self.work)
        return self.work.momentum

    def answer(self, h: float) -> FloatArray:
        """Velocities (n,) that momenta in `work.momentum` give in a step of h, with dampers and springs as they are."""
        s, w, at = self.state, self.work, self.mechanism.v_index
        w.u[:] = 0.0
        compiled(from_momenta)(self.implicit(h)[1], s, w)
        return np.array(s.qdd[at])

    def velocities_from(self, rotors: FloatArray) -> None:
        """Let the bodies have the momenta in `work.momentum`, and the rotors these (n,)."""
        s, w = self.state, self.work
        w.u[:] = rotors
        compiled(from_momenta)(self.implicit(0.0)[1], s, w)
        at = self.mechanism.v_index
        s.v[at] = s.qdd[at]


def with_armature(m: Mechanism, e: Any, h: float) -> Mechanism:
    """m with what implicit springs and dampers add to its rotors in a step of h."""
    return m._replace(armature=e.rotor + h * e.damping + h * h * e.stiffness)
