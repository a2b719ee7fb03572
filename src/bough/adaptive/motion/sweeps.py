"""The articulated-body algorithm with velocities (Featherstone 1983), on a whole linkage or on a contracted one.

The same sweeps find velocities from momenta: with bodies at rest, without gravity, and momenta in place of forces, the
accelerations that come out are the velocities that these momenta give, (M + rotors) v = J' h. So joints are locked:
internal impulses leave momenta as they are, and the tree with fewer joints finds the velocities nearest to those
before in the mass metric.
"""

from __future__ import annotations

from bough.adaptive.engines.plain import orient, world_poses
from bough.adaptive.motion.layout import Effort, Moving, Room
from bough.adaptive.tree.contract import Loads, load_body
from bough.adaptive.tree.layout import get_pose
from bough.compile.kernel import kernel, loop_kernel
from bough.dynamics.aba import accelerate, eliminate, start_body
from bough.joints import (
    Mechanism,
    by_freedom,
    difference_joint,
    force_to_parent,
    freedom,
    joint_rate,
    motion_to_body,
    move_joint,
    turn_to_body,
)
from bough.spatial import add6, dot6, get3, get6, get9, get10, join, put6, rigid_times, rotate, sub6
from bough.types import Rows, Scalar


@kernel
def effort(m: Mechanism, s: Moving, e: Effort, w: Room, lead: float) -> None:
    """w.u: torques, springs as they will be stretched after `lead`, dampers, and friction and stops as before."""
    for i in range(len(m.parent)):
        if e.sprung[i] == 1:
            difference_joint(m, i, s.rest, s.q, s.stretch)
        for k in range(m.dof[i], m.dof[i + 1]):
            x = w.rate[k]
            w.u[k] = e.tau[k] - e.damping[k] * x
            if e.stops[0] == 1:
                w.u[k] += w.grip[k]
            if e.sprung[i] == 1:
                w.u[k] -= e.stiffness[k] * (s.stretch[m.v_index[k]] + lead * x)


@loop_kernel
def outward(m: Mechanism, s: Moving, loads: Loads, w: Room) -> None:
    """Joint motions, and world forces in body frames."""
    for i in range(len(m.parent)):
        move_joint(m, s.q, i, w.X)
        if w.needs[i] == 1:
            orient(m, w, i)
        k = loads.slot[i]
        if k >= 0:
            load_body(w.force, loads, k, get9(w.E, i))


@kernel
def accelerations(m: Mechanism, s: Moving, force: Rows, w: Room) -> None:
    """s.qdd from w.u, w.rate, w.X and forces on bodies in their frames."""
    for i in range(len(m.parent)):
        start_body(m, i, w)
        put6(w.pA, i, sub6(get6(w.pA, i), get6(force, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        eliminate(m, i, w)
    for i in range(len(m.parent)):
        accelerate(m, i, s.qdd, w)


@loop_kernel
def solve(m: Mechanism, s: Moving, e: Effort, loads: Loads, w: Room, lead: float) -> None:
    """Joint accelerations; with `lead` those of an implicit step of springs and dampers, whose armature m then has."""
    by_freedom(m, s.v, w.rate)
    outward(m, s, loads, w)
    effort(m, s, e, w, lead)
    accelerations(m, s, w.force, w)


@loop_kernel
def from_momenta(m: Mechanism, s: Moving, w: Room) -> None:
    """s.qdd: the velocities that w.momentum, and those of rotors w.u, give. m has no gravity."""
    for k in range(len(m.axis)):
        w.rate[k] = 0.0
    for i in range(len(m.parent)):
        move_joint(m, s.q, i, w.X)
    accelerations(m, s, w.momentum, w)


@kernel
def velocities(m: Mechanism, s: Moving, w: Room) -> None:
    """w.a: the velocity of each body in its frame; w.X is filled."""
    by_freedom(m, s.v, w.rate)
    for i in range(len(m.parent)):
        move_joint(m, s.q, i, w.X)
        v = joint_rate(m, i, w.rate)
        if m.parent[i] >= 0:
            v = add6(v, motion_to_body(m, w.X, i, get6(w.a, m.parent[i])))
        put6(w.a, i, v)


@loop_kernel
def kinetic_energy(m: Mechanism, s: Moving, e: Effort, w: Room) -> Scalar:
    """Of bodies and rotors; w.a is filled."""
    velocities(m, s, w)
    total = 0.0
    for i in range(len(m.parent)):
        v = get6(w.a, i)
        total += dot6(v, rigid_times(get10(m.inertia, i), v))
    for k in range(len(m.axis)):
        total += e.rotor[k] * w.rate[k] * w.rate[k]
    return 0.5 * total


@loop_kernel
def tally(m: Mechanism, s: Moving, e: Effort, w: Room, out: Rows) -> None:
    """out (9,): kinetic, gravity's and springs' energy, then momentum [linear, angular] about the world's origin."""
    out[0] = kinetic_energy(m, s, e, w)
    world_poses(m, s.q, w.X, w.P)
    g = m.gravity
    for i in range(len(m.parent)):
        I = get10(m.inertia, i)
        R, p = get_pose(w.P, i)
        h = rotate(R, (I[6], I[7], I[8]))
        for j in range(3):
            out[1] -= g[j] * (I[9] * p[j] + h[j])
        if e.sprung[i] == 1:
            difference_joint(m, i, s.rest, s.q, s.stretch)
            for k in range(m.dof[i], m.dof[i + 1]):
                out[2] += 0.5 * e.stiffness[k] * s.stretch[m.v_index[k]] ** 2
        put6(w.pA, i, rigid_times(I, get6(w.a, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        f, above = force_to_parent(m, w.X, i, get6(w.pA, i)), m.parent[i]
        if above >= 0:
            put6(w.pA, above, add6(get6(w.pA, above), f))
        else:
            for j in range(3):
                out[3 + j] += f[3 + j]
                out[6 + j] += f[j]


@loop_kernel
def transmit(m: Mechanism, s: Moving, loads: Loads, w: Room) -> None:
    """w.momentum: the force on each body through its joint, in its frame, at accelerations s.qdd (inverse dynamics)."""
    by_freedom(m, s.v, w.rate)
    outward(m, s, loads, w)
    g = m.gravity
    for i in range(len(m.parent)):
        start_body(m, i, w)
        put6(w.pA, i, sub6(get6(w.pA, i), get6(w.force, i)))
        if m.parent[i] >= 0:
            a = add6(get6(w.a, m.parent[i]), join((0.0, 0.0, 0.0), get3(w.b, i)))
            a = motion_to_body(m, w.X, i, a)
        else:
            a = join((0.0, 0.0, 0.0), turn_to_body(m, w.X, i, (-g[0], -g[1], -g[2])))
        a = add6(a, get6(w.c, i))
        for k in range(m.dof[i], m.dof[i + 1]):
            a = add6(a, freedom(m, k, s.qdd[m.v_index[k]]))
        put6(w.a, i, a)
        put6(w.momentum, i, add6(rigid_times(get10(m.inertia, i), a), get6(w.pA, i)))
    for i in range(len(m.parent) - 1, -1, -1):
        above = m.parent[i]
        if above >= 0:
            f = force_to_parent(m, w.X, i, get6(w.momentum, i))
            put6(w.momentum, above, add6(get6(w.momentum, above), f))
