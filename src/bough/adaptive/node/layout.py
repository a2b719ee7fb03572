"""What the compiled passes work on: the plan of an assembly (fixed) and its state (records, configuration, forces)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.assembly import Assembly, Linkage, make_linkage, shaped_tree
from bough.compile.kernel import inlined, kernel
from bough.compile.vectors import WIDTH
from bough.errors import TooLargeError
from bough.model import Model
from bough.spatial import get9, get_tail
from bough.types import FloatArray, Rotation, Rows, Vector

# Places in the record of a node, one or two handles: the part that every pass reads comes first.
ETA, B1, P1, GAMMA, B2, P2, W, H, PHI1, PSI1, T1 = 0, 1, 7, 13, 19, 25, 31, 52, 73, 94, 115
# As one rigid body (see `rigid`): its inertia, the sum of its forces, and kappa
INERTIA, FORCE, KAPPA = 151, 161, 167
ONE_HANDLE = 168
PHI2, PSI2, PHI12, PSI12, T2, CROSS = 168, 189, 210, 246, 282, 318
TWO_HANDLES = 330
# What nodes keep beyond the equations, added up: total accelerations of joints; themselves as rigid bodies
TOTAL, RIGID = 1, 2
# Behind that, for a joint of d freedoms: U (d, 6), D (d, d), R (d,), u1 (d, 6) and with two handles u2 (d, 6).

# Scratch blocks
(A1, A21, A2, PA1, PA21, PA2, C1, C12, C2, PC1, PC12, PC2, XA21, XA2, XPA21, XPA2,
 TMP, K_, W_, H_, T1_, T2_, Y1_, Y2_, U_, D_, V_, U1_, U2_, O12, XF) = range(31)  # fmt: skip
BLOCKS = 31


class Blueprint(NamedTuple):
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
    qdd: Rows  # (nv,) accelerations found last, zero where culled
    last_move: Rows  # (nodes,) clock of the joint's last motion; empty without catching up
    oldest: Rows  # (nodes,) the oldest last_move in the cluster; empty likewise
    stamp: Rows  # (nodes,) the step in which the joint moved last
    scratch: Rows  # (BLOCKS, 6, WIDTH)


class Shared(NamedTuple):
    """What all engines of one simulation read and write."""

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


def make_blueprint(model: Model, assembly: Any = "balanced") -> tuple[Blueprint, Linkage]:
    """Blueprint the assembly of a model. O(n log n), no loop in Python."""
    link = make_linkage(model)
    tree = shaped_tree(model, link, assembly)
    joint = np.maximum(tree.body, 0)
    freedoms = np.where(tree.body >= 0, np.diff(link.dof)[joint], 0)
    offset = np.concatenate([[0], np.cumsum(record_size(tree.handles, freedoms))]).astype(np.int64)
    narrow = {name: getattr(tree, name).astype(np.int32) for name in Assembly._fields}
    depth = np.array([int(tree.depth.max())])
    plan = Blueprint(
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


def make_state(model: Model, plan: Blueprint, link: Linkage, metric: FloatArray, shared: Shared, ages: bool) -> State:
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
    """Room in which one thread works on a node."""
    return _aligned(BLOCKS, 6, WIDTH)


def _aligned(*shape: int) -> FloatArray:
    """Zeros at the beginning of a cache line, so that no row lies across two."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8)
    start = -(room.ctypes.data // 8) % 8
    return room[start : start + size].reshape(shape)


# How kernels read a plan

ZERO3 = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@inlined
@kernel
def tail(plan: Blueprint, n: int) -> int:
    """Where the part of a record begins that depends on the joint's freedoms."""
    return TWO_HANDLES if plan.handles[n] == 2 else ONE_HANDLE


@inlined
@kernel
def two_handled(plan: Blueprint, code: int) -> bool:
    return code >= 0 and plan.handles[code] == 2


@inlined
@kernel
def placement(plan: Blueprint, st: State, b: int) -> tuple[Rotation, Vector]:
    """(R, p) of body b in its parent's frame; of a weld, nothing to do."""
    if b >= 0:
        return get9(st.X, plan.last[b]), get_tail(st.X, plan.last[b])
    return IDENTITY, ZERO3
