"""One step of a motion as one function, by every integrator; joints obey their laws (`laws`).

Semi-implicit Euler: (H + h B + h^2 P) a = tau - C - K x - B v + P (target - x - h v) - D v,  B = damping + D
                     v' = v + h a,   q' = q moved by h v'

Damping and servos (gains P, D) are implicit there: no gain and no damping makes a step unstable. A servo that would
exceed the joint's effort pushes with just that. The base keeps its momentum in free flight (`free_flight`).

Runge-Kutta of fourth order and the midpoint rule, on the manifold of configurations (Munthe-Kaas 1999; Hairer, Lubich &
Wanner 2006), take damping, springs and servos as they are. Which joints are locked is decided at the start of the step,
as in semi-implicit Euler; they get their velocity by an impulse and keep it, and slipping joints keep their friction. A
step in which a joint is locked or released is of first order, all others are of the order of the rule.

Everything of a joint that is not there (no stop, no spring, no effort) vanishes from traced code.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import larger
from bough.dynamics.aba import ABA, aba
from bough.dynamics.free_flight import FLIGHT_WORK, bend, is_free, move_flight, push_flight
from bough.dynamics.laws import (
    LAW_WORK,
    LOWER,
    UPPER,
    JointLaws,
    StepNumbers,
    aba_with_locked,
    add_locks,
    forces_and_rotors,
    solve_laws,
    take_drives,
    velocity_within_laws,
    with_rotors,
    with_rotors_and_gravity,
)
from bough.errors import unknown_option
from bough.joints import LAST_SCREW, Mechanism, along, integrate_joint, joint_velocity
from bough.spatial import add6, cross_motion, scale6
from bough.types import Rows, Scalar, Workspace

MIDPOINT_ITERATIONS = 8  # of the fixed point: each gains a factor of h times the rate of the motion


@kernel
def semi_implicit_step(
    m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows,
    lead: Rows, dt: Rows, q_next: Rows, v_next: Rows, w: Workspace,
) -> None:  # fmt: skip
    """q and v after dt, of first order."""
    h = dt[0]
    w.h[0] = h
    take_drives(tau, target, kp, kd, lead, w)
    forces_and_rotors(m, j, c, q, v, w)
    push_flight(m, q, v, h, w.push, w)
    if c.passes[0] == 0:
        aba(with_rotors(m, w.rotor), q, v, w.push, w.qdd, w)
    else:
        solve_laws(m, j, c, q, v, w)
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            a = m.v_index[k]
            v_next[a] = velocity_within_laws(m, j, k, v[a] + h * w.qdd[a], w)
            if is_free(m, i) and j.prescribed[k] == 0:
                v_next[a] = v_next[a] + bend(m, i, k, v, h)
        if is_free(m, i) and j.prescribed[m.dof[i]] == 0:
            move_flight(m, i, q, h, q_next, v_next, w)
        else:
            integrate_joint(m, i, q, v_next, h, q_next)
    stay_within_stops(m, j, q, q_next)


@kernel
def start_explicit(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, h: Scalar, w: Workspace) -> None:
    """w.start, the velocity from which an explicit rule begins: v with the impulses on joints that are locked."""
    for k in range(len(v)):
        w.start[k] = v[k]
    if c.passes[0] > 0:
        w.h[0] = h
        forces_and_rotors(m, j, c, q, v, w)
        solve_laws(m, j, c, q, v, w)
        strike_locked(m, j, c, q, v, h, w)
    w.h[0] = m.zero[0]  # nothing is implicit in stages


@kernel
def strike_locked(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, h: Scalar, w: Workspace) -> None:
    """Add to w.start the impulses that bring locked joints to their velocities, H (v' - v) = S' lam."""
    zero, one = m.zero[0], m.one[0]
    for k in range(len(m.v_index)):
        a = m.v_index[k]
        w.led[k] = w.locked[k] * (w.end[k] - v[a]) / h
        w.rotor[k], w.slip[k], w.rub[k] = m.armature[k], w.rub[k], zero
        w.push[a], w.at[a] = zero, zero
    for k in range(3):
        w.pull[k] = zero
    add_locks(m, j, c, w)
    aba_with_locked(with_rotors_and_gravity(m, w.heavy, w.pull), q, w.at, w)
    for k in range(len(m.v_index)):
        a = m.v_index[k]
        w.start[a] = w.locked[k] * w.end[k] + (one - w.locked[k]) * (v[a] + h * w.qdd[a])
        w.led[k], w.rub[k] = zero, w.slip[k]


@kernel
def acceleration(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, qdd: Rows, w: Workspace) -> None:
    """qdd within a step whose locked joints keep their velocities."""
    forces_and_rotors(m, j, c, q, v, w)
    if c.passes[0] == 0:
        aba(m, q, v, w.push, qdd, w)
    else:
        add_locks(m, j, c, w)
        aba_with_locked(with_rotors(m, w.heavy), q, v, w)
        for k in range(len(m.v_index)):
            qdd[m.v_index[k]] = (m.one[0] - w.locked[k]) * w.qdd[m.v_index[k]]


@kernel
def stay_within_stops(m: Mechanism, j: JointLaws, q: Rows, q_next: Rows) -> None:
    """No coordinate passes a stop; one that started beyond goes no further."""
    for i in range(len(m.parent)):
        k, a = m.dof[i], m.q_index[i]
        if m.dof[i + 1] > m.dof[i]:
            if j.stops[k] & LOWER:
                q_next[a] = larger(q_next[a], -larger(-j.lower[k], -q[a]))
            if j.stops[k] & UPPER:
                q_next[a] = -larger(-q_next[a], -larger(j.upper[k], q[a]))


# Rules for accelerations that are known at some states of a step only


class Stages(NamedTuple):
    """A step on its way: from q0 and v0, by accelerations qdd (nv,) at each state q and v that a rule asks for."""

    q0: Rows  # (nq,)
    v0: Rows  # (nv,), as are all below but q
    q: Rows  # (nq,)
    v: Rows
    qdd: Rows
    u: Rows  # q = q0 exp(u)
    rate: Rows  # of u
    move: Rows  # weighted sums of rates and accelerations
    gain: Rows


@kernel
def tangent_rate(m: Mechanism, i: int, u: Rows, v: Rows, out: Rows) -> None:
    """The rate of u when q exp(u) moves with v, of joint i: v + [u, v] / 2 + [u, [u, v]] / 12."""
    if m.kind[i] <= LAST_SCREW:
        for k in range(m.dof[i], m.dof[i + 1]):
            out[m.v_index[k]] = v[m.v_index[k]]
    else:
        half = m.one[0] / (m.one[0] + m.one[0])
        twelfth = half * half / (m.one[0] + m.one[0] + m.one[0])
        a, b = joint_velocity(m, i, u), joint_velocity(m, i, v)
        first = cross_motion(a, b)
        second = cross_motion(a, first)
        rate = add6(b, add6(scale6(half, first), scale6(twelfth, second)))
        for k in range(m.dof[i], m.dof[i + 1]):
            out[m.v_index[k]] = along(m, k, rate)


@kernel
def go_euler(m: Mechanism, n: int, h: Scalar, s: Stages) -> None:
    """Semi-implicit Euler, of first order: the position moves with the new velocity."""
    for k in range(len(s.v)):
        s.v[k] = s.v0[k] if n == 0 else s.v0[k] + h * s.qdd[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, s.q0, s.v, m.zero[0] if n == 0 else h, s.q)


@kernel
def go_runge_kutta(m: Mechanism, n: int, h: Scalar, s: Stages) -> None:
    """The classical rule of fourth order, in the tangent space at q0 (Munthe-Kaas 1999)."""
    three = m.one[0] + m.one[0] + m.one[0]
    weight = m.one[0] / three if n == 2 or n == 3 else m.one[0] / (three + three)
    reach = h / (m.one[0] + m.one[0]) if n < 3 else h
    if n > 0:
        for i in range(len(m.parent)):
            tangent_rate(m, i, s.u, s.v, s.rate)
    # Over the degrees of freedom of this mechanism, maybe a few of those in v. A mimic joint has the entry of its
    # leader: sums are put aside first, so that an entry that comes twice counts once.
    for j in range(len(m.v_index)):
        k = m.v_index[j]
        if n == 0:
            s.u[k], s.v[k] = m.zero[0], m.zero[0]
        else:
            s.u[k], s.v[k] = s.move[k] + weight * s.rate[k], s.gain[k] + weight * s.qdd[k]
    for j in range(len(m.v_index)):
        k = m.v_index[j]
        s.move[k], s.gain[k] = s.u[k], s.v[k]
    for j in range(len(m.v_index)):
        k = m.v_index[j]
        if n == 0:
            s.u[k], s.v[k] = m.zero[0], s.v0[k]
        elif n < 4:
            s.u[k], s.v[k] = reach * s.rate[k], s.v0[k] + reach * s.qdd[k]
        else:
            s.u[k], s.v[k] = h * s.move[k], s.v0[k] + h * s.gain[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, s.q0, s.u, m.one[0], s.q)


@kernel
def go_midpoint(m: Mechanism, n: int, h: Scalar, s: Stages) -> None:
    """The midpoint rule by fixed-point iteration, of second order and symmetric in time (Hairer et al. 2006)."""
    half = h / (m.one[0] + m.one[0])
    for k in range(len(s.v)):
        s.v[k] = s.v0[k] if n == 0 else s.v0[k] + half * s.qdd[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, s.q0, s.v, half if n < MIDPOINT_ITERATIONS else h, s.q)
    if n == MIDPOINT_ITERATIONS:
        for k in range(len(s.v)):
            s.v[k] = s.v[k] + s.v[k] - s.v0[k]


def _step(stages: int, go: Any) -> Any:
    """The kernel of a step whose rule asks for so many accelerations, those of the model under its laws."""

    @kernel
    def explicit_step(
        m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows,
        lead: Rows, dt: Rows, q_next: Rows, v_next: Rows, w: Workspace,
    ) -> None:  # fmt: skip
        h = dt[0]
        take_drives(tau, target, kp, kd, lead, w)
        start_explicit(m, j, c, q, v, h, w)
        s = Stages(q, w.start, q_next, v_next, w.at, w.to, w.slope, w.move, w.gain)
        for n in range(stages):
            go(m, n, h, s)
            acceleration(m, j, c, q_next, v_next, w.at, w)
        go(m, stages, h, s)
        stay_within_stops(m, j, q, q_next)

    return explicit_step


def _stage(n: int, go: Any) -> Any:
    """The kernel that goes on to state n; `carried` (4, nv) are v, u, move and gain."""

    @kernel
    def stage(
        m: Mechanism, q0: Rows, v0: Rows, qdd: Rows, before: Rows, dt: Rows, q: Rows, carried: Rows, w: Workspace
    ) -> None:
        for a in range(4):
            for k in range(len(v0)):
                carried[a, k] = before[a, k]
        go(m, n, dt[0], Stages(q0, v0, q, carried[0], qdd, carried[1], w.rate, carried[2], carried[3]))

    return stage


_INPUTS = {"q": "nq", "v": "nv"} | {name: "nv" for name in ("tau", "target", "kp", "kd", "lead")}
_INPUTS |= {"dt": "1"}
_WORK = {**ABA.work, **LAW_WORK, **FLIGHT_WORK, "h": "1"}
_STAGES = {**_WORK, "pull": "3", "slip": "dofs"} | {
    name: "nv" for name in ("at", "start", "to", "slope", "move", "gain")
}


class Rule(NamedTuple):
    """An integrator: its order where no joint is locked or released, its step, and its stages for other accelerations.

    The first stage goes to the state whose acceleration is needed first, each further one from an acceleration to the
    next state, and the last one to the end of the step.
    """

    order: int
    routine: Routine  # with joint forces, servos and prescribed velocities
    stages: tuple[Routine, ...]
    is_implicit: bool  # in damping and servos

    def step(self, servo: bool = False, lead: bool = False) -> Routine:
        """The step with those inputs alone that are used."""
        unused = (() if servo else ("target", "kp", "kd")) + (() if lead else ("lead",))
        return self.routine.without(*unused) if unused else self.routine


def _rule(order: int, name: str, count: int, go: Any, step: Any = None) -> Rule:
    """An integrator of `count` accelerations, with a step of its own or the one that follows from its stages."""
    work = _STAGES if step is None else _WORK
    routine = Routine(name, step or _step(count, go), _INPUTS, {"q_next": "nq", "v_next": "nv"}, work)
    state = {"q0": "nq", "v0": "nv", "qdd": "nv", "before": "4 nv", "dt": "1"}
    after = {"q": "nq", "carried": "4 nv"}
    stages = (Routine("stage", _stage(n, go), state, after, {"rate": "nv"}) for n in range(count + 1))
    return Rule(order, routine, tuple(stages), step is not None)


Integrator: TypeAlias = Literal["semi_implicit_euler", "runge_kutta_4", "lie_midpoint"]
INTEGRATORS: dict[Integrator, Rule] = {
    "semi_implicit_euler": _rule(1, "semi_implicit_step", 1, go_euler, semi_implicit_step),
    "runge_kutta_4": _rule(4, "runge_kutta_step", 4, go_runge_kutta),
    "lie_midpoint": _rule(2, "midpoint_step", MIDPOINT_ITERATIONS, go_midpoint),
}
# other names of the same rules, as in `adaptive.Dynamics`
ALIASES: dict[str, Integrator] = {
    "semi_implicit": "semi_implicit_euler", "rk4": "runge_kutta_4", "midpoint": "lie_midpoint",
}  # fmt: skip


def integrator_named(name: object) -> Integrator:
    """The name in the table; an unknown one is refused with all that there are."""
    found = ALIASES.get(name, name) if isinstance(name, str) else name
    if not isinstance(found, str) or found not in get_args(Integrator):
        raise unknown_option(f"there is no integrator {name!r}", name, INTEGRATORS)
    return found  # type: ignore[return-value]
