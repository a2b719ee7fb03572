"""Joint laws as data, and their solution in a step: damping, springs, servos, dry friction, stops, prescribed motion.

`joint_laws` makes the record of a model; all integrators take it. Within a step of h a joint obeys

    lower <= v' <= upper           the velocities that just reach its stops,
    |friction force| <= friction   against v', any such force where v' = 0.

A joint is locked in a step if its velocity at the end is known: it reaches a stop, sticks, or has a prescribed motion.
Locked joints move with that velocity, and an articulated-body pass gives the motion of all others.
An active-set iteration finds the locked joints (Hintermueller, Ito & Kunisch 2002): a locked joint whose reaction
violates its law is released, a free one that passes its stop or turns against its friction is locked. The first guess
follows from the state: joints at rest stick, joints at a stop that move into it are locked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from bough.compile.kernel import from_text, kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, positive, step
from bough.dynamics.aba import accelerate, eliminate, start_body
from bough.errors import unknown_option
from bough.joints import Mechanism, along, by_freedom, difference_joint, fetch_joint, freedom, move_joint
from bough.model import Model
from bough.spatial import add6, articulated_times, get6, get21, put6
from bough.types import FloatArray, Rows, Scalar, Workspace

LOCK = 1e30  # kg m^2: the rotor inertia of a locked joint; its digits are never used
AT_STOP = 1e-9  # rad or m: a joint that is no further from its stop is at it
LOWER, UPPER = 1, 2  # bits of `stops`
Effect: TypeAlias = Literal["damping", "springs", "friction", "limits", "closures"]  # effects that a caller may ignore
EFFECTS = get_args(Effect)


class JointLaws(NamedTuple):
    """Joint laws: a row for each of the kernels' degrees of freedom."""

    body: Rows  # (dofs,) whose degree of freedom it is
    single: Rows  # (dofs,) 1 for revolute and prismatic joints
    stops: Rows  # (dofs,) LOWER, UPPER, both or none
    bounded: Rows  # (dofs,) 1 where the effort is finite
    rough: Rows  # (dofs,) 1 where there is dry friction
    prescribed: Rows  # (dofs,) 1 where the motion is prescribed
    damping: Rows  # (dofs,)
    stiffness: Rows  # (dofs,)
    friction: Rows  # (dofs,)
    lower: Rows  # (dofs,)
    upper: Rows  # (dofs,)
    effort: Rows  # (dofs,)


class StepNumbers(NamedTuple):
    """The other constants of a step."""

    rest: Rows  # (nq,) where springs have no force
    passes: Rows  # (1,) articulated-body passes of the active set; 0 where no joint is ever locked
    lock: Rows  # (1,) LOCK
    near: Rows  # (1,) AT_STOP


def check_effects(without: str | Iterable[str]) -> tuple[str, ...]:
    """The effects to ignore; an unknown one is refused."""
    off = (without,) if isinstance(without, str) else tuple(without)
    for name in off:
        if name not in EFFECTS:
            raise unknown_option(f"joints have no effect {name!r}", name, EFFECTS)
    return off


def joint_laws(
    model: Model, without: Collection[str] = (), prescribed: Collection[int] = ()
) -> tuple[JointLaws, StepNumbers]:
    """The laws of a model's joints, less what `without` names; degrees of freedom in `prescribed` follow a motion."""
    m, limits = model.mechanism, model.limits
    body = np.repeat(np.arange(len(m.parent)), np.diff(m.dof))
    leads = np.isin(np.arange(len(body)), model.leading)  # mimic joints have no laws of their own
    single = (leads & np.isin(m.v_index, model.scalar_joints.v)).astype(np.int64)

    def of(values: FloatArray, effect: str = "") -> FloatArray:
        return np.zeros(len(body)) if effect in without else np.where(leads, values[m.v_index], 0.0)

    lower, upper, effort = of(limits.lower), of(limits.upper), of(limits.effort)
    led = (leads & np.isin(m.v_index, list(prescribed))).astype(np.int64)
    stops = LOWER * np.isfinite(lower) + UPPER * np.isfinite(upper)
    stops = np.where((single == 1) & (led == 0) & ("limits" not in without), stops, 0)
    bounded, friction = np.isfinite(effort), np.where(led == 1, 0.0, of(model.friction, "friction"))
    laws = JointLaws(
        body,
        single,
        stops.astype(np.int64),
        bounded.astype(np.int64),
        (friction > 0.0).astype(np.int64),
        led,
        of(model.damping, "damping"),
        of(model.stiffness, "springs"),
        friction,
        np.where(stops & LOWER, lower, 0.0),
        np.where(stops & UPPER, upper, 0.0),
        np.where(bounded, effort, 0.0),
    )
    passes = 6 if friction.any() else 2 if stops.any() else 1 if led.any() else 0
    numbers = StepNumbers(np.array(model.rest_configuration), np.array([passes]), np.array([LOCK]), np.array([AT_STOP]))
    return laws, numbers


