"""One step of a motion as one function: joints with damping, springs, stops and servos, then the step along q.

    (H + h B + h^2 P) a = tau - C - K x - B v + P (target - x - h v) - D v,     B = damping + D
    v' = v + h a,   q' = q moved by h v'

Damping and servos (gains P, D) are implicit: no gain and no damping makes a step unstable. A servo that would exceed
the joint's effort pushes with just that. Joints that would pass a stop in the step are held to reach it exactly, and
all others move as if they were (two passes of the articulated-body algorithm); a joint that is driven past its own
stop only by that is stopped in the next step.

Everything of a joint that is not there (no stop, no spring, no effort) vanishes from traced code.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import from_text, kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, step
from bough.dynamics.aba import ABA, aba, accelerate, eliminate, start_body
from bough.joints import (
    LAST_SCREW,
    Mechanism,
    by_freedom,
    difference_joint,
    fetch_joint,
    freedom,
    integrate_joint,
    move_joint,
)
from bough.model import Model
from bough.spatial import add6, get6, put6
from bough.types import FloatArray, Rows, Scalar, Workspace

LOCK = 1e30  # kg m^2: what a held joint's rotor weighs; its digits are never used
LOWER, UPPER = 1, 2  # bits of `stops`


class JointLaws(NamedTuple):
    """What joints do by themselves: a row for each of the kernels' degrees of freedom."""

    body: Rows  # (dofs,) whose freedom it is
    single: Rows  # (dofs,) 1 for revolute and prismatic joints
    stops: Rows  # (dofs,) LOWER, UPPER, both or none
    bounded: Rows  # (dofs,) 1 where the effort is finite
    damping: Rows  # (dofs,)
    stiffness: Rows  # (dofs,)
    lower: Rows  # (dofs,)
    upper: Rows  # (dofs,)
    effort: Rows  # (dofs,)


class StepNumbers(NamedTuple):
    """The rest of what a step needs."""

    rest: Rows  # (nq,) where springs are slack
    held: Rows  # (1,) 1 if any joint has a stop
    lock: Rows  # (1,) LOCK
    share: Rows  # (4,) 1/2, 1/12, 1/6, 1/3


def joint_laws(model: Model, without: Collection[str] = ()) -> tuple[JointLaws, StepNumbers]:
    """The laws of a model's joints, less what `without` names ("damping", "springs", "limits")."""
    m, limits = model.mechanism, model.limits
    body = np.repeat(np.arange(len(m.parent)), np.diff(m.dof))
    single = (m.kind[body] <= LAST_SCREW).astype(np.int64)

    def of(values: FloatArray, effect: str = "") -> FloatArray:
        return np.zeros(len(body)) if effect in without else values[m.v_index]

    lower, upper, effort = of(limits.lower), of(limits.upper), of(limits.effort)
    stops = LOWER * np.isfinite(lower) + UPPER * np.isfinite(upper)
    stops = np.where(single == 1, stops, 0) if "limits" not in without else np.zeros(len(body), np.int64)
    bounded = np.isfinite(effort)
    laws = JointLaws(
        body,
        single,
        stops.astype(np.int64),
        bounded.astype(np.int64),
        of(model.damping, "damping"),
        of(model.stiffness, "springs"),
        np.where(stops & LOWER, lower, 0.0),
        np.where(stops & UPPER, upper, 0.0),
        np.where(bounded, effort, 0.0),
    )
    held = np.array([int(stops.any())])
    share = np.array([1 / 2, 1 / 12, 1 / 6, 1 / 3])
    return laws, StepNumbers(np.array(model.rest_configuration), held, np.array([LOCK]), share)


def _mechanism_with(name: str, **others: str) -> Any:
    """A kernel of that name: the mechanism with other fields, each named by the argument that it takes."""
    fields = ", ".join(others.get(field, f"m.{field}") for field in Mechanism._fields)
    scope: dict[str, Any] = {"Mechanism": Mechanism, "__name__": __name__}
    return kernel(from_text(f"def {name}(m, {', '.join(others.values())}):\n    return Mechanism({fields})", scope))


with_rotors = _mechanism_with("with_rotors", armature="rotor")
with_rotors_and_gravity = _mechanism_with("with_rotors_and_gravity", armature="rotor", gravity="pull")


@kernel
def stretch(m: Mechanism, c: StepNumbers, q: Rows, w: Workspace) -> None:
    """w.x (nv,): how far each joint is from where its spring is slack."""
    for i in range(len(m.parent)):
        difference_joint(m, i, c.rest, q, w.x)


@kernel
def take(tau: Rows, target: Rows, kp: Rows, kd: Rows, w: Workspace) -> None:
    """What drives the joints, for all parts of a step."""
    for k in range(len(tau)):
        w.tau[k], w.target[k], w.kp[k], w.kd[k] = tau[k], target[k], kp[k], kd[k]


