"""The contracted tree: inactive clusters are rigid bodies, and the active joints connect them to an ordinary tree.

A rigid cluster of it has the bodies of all inactive clusters with the same near body: the ground, or a body whose joint
is active. So there are as many of them beside the ground as there are active joints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.adaptive.tree.layout import (
    IDENTITY,
    ZERO3,
    Layout,
    State,
    compose,
    cross_pose,
    far_pose,
    get_pose,
    near_body,
    primitive_pose,
    put_pose,
)
from bough.adaptive.tree.rigid import cluster_inertia
from bough.compile.kernel import kernel, loop_kernel
from bough.joints import LAST_SCREW, PLACED, Mechanism
from bough.spatial import (
    add3,
    add6,
    cross,
    get3,
    get10,
    join,
    put3,
    put6,
    put10,
    rigid_add,
    rotate,
    rotate_back,
    scale3,
)
from bough.types import BoolArray, FloatArray, IntArray, Rotation, Rows, Scalar, Vector

# Applied forces: gathered by body, turned from the world's frame into the body's when needed.


NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Loads(NamedTuple):
    """Forces on primitive bodies, those of a body side by side; first the ones that keep their direction in the world,
    which turn with respect to the body as it moves, then the ones that turn along with it."""

    body: Rows  # (loaded,) increasing
    first: Rows  # (loaded + 1,) where the forces of each begin
    along: Rows  # (loaded,) where those begin that turn along
    force: Rows  # (k, 3) in the world's axes or the body's
    moment: Rows  # (k, 3) likewise
    point: Rows  # (k, 3) in the body's frame
    slot: Rows  # (primitives,) place of a body among the loaded ones, -1 = none


class Applied(NamedTuple):
    """Forces as applied, in the world's axes or the body's, at points of the body's frame."""

    body: IntArray  # (k,)
    world: BoolArray  # (k,)
    force: FloatArray  # (k, 3)
    moment: FloatArray  # (k, 3)
    point: FloatArray  # (k, 3)


def no_force(bodies: Any, world: bool = True) -> Applied:
    """Forces of zero on these bodies, in the world's axes or theirs: they are listed all the same."""
    k = len(bodies)
    return Applied(np.array(bodies, np.int64), np.full(k, world), *np.zeros((3, k, 3)))


def gather(applied: Applied, slot: Any) -> tuple[Loads, IntArray]:
    """Sort forces by body, and the place of each in that order; `slot` is overwritten."""
    key = 2 * applied.body + ~applied.world
    order = np.argsort(key, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    body = np.unique(applied.body)
    slot[:] = -1
    slot[body] = np.arange(len(body))
    first = np.searchsorted(key[order], np.append(2 * body, np.iinfo(np.int64).max))
    along = np.searchsorted(key[order], 2 * body + 1)
    columns = [np.ascontiguousarray(a[order]) for a in (applied.force, applied.moment, applied.point)]
    return Loads._make([body, first, along, *columns, slot]), place


def no_forces(primitives: int) -> Loads:
    """Loads that leave the forces on all primitives as they are."""
    return gather(no_force([]), np.full(primitives, -1, np.int32))[0]


@kernel
def load_body(force: Rows, loads: Loads, k: int, R: Rotation) -> None:
    """Write the sum of the forces on loaded body k, whose frame is turned by R, in its own frame."""
    f = NOTHING
    for j in range(loads.first[k], loads.first[k + 1]):
        l, n = get3(loads.force, j), get3(loads.moment, j)
        if j < loads.along[k]:
            l, n = rotate_back(R, l), rotate_back(R, n)
        c = cross(get3(loads.point, j), l)
        f = add6(f, join((n[0] + c[0], n[1] + c[1], n[2] + c[2]), l))
    put6(force, loads.body[k], f)


BY_BODY = ("kind", "fixed_kind", "q_index", "fixed", "offset")  # of a mechanism
BY_DOF = ("v_index", "axis", "depth", "pitch", "ratio", "armature")
ROWS = 5  # forces on a loaded cluster
NO_ROWS = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))


