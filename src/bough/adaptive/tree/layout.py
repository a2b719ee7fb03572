"""Data of the compiled passes: the layout of an assembly (fixed) and its state (records, configuration, forces)."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
import numpy.typing as npt

from bough.adaptive.tree.assembly import Assembly, Linkage, make_linkage
from bough.adaptive.tree.shapes import shaped_tree
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.vectors import WIDTH
from bough.errors import TooLargeError
from bough.joints import (
    Mechanism,
    freedom,
    integrate_joint,
    motion_to_body,
    move_joint,
    origin_in_parent,
    turn_to_parent,
)
from bough.model import Model
from bough.spatial import add3, get9, get_tail, matmul3, put6, put9, put_tail, rotate
from bough.types import FloatArray, Pose, Rotation, Rows, Vector

# Places in the record of a node, one or two handles: the part that every pass reads comes first.
ETA, B1, P1, GAMMA, B2, P2, W, H, PHI1, PSI1, T1 = 0, 1, 7, 13, 19, 25, 31, 52, 73, 94, 115
# As one rigid body (see `rigid`): its inertia, the sum of its forces, and kappa
INERTIA, FORCE, KAPPA = 151, 161, 167
ONE_HANDLE = 168
PHI2, PSI2, PHI12, PSI12, T2, CROSS = 168, 189, 210, 246, 282, 318
TWO_HANDLES = 330
# What nodes keep beyond the equations, added up: total accelerations of joints; themselves as rigid bodies
TOTAL, RIGID = 1, 2


class Keeps(NamedTuple):
    """The same as kernels read it, each (1,) or (): what is not kept is not compiled."""

    total: tuple[int, ...]
    rigid: tuple[int, ...]


@cache
def make_keeps(flags: int) -> Keeps:
    """The record of these flags."""
    return Keeps((1,) if flags & TOTAL else (), (1,) if flags & RIGID else ())


# Scratch blocks
(A1, A21, A2, PA1, PA21, PA2, C1, C12, C2, PC1, PC12, PC2, XA21, XA2, XPA21, XPA2,
 TMP, K_, W_, H_, T1_, T2_, Y1_, Y2_, U_, D_, V_, U1_, U2_, O12, XF) = range(31)  # fmt: skip
BLOCKS = 31


class Layout(NamedTuple):
    """Topology and constants: assembly, linkage and the places of records. N bodies, n degrees of freedom."""

    left: Rows  # (nodes,) see Assembly
    right: Rows
    body: Rows
    handles: Rows
    up: Rows
    leaf_body: Rows
    leaf_up: Rows
    copies: Rows
    node_of: Rows
    offset: Rows  # (nodes + 1,) where records begin
    parent: Rows  # (N,) see Linkage
    first: Rows
    last: Rows
    host: Rows
    simple: Rows
    inverse: Rows
    dof: Rows
    metric_index: Rows
    depth: Rows  # (1,) height of the assembly tree
    near: Rows  # (nodes,) body of the near handle; N where it is the ground


class State(NamedTuple):
    """Everything that changes. The configuration is the user's q, all else is the algebra's own."""

    record: Rows  # (sum of records,)
    X: Rows  # (primitives, 12) row last[b]: placement (R, p) of body b in its parent's frame
    freedoms: Rows  # (n, 6) motion subspace of compound joints, rows in the body's frame; empty without any
    force: Rows  # (primitives, 6) applied to each body, in its frame
    tau: Rows  # (n,) joint torques, in the mechanism's order
    metric: Rows  # (metric_size,) weight matrices of joints
    q: Rows  # (nq,)
    qdd: Rows  # (nv,) accelerations found last, zero where inactive
    last_move: Rows  # (nodes,) clock of the joint's last motion; empty without catching up
    oldest: Rows  # (nodes,) the oldest last_move in the cluster; empty likewise
    stamp: Rows  # (nodes,) the step in which the joint moved last
    scratch: Rows  # (BLOCKS, 6, WIDTH)


class Clock(NamedTuple):
    """Where steps from rest have come to; (1,) each."""

    time: FloatArray  # pseudo-time: the sum of h, s^2
    h: FloatArray  # of a step, dt^2 / 2
    catches_up: FloatArray  # 1 where inactive joints later move for all the time they missed
    step: FloatArray  # steps taken


def make_clock() -> Clock:
    """At the beginning."""
    return Clock(np.zeros(1), np.ones(1), np.zeros(1), np.zeros(1))


class Shared(NamedTuple):
    """Arrays that all engines of one simulation read and write."""

    q: FloatArray  # (nq,) in the user's order
    qdd: FloatArray  # (nv,) in the user's order
    tau: FloatArray  # (n,) in the mechanism's order
    force: FloatArray  # (primitives, 6)


def make_shared(model: Model) -> Shared:
    """The neutral configuration without forces."""
    m = model.mechanism
    return Shared(np.array(model.neutral), np.zeros(model.nv), np.zeros(len(m.axis)), np.zeros((len(m.parent), 6)))


def record_size(handles: Any, freedoms: Any) -> Any:
    """Numbers in the record of a node."""
    base = np.where(handles == 2, TWO_HANDLES, ONE_HANDLE)
    return base + freedoms * (freedoms + 7 + 6 * handles)


_shared: dict[int, dict[Any, Any]] = {}  # by id of the model: its hash reads all of it


def shared_by_simulations(model: Model) -> dict[Any, Any]:
    """Results that all simulations of a model share, as long as it lives."""
    if id(model) not in _shared:
        _shared[id(model)] = {}
        finalize(model, _shared.pop, id(model))
    return _shared[id(model)]


def make_layout(model: Model, assembly: Any = "balanced") -> tuple[Layout, Linkage]:
    """The plan of an assembly of a model, made once for all its simulations if its shape has a name. O(n log n)."""
    if not isinstance(assembly, str):
        return _make_layout(model, assembly)
    known = shared_by_simulations(model)
    if assembly not in known:
        known[assembly] = _make_layout(model, assembly)
    plan, link = known[assembly]
    return plan, link


def _make_layout(model: Model, assembly: Any) -> tuple[Layout, Linkage]:
    link = make_linkage(model)
    tree = shaped_tree(model, link, assembly)
    joint = np.maximum(tree.body, 0)
    freedoms = np.where(tree.body >= 0, np.diff(link.dof)[joint], 0)
    offset = np.concatenate([[0], np.cumsum(record_size(tree.handles, freedoms))]).astype(np.int64)
    narrow = {name: getattr(tree, name).astype(np.int32) for name in Assembly._fields}
    depth = np.array([int(tree.depth.max())])
    plan = Layout(
        **narrow, offset=offset, parent=link.parent, first=link.first, last=link.last, host=link.host,
        simple=link.simple, inverse=link.inverse, dof=link.dof, metric_index=link.metric_index, depth=depth,
        near=near_bodies(narrow["left"], narrow["leaf_body"]),
    )  # fmt: skip
    return plan, link


def near_bodies(left: npt.NDArray[np.int32], leaf_body: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """(nodes,) the body at the end of each way down to the left."""
    code, open_ = left.copy(), np.flatnonzero(left >= 0)
    while len(open_):
        code[open_] = left[code[open_]]
        open_ = open_[code[open_] >= 0]
    return np.asarray(leaf_body[~code], np.int32)


def make_state(model: Model, plan: Layout, link: Linkage, metric: FloatArray, shared: Shared, ages: bool) -> State:
    """A state around the shared arrays; `ages` to keep the times of last motions. Refused where it cannot fit."""
    nodes, primitives, n = len(plan.left), len(model.mechanism.parent), len(model.mechanism.axis)
    try:
        return State(
            record=np.zeros(int(plan.offset[-1])),
            X=np.zeros((primitives, 12)),
            freedoms=np.zeros((0 if link.simple.all() else n, 6)),
            force=shared.force,
            tau=shared.tau,
            metric=metric,
            q=shared.q,
            qdd=shared.qdd,
            last_move=np.zeros(nodes if ages else 0),
            oldest=np.zeros(nodes if ages else 0),
            stamp=np.zeros(nodes),
            scratch=scratch_space(),
        )
    except MemoryError:
        size = 8 * int(plan.offset[-1]) / 2**30
        raise TooLargeError(f"the records of {nodes} nodes need {size:.1f} GiB, more than there is") from None


def scratch_space() -> FloatArray:
    """Room in which a node is computed. It begins with a cache line, so that no row lies across two."""
    size = BLOCKS * 6 * WIDTH
    room = np.zeros(size + 8)
    start = -(room.ctypes.data // 8) % 8
    return room[start : start + size].reshape(BLOCKS, 6, WIDTH)


# How kernels read a plan

ZERO3 = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


class JointPlaces(NamedTuple):
    """Where the record of a node has what depends on its joint of d DoF; a weld has none."""

    d: int
    U: int  # (d, 6)
    D: int  # (d, d)
    R: int  # (d,)
    u1: int  # (d, 6)
    u2: int  # (d, 6) with two handles


@kernel
def joint_places(plan: Layout, n: int) -> JointPlaces:
    b, d, o = plan.body[n], 0, TWO_HANDLES if plan.handles[n] == 2 else ONE_HANDLE
    if b >= 0:
        d = plan.dof[b + 1] - plan.dof[b]
    return JointPlaces(d, o, o + 6 * d, o + (d + 6) * d, o + (d + 7) * d, o + (d + 13) * d)


@kernel
def near_body(plan: Layout, code: int) -> int:
    """The body of a cluster's near handle; N where it is the ground."""
    return plan.near[code] if code >= 0 else plan.leaf_body[~code]