def coordinate_limits(model: Model) -> tuple[np.ndarray, np.ndarray, FloatArray, FloatArray]:
    """Degrees of freedom with a stop, ascending, the places of their coordinates in q, and both limits.

    Joints that follow another one (mimic) have none of their own.
    """
    q, v = model.scalar_joints
    finite = np.isfinite(model.limits.lower[v]) | np.isfinite(model.limits.upper[v])
    order = np.argsort(v[finite])
    v, q = v[finite][order], q[finite][order]
    return v, q, model.limits.lower[v], model.limits.upper[v]


def _mechanism_with(name: str, **others: str) -> Any:
    """A kernel of that name: the mechanism with other fields, each named by the argument that it takes."""
    fields = ", ".join(others.get(field, f"m.{field}") for field in Mechanism._fields)
    scope: dict[str, Any] = {"Mechanism": Mechanism, "__name__": __name__}
    return kernel(from_text(f"def {name}(m, {', '.join(others.values())}):\n    return Mechanism({fields})", scope))


with_rotors = _mechanism_with("with_rotors", armature="rotor")
with_rotors_and_gravity = _mechanism_with("with_rotors_and_gravity", armature="rotor", gravity="pull")


# Forces


@kernel
def take_drives(tau: Rows, target: Rows, kp: Rows, kd: Rows, lead: Rows, w: Workspace) -> None:
    """The drives of the joints, for all parts of a step."""
    for k in range(len(tau)):
        w.tau[k], w.target[k], w.kp[k], w.kd[k], w.lead[k] = tau[k], target[k], kp[k], kd[k], lead[k]


@kernel
def servo(j: JointLaws, k: int, state: Rows, h: Scalar) -> Scalar:
    """(force, rotor): what a servo adds to tau and to the diagonal of H; state is (target - q, v, kp, kd)."""
    gap, v, kp, kd = state
    soft, force = h * kd + h * h * kp, kp * (gap - h * v) - kd * v
    if j.bounded[k] == 1:
        most = j.effort[k]
        inside = step(most - force) * step(force + most)
        return clip(force, -most, most), inside * soft
    return force, soft


@kernel
def forces_and_rotors(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, w: Workspace) -> None:
    """w.push (nv,) and w.rotor (dofs,): all joint forces, and rotors with the terms that are implicit in w.h."""
    h = w.h[0]
    for a in range(len(v)):
        w.push[a] = w.tau[a]
    for i in range(len(m.parent)):
        difference_joint(m, i, c.rest, q, w.x)
        for k in range(m.dof[i], m.dof[i + 1]):
            a = m.v_index[k]
            w.push[a] = w.push[a] - j.stiffness[k] * w.x[a] - j.damping[k] * v[a]
            w.rotor[k] = m.armature[k] + h * j.damping[k]
            if j.single[k] == 1:
                force, rotor = servo(j, k, (w.target[a] - q[m.q_index[i]], v[a], w.kp[a], w.kd[a]), h)
                w.push[a] = w.push[a] + force
                w.rotor[k] = w.rotor[k] + rotor