class Clusters(NamedTuple):
    """A contracted tree in the making: k active joints of P primitives, and loaded bodies."""

    node: Rows  # active nodes, ascending
    body: Rows  # (k,) whose joints are open, ascending
    first: Rows  # (k,) where their primitives begin on the contracted tree
    last: Rows  # (k,) and end
    dofs: Rows  # (n,) its DoF on the linkage
    cluster: Rows  # (N + 1,) the last primitive of the cluster of each such body, -1 for the ground; others are not set
    active: Rows  # (nodes,) zeros, as they are left
    loaded: Rows  # (l,) bodies
    carrier: Rows  # (l,) the primitive on the contracted tree that takes a loaded body along, -1 = the ground
    pose: Rows  # (l, 12) where the loaded body is in its frame
    X: Rows  # (P, 12) scratch


@loop_kernel
def contract(m: Mechanism, plan: Layout, st: State, c: Mechanism, t: Clusters) -> None:
    """Hang the joints of the contracted mechanism c on clusters, weigh these, and find where loaded bodies are."""
    t.cluster[len(plan.parent)] = -1
    for k in range(len(t.body)):
        t.cluster[t.body[k]] = t.last[k]
    for k in range(len(t.node)):
        t.active[t.node[k]] = 1
    for k in range(len(t.node)):
        n = t.node[k]
        for code in (plan.left[n], plan.right[n]):
            if code < 0 or t.active[code] == 0:
                at = t.cluster[near_body(plan, code)]
                if at >= 0:
                    put10(c.inertia, at, rigid_add(get10(c.inertia, at), cluster_inertia(m, plan, st, code)))
    for k in range(len(t.body)):
        _hang(plan, st, c, t, k)
    for k in range(len(t.loaded)):
        _place_loaded(plan, st, t, k)
    for k in range(len(t.node)):
        t.active[t.node[k]] = 0


@loop_kernel
def _hang(plan: Layout, st: State, c: Mechanism, t: Clusters, k: int) -> None:
    """The parent of active joint k, and its fixed part there: the far handle of the cluster on the parent's side."""
    code, far, i = plan.left[plan.node_of[t.body[k]]], True, t.first[k]
    while code >= 0 and t.active[code] == 1:
        far = far and plan.handles[code] == 2
        code = plan.right[code] if far else plan.left[code]
    c.parent[i] = t.cluster[near_body(plan, code)]
    if far and code >= 0 and plan.handles[code] == 2:
        for j in range(12):
            t.X[i, j] = 0.0
        if c.kind[i] <= LAST_SCREW:
            t.X[i, 0] = 1.0
        else:
            put_pose(t.X, i, (IDENTITY, ZERO3))
        put_pose(c.fixed, i, compose(cross_pose(plan, st, code), primitive_pose(c, t.X, i)))
        c.fixed_kind[i] = PLACED


@kernel
def _place_loaded(plan: Layout, st: State, t: Clusters, k: int) -> None:
    """The cluster of a loaded body, and where it is there: up from its leaf while clusters are closed."""
    code, n = ~t.loaded[k], plan.leaf_up[t.loaded[k]]
    put_pose(t.pose, k, (IDENTITY, ZERO3))
    while t.active[n] == 0:
        if plan.right[n] == code:
            put_pose(t.pose, k, compose(far_pose(plan, st, n, (IDENTITY, ZERO3)), get_pose(t.pose, k)))
        code, n = n, plan.up[n]
        if n < 0:
            break
    t.carrier[k] = t.cluster[near_body(plan, code)]


