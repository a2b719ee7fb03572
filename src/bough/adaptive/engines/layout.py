"""What the sweeps of a moving linkage work on: its state, what pulls at its joints, and working space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.tree.contract import Loads
from bough.joints import Mechanism
from bough.model import Model
from bough.types import FloatArray, IntArray, Rows


class JointState(NamedTuple):
    """State of a linkage and scratch of the same shapes, all in the user's order; shared by all engines."""

    q: Rows  # (nq,)
    v: Rows  # (nv,)
    qdd: Rows  # (nv,) accelerations of the last solution
    rest: Rows  # (nq,) where springs are slack
    stretch: Rows  # (nv,) how far springs are stretched, where there are any
    q0: Rows  # (nq,) beginning of a step of several stages
    v0: Rows  # (nv,)
    u: Rows  # (nv,) tangent vector from q0
    move: Rows  # (nv,) sums over the stages
    gain: Rows  # (nv,)


class JointLaws(NamedTuple):
    """What joints do by themselves, by degree of freedom of a mechanism; `sprung` by primitive."""

    tau: Rows  # (n,) applied torques
    damping: Rows  # (n,)
    stiffness: Rows  # (n,)
    rotor: Rows  # (n,) armature without what an implicit step adds to it
    sprung: Rows  # (N,) 1 where a primitive has springs
    friction: Rows  # (n,)
    lower: Rows  # (n,) limits of the coordinate, infinite where there is none
    upper: Rows  # (n,)
    place: Rows  # (n,) where that coordinate is in q, -1 = nowhere
    stop_torque: Rows  # (n,) of friction and stops lately; bound evaluations take it for a load
    weld_armature: Rows  # (n,) armature by which bound evaluations lock joints that stick with friction to spare
    stops: Rows  # (1,) whether there is friction or a limit at all


class SweepWork(NamedTuple):
    """Working space of the articulated-body algorithm, by primitive N or degree of freedom n."""

    X: Rows  # (N, 12)
    E: Rows  # (N, 9) orientation in the world, where forces need it
    needs: Rows  # (N,) 1 on the way from the ground to a force given in the world's frame
    rate: Rows  # (n,)
    w: Rows  # (N, 3)
    ww: Rows  # (N, 6)
    b: Rows  # (N, 3)
    c: Rows  # (N, 6)
    pA: Rows  # (N, 6)
    IA: Rows  # (N, 21)
    V: Rows  # (n, 6)
    u: Rows  # (n,)
    a: Rows  # (N, 6)
    force: Rows  # (N, 6) on each body in its frame
    momentum: Rows  # (N, 6) of each body in its frame, or in the world's
    P: Rows  # (N, 12) poses in the world; only where momenta are carried along
    W: Rows  # (n, 6) the memory of V, as loops are eliminated
    loop: Rows  # (N, 6) forces of loops on bodies in their frames; empty where there are none
    tau: Rows  # (n,) torques to which a linkage at rest answers
    previous: Rows  # (n,) what friction and stops did before, undone
    mode_rate: Rows  # (n,) the rate of a locked degree of freedom
    lock: Rows  # (n,) 1 where an acceleration is known in this sweep
    lead: Rows  # (n,) that acceleration
    firm: Rows  # (n,) inertia by which loops move it all the same, by its own
    hold: Rows  # (n,) torque that it takes beside w.tau
    mode: Rows  # (n,) what friction and limits do to a joint; see `stops`
    releases: Rows  # (n,) how often friction let go in this step
    stop_torque: Rows  # (n,) torques of friction and stops in this step


class LinkageArrays(NamedTuple):
    """A mechanism that is solved and stepped, and all that kernels need for it."""

    m: Mechanism  # with the armature of implicit springs and dampers
    still: Mechanism  # the same without gravity
    s: JointState
    e: JointLaws
    loads: Loads
    w: SweepWork
    lp: Any  # `LoopRows`, or () where there are no loops, friction and limits: the compiler leaves out what they need