@kernel
def law_forces(
    m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, tau: Rows, target: Rows, kp: Rows, kd: Rows,
    force: Rows, w: Workspace,
) -> None:  # fmt: skip
    """tau with springs, damping and servos, for explicit integrators."""
    w.h[0] = m.zero[0]
    take_drives(tau, target, kp, kd, tau, w)
    forces_and_rotors(m, j, c, q, v, w)
    for a in range(len(v)):
        force[a] = w.push[a]


# Which joints are locked


@kernel
def lowest_velocity(j: JointLaws, k: int, x: Scalar, h: Scalar) -> Scalar:
    """The velocity that reaches the lower stop within h; zero for a joint beyond it, which cannot go further."""
    return -positive(x - j.lower[k]) / h


@kernel
def highest_velocity(j: JointLaws, k: int, x: Scalar, h: Scalar) -> Scalar:
    return positive(j.upper[k] - x) / h


@kernel
def guess_locked(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, h: Scalar, w: Workspace) -> None:
    """w.locked, w.end and w.rub of all degrees of freedom, guessed from the state."""
    zero, one = m.zero[0], m.one[0]
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            w.locked[k], w.end[k], w.rub[k] = zero, zero, zero
            x, rate = q[m.q_index[i]], v[m.v_index[k]]
            if j.prescribed[k] == 1:
                w.locked[k], w.end[k] = one, w.lead[m.v_index[k]]
            if j.rough[k] == 1:
                w.locked[k] = step(rate) * step(-rate)
                w.rub[k] = (step(-rate) - step(rate)) * j.friction[k]
            if j.stops[k] & LOWER:
                there = step(c.near[0] - x + j.lower[k]) * step(-rate) * (one - w.locked[k])
                w.locked[k], w.end[k] = w.locked[k] + there, w.end[k] + there * lowest_velocity(j, k, x, h)
            if j.stops[k] & UPPER:
                there = step(c.near[0] + x - j.upper[k]) * step(rate) * (one - w.locked[k])
                w.locked[k], w.end[k] = w.locked[k] + there, w.end[k] + there * highest_velocity(j, k, x, h)
            w.rub[k] = w.rub[k] * (one - w.locked[k])


@kernel
def revise_locked(m: Mechanism, j: JointLaws, q: Rows, v: Rows, h: Scalar, w: Workspace) -> None:
    """After a pass, lock joints that pass a stop or turn against their friction; release those that violate theirs."""
    for i in range(len(m.parent)):
        for k in range(m.dof[i], m.dof[i + 1]):
            if j.stops[k] > 0 or j.rough[k] == 1:
                revise_joint(m, j, i, k, q[m.q_index[i]], v, h, w)


@kernel
def revise_joint(
    m: Mechanism, j: JointLaws, i: int, k: int, x: Scalar, v: Rows, h: Scalar, w: Workspace
) -> None:  # fmt: skip
    zero, one, f = m.zero[0], m.one[0], j.friction[k]
    rate, end, rub = v[m.v_index[k]], w.end[k], w.rub[k]
    free = rate + h * w.qdd[m.v_index[k]]
    down, up = one - step(end), one - step(-end)  # the direction in which a locked joint moves
    at_low, at_high, below, above, lowest, highest = zero, zero, zero, zero, zero, zero
    if j.stops[k] & LOWER:
        lowest = lowest_velocity(j, k, x, h)
        at_low, below = step(lowest - end), one - step(free - lowest)
    if j.stops[k] & UPPER:
        highest = highest_velocity(j, k, x, h)
        at_high, above = step(end - highest), one - step(highest - free)
    # a locked joint: the reaction must be one of friction, or of a stop that pushes inwards
    R = reaction(m, i, k, (end - rate) / h, w)
    not_more = at_low + (one - at_low) * step(f - up * (f + f) - R)
    not_less = at_high + (one - at_high) * step(R + f - down * (f + f))
    stays = w.locked[k] * not_more * not_less
    slips = not_less * (f - up * (f + f)) - (one - not_less) * (f - down * (f + f))
    # a free one: friction cannot reverse it, stops bound it
    sticks = zero
    if j.rough[k] == 1:
        sticks = (one - step(-rub)) * step(free) + (one - step(rub)) * step(-free)
    stopped = (one - sticks) * (below + above)
    end_of_free = (one - sticks) * (below * lowest + above * highest)
    was_free = one - w.locked[k]
    w.rub[k] = (w.locked[k] - stays) * slips + was_free * (one - sticks - stopped) * rub
    w.end[k] = stays * end + was_free * end_of_free
    w.locked[k] = stays + was_free * (sticks + stopped)