def _ranges(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """start[k] ... start[k] + count[k] - 1 for all k in a row, and where each ends there."""
    end = np.cumsum(count)
    return np.repeat(start - end + count, count) + np.arange(end[-1] if len(end) else 0), end


def make_clusters(m: Mechanism, plan: Layout, done: IntArray, loads: Loads, room: Any) -> tuple[Clusters, Mechanism]:
    """The contracted tree of these active nodes, its joints in a row and without inertia.

    `room` is the scratch `cluster` and `active`.
    """
    node = np.sort(done)
    body = np.sort(plan.body[node])
    body = body[np.searchsorted(body, 0) :].astype(np.int64)
    l = len(loads.body)
    count = plan.last[body] - plan.first[body] + 1
    primitives, end = _ranges(plan.first[body], count)
    dofs, _ = _ranges(plan.dof[body], plan.dof[body + 1] - plan.dof[body])
    P = len(primitives)
    c = m._replace(
        **{name: getattr(m, name).take(primitives, axis=0) for name in BY_BODY},
        **{name: getattr(m, name).take(dofs) for name in BY_DOF},
        parent=np.arange(-1, P - 1, dtype=m.parent.dtype),
        inertia=np.zeros((P, 10)),
        dof=np.append(0, np.cumsum(m.dof[primitives + 1] - m.dof[primitives])).astype(m.dof.dtype),
        rows=np.zeros(len(dofs) + 1, m.rows.dtype),
    )
    loaded = plan.host[loads.body].astype(np.int64)
    rest = loaded, np.zeros(l, np.int64), np.zeros((l, 12)), np.empty((P, 12))
    return Clusters._make([node, body, end - count, end - 1, dofs, *room, *rest]), c


def cluster_loads(carrier: IntArray, primitives: int) -> Loads:
    """Space for the forces on clusters: what acts on all bodies of one is five forces, whatever their number.

    Forces f_i with a direction in the world at points r_i act together as sum f_i and sum r_i f_i', whose rows are
    forces at the points (1, 0, 0), (0, 1, 0) and (0, 0, 1), less their sum at the origin. Those that turn along are
    one.
    """
    clusters = np.unique(carrier[carrier >= 0])
    k, slot = len(clusters), np.full(primitives, -1, np.int32)
    if k == 0:
        return Loads(clusters, np.zeros(1, np.int64), clusters, *NO_ROWS, slot)
    slot[clusters] = np.arange(k)
    point = np.zeros((k, ROWS, 3))
    point[:, 1:4] = np.eye(3)
    first, room = ROWS * np.arange(k + 1), np.zeros((2, ROWS * k, 3))
    return Loads(clusters, first, first[:-1] + 4, room[0], room[1], point.reshape(-1, 3), slot)


@loop_kernel
def load_clusters(loads: Loads, t: Clusters, c: Loads) -> None:
    """Forces on bodies as forces on the clusters that bear them, c."""
    c.force[:, :] = 0.0
    c.moment[:, :] = 0.0
    for k in range(len(loads.body)):
        if t.carrier[k] < 0:
            continue
        R, p = get_pose(t.pose, k)
        o = ROWS * c.slot[t.carrier[k]]
        for j in range(loads.first[k], loads.first[k + 1]):
            r, f, n = add3(p, rotate(R, get3(loads.point, j))), get3(loads.force, j), get3(loads.moment, j)
            if j < loads.along[k]:
                _add(c.moment, o, 1.0, n)
                _add(c.force, o, 1.0 - r[0] - r[1] - r[2], f)
                _add(c.force, o + 1, r[0], f)
                _add(c.force, o + 2, r[1], f)
                _add(c.force, o + 3, r[2], f)
            else:
                f = rotate(R, f)
                _add(c.force, o + 4, 1.0, f)
                _add(c.moment, o + 4, 1.0, add3(rotate(R, n), cross(r, f)))


@kernel
def _add(a: Rows, i: int, x: Scalar, f: Vector) -> None:
    put3(a, i, add3(get3(a, i), scale3(x, f)))
