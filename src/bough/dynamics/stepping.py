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

from typing import Literal, NamedTuple, TypeAlias, get_args

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
            v_next[a] = velocity_within_laws(m, j, i, k, q, v[a] + h * w.qdd[a], w)
            if is_free(m, i) and j.prescribed[k] == 0:
                v_next[a] = v_next[a] + bend(m, i, k, v, h)
        if is_free(m, i) and j.prescribed[m.dof[i]] == 0:
            move_flight(m, i, q, h, q_next, v_next, w)
        else:
            integrate_joint(m, i, q, v_next, h, q_next)


@kernel
def tangent_rate(m: Mechanism, c: StepNumbers, i: int, u: Rows, v: Rows, out: Rows) -> None:
    """The rate of u when q exp(u) moves with v, of joint i: v + [u, v] / 2 + [u, [u, v]] / 12."""
    if m.kind[i] <= LAST_SCREW:
        for k in range(m.dof[i], m.dof[i + 1]):
            out[m.v_index[k]] = v[m.v_index[k]]
    else:
        a, b = joint_velocity(m, i, u), joint_velocity(m, i, v)
        first = cross_motion(a, b)
        second = cross_motion(a, first)
        rate = add6(b, add6(scale6(c.share[0], first), scale6(c.share[1], second)))
        for k in range(m.dof[i], m.dof[i + 1]):
            out[m.v_index[k]] = along(m, k, rate)


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


@kernel
def runge_kutta_step(
    m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows,
    lead: Rows, dt: Rows, q_next: Rows, v_next: Rows, w: Workspace,
) -> None:  # fmt: skip
    """q and v after dt, of fourth order where no joint is locked or released (Munthe-Kaas 1999)."""
    h = dt[0]
    take_drives(tau, target, kp, kd, lead, w)
    start_explicit(m, j, c, q, v, h, w)
    for k in range(len(v)):
        w.to[k], w.at[k] = m.zero[0], w.start[k]
    for s in range(4):
        for i in range(len(m.parent)):
            integrate_joint(m, i, q, w.to, m.one[0], w.here)
            tangent_rate(m, c, i, w.to, w.at, w.slope[s])
        acceleration(m, j, c, w.here, w.at, w.gain[s], w)
        reach = h * c.share[0] if s < 2 else h
        for k in range(len(v)):
            w.to[k], w.at[k] = reach * w.slope[s, k], w.start[k] + reach * w.gain[s, k]
    outer, inner = h * c.share[2], h * c.share[3]
    for k in range(len(v)):
        w.to[k] = outer * (w.slope[0, k] + w.slope[3, k]) + inner * (w.slope[1, k] + w.slope[2, k])
        v_next[k] = w.start[k] + outer * (w.gain[0, k] + w.gain[3, k]) + inner * (w.gain[1, k] + w.gain[2, k])
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.to, m.one[0], q_next)
    stay_within_stops(m, j, q, q_next)


@kernel
def midpoint_step(
    m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows,
    lead: Rows, dt: Rows, q_next: Rows, v_next: Rows, w: Workspace,
) -> None:  # fmt: skip
    """q and v after dt by the midpoint rule, by fixed-point iteration: second order, symmetric in time."""
    h, half = dt[0], dt[0] * c.share[0]
    take_drives(tau, target, kp, kd, lead, w)
    start_explicit(m, j, c, q, v, h, w)
    for k in range(len(v)):
        w.at[k] = w.start[k]
    for _ in range(MIDPOINT_ITERATIONS):
        for i in range(len(m.parent)):
            integrate_joint(m, i, q, w.at, half, w.here)
        acceleration(m, j, c, w.here, w.at, w.to, w)
        for k in range(len(v)):
            w.at[k] = w.start[k] + half * w.to[k]
    for k in range(len(v)):
        v_next[k] = w.at[k] + w.at[k] - w.start[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.at, h, q_next)
    stay_within_stops(m, j, q, q_next)


_INPUTS = {"q": "nq", "v": "nv"} | {name: "nv" for name in ("tau", "target", "kp", "kd", "lead")}
_INPUTS |= {"dt": "1"}
_WORK = {**ABA.work, **LAW_WORK, **FLIGHT_WORK, "h": "1"}
_STAGES = {**_WORK, "pull": "3", "here": "nq", "slope": "4 nv", "gain": "4 nv", "slip": "dofs"}
_STAGES |= {name: "nv" for name in ("to", "at", "start")}


class Rule(NamedTuple):
    """An integrator: its order where no joint is locked or released, and its step as a routine."""

    order: int
    routine: Routine  # with joint forces, servos and prescribed velocities
    is_implicit: bool  # in damping and servos

    def step(self, servo: bool = False, lead: bool = False) -> Routine:
        """The step with those inputs alone that are used."""
        unused = (() if servo else ("target", "kp", "kd")) + (() if lead else ("lead",))
        return self.routine.without(*unused) if unused else self.routine


def _rule(order: int, name: str, step: object, work: dict[str, str], is_implicit: bool = False) -> Rule:
    routine = Routine(name, step, _INPUTS, {"q_next": "nq", "v_next": "nv"}, work)  # type: ignore[arg-type]
    return Rule(order, routine, is_implicit)


Integrator: TypeAlias = Literal["semi_implicit_euler", "runge_kutta_4", "lie_midpoint"]
INTEGRATORS: dict[Integrator, Rule] = {
    "semi_implicit_euler": _rule(1, "semi_implicit_step", semi_implicit_step, _WORK, is_implicit=True),
    "runge_kutta_4": _rule(4, "runge_kutta_step", runge_kutta_step, _STAGES),
    "lie_midpoint": _rule(2, "midpoint_step", midpoint_step, _STAGES),
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
