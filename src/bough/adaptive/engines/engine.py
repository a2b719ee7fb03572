"""A linkage, whole or contracted: a mechanism with joint laws, loops and working space, solved and stepped in O(n).

Quasi-statics is dynamics whose velocities are zero after every step: a step of pseudo-time h from rest is a
semi-implicit step of dt = sqrt(h), q += dt (dt qdd) = h qdd. So one engine serves both, and friction and limits act at
rest as they do in motion (`stops`).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.engines.loops import LoopRows, no_loops
from bough.adaptive.engines.modes import loop_forces
from bough.adaptive.engines.rest import (
    RestLinkage,
    StepControl,
    make_control,
    make_undo,
    no_clusters,
    no_undo,
    rest_march,
)
from bough.adaptive.engines.steps import INTEGRATORS, rk4_stage
from bough.adaptive.engines.stops import apply_impulses, publish_stops
from bough.adaptive.engines.sweeps import (
    JointLaws,
    JointState,
    LinkageArrays,
    SweepWork,
    from_momenta,
    joint_energies,
    joint_forces,
    kinetic_energy,
    make_work,
    mark_needs,
    motion_product,
    tally,
    transmit,
    world_poses,
)
from bough.adaptive.potentials import Springs
from bough.adaptive.tree.contract import Loads, no_forces
from bough.compile.run.direct import compiled, prepared
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray

LONG = 1e9  # s: a step in which velocities are projected and gaps of loops stay


class Implicit(NamedTuple):
    """A mechanism whose armature potentials and dampers add to, in a step of some size."""

    m: Mechanism
    still: Mechanism  # without gravity
    springs: Springs


class Engine:
    """Solutions and steps of one tree of rigid bodies, whose state is shared by all engines of a simulation.

    `force` (N, 6) are forces on bodies in their frames, where others share them. Without an
    integrator there are no velocities, and only friction and limits need their working space.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        laws: JointLaws,
        state: JointState,
        springs: Springs,
        loops: LoopRows | None = None,
        *,
        integrator: str | None = "semi_implicit",
        force: FloatArray | None = None,
    ) -> None:
        self.mechanism, self.laws, self.state, self._force = mechanism, laws, state, force
        self.has_stops = bool(laws.stops[0])  # friction or limits
        self.has_loops = loops is not None and len(loops.loop) > 0
        self._integrator, self._moves = integrator or "semi_implicit", integrator is not None or self.has_stops
        # friction and stops go through the same sweeps as loops, whether there are any
        if loops is None and self.has_stops:
            loops = no_loops(len(mechanism.parent), len(mechanism.axis))
        self.loops: Any = loops if self.has_loops or self.has_stops else ()  # as kernels see them
        self._loaded: Loads | None = None
        self._march: tuple[Any, ...] = ()  # steps, prepared for those loads, and what they were made of
        self._solve: tuple[Any, ...] = ()  # accelerations, likewise
        self._left = np.zeros(1, np.int64)
        self._share = np.zeros(2)
        self.fresh = self.has_stops  # whether what friction and stops do is not known from a step before
        self.springs = springs  # potentials of joints
        self._steps: tuple[float, Implicit] | None = None  # size, and what is implicit in it
        self.stop_torques: FloatArray | None = None  # (n,) of friction and limits, where they act at rest

    @cached_property
    def work(self) -> SweepWork:
        """Working space, made when it is first needed."""
        sizes = len(self.mechanism.parent), len(self.mechanism.axis)
        return make_work(*sizes, self._moves, self.has_loops, self.has_stops, self._force)

    @cached_property
    def _still(self) -> Mechanism:
        """Without gravity; its armature is what potentials write, and `interior_point` adds to for a while."""
        return self.mechanism._replace(gravity=np.zeros(3), armature=self.springs.armature)

    @property
    def nbytes(self) -> int:
        """Memory of its working space."""
        work = self.work if "work" in self.__dict__ else ()
        return sum(a.nbytes for a in {id(a): a for a in (*work, *self.loops)}.values())

    def state_of_stops(self) -> dict[str, Any]:
        """The last torques of friction and stops, for a checkpoint."""
        return {"stop_torque": self.work.stop_torque, "mode": self.work.mode, "fresh": self.fresh}

    def restore_stops(self, state: dict[str, Any]) -> None:
        """Take back what `state_of_stops` returned."""
        self.work.stop_torque[:], self.work.mode[:], self.fresh = state["stop_torque"], state["mode"], state["fresh"]

    def load(self, loads: Loads) -> None:
        """Other bodies may be under forces."""
        if loads is self._loaded:
            return
        if self._loaded is not None or len(loads.body):
            if self._force is None:
                self.work.force[:] = 0.0
            compiled(mark_needs)(self.mechanism, loads, self.work)
        self._loaded, self._march, self._solve = loads, (), ()

    # At rest

    def solve(self, loads: Loads, rate: float | None = None) -> None:
        """Accelerations at rest. With a rate, loops are held, and close that share of their gaps by h; their forces
        stay on their bodies. About 0.2 us a joint."""
        self._solve_at_rest(loads, rate, 0.0)

    def solve_with_stops(self, loads: Loads, h: float, rate: float) -> None:
        """Accelerations of a step of pseudo-time h from rest with friction and limits; `stop_torques` are what these
        exert."""
        self._solve_at_rest(loads, rate, h)
        found, self.stop_torques = self.state.qdd.copy(), self.work.stop_torque.copy()
        self.solve(loads, rate)
        self.state.qdd[:] = found  # a locked joint has exactly its rate

    def _solve_at_rest(self, loads: Loads, rate: float | None, h: float) -> None:
        """A march of no steps."""
        if loads is not self._loaded:
            self.load(loads)
        self._control.begin(h, math.inf, 1, 0, 1, 0)
        made = rate is None, h > 0.0, None if h else self.stop_torques
        if self._solve[1:3] != made[:2] or self._solve[3] is not made[2]:
            linkage = self._at_rest(loads, rate, h, (), loads, no_clusters(), no_undo())
            self._solve = prepared(rest_march, linkage, self._control), *made
        self._put_share(rate, h)
        self._solve[0]()

    @cached_property
    def _control(self) -> StepControl:
        """Of no steps."""
        return make_control()

    def has_limits_within(self, distance: float) -> bool:
        """Whether a joint is nearer to a limit than this, or beyond it."""
        at, lower, upper = self._limits
        x = self.state.q[at]
        return bool(((x < lower + distance) | (x > upper - distance)).any())

    @cached_property
    def _limits(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Coordinates with limits, and these."""
        e = self.laws
        k = np.flatnonzero(np.isfinite(e.lower) | np.isfinite(e.upper))
        return e.place[k], e.lower[k], e.upper[k]

    def _at_rest(self, loads: Loads, rate: float | None, h: float, *others: Any) -> RestLinkage:
        """All that kernels work on; with h friction and limits of a step of that size, else their torques if there are
        any. The others are ties, the loads that they write, clusters and room to take a step back."""
        tau = self.laws.tau if self.stop_torques is None or h else self.laws.tau + self.stop_torques
        closes, stops = rate is not None and self.has_loops, h > 0.0 and self.has_stops
        laws: Any = (self.laws, self._still) if stops else ((), ())
        own = self.mechanism, self.state, tau, loads, self.work
        return RestLinkage(*own, self.springs, self.loops if closes or stops else (), self._share, *laws, *others)

    def _put_share(self, rate: float | None, h: float) -> None:
        """Let loops close at this rate."""
        self._share[0], self._share[1] = (0.0, 0.0) if rate is None else (rate * h, rate)

    def march_from_rest(self, control: StepControl, loads: Loads, ties: Any, rate: float, of: Any = None) -> float:
        """Take steps; see `rest_march`. Returns the energy of ties. `of` is a contraction: loads and clusters."""
        given, clusters = of or (loads, no_clusters())
        if loads is not self._loaded:
            self.load(loads)
        march, h = self._march, float(control.h[0])
        if not march or not (march[1] is control and march[2] is ties and march[3] is given and march[4] is clusters):
            undo = make_undo(self.mechanism, len(self.state.q), len(self.state.qdd))
            linkage = self._at_rest(loads, rate, h, ties, given, clusters, undo)
            self._march = march = prepared(rest_march, linkage, control), control, ties, given, clusters
        self._put_share(rate, h)
        return float(march[0]())

    def power(self) -> float:
        """qdd' M qdd of the solution at rest found last: the rate of descent, tau' qdd. O(n); NaN before the first."""
        if self._loaded is None:
            return math.nan
        s, w = self.state, self.work
        return float(compiled(motion_product)(self.mechanism, s.qdd, s.qdd, w.X, *np.zeros((2, len(w.a), 6))))

    def energies(self) -> FloatArray:
        """M_kk qdd_k^2 of each degree of freedom (n,) in the solution found last, the least first. O(n log n)."""
        m, out = self.mechanism, np.empty(len(self.mechanism.axis))
        compiled(joint_energies)(m, self.state.qdd, self.work.X, np.empty((len(m.parent), 10)), out)
        return np.sort(out)

    def forces_at_rest(self, bodies: IntArray) -> FloatArray:
        """(k, 6) forces on some primitives through their joints in the solution at rest found last, in their frames."""
        out = np.zeros((len(bodies), 6))
        compiled(joint_forces)(self.work, bodies.astype(np.int64), out)
        return out

    # At rest and in motion

    def product(self, x: FloatArray, y: FloatArray) -> float:
        """x' M y of two motions (nv,) at q. O(n)."""
        X, a, b = np.zeros((len(self.mechanism.parent), 12)), *np.zeros((2, len(self.mechanism.parent), 6))
        compiled(world_poses)(self.mechanism, self.state.q, X, np.zeros_like(X))
        return float(compiled(motion_product)(self.mechanism, x, y, X, a, b))

    def poses(self, bodies: IntArray) -> FloatArray:
        """(k, 12) R and p in the world of the laid frames of some primitives. O(n)."""
        out = np.zeros((len(self.mechanism.parent), 12))
        compiled(world_poses)(self.mechanism, self.state.q, np.zeros((len(out), 12)), out)
        return out[bodies]

    # In motion

    @property
    def is_implicit(self) -> bool:
        """Whether steps of another size make other equations."""
        return bool(self.laws.damping.any() or len(self.springs.kind))

    def implicit(self, h: float) -> Implicit:
        """The mechanism with the armature of potentials and dampers in a step of h, and without gravity."""
        if self._steps is None or self._steps[0] != h:
            rotor = self.laws.rotor + h * self.laws.damping
            own = {"tau": np.zeros_like(rotor), "curve": np.zeros_like(rotor), "h": np.array([h * h])}
            p = self.springs._replace(rotor=rotor, armature=rotor.copy(), **own)
            m = self.mechanism._replace(armature=p.armature)
            self._steps = h, Implicit(m, m._replace(gravity=np.zeros(3)), p)
        return self._steps[1]

    def take_springs(self, springs: Springs) -> None:
        """Other potentials act from now on."""
        self.springs, self._steps, self._march, self._solve = springs, None, (), ()

    def _in_motion(self, loads: Loads, h: float) -> LinkageArrays:
        """All that kernels work on, springs and dampers implicit in a step of h."""
        m, still, p = self.implicit(h)
        return LinkageArrays(m, still, self.state, self.laws, p, loads, self.work, self.loops)

    def march(self, loads: Loads, h: float, steps: int) -> int:
        """Take steps; returns how many are left before one that diverges."""
        if loads is not self._loaded:
            self.load(loads)
        if self.fresh and self._integrator != "semi_implicit":
            self.accelerate(loads, h)
        self.fresh = False
        self._left[0] = steps
        if self._march[1:] != (h,):
            lead = 0.0 if self._integrator == "rk4" else h
            linkage = self._in_motion(loads, lead)
            self._march = prepared(INTEGRATORS[self._integrator], linkage, h, lead, self._left), h
        self._march[0]()
        left = int(self._left[0])
        if left:
            self.work.stop_torque[:] = 0.0  # of a step that was no motion
        return left

    def march_stage(self, loads: Loads, h: float, stage: int) -> bool:
        """Take one of the four stages of a step of fourth order; False where the step diverges, and is undone."""
        self.load(loads)
        if self.fresh:
            self.accelerate(loads, h)
        self.fresh = False
        left = compiled(rk4_stage)(self._in_motion(loads, 0.0), h, stage)
        if left:
            self.work.stop_torque[:] = 0.0
        return not left

    @property
    def diverged(self) -> int:
        """The place in v of the degree of freedom that diverged."""
        return int(self.mechanism.v_index[int(self.work.u[0])])

    def accelerate(self, loads: Loads, h: float, lead: float = 0.0) -> None:
        """Accelerations here and now, with loops, and friction and limits as in a step of h; with `lead` springs and
        dampers are implicit in a step of that size."""
        if loads is not self._loaded:
            self.load(loads)
        if self._solve[1:] != (h, lead):
            linkage = self._in_motion(loads, lead)
            self._solve = prepared(INTEGRATORS[self._integrator], linkage, h, lead, self._left), h, lead
        self._left[0] = 0  # a march of no steps
        self._solve[0]()

    def accelerate_unchanged(self, loads: Loads, h: float, lead: float) -> None:
        """The same, with what friction and stops remember left as it was."""
        kept = self.work.stop_torque.copy(), self.work.mode.copy()
        self.accelerate(loads, h, lead)
        self.work.stop_torque[:], self.work.mode[:] = kept

    def accelerate_with_known_stops(self, loads: Loads, h: float) -> None:
        """Accelerations in a step of h with friction and stops as they were lately, and loops as `loads` say."""
        e, (m, _, p) = self.laws, self.implicit(h)
        if self.has_stops:
            e = e._replace(tau=e.tau + e.stop_torque, stops=np.zeros(1, np.int8))
            p = p._replace(given=e.tau, rotor=p.rotor + e.weld_armature, armature=p.armature + e.weld_armature)
            m = m._replace(armature=p.armature)
        self.load(loads)
        self._left[0] = 0
        linkage = LinkageArrays(m, m, self.state, e, p, loads, self.work, ())
        compiled(INTEGRATORS[self._integrator])(linkage, h, h, self._left)

    def publish_stops(self) -> None:
        """Let bound evaluations know what friction and stops do in the solution found last."""
        compiled(publish_stops)(self.laws, self.work)

    def loop_forces(self) -> FloatArray:
        """(2 c, 6) on the bodies of its loops, in their frames, as they were found last."""
        out = np.zeros((2 * len(self.loops.body) if self.has_loops else 0, 6))
        if len(out):
            compiled(loop_forces)(self.loops, out)
        return out

    def kinetic_energy(self) -> float:
        """Of bodies and rotors, J."""
        return float(compiled(kinetic_energy)(self.mechanism, self.state, self.laws, self.work))

    def tally(self) -> FloatArray:
        """(9,) kinetic, gravity's and springs' energy, and momentum [linear, angular] about the world's origin."""
        out = np.zeros(9)
        compiled(tally)(self.mechanism, self.state, self.laws, self.springs, self.work, out)
        return out

    def transmitted(self, loads: Loads) -> FloatArray:
        """(N, 6) forces on bodies through their joints, in their frames, at the accelerations found last."""
        self.load(loads)
        out = np.zeros((len(self.mechanism.parent), 6))
        compiled(transmit)(self.mechanism, self.state, loads, self.work, out)
        return out

    def velocities_from(self, rotors: FloatArray) -> None:
        """Let the bodies have the momenta in `work.momentum`, and the rotors these (n,)."""
        s, w = self.state, self.work
        w.u[:] = rotors
        compiled(from_momenta)(self.implicit(0.0).still, s, w)
        at = self.mechanism.v_index
        s.v[at] = s.qdd[at]
        self.close_rates()

    def close_rates(self) -> None:
        """Take away velocities that open loops: the projection in the mass metric."""
        if self.has_loops:
            e = self.laws._replace(stops=np.zeros(1, np.int8))
            compiled(apply_impulses)(self._in_motion(no_forces(0), 0.0)._replace(e=e), LONG, 1.0)
