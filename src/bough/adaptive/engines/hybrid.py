"""The hybrid linkage (after Redon, Galoppo & Lin 2005): opened joints move, clusters left closed are rigid bodies.

An assembly tree chooses which clusters are opened; what they make with the closed ones is an ordinary tree of rigid
bodies, stepped by the articulated-body algorithm at rest: the kernels of `plain`, on a mechanism of a body for each
opened joint. Its accelerations are exact for that linkage: the projection, in the mass metric, of those of all joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.plain import Work, make_work, mark_needs, motion_square, plain_move, plain_solve
from bough.adaptive.engines.tree import TreeEngine
from bough.adaptive.passes import DONE, FAR, Applied, Loads, Pieces, contract, gather
from bough.compile.kernel import kernel
from bough.joints import Mechanism
from bough.types import FloatArray, IntArray


@kernel
def turns(m: Any, qdd: Any, h: float, turn: float) -> Any:
    """Whether a step would turn a joint by more than `turn`, or move it by what is no distance."""
    too_far = False
    for k in range(len(m.axis)):
        if not (h * abs(qdd[m.v_index[k]]) <= (turn if m.axis[k] <= 2 else FAR)):
            too_far = True
    return too_far


@kernel
def hybrid_march(
    m: Any, q: Any, tau: Any, force: Any, qdd: Any, loads: Any, w: Any, h: float, turn: float, steps: int
) -> Any:
    """Take steps; returns how many are left where one would turn a joint too far."""
    while steps > 0:
        plain_solve(m, q, tau, force, qdd, loads, w)
        if turns(m, qdd, h, turn):
            break
        plain_move(m, q, qdd, h)
        steps -= 1
    return float(steps)


def spans(first: IntArray, count: IntArray) -> IntArray:
    """first[0], first[0] + 1, ..., count[0] of them, then those of the next."""
    ends = np.cumsum(count)
    return np.asarray(np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - count), count), np.int64)


class HybridEngine:
    """The contracted tree of the clusters that an assembly tree has opened."""

    def __init__(self, tree: TreeEngine) -> None:
        self.tree, self.shared = tree, tree.shared
        nodes, bodies = len(tree.plan.left), len(tree.plan.parent)
        self._opened, self._piece = np.zeros(nodes, np.int8), np.zeros(bodies + 1, np.int64)
        self.mechanism: Mechanism
        self.work: Work
        self.pieces: Pieces
        self.loads: Loads
        self.force: FloatArray
        self._dofs: IntArray
        self._from: Loads | None = None  # the loads that were contracted

    @property
    def joints(self) -> int:
        """How many joints are open."""
        return len(self.pieces.body)

    def contract(self, loads: Loads) -> None:
        """Make the tree of the clusters that are open now. O(k log n) for k of them and the loaded bodies."""
        tree, plan, m = self.tree, self.tree.plan, self.tree.mechanism
        done = tree.front.done[: int(tree.front.count[DONE])]
        body = np.sort(plan.body[done[plan.body[done] >= 0]]).astype(np.int64)
        count = (plan.last[body] - plan.first[body] + 1).astype(np.int64)
        last = np.cumsum(count) - 1
        first = last - count + 1
        primitives = spans(plan.first[body].astype(np.int64), count)
        self._dofs = spans(plan.dof[body].astype(np.int64), (plan.dof[body + 1] - plan.dof[body]).astype(np.int64))
        self.mechanism = contracted_mechanism(m, primitives, self._dofs, last)
        self.work = make_work(len(primitives), len(self._dofs))
        loaded, l = tree.link.host[loads.body].astype(np.int64), len(loads.body)
        self.pieces = Pieces(
            body, first, last, self._piece, self._opened, loaded, np.zeros(l, np.int64), np.zeros((l, 12)), self.work.X
        )
        compiled(contract)(m, plan, tree.state, tree.front, self.mechanism, self.pieces)
        self.force = np.zeros((len(primitives), 6))
        self._from = loads
        self.reload()

    def reload(self) -> None:
        """Forces have other values."""
        loads, t = self._from, self.pieces
        assert loads is not None
        self.force[:] = 0.0
        self.loads = contracted_loads(loads, t.bearer, t.pose, len(self.force))
        compiled(mark_needs)(self.mechanism, self.loads, self.work)

    def fits(self, loads: Loads) -> bool:
        """Whether these are the loads that were contracted, perhaps with other values."""
        return loads is self._from

    def _arguments(self) -> tuple[Any, ...]:
        s = self.shared
        return self.mechanism, s.q, s.tau[self._dofs], self.force, s.qdd, self.loads, self.work

    def solve(self) -> None:
        """Accelerations of the opened joints; those of the others are left alone."""
        compiled(plain_solve)(*self._arguments())

    def move(self, h: float) -> None:
        """Move the opened joints by h qdd."""
        compiled(plain_move)(self.mechanism, self.shared.q, self.shared.qdd, h)

    def march(self, steps: int, h: float, turn: float) -> int:
        """Take steps; returns how many are left, if one would turn a joint by more than `turn`."""
        return int(compiled(hybrid_march)(*self._arguments(), h, turn, steps))

    def power(self) -> float:
        """qdd' M qdd of the solution found last: the rate of descent, tau' qdd."""
        return float(compiled(motion_square)(self.mechanism, self.shared.qdd, self.work.X, np.zeros_like(self.force)))


def contracted_mechanism(m: Mechanism, primitives: IntArray, dofs: IntArray, last: IntArray) -> Mechanism:
    """The arrays of these primitives and freedoms; bodies without inertia, as children of the primitive before."""
    count = (m.dof[primitives + 1] - m.dof[primitives]).astype(m.dof.dtype)
    by_body = ("kind", "fixed_kind", "q_index", "fixed", "offset")
    by_dof = ("v_index", "axis", "depth", "pitch", "ratio", "armature")
    return m._replace(
        **{name: getattr(m, name)[primitives] for name in by_body},
        **{name: getattr(m, name)[dofs] for name in by_dof},
        parent=(np.arange(len(primitives)) - 1).astype(m.parent.dtype),
        dof=np.concatenate([np.zeros(1, m.dof.dtype), np.cumsum(count, dtype=m.dof.dtype)]),
        rows=np.zeros(len(dofs) + 1, m.rows.dtype),
        inertia=np.zeros((len(primitives), 10)),
    )


def contracted_loads(loads: Loads, bearer: IntArray, pose: FloatArray, primitives: int) -> Loads:
    """Forces on bodies as forces on the pieces that bear them, at most five each, whatever their number.

    Forces f_i with a direction in the world at points r_i act together as sum f_i and sum r_i f_i', whose rows are
    forces at the points (1, 0, 0), (0, 1, 0) and (0, 0, 1), less their sum at the origin.
    """
    rows = np.repeat(np.arange(len(loads.body)), np.diff(loads.first))
    world = np.arange(len(rows)) < np.asarray(loads.along)[rows]
    rows, kept = rows[bearer[rows] >= 0], bearer[rows] >= 0
    world, force, moment, point = world[kept], loads.force[kept], loads.moment[kept], loads.point[kept]
    R, p = pose[rows, :9].reshape(-1, 3, 3), pose[rows, 9:]
    point = p + np.einsum("nij,nj->ni", R, point)
    pieces, at = np.unique(bearer[rows], return_inverse=True)
    k, a, f = len(pieces), at[world], force[world]
    total, turned, spread = np.zeros((k, 3)), np.zeros((k, 3)), np.zeros((k, 3, 3))
    np.add.at(total, a, f)
    np.add.at(turned, a, moment[world])
    np.add.at(spread, a, point[world, :, None] * f[:, None, :])
    own, about = np.zeros((k, 3)), np.zeros((k, 3))
    b, Rb = at[~world], R[~world]
    push = np.einsum("nij,nj->ni", Rb, force[~world])
    np.add.at(own, b, push)
    np.add.at(about, b, np.einsum("nij,nj->ni", Rb, moment[~world]) + np.cross(point[~world], push))
    none = np.zeros((3 * k, 3))
    applied = Applied(
        np.concatenate([pieces, np.repeat(pieces, 3), pieces]).astype(np.int64),
        np.arange(5 * k) < 4 * k,
        np.concatenate([total - spread.sum(axis=1), spread.reshape(-1, 3), own]),
        np.concatenate([turned, none, about]),
        np.concatenate([np.zeros((k, 3)), np.tile(np.eye(3), (k, 1)), np.zeros((k, 3))]),
    )
    return gather(applied, np.full(primitives, -1, np.int32))[0]