@kernel
def reaction(m: Mechanism, i: int, k: int, rate: Scalar, w: Workspace) -> Scalar:
    """The force beside w.push on a joint that accelerates as in the last pass; `rate` is its own acceleration."""
    force = add6(articulated_times(get21(w.IA, i), get6(w.a, i)), get6(w.pA, i))
    return along(m, k, force) + w.rotor[k] * rate - w.push[m.v_index[k]]


@kernel
def aba_with_locked(m: Mechanism, q: Rows, v: Rows, w: Workspace) -> None:
    """w.qdd under w.push and w.rub, where locked joints accelerate by w.led; m has their heavy rotors."""
    by_freedom(m, v, w.rate)
    for k in range(len(m.v_index)):
        w.u[k] = w.push[m.v_index[k]] + w.rub[k]
    for i in range(len(m.parent)):
        fetch_joint(m, q, i)
        move_joint(m, q, i, w.X)
        start_body(m, i, w)
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.c, i, add6(get6(w.c, i), freedom(m, k, w.led[k])))
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, w.qdd, w)


@kernel
def add_locks(m: Mechanism, j: JointLaws, c: StepNumbers, w: Workspace) -> None:
    """w.heavy: rotors, those of locked joints so heavy that they do not yield."""
    for k in range(len(m.v_index)):
        w.heavy[k] = w.rotor[k]
        if j.stops[k] > 0 or j.rough[k] == 1 or j.prescribed[k] == 1:
            w.heavy[k] = w.rotor[k] + w.locked[k] * c.lock[0]


@kernel
def solve_laws(m: Mechanism, j: JointLaws, c: StepNumbers, q: Rows, v: Rows, w: Workspace) -> None:
    """w.qdd, w.locked, w.end and w.rub of a step of w.h from w.push and w.rotor."""
    h = w.h[0]
    guess_locked(m, j, c, q, v, h, w)
    for n in range(c.passes[0]):
        if n > 0:
            revise_locked(m, j, q, v, h, w)
        add_locks(m, j, c, w)
        for k in range(len(m.v_index)):
            w.led[k] = w.locked[k] * (w.end[k] - v[m.v_index[k]]) / h
        aba_with_locked(with_rotors(m, w.heavy), q, v, w)


@kernel
def velocity_within_laws(m: Mechanism, j: JointLaws, k: int, free: Scalar, w: Workspace) -> Scalar:
    """The velocity at the end of a step: w.end of a locked joint; else `free`, which friction does not reverse.

    A joint that passes its stop, as the passes have not locked it, keeps its velocity: a change without an impulse on
    its base would raise the energy. It is locked in the next step.
    """
    one = m.one[0]
    if j.rough[k] == 1:
        free = free - (one - step(-w.rub[k])) * positive(free) + (one - step(w.rub[k])) * positive(-free)
    if j.stops[k] > 0 or j.rough[k] == 1 or j.prescribed[k] == 1:
        return (one - w.locked[k]) * free + w.locked[k] * w.end[k]
    return free


LAW_WORK = {name: "nv" for name in ("tau", "target", "kp", "kd", "lead", "push", "x", "qdd")} | {
    name: "dofs" for name in ("rotor", "heavy", "locked", "end", "rub", "led")
}
LAW_FORCES = Routine(
    "law_forces",
    law_forces,
    inputs={"q": "nq"} | {name: "nv" for name in ("v", "tau", "target", "kp", "kd")},
    outputs={"force": "nv"},
    work=LAW_WORK | {"h": "1"},
)
