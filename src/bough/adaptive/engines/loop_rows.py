"""Loops on a mechanism: which rows of constraints are open on which bodies, and how far they are open now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.node import IDENTITY, ZERO3, compose, get_pose, primitive_pose, put_pose
from bough.adaptive.passes import Loads, Pieces
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.compile.scalar import atan
from bough.joints import Mechanism
from bough.spatial import cross, dot3, join, put6, rotate_back, scale6, sub3
from bough.types import FloatArray, IntArray, Rotation, Rows, Scalar, Vector


class LoopRows(NamedTuple):
    """Rows of constraints on a mechanism of N bodies: c loops of m rows, open on E pairs of a body and a row."""

    body: IntArray  # (c, 2) bodies held together, -1 = the ground
    meet: IntArray  # (c,) where their ways to the ground meet
    frame: FloatArray  # (2 c, 12) closing frames in these bodies
    pose: FloatArray  # (2 c, 12) scratch: in the frame of `meet`
    loop: IntArray  # (m,) of each row
    axis: IntArray  # (m,) of the second frame that it holds
    first: IntArray  # (N + 1,) where the open rows of each body begin
    row: IntArray  # (E,)
    follow: IntArray  # (E,) where a row goes on at the parent, or ~row where it closes there
    start: IntArray  # (m, 2) where a row begins, on both bodies; ~row where one of them is where it closes
    closing: IntArray  # (N + 2,) where the rows that close at each body begin, the ground last
    closed: IntArray  # (m,)
    K: FloatArray  # (E, 6)
    s: FloatArray  # (E, 6) S' K of each freedom
    K0: FloatArray  # (m, 6) K where a row closes
    wrench: FloatArray  # (2 m, 6) unit forces on both bodies, in their frames
    L: FloatArray  # (m, m)
    l: FloatArray  # (m,)
    A: FloatArray  # (m, m) scratch: eigenvalues of the scaled L_CC
    V: FloatArray  # (m, m) and its eigenvectors
    scale: FloatArray  # (m,)
    YK: FloatArray  # (m, 6) L_CC^-1 K_C', which a closing body's acceleration meets
    YO: FloatArray  # (m, m) L_CC^-1 L_CO
    y: FloatArray  # (m, 1)
    gap: FloatArray  # (m,)
    lam: FloatArray  # (m,)
    D: FloatArray  # (n,)
    rate: FloatArray  # (1,) share of the gaps to close, by h
    given: FloatArray  # (m,) how rows open without any force here: what moves beside what the sweep looks at


@loop_kernel
def _climb(parent: Rows, body: Rows, size: Rows, opened: Rows, meet: Rows, at: Rows, loop: Rows) -> Scalar:
    """Go from the bodies of each loop to where they meet: rows open at each body, and who is on the way."""
    n = 0
    for c in range(len(body)):
        a, b = body[c, 0], body[c, 1]
        while a != b:
            i = max(a, b)
            opened[i] += size[c]
            if n < len(at):
                at[n], loop[n] = i, c
            n += 1
            if a > b:
                a = parent[a]
            else:
                b = parent[b]
        meet[c] = a
    return float(n)


def loop_work(parent: IntArray, body: IntArray, size: IntArray) -> tuple[float, int]:
    """How many products of open rows a sweep takes, and on how many bodies loops of so many rows are open."""
    opened, meet, none = np.zeros(len(parent), np.int64), np.zeros(len(body), np.int64), np.zeros(0, np.int64)
    entries = int(compiled(_climb)(np.asarray(parent), body, size, opened, meet, none, none.copy()))
    together = np.bincount(meet + 1, size, minlength=1).max(initial=0.0)
    return float((opened.astype(float) ** 2).sum() + together**3), entries


def make_loops(parent: IntArray, dofs: int, body: IntArray, frame: FloatArray, rows: list[list[int]]) -> LoopRows:
    """The plan of loops between bodies (c, 2), whose frames (2 c, 12) are held along these axes of the second."""
    c, N = len(body), len(parent)
    up, size = np.append(parent, -1), np.array([len(r) for r in rows], np.int64)
    meet, entries = np.zeros(c, np.int64), loop_work(parent, body, size)[1]
    way, of = np.zeros((2, entries), np.int64)
    compiled(_climb)(np.asarray(parent), body, size, np.zeros(N, np.int64), meet, way, of)
    loop = np.repeat(np.arange(c), size)
    m, first = len(loop), np.cumsum(size) - size
    at = np.repeat(way, size[of])
    row = np.repeat(first[of], size[of]) + np.arange(len(at)) - np.repeat(np.cumsum(size[of]) - size[of], size[of])
    key = at * max(m, 1) + row
    order = np.argsort(key)
    key, at, row = key[order], at[order], row[order]

    def place(bodies: IntArray, of: IntArray) -> IntArray:
        found = np.searchsorted(key, bodies * max(m, 1) + of)
        return np.where(bodies == meet[loop[of]], ~of, found).astype(np.int64)

    every = np.arange(m)
    start = np.stack([place(body[loop, side], every) for side in (0, 1)], axis=1) if m else np.zeros((0, 2), np.int64)
    closes = np.where(meet[loop] < 0, N, meet[loop])
    n6, mm = np.zeros((m, 6)), np.zeros((m, m))
    return LoopRows._make([
        body, meet, frame, np.zeros((2 * c, 12)), loop, np.array([x for r in rows for x in r], np.int64),
        np.searchsorted(at, np.arange(N + 1)), row, place(up[at], row), start,
        np.searchsorted(np.sort(closes), np.arange(N + 2)), np.argsort(closes, kind="stable"),
        np.zeros((len(at), 6)), np.zeros((len(at), 6)), n6, np.zeros((2 * m, 6)), mm, np.zeros(m), mm.copy(),
        mm.copy(), np.zeros(m), n6.copy(),
        mm.copy(), np.zeros((m, 1)), *np.zeros((2, m)), np.zeros(dofs), np.zeros(1), np.zeros(m),
    ])  # fmt: skip


def no_loops(bodies: int, dofs: int) -> LoopRows:
    """A plan without loops."""
    return make_loops(np.full(bodies, -1), dofs, np.zeros((0, 2), np.int64), np.zeros((0, 12)), [])


class Closing(NamedTuple):
    """Loops between loaded bodies of a linkage."""

    body: IntArray  # (c, 2), -1 = the ground
    frame: FloatArray  # (2 c, 12) closing frames there
    rows: list[list[int]]  # axes of the second frame that each holds

    def contracted(self, m: Mechanism, pieces: Pieces, loads: Loads) -> tuple[LoopRows, IntArray]:
        """The loops on a contracted tree m, and which they are: those within one piece are closed for good."""
        body = self.body.ravel()
        slot = np.where(body >= 0, loads.slot[body], 0)
        on = np.where(body >= 0, pieces.bearer[slot], -1).reshape(-1, 2)
        placed = np.where((body >= 0)[:, None], pieces.pose[slot], np.eye(4, 3).ravel())
        R, p = placed[:, :9].reshape(-1, 3, 3), placed[:, 9:]
        turned = (R @ self.frame[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
        moved = p + np.einsum("nij,nj->ni", R, self.frame[:, 9:])
        which = np.flatnonzero(on[:, 0] != on[:, 1])
        frame = np.concatenate([turned, moved], axis=1).reshape(-1, 24)[which].reshape(-1, 12)
        rows = [self.rows[k] for k in which.tolist()]
        return make_loops(np.asarray(m.parent), len(m.axis), on[which], frame, rows), which


# Where the loops are


@inlined
@loop_kernel
def _rotation_vector(R: Rotation) -> Vector:
    """The turn R as an axis times its angle."""
    v = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    s = np.sqrt(dot3(v, v))
    k = 1.0
    if s > 1e-9:
        k = 2.0 * atan(s / max(0.5 * (R[0] + R[4] + R[8] + 1.0), 1e-300)) / s
    return (k * v[0], k * v[1], k * v[2])


@inlined
@kernel
def _transposed(R: Rotation) -> Rotation:
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@loop_kernel
def place_loops(m: Mechanism, X: Rows, lp: LoopRows) -> None:
    """Closing frames where their ways meet, unit forces on the bodies, and gaps."""
    for c in range(len(lp.meet)):
        for side in range(2):
            i, pose = lp.body[c, side], (IDENTITY, ZERO3)
            while i != lp.meet[c]:
                pose = compose(primitive_pose(m, X, i), pose)
                i = m.parent[i]
            put_pose(lp.pose, 2 * c + side, pose)
    for r in range(len(lp.loop)):
        c, j = lp.loop[r], lp.axis[r]
        A, B = get_pose(lp.pose, 2 * c), get_pose(lp.pose, 2 * c + 1)
        a, b = compose(A, get_pose(lp.frame, 2 * c)), compose(B, get_pose(lp.frame, 2 * c + 1))
        k = j % 3
        t = (b[0][k], b[0][3 + k], b[0][6 + k])  # axis k of the second frame
        for side in range(2):
            pose, sign = (B, 1.0) if side == 1 else (A, -1.0)
            n, f = t, ZERO3
            if j >= 3:
                n, f = cross(sub3(b[1], pose[1]), t), t
            w = join(rotate_back(pose[0], n), rotate_back(pose[0], f))
            put6(lp.wrench, 2 * r + side, scale6(sign, w))
        if j >= 3:
            lp.gap[r] = dot3(t, sub3(b[1], a[1]))
        else:
            ax, ay, az = (a[0][0], a[0][3], a[0][6]), (a[0][1], a[0][4], a[0][7]), (a[0][2], a[0][5], a[0][8])
            x, y, z = rotate_back(b[0], ax), rotate_back(b[0], ay), rotate_back(b[0], az)
            # Rb' Ra: the turn from a to b, in b, is that of its inverse
            v = _rotation_vector(_transposed((x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])))
            lp.gap[r] = v[k]
