"""Articulated-body algorithm at rest (Featherstone 1983; McMillan & Orin 1995): quasi-statics in O(n), without a tree.

The witness and the fallback of the adaptive method: with no velocities there is no bias, and one step is two sweeps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.tree.blocks import ZERO6
from bough.adaptive.tree.contract import Loads, load_body
from bough.adaptive.tree.layout import compose, get_pose, primitive_pose, put_pose
from bough.adaptive.tree.passes import FAR
from bough.compile.kernel import kernel, loop_kernel
from bough.dynamics.articulated import inertia_to_parent, split_freedom
from bough.joints import (
    Mechanism,
    along,
    force_to_parent,
    freedom,
    integrate_joint,
    motion_to_body,
    move_joint,
    rigid_freedom,
    rigid_to_parent,
    turn_to_body,
)
from bough.spatial import (
    add6,
    articulated,
    articulated_times,
    dot6,
    get6,
    get9,
    get10,
    get21,
    join,
    put6,
    put9,
    put10,
    put21,
    rigid_add,
    rigid_times,
    scale6,
)
from bough.types import Rows, Scalar, Workspace


class PlainWork(NamedTuple):
    """Working space, all by primitive body except the last two, by degree of freedom."""

    X: Rows  # (N, 12)
    E: Rows  # (N, 9) columns: the world's axes in the body's frame, where forces need them
    needs: Rows  # (N,) 1 on the way from the ground to a force given in the world's frame
    IA: Rows  # (N, 21)
    pA: Rows  # (N, 6)
    a: Rows  # (N, 6)
    W: Rows  # (n, 6)
    u: Rows  # (n,)


def make_work(bodies: int, dofs: int) -> PlainWork:
    """Working space for a mechanism."""
    shapes = [(bodies, 12), (bodies, 9), None, (bodies, 21), (bodies, 6), (bodies, 6), (dofs, 6), (dofs,)]
    return PlainWork(*(np.zeros(bodies, np.int8) if s is None else np.zeros(s) for s in shapes))


@kernel
def mark_needs(m: Mechanism, loads: Loads, w: PlainWork) -> None:
    """Find the bodies whose orientation in the world a step must know."""
    w.needs[:] = 0
    for k in range(len(loads.body)):
        i = loads.body[k] if loads.along[k] > loads.first[k] else -1
        while i >= 0 and w.needs[i] == 0:
            w.needs[i] = 1
            i = m.parent[i]


@loop_kernel
def orient(m: Mechanism, w: Workspace, i: int) -> None:
    """The world's axes in body i's frame, from its parent's."""
    E = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    if m.parent[i] >= 0:
        E = get9(w.E, m.parent[i])
    x = turn_to_body(m, w.X, i, (E[0], E[1], E[2]))
    y = turn_to_body(m, w.X, i, (E[3], E[4], E[5]))
    z = turn_to_body(m, w.X, i, (E[6], E[7], E[8]))
    # Row j of E is the j-th axis of the world in the body: E is the rotation of the body in the world.
    put9(w.E, i, (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]))


