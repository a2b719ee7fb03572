"""A linkage that moves, whole or contracted: a mechanism with its working space, stepped by compiled sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.loops import Closing, LoopRows, no_loops
from bough.adaptive.engines.plain import mark_needs
from bough.adaptive.motion.layout import Effort, Moving, Room, make_room
from bough.adaptive.motion.steps import march_euler, march_momentum, march_rk4, march_stage
from bough.adaptive.motion.stops import accelerations_from_rest, accelerations_now, loop_forces, settle, weld
from bough.adaptive.motion.sweeps import from_momenta, kinetic_energy, tally, transmit
from bough.adaptive.tree.contract import Loads, Pieces
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray

ALONE = 1e9  # s: in so long a step rates do not see to gaps

INTEGRATORS = {"semi_implicit": march_euler, "rk4": march_rk4, "momentum": march_momentum}


class MotionEngine:
    """Steps of one tree of rigid bodies."""

    def __init__(self, mechanism: Mechanism, effort: Effort, state: Moving, loops: LoopRows | None = None) -> None:
        self.mechanism, self.effort, self.state = mechanism, effort, state
        self.closes = loops is not None and len(loops.loop) > 0
        bodies, dofs = len(mechanism.parent), len(mechanism.axis)
        self.work: Room = make_room(bodies, dofs, self.closes)
        # friction and stops go through the same sweeps as loops, whether there are any
        self.loops: LoopRows = loops if loops is not None else no_loops(bodies if effort.stops[0] else 0, dofs)
        self._held: LoopRows | tuple[()] = self.loops if self.closes or effort.stops[0] else ()  # as kernels see it
        self._loaded: Loads | None = None
        self.fresh = bool(effort.stops[0])  # whether what friction and stops do is not known from a step before
        self._yields = bool(effort.stops[0] or effort.damping.any() or effort.stiffness.any())
        self._steps: tuple[float, Mechanism, Mechanism] | None = None  # size, and the mechanism with it

    @property
    def nbytes(self) -> int:
        """Memory of its working space."""
        return sum(a.nbytes for a in {id(a): a for a in (*self.work, *self.loops)}.values())

    def kept(self) -> dict[str, Any]:
        """What friction and stops did lately, for a checkpoint."""
        return {"grip": self.work.grip, "held": self.work.held, "fresh": self.fresh}

    def restore(self, kept: dict[str, Any]) -> None:
        """What `kept` gave."""
        self.work.grip[:], self.work.held[:], self.fresh = kept["grip"], kept["held"], kept["fresh"]

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

    def forget_step(self) -> None:
        """Rotors are others."""
        self._steps = None

    def march(self, loads: Loads, integrator: str, h: float, steps: int) -> int:
        """Take steps; returns how many are left before one that diverges."""
        self.load(loads)
        if self.fresh and integrator != "semi_implicit":
            self.accelerate(loads, h)
        self.fresh = False
        pair = self.implicit(0.0 if integrator == "rk4" else h)
        march = compiled(INTEGRATORS[integrator])
        left = int(march(pair, self.state, self.effort, loads, self.work, self._held, h, steps))
        if left:
            self.work.grip[:] = 0.0  # of a step that was no motion
        return left

    def march_stage(self, loads: Loads, h: float, stage: int) -> bool:
        """Take one of the four stages of a step of fourth order; False where the step diverges, and is undone."""
        self.load(loads)
        if self.fresh:
            self.accelerate(loads, h)
        self.fresh, pair = False, self.implicit(0.0)
        left = compiled(march_stage)(pair, self.state, self.effort, loads, self.work, self._held, h, stage)
        if left:
            self.work.grip[:] = 0.0
        return not left

    @property
    def stuck(self) -> int:
        """The place in v of the freedom that diverged."""
        return int(self.mechanism.v_index[int(self.work.u[0])])

    def accelerate(self, loads: Loads, h: float, lead: float = 0.0) -> None:
        """Accelerations here and now, with loops, and friction and limits as in a step of h; with `lead` springs and
        dampers are implicit in a step of that size."""
        self.load(loads)
        pair, own = self.implicit(lead), (self.state, self.effort, loads, self.work, self._held)
        compiled(accelerations_now)(*pair, *own, lead, h)

    def accelerate_from_rest(self, loads: Loads, h: float, share: float) -> None:
        """Accelerations of a step of h from rest with friction, limits and loops, which close a share of their gaps."""
        self.load(loads)
        own = (self.state, self.effort, loads, self.work, self.loops)
        compiled(accelerations_from_rest)(*self.implicit(0.0), *own, h, share)

    def solve_gripped(self, loads: Loads, h: float) -> None:
        """Accelerations in a step of h with friction and stops as they were lately, and loops as `loads` say."""
        e, m = self.effort, self.implicit(h)[0]
        if e.stops[0]:
            e = e._replace(tau=e.tau + e.grip, stops=np.zeros(1, np.int8))
            m = m._replace(armature=m.armature + e.weld)
        self.load(loads)
        compiled(march_euler)((m, m), self.state, e, loads, self.work, (), h, 0)

    def feel(self) -> None:
        """Let surveys know what friction and stops do in the solution found last."""
        compiled(weld)(self.effort, self.work)

    def loop_forces(self) -> FloatArray:
        """(2 c, 6) on the bodies of its loops, in their frames, as they were found last."""
        out = np.zeros((2 * len(self.loops.body), 6))
        compiled(loop_forces)(self.loops, out)
        return out

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

    def velocities_from(self, rotors: FloatArray) -> None:
        """Let the bodies have the momenta in `work.momentum`, and the rotors these (n,)."""
        s, w = self.state, self.work
        w.u[:] = rotors
        compiled(from_momenta)(self.implicit(0.0)[1], s, w)
        at = self.mechanism.v_index
        s.v[at] = s.qdd[at]
        self.close_rates()

    def close_rates(self) -> None:
        """Take away velocities that open loops: the projection in the mass metric."""
        if self.closes:
            e = self.effort._replace(stops=np.zeros(1, np.int8))
            compiled(settle)(self.implicit(0.0)[1], self.state, e, self.work, self.loops, ALONE, 1.0)


def with_armature(m: Mechanism, e: Any, h: float) -> Mechanism:
    """m with what implicit springs and dampers add to its rotors in a step of h."""
    return m._replace(armature=e.rotor + h * e.damping + h * h * e.stiffness)


# Loops of a linkage in motion as its engines see them, and the forces in them as surveys do.
#
# On a contracted tree the closing frames are on rigid clusters; a loop within one of them is closed as it is, and
# keeps the forces that it had when it moved last. Surveys take the forces of loops for loads.


class HeldLoops:
    """Loops between bodies that are always among the loads, each with a last force that turns along."""

    def __init__(self, closing: Closing, plan: LoopRows) -> None:
        self.closing, self.plan = closing, plan  # as they are on the linkage with all joints
        self.which = np.arange(len(closing.body))  # those that are open on the contracted tree
        self.force = np.zeros((2 * len(closing.body), 6))  # on the bodies of each, in their frames, moment first
        self.bodies: IntArray = np.unique(closing.body[closing.body >= 0])
        self.told = np.zeros((len(self.bodies), 6))  # by bodies, as records have them

    def contracted(self, m: Mechanism, pieces: Pieces, loads: Loads) -> LoopRows:
        """The loops that are open on a contracted tree."""
        rows, self.which = self.closing.contracted(m, pieces, loads)
        return rows

    def notice(self, engine: MotionEngine, pieces: Pieces | None, loads: Loads) -> None:
        """Take over the forces that an engine, of a contracted tree if there are pieces, has found."""
        found = engine.loop_forces()
        if pieces is None:
            self.force[:] = found
            return
        ends = (2 * self.which[:, None] + np.arange(2)).ravel()
        body = self.closing.body.ravel()[ends]
        pose = pieces.pose[np.where(body >= 0, loads.slot[body], 0)]
        R, p = pose[:, :9].reshape(-1, 3, 3), pose[:, 9:]
        moment = found[:, :3] - np.cross(p, found[:, 3:])
        self.force[ends] = np.concatenate(
            [np.einsum("nji,nj->ni", R, moment), np.einsum("nji,nj->ni", R, found[:, 3:])], axis=1
        )

    @property
    def sums(self) -> FloatArray:
        """(k, 6) the forces by bodies."""
        out, body = np.zeros_like(self.told), self.closing.body.ravel()
        np.add.at(out, np.searchsorted(self.bodies, body[body >= 0]), self.force[body >= 0])
        return out

    def news(self) -> list[int]:
        """Bodies with other forces than records have; records are expected to follow."""
        now = self.sums
        changed = (now != self.told).any(axis=1)
        self.told = now
        return [int(b) for b in self.bodies[changed]]

    @contextmanager
    def known(self, loads: Loads, before: bool = False) -> Iterator[None]:
        """Let the forces of the loops, or with `before` those that records have, be among the loads for a while."""
        at, sums = loads.first[loads.slot[self.bodies] + 1] - 1, self.told if before else self.sums
        loads.moment[at], loads.force[at] = sums[:, :3], sums[:, 3:]
        try:
            yield
        finally:
            loads.moment[at], loads.force[at] = 0.0, 0.0