@kernel
def two_handled(plan: Layout, code: int) -> bool:
    return code >= 0 and plan.handles[code] == 2


@kernel
def placement(plan: Layout, st: State, b: int) -> tuple[Rotation, Vector]:
    """(R, p) of body b in its parent's frame; of a weld, nothing to do."""
    if b >= 0:
        return get9(st.X, plan.last[b]), get_tail(st.X, plan.last[b])
    return IDENTITY, ZERO3


# Where bodies are: joint placements, cross-transforms of clusters, and joints that move by a finite step.


# Poses: (R, p)


@kernel
def compose(a: Pose, b: Pose) -> Pose:
    """The pose b seen through pose a."""
    return matmul3(a[0], b[0]), add3(a[1], rotate(a[0], b[1]))


@kernel
def put_pose(X: Rows, i: int, pose: Pose) -> None:
    put9(X, i, pose[0])
    put_tail(X, i, pose[1])


@kernel
def get_pose(X: Rows, i: int) -> tuple[Rotation, Vector]:
    return get9(X, i), get_tail(X, i)


@loop_kernel
def primitive_pose(m: Mechanism, X: Rows, i: int) -> tuple[Rotation, Vector]:
    """The pose of primitive i in its parent, from its motion in X."""
    x, y, z = (
        turn_to_parent(m, X, i, (1.0, 0.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 1.0, 0.0)),
        turn_to_parent(m, X, i, (0.0, 0.0, 1.0)),
    )
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), origin_in_parent(m, X, i)