@loop_kernel
def outward(m: Mechanism, q: Rows, force: Rows, loads: Loads, w: PlainWork) -> None:
    """Joint motions, world forces into body frames, and the inertias to begin with."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        put21(w.IA, i, articulated(get10(m.inertia, i), 0.0))
        if w.needs[i] == 1:
            orient(m, w, i)
        k = loads.slot[i]
        if k >= 0:
            load_body(force, loads, k, get9(w.E, i))
        put6(w.pA, i, scale6(-1.0, get6(force, i)))


@kernel
def inward(m: Mechanism, tau: Rows, w: PlainWork) -> None:
    """Eliminate the joints from the tips to the ground."""
    for i in range(len(m.parent) - 1, -1, -1):
        IA, pA = get21(w.IA, i), get6(w.pA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            D, W, IA = split_freedom(m, k, IA)
            u = tau[k] - along(m, k, pA)
            put6(w.W, k, W)
            w.u[k] = u / D
            pA = add6(pA, scale6(u, W))
        inertia_to_parent(m, i, IA, w)
        p = m.parent[i]
        if p >= 0:
            put6(w.pA, p, add6(get6(w.pA, p), force_to_parent(m, w.X, i, pA)))


@loop_kernel
def outward_accelerations(m: Mechanism, qdd: Rows, w: PlainWork) -> None:
    """Joint accelerations from the ground to the tips."""
    for i in range(len(m.parent)):
        p = m.parent[i]
        if p >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, p))
        else:
            a = join((0.0, 0.0, 0.0), turn_to_body(m, w.X, i, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))
        for k in range(m.dof[i], m.dof[i + 1]):
            x = w.u[k] - dot6(get6(w.W, k), a)
            qdd[m.v_index[k]] = x
            a = add6(a, freedom(m, k, x))
        put6(w.a, i, a)


@kernel
def plain_move(m: Mechanism, q: Rows, qdd: Rows, h: float) -> None:
    """Move every joint by h qdd."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, qdd, h, q)


@loop_kernel
def turn_of(m: Mechanism, qdd: Rows, turn: float) -> Scalar:
    """The largest joint acceleration, by the largest turn or distance that a step may have."""
    most = 0.0
    for k in range(len(m.axis)):
        x = abs(qdd[m.v_index[k]]) / (turn if m.axis[k] <= 2 else FAR)
        most = x if not x <= most else most
    return most


@loop_kernel
def motion_product(m: Mechanism, x: Rows, y: Rows, X: Rows, a: Rows, b: Rows) -> Scalar:
    """x' M y: the sum over bodies of a' I b, relative to the ground, and that of the rotors; a and b are scratch."""
    total = 0.0
    for i in range(len(m.parent)):
        s, t = ZERO6, ZERO6
        if m.parent[i] >= 0:
            s = motion_to_body(m, X, i, get6(a, m.parent[i]))
            t = motion_to_body(m, X, i, get6(b, m.parent[i]))
        for k in range(m.dof[i], m.dof[i + 1]):
            v = m.v_index[k]
            total += m.armature[k] * x[v] * y[v]
            s, t = add6(s, freedom(m, k, x[v])), add6(t, freedom(m, k, y[v]))
        put6(a, i, s)
        put6(b, i, t)
        total += dot6(s, rigid_times(get10(m.inertia, i), t))
    return total


@kernel
def joint_forces(w: PlainWork, bodies: Rows, out: Rows) -> None:
    """IA a + pA of some bodies: what their joints exert on them."""
    for k in range(len(bodies)):
        i = bodies[k]
        put6(out, k, add6(articulated_times(get21(w.IA, i), get6(w.a, i)), get6(w.pA, i)))


@loop_kernel
def world_poses(m: Mechanism, q: Rows, X: Rows, out: Rows) -> None:
    """The pose of every body's frame in the world."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, X)
        pose = primitive_pose(m, X, i)
        if m.parent[i] >= 0:
            pose = compose(get_pose(out, m.parent[i]), pose)
        put_pose(out, i, pose)


# What each joint has of a motion: from a plain solution, how many of them carry it.


@kernel
def joint_energies(m: Mechanism, qdd: Rows, X: Rows, Ic: Rows, out: Rows) -> None:
    """M_kk qdd_k^2 of each degree of freedom k; Ic is scratch: what each body carries, as one rigid body."""
    for i in range(len(m.parent)):
        put10(Ic, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        I, p = get10(Ic, i), m.parent[i]
        for k in range(m.dof[i], m.dof[i + 1]):
            out[k] = (along(m, k, rigid_freedom(m, k, I)) + m.armature[k]) * qdd[m.v_index[k]] ** 2
        if p >= 0:
            put10(Ic, p, rigid_add(get10(Ic, p), rigid_to_parent(m, X, i, I)))