def make_joint_state(model: Model, q: FloatArray, qdd: FloatArray) -> JointState:
    """A linkage at rest, around arrays that others share."""
    nv = model.nv
    rest = np.array(model.rest_configuration)
    return JointState(q, np.zeros(nv), qdd, rest, np.zeros(nv), np.zeros(model.nq), *(np.zeros(nv) for _ in range(4)))


AT_REST = {"X": 12, "E": 9, "pA": 6, "IA": 21, "a": 6}  # numbers by body
IN_MOTION = {"w": 3, "ww": 6, "b": 3, "c": 6, "P": 12, "momentum": 6}


def make_work(bodies: int, dofs: int, moves: bool, loops: bool, force: FloatArray | None = None) -> SweepWork:
    """Working space for a mechanism of so many primitives and degrees of freedom, around forces that others share.

    Without velocities, friction and limits, what only they need is empty.
    """
    arrays: dict[str, Any] = {name: np.zeros((bodies, size)) for name, size in AT_REST.items()}
    arrays |= {name: np.zeros((bodies if moves else 0, size)) for name, size in IN_MOTION.items()}
    arrays |= {"needs": np.zeros(bodies, np.int8), "lock": np.zeros(dofs, np.int8)}
    arrays |= {"V": np.zeros((dofs, 6)), "u": np.zeros(dofs)}
    arrays |= {
        name: np.zeros(dofs if moves else 0)
        for name in ("rate", "tau", "previous", "mode_rate", "lead", "firm", "hold", "stop_torque")
    }
    arrays |= {name: np.zeros(dofs if moves else 0, np.int8) for name in ("mode", "releases")}
    arrays |= {"W": arrays["V"], "loop": np.zeros((bodies if moves and loops else 0, 6))}
    return SweepWork(force=np.zeros((bodies, 6)) if force is None else force, **arrays)


def make_laws(model: Model, m: Mechanism, tau: FloatArray) -> JointLaws:
    """The joints of a model, in the order of its mechanism."""
    v = m.v_index
    damping, stiffness, friction = model.damping[v], model.stiffness[v], model.friction[v]
    lower, upper, place = _limits(model, m)
    body = np.repeat(np.arange(len(m.parent)), np.diff(m.dof))
    sprung = np.zeros(len(m.parent), np.int8)
    sprung[body[stiffness != 0.0]] = 1
    given = (damping, stiffness, np.array(m.armature), sprung, friction, lower, upper, place)
    stops = np.zeros(len(v)), np.zeros(len(v))
    return with_stops(JointLaws._make([tau, *map(np.ascontiguousarray, given), *stops, np.zeros(1, np.int8)]))


def with_stops(effort: JointLaws) -> JointLaws:
    """The same, with notice of whether friction or limits may stop a joint."""
    any_ = effort.friction.any() or np.isfinite(effort.lower).any() or np.isfinite(effort.upper).any()
    return effort._replace(stops=np.array([int(any_)], np.int8))


def _limits(model: Model, m: Mechanism) -> tuple[FloatArray, FloatArray, IntArray]:
    """Limits of joints of one freedom, and where their coordinates are; of all others, none."""
    count = np.diff(m.dof)
    body = np.repeat(np.arange(len(m.parent)), count)
    single = count[body] == 1
    lower = np.where(single, model.limits.lower[m.v_index], -np.inf)
    upper = np.where(single, model.limits.upper[m.v_index], np.inf)
    return lower, upper, np.where(single, m.q_index[body], -1).astype(np.int64)


def laws_of(laws: JointLaws, dofs: IntArray, primitives: IntArray) -> JointLaws:
    """Those of some degrees of freedom, of some primitives."""
    part = {name: getattr(laws, name).take(dofs) for name in JointLaws._fields if name not in ("sprung", "stops")}
    return with_stops(laws._replace(**part, sprung=laws.sprung.take(primitives)))