@loop_kernel
def place_body(m: Mechanism, plan: Layout, st: State, b: int) -> None:
    """Refresh the placement of body b in its parent's frame, and the axes of a compound joint, from q."""
    first, last = plan.first[b], plan.last[b]
    for i in range(first, last + 1):
        move_joint(m, st.q, i, st.X)
    pose = primitive_pose(m, st.X, first)
    if first < last:
        for i in range(first, last + 1):
            for k in range(m.dof[i], m.dof[i + 1]):
                s = freedom(m, k, 1.0)
                for j in range(i + 1, last + 1):
                    s = motion_to_body(m, st.X, j, s)
                put6(st.freedoms, k, s)
        for i in range(first + 1, last + 1):
            pose = compose(pose, primitive_pose(m, st.X, i))
    put_pose(st.X, last, pose)


@kernel
def cross_pose(plan: Layout, st: State, code: int) -> tuple[Rotation, Vector]:
    """The far handle's body in the frame of the near one."""
    if two_handled(plan, code):
        r = st.record[plan.offset[code] : plan.offset[code + 1]]
        o = CROSS
        R = (r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5], r[o + 6], r[o + 7], r[o + 8])
        return R, (r[o + 9], r[o + 10], r[o + 11])
    return IDENTITY, ZERO3


@kernel
def far_pose(plan: Layout, st: State, n: int, pose: Pose) -> Pose:
    """The pose of B's near body, given the pose of node n's near body."""
    return compose(compose(pose, cross_pose(plan, st, plan.left[n])), placement(plan, st, plan.body[n]))


@kernel
def refresh_cross(plan: Layout, st: State, n: int) -> None:
    """Bring the cross-transform of a two-handle node up to date."""
    if plan.handles[n] == 2:
        pose = compose(far_pose(plan, st, n, (IDENTITY, ZERO3)), cross_pose(plan, st, plan.right[n]))
        r = st.record[plan.offset[n] : plan.offset[n + 1]]
        for k in range(9):
            r[CROSS + k] = pose[0][k]
        r[CROSS + 9], r[CROSS + 10], r[CROSS + 11] = pose[1][0], pose[1][1], pose[1][2]


@kernel
def advance_body(m: Mechanism, plan: Layout, st: State, b: int, h: float) -> None:
    """Move the joint of body b by h qdd."""
    for i in range(plan.first[b], plan.last[b] + 1):
        integrate_joint(m, i, st.q, st.qdd, h, st.q)