@kernel
def servo(j: JointLaws, k: int, given: Rows, h: Scalar) -> Scalar:
    """(force, rotor): what a servo adds to tau and to the diagonal of H; given is (gap, v, kp, kd)."""
    gap, v, kp, kd = given
    soft, force = h * kd + h * h * kp, kp * (gap - h * v) - kd * v
    if j.bounded[k] == 1:
        most = j.effort[k]
        inside = step(most - force) * step(force + most)
        return clip(force, -most, most), inside * soft
    return force, soft


@kernel
def forces_and_rotors(m: Mechanism, j: JointLaws, q: Rows, v: Rows, w: Workspace) -> None:
    """w.push (nv,) and w.rotor (dofs,): all that acts on the joints, and their rotors with what is implicit in w.h."""
    h = w.h[0]
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            c = m.v_index[k]
            w.push[c] = w.tau[c] - j.stiffness[k] * w.x[c] - j.damping[k] * v[c]
            w.rotor[k] = m.armature[k] + h * j.damping[k]
            if j.single[k] == 1:
                force, rotor = servo(j, k, (w.target[c] - q[m.q_index[i]], v[c], w.kp[c], w.kd[c]), h)
                w.push[c] = w.push[c] + force
                w.rotor[k] = w.rotor[k] + rotor


@kernel
def stop(m: Mechanism, j: JointLaws, i: int, k: int, q: Rows, v: Rows, w: Workspace) -> Scalar:
    """(held, end): whether degree of freedom k passes a stop in a step, and the velocity that reaches it; w.h is dt."""
    zero, one, h = m.zero[0], m.one[0], w.h[0]
    c = m.v_index[k]
    free, x = v[c] + h * w.qdd[c], q[m.q_index[i]]
    held, end = zero, free
    if j.stops[k] & LOWER:
        room = x - j.lower[k]
        least = -step(room) * room / h
        passed = one - step(free - least)
        held, end = held + passed, end + passed * (least - free)
    if j.stops[k] & UPPER:
        room = j.upper[k] - x
        most = step(room) * room / h
        passed = one - step(most - free)
        held, end = held + passed, end + passed * (most - free)
    return held, end


@kernel
def hold_stopped(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, w: Workspace) -> None:
    """w.held and w.end of all freedoms; rotors of those that are held weigh so much that they do not yield."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.held[k] = m.zero[0]
            if j.stops[k] > 0:
                w.held[k], w.end[k] = stop(m, j, i, k, q, v, w)
                w.rotor[k] = w.rotor[k] + w.held[k] * c.lock[0]


@kernel
def aba_with_held(m: Mechanism, q: Rows, v: Rows, w: Workspace) -> None:
    """w.qdd under w.push, where held freedoms are led to w.end; m has their heavy rotors, w.h is dt."""
    by_freedom(m, v, w.rate)
    by_freedom(m, w.push, w.u)
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        start_body(m, i, w)
        for k in range(m.dof[i], m.dof[i + 1]):
            led = w.held[k] * (w.end[k] - v[m.v_index[k]]) / w.h[0]
            put6(w.c, i, add6(get6(w.c, i), freedom(m, k, led)))
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, w.qdd, w)


@kernel
def move(m: Mechanism, j: JointLaws, q: Rows, v: Rows, q_next: Rows, v_next: Rows, w: Workspace) -> None:
    """The velocity at the end of the step, and where it leads."""
    h, one = w.h[0], m.one[0]
    for k in range(len(m.v_index)):
        c = m.v_index[k]
        v_next[c] = v[c] + h * w.qdd[c]
        if j.stops[k] > 0:
            v_next[c] = (one - w.held[k]) * v_next[c] + w.held[k] * w.end[k]
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, v_next, h, q_next)


@kernel
def semi_implicit_step(
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
    """q and v after dt."""
    w.h[0] = dt[0]
    take(tau, target, kp, kd, w)
    stretch(m, c, q, w)
    forces_and_rotors(m, j, q, v, w)
    aba(with_rotors(m, w.rotor), q, v, w.push, w.qdd, w)
    if c.held[0] == 1:
        hold_stopped(m, j, c, q, v, w)
        aba_with_held(with_rotors(m, w.rotor), q, v, w)
    move(m, j, q, v, q_next, v_next, w)


INPUTS = {"q": "nq", "v": "nv", "tau": "nv", "target": "nv", "kp": "nv", "kd": "nv", "dt": "1"}
OUTPUTS = {"q_next": "nq", "v_next": "nv"}
_DRIVES = {name: "nv" for name in ("tau", "target", "kp", "kd", "push", "x", "qdd")}
WORK = {**ABA.work, **_DRIVES, "h": "1", "rotor": "dofs", "held": "dofs", "end": "dofs"}
SERVO_STEP = Routine("semi_implicit_step", semi_implicit_step, INPUTS, OUTPUTS, WORK)
SEMI_IMPLICIT_STEP = SERVO_STEP.without("target", "kp", "kd")
