"""One step of a motion by the rule of Runge and Kutta, on the manifold of configurations (Munthe-Kaas 1999).

Damping, springs and servos act as they are (nothing is implicit). Stops act at the end of the step, as impulses: a
joint that would pass its stop within the next dt is given the velocity that just reaches it, and all others move as if
they were struck by that, so a joint may pass its stop by less than a step. `rollout` does the same; here a joint that
is driven past its own stop only by the impulse of another is stopped a step later.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.aba import aba
from bough.dynamics.stepping import (
    INPUTS,
    OUTPUTS,
    WORK,
    JointLaws,
    StepNumbers,
    aba_with_held,
    forces_and_rotors,
    hold_stopped,
    stretch,
    take,
    with_rotors_and_gravity,
)
from bough.joints import LAST_SCREW, Mechanism, along, integrate_joint, joint_velocity
from bough.spatial import add6, cross_motion, scale6
from bough.types import Rows, Workspace


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
def stage(m: Mechanism, j: JointLaws, c: StepNumbers, s: int, q: Rows, w: Workspace) -> None:
    """Stage s at q exp(w.to) with the velocity w.at: w.slope[s] is the rate of the first, w.gain[s] of the second."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.to, m.one[0], w.here)
        tangent_rate(m, c, i, w.to, w.at, w.slope[s])
    stretch(m, c, w.here, w)
    forces_and_rotors(m, j, w.here, w.at, w)
    aba(m, w.here, w.at, w.push, w.gain[s], w)


@kernel
def strike_stops(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, w: Workspace) -> None:
    """v (nv,) at q after the impulses of stops, H (v' - v) = S' lam; w.h is dt."""
    zero = m.zero[0]
    for k in range(len(v)):
        w.qdd[k], w.push[k], w.at[k] = zero, zero, zero
    for k in range(3):
        w.pull[k] = zero
    hold_stopped(m, j, c, q, v, w)
    for k in range(len(m.v_index)):
        if j.stops[k] > 0:
            w.end[k] = w.end[k] - v[m.v_index[k]]
    aba_with_held(with_rotors_and_gravity(m, w.rotor, w.pull), q, w.at, w)
    for k in range(len(m.v_index)):
        i, change = m.v_index[k], w.h[0] * w.qdd[m.v_index[k]]
        if j.stops[k] > 0:
            change = (m.one[0] - w.held[k]) * change + w.held[k] * w.end[k]
        v[i] = v[i] + change


@kernel
def runge_kutta_step(
    m: Mechanism,
    j: JointLaws,
    c: StepNumbers,
    q: Rows,
    v: Rows,
    tau: Rows,
    target: Rows,
    kp: Rows,
    kd: Rows,
    dt: Rows,
    q_next: Rows,
    v_next: Rows,
    w: Workspace,
) -> None:
    """q and v after dt, of fourth order in dt where no stop is met (Munthe-Kaas 1999)."""
    h = dt[0]
    w.h[0] = m.zero[0]  # nothing is implicit
    take(tau, target, kp, kd, w)
    for k in range(len(v)):
        w.to[k], w.at[k] = m.zero[0], v[k]
    for s in range(4):
        stage(m, j, c, s, q, w)
        reach = h * c.share[0] if s < 2 else h
        for k in range(len(v)):
            w.to[k], w.at[k] = reach * w.slope[s, k], v[k] + reach * w.gain[s, k]
    outer, inner = h * c.share[2], h * c.share[3]
    for k in range(len(v)):
        w.to[k] = outer * (w.slope[0, k] + w.slope[3, k]) + inner * (w.slope[1, k] + w.slope[2, k])
        v_next[k] = v[k] + outer * (w.gain[0, k] + w.gain[3, k]) + inner * (w.gain[1, k] + w.gain[2, k])
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, w.to, m.one[0], q_next)
    if c.held[0] == 1:
        w.h[0] = h
        strike_stops(m, j, c, q_next, v_next, w)


STAGES = {**WORK, "pull": "3", "here": "nq", "to": "nv", "at": "nv", "slope": "4 nv", "gain": "4 nv"}
SERVO_RUNGE_KUTTA = Routine("runge_kutta_step", runge_kutta_step, INPUTS, OUTPUTS, STAGES)
RUNGE_KUTTA_STEP = SERVO_RUNGE_KUTTA.without("target", "kp", "kd")
