"""Loops in the articulated-body algorithm at rest: constraint forces are eliminated where the two sides of a loop meet.

On the way from the tips to the ground each row r of a constraint carries K_r, what a unit of its force exerts on the
body that the way has come to. With lam the forces of all rows that are still open, at DoF k of body i,

    u = tau - S' pA     s_r = S' K_r     qdd = (u + sum s_r lam_r - U' a) / D
    K_r - W s_r -> parent     L_rs += s_r s_s / D     l_r += s_r u / D

and where rows C meet, on body i with rows O still open, L_CC lam_C = -(K_C' a_i + L_CO lam_O + l_C + gap_C / h), so

    IA += K_C L_CC^-1 K_C'     pA += K_C L_CC^-1 (l_C + gap_C / h)     K_O -= K_C L_CC^-1 L_CO     ...

(after Popov, Vereshchagin & Zenkevich 1978; Sathya & Carpentier 2024). O(n) beside the squares of rows open together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.tree.contract import Clusters, Loads
from bough.adaptive.tree.layout import IDENTITY, ZERO3, compose, get_pose, primitive_pose, put_pose
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.run.direct import compiled
from bough.compile.scalar import atan
from bough.joints import Mechanism, along, force_to_parent
from bough.spatial import (
    add6,
    articulated_downdate,
    cross,
    dot3,
    dot6,
    get6,
    get21,
    join,
    put6,
    put21,
    rotate_back,
    scale6,
    sub3,
)
from bough.types import FloatArray, IntArray, Motion, Rotation, Rows, Scalar, Vector, Workspace

# Constraint directions softer than this against the stiffest are redundant: their force is not determined.
REDUNDANT = 1e-10
# Constraints of rotation, or of translation, that respond less than this against the others respond by rounding only.
IDLE = 1e-13
# Constraints that every joint moves by less than this, in units of their reach, are moved by rounding only.
UNMOVED = 1e-12
# What a linkage responds less than this, against its largest response, it cannot be made to do by closing a gap.
UNREACHABLE = 1e-4
SINGULAR = 1e-14  # a pivot of a stiffness this much smaller than what it is made of is none

# Loops on a mechanism: which rows of constraints are open on which bodies, and how far they are open now.


class LoopRows(NamedTuple):
    """Rows of constraints on a mechanism of N bodies: c loops of m rows, open on E pairs of a body and a row."""

    body: IntArray  # (c, 2) bodies held together, -1 = the ground
    meet: IntArray  # (c,) where their ways to the ground meet
    frame: FloatArray  # (2 c, 12) closing frames in these bodies
    pose: FloatArray  # (2 c, 12) scratch: these bodies in the frame of `meet`
    loop: IntArray  # (m,) of each row
    axis: IntArray  # (m,) of the second frame that it holds
    first: IntArray  # (N + 1,) where the open rows of each body begin
    row: IntArray  # (E,)
    follow: IntArray  # (E,) where a row goes on at the parent, or ~row where it closes there
    start: IntArray  # (m, 2) where a row begins, on both bodies; ~row where one of them is where it closes
    closing: IntArray  # (N + 2,) where the rows that close at each body begin, the ground last
    closed: IntArray  # (m,)
    K: FloatArray  # (E, 6)
    s: FloatArray  # (E, 6) S' K of each DoF
    K0: FloatArray  # (m, 6) K where a row closes
    wrench: FloatArray  # (2 m, 6) unit forces on both bodies, in their frames
    L: FloatArray  # (m, m)
    l: FloatArray  # (m,)
    A: FloatArray  # (m, m) scratch: eigenvalues of the scaled L_CC
    V: FloatArray  # (m, m) and its eigenvectors
    scale: FloatArray  # (m,) how far a DoF moves each row at most, and once it closes, its scale
    YK: FloatArray  # (m, 6) L_CC^-1 K_C', which a closing body's acceleration meets
    YO: FloatArray  # (m, m) L_CC^-1 L_CO
    y: FloatArray  # (m, 1)
    gap: FloatArray  # (m,)
    lam: FloatArray  # (m,)
    D: FloatArray  # (n,)
    rate: FloatArray  # (1,) share of the gaps to close, by h
    given: FloatArray  # (m,) how rows open without any force here: what moves beside what the sweep looks at
    soft: FloatArray  # (m,) how far a unit of their force opens them: 0 for loops, or for no row that closes there
    reach: FloatArray  # (1,) how far closing frames are from where they meet: the length by which units are compared


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
    """The number of products of open rows in a sweep, and of bodies on which loops of so many rows are open."""
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
    n6, mm = np.zeros((m, 6)), np.zeros((4, m, m))
    return LoopRows._make([
        body, meet, frame, np.zeros((2 * c, 12)), loop, np.array([x for r in rows for x in r], np.int64),
        np.searchsorted(at, np.arange(N + 1)), row, place(up[at], row), start,
        np.searchsorted(np.sort(closes), np.arange(N + 2)), np.argsort(closes, kind="stable"),
        np.zeros((len(at), 6)), np.zeros((len(at), 6)), n6, np.zeros((2 * m, 6)), mm[0], np.zeros(m), mm[1],
        mm[2], np.zeros(m), n6.copy(), mm[3], np.zeros((m, 1)), *np.zeros((2, m)), np.zeros(dofs), np.zeros(1),
        np.zeros(m), np.zeros(m), np.ones(1),
    ])  # fmt: skip


def no_loops(bodies: int, dofs: int) -> LoopRows:
    """A plan without loops."""
    return make_loops(np.full(bodies, -1), dofs, np.zeros((0, 2), np.int64), np.zeros((0, 12)), [])


class Closing(NamedTuple):
    """Loops between loaded bodies of a linkage."""

    body: IntArray  # (c, 2), -1 = the ground
    frame: FloatArray  # (2 c, 12) closing frames there
    rows: list[list[int]]  # axes of the second frame that each holds

    def contracted(self, m: Mechanism, clusters: Clusters, loads: Loads) -> tuple[LoopRows, IntArray]:
        """The loops on a contracted tree m, and which they are: those within one cluster are closed for good."""
        body = self.body.ravel()
        slot = np.where(body >= 0, loads.slot[body], 0)
        on = np.where(body >= 0, clusters.carrier[slot], -1).reshape(-1, 2)
        placed = np.where((body >= 0)[:, None], clusters.pose[slot], np.eye(4, 3).ravel())
        R, p = placed[:, :9].reshape(-1, 3, 3), placed[:, 9:]
        turned = (R @ self.frame[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
        moved = p + np.einsum("nij,nj->ni", R, self.frame[:, 9:])
        which = np.flatnonzero(on[:, 0] != on[:, 1])
        frame = np.concatenate([turned, moved], axis=1).reshape(-1, 24)[which].reshape(-1, 12)
        rows = [self.rows[k] for k in which.tolist()]
        return make_loops(np.asarray(m.parent), len(m.axis), on[which], frame, rows), which


# Where the loops are


@loop_kernel
def _rotation_vector(R: Rotation) -> Vector:
    """The turn R as an axis times its angle."""
    v = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    s = np.sqrt(dot3(v, v))
    k = 1.0
    if s > 1e-9:
        k = 2.0 * atan(s / max(0.5 * (R[0] + R[4] + R[8] + 1.0), 1e-300)) / s
    return (k * v[0], k * v[1], k * v[2])


@loop_kernel
def _turn_to_z(z: Vector) -> Vector:
    """The turn across the z axis that carries the unit vector z to it: of frames that may turn about this axis."""
    s = np.sqrt(z[0] * z[0] + z[1] * z[1])
    k = 1.0
    if s > 1e-9:
        k = 2.0 * atan(s / max(1.0 + z[2], 1e-300)) / s
    return (k * z[1], -k * z[0], 0.0)


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
    loop_gaps(lp)


@loop_kernel
def loop_gaps(lp: LoopRows) -> None:
    """Unit forces on the bodies, and gaps, from where the bodies are in any one frame, lp.pose."""
    lp.reach[0] = 0.0
    for c in range(len(lp.meet)):
        for k in range(9, 12):
            for side in range(2):
                far = abs(lp.pose[2 * c + side, k]) + abs(lp.frame[2 * c + side, k])
                lp.reach[0] = max(lp.reach[0], far)
    if lp.reach[0] == 0.0:
        lp.reach[0] = 1.0
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
            last, about = r + 2 - k, -1  # where the row about z is, if the loop has one
            if last < len(lp.axis):
                about = lp.axis[last]
            # Rb' Ra: the turn from a to b, in b, is that of its inverse
            v = _turn_to_z(z)
            if about == 2:
                v = _rotation_vector((*x, *y, *z))
            lp.gap[r] = v[k]


# The system of the rows that close at one body, L_CC lam_C = b: by its eigenvalues, as rows may be redundant.


@loop_kernel
def _scaled(lp: LoopRows, c0: int, c1: int) -> Scalar:
    """Scales of turning and of sliding rows: units do not decide which of them are redundant.

    Rows that no DoF moves by more than rounding have none: lp.scale is the largest motion of a row by one DoF.
    """
    turn, slide = 0.0, 0.0
    for c in range(c0, c1):
        r = lp.closed[c]
        if lp.scale[r] > UNMOVED and lp.axis[r] < 3:
            turn = max(turn, lp.L[r, r])
        elif lp.scale[r] > UNMOVED:
            slide = max(slide, lp.L[r, r])
    square = lp.reach[0] * lp.reach[0]
    top = max(square * turn, slide)
    turn = 1.0 / np.sqrt(turn) if square * turn > IDLE * top else 0.0
    slide = 1.0 / np.sqrt(slide) if slide > IDLE * top else 0.0
    for c in range(c0, c1):
        r = lp.closed[c]
        if lp.scale[r] > UNMOVED:
            lp.scale[r] = turn if lp.axis[r] < 3 else slide
        else:
            lp.scale[r] = 0.0
    return top


@loop_kernel
def _turn_pair(lp: LoopRows, c0: int, c1: int, p: int, q: int) -> Scalar:
    """One rotation of Jacobi's eigenvalue method on lp.A, vectors in lp.V; returns the square that it removes."""
    x = lp.A[p, q]
    if x == 0.0:
        return 0.0
    theta = (lp.A[q, q] - lp.A[p, p]) / (2.0 * x)
    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0))
    c = 1.0 / np.sqrt(t * t + 1.0)
    s = t * c
    for k in range(c0, c1):
        r = lp.closed[k]
        a, b = lp.A[r, p], lp.A[r, q]
        lp.A[r, p], lp.A[r, q] = c * a - s * b, s * a + c * b
    for k in range(c0, c1):
        r = lp.closed[k]
        a, b = lp.A[p, r], lp.A[q, r]
        lp.A[p, r], lp.A[q, r] = c * a - s * b, s * a + c * b
        a, b = lp.V[r, p], lp.V[r, q]
        lp.V[r, p], lp.V[r, q] = c * a - s * b, s * a + c * b
    return x * x


@loop_kernel
def factor_closing(lp: LoopRows, c0: int, c1: int, free: Motion) -> None:
    """Eigenvalues of the scaled L_CC on the diagonal of lp.A, inverted; zero in directions that are left alone.

    Those are redundant, or hardly answer though their gap asks for more than holding them does: out of reach. What
    holding takes is known but for the motion of the closing body, here `free`.
    """
    _scaled(lp, c0, c1)
    total = 0.0
    for a in range(c0, c1):
        for b in range(c0, c1):
            p, q = lp.closed[a], lp.closed[b]
            lp.A[p, q] = 0.5 * lp.scale[p] * (lp.L[p, q] + lp.L[q, p]) * lp.scale[q]
            lp.V[p, q] = 1.0 if p == q else 0.0
            total += lp.A[p, q] ** 2
    for _ in range(30):
        off = 0.0
        for a in range(c0, c1):
            for b in range(a + 1, c1):
                off += _turn_pair(lp, c0, c1, lp.closed[a], lp.closed[b])
        if off <= 1e-32 * total:
            break
    top = 0.0
    for a in range(c0, c1):
        top = max(top, lp.A[lp.closed[a], lp.closed[a]])
    for a in range(c0, c1):
        p = lp.closed[a]
        hold, close = 0.0, 0.0
        for b in range(c0, c1):
            q = lp.closed[b]
            hold += lp.V[q, p] * lp.scale[q] * (lp.l[q] + dot6(get6(lp.K0, q), free))
            close += lp.V[q, p] * lp.scale[q] * lp.rate[0] * lp.gap[q]
        x = lp.A[p, p]
        follows = x > REDUNDANT * top and (x > UNREACHABLE * top or abs(close) <= abs(hold))
        lp.A[p, p] = 1.0 / x if follows else 0.0


@loop_kernel
def factor_soft(lp: LoopRows, c0: int, c1: int) -> Scalar:
    """L_CC of soft rows, by directions in lp.V that are conjugate to each other, in the order of the rows.

    Returns how many of them have a negative L, or NaN where one is zero to rounding.
    """
    wrong = 0.0
    for a in range(c0, c1):
        p = lp.closed[a]
        for b in range(c0, c1):
            lp.V[lp.closed[b], p] = 1.0 if b == a else 0.0
        for b in range(c0, a):
            q, x = lp.closed[b], 0.0
            for c in range(c0, b + 1):
                x += lp.L[p, lp.closed[c]] * lp.V[lp.closed[c], q]
            x = x * lp.A[q, q]
            for c in range(c0, b + 1):
                lp.V[lp.closed[c], p] -= x * lp.V[lp.closed[c], q]
        D, size = 0.0, 0.0
        for c in range(c0, a + 1):
            x = lp.L[p, lp.closed[c]] * lp.V[lp.closed[c], p]
            D, size = D + x, size + abs(x)
        if not abs(D) > SINGULAR * size:
            return np.nan
        wrong += 1.0 if D < 0.0 else 0.0
        lp.A[p, p], lp.scale[p] = 1.0 / D, 1.0
    return wrong


@loop_kernel
def solve_closing(lp: LoopRows, c0: int, c1: int, Y: Rows, j: int) -> None:
    """Column j of Y, over the rows that close, becomes L_CC^-1 times it."""
    for a in range(c0, c1):
        p = lp.closed[a]
        x = 0.0
        for b in range(c0, c1):
            q = lp.closed[b]
            x += lp.V[q, p] * lp.scale[q] * Y[q, j]
        lp.lam[p] = lp.A[p, p] * x
    for a in range(c0, c1):
        p = lp.closed[a]
        x = 0.0
        for b in range(c0, c1):
            q = lp.closed[b]
            x += lp.V[p, q] * lp.lam[q]
        Y[p, j] = lp.scale[p] * x


@loop_kernel
def close_loops(w: Workspace, lp: LoopRows, i: int, body: int, free: Motion) -> Scalar:
    """Eliminate the forces of the rows that close at body i (the ground where `body` < 0); see `factor_soft`."""
    c0, c1, wrong = lp.closing[i], lp.closing[i + 1], 0.0
    if c0 == c1:
        return wrong
    if lp.soft[lp.closed[c0]] != 0.0:
        wrong = factor_soft(lp, c0, c1)
    else:
        factor_closing(lp, c0, c1, free)
    e0, e1 = 0, 0
    if body >= 0:
        e0, e1 = lp.first[body], lp.first[body + 1]
    for c in range(c0, c1):
        r = lp.closed[c]
        put6(lp.YK, r, get6(lp.K0, r))
        lp.y[r, 0] = lp.l[r] + lp.rate[0] * lp.gap[r]
        for e in range(e0, e1):
            lp.YO[r, lp.row[e]] = lp.L[r, lp.row[e]]
    for j in range(6):
        solve_closing(lp, c0, c1, lp.YK, j)
    for e in range(e0, e1):
        solve_closing(lp, c0, c1, lp.YO, lp.row[e])
    solve_closing(lp, c0, c1, lp.y, 0)
    if body < 0:
        return wrong
    IA, pA = get21(w.IA, body), get6(w.pA, body)
    for c in range(c0, c1):
        r = lp.closed[c]
        K = get6(lp.K0, r)
        IA = articulated_downdate(IA, scale6(-1.0, K), get6(lp.YK, r))
        pA = add6(pA, scale6(lp.y[r, 0], K))
        for e in range(e0, e1):
            o = lp.row[e]
            put6(lp.K, e, add6(get6(lp.K, e), scale6(-lp.YO[r, o], K)))
            lp.l[o] -= lp.L[o, r] * lp.y[r, 0]
            for f in range(e0, e1):
                lp.L[o, lp.row[f]] -= lp.L[o, r] * lp.YO[r, lp.row[f]]
    put21(w.IA, body, IA)
    put6(w.pA, body, pA)
    return wrong


@kernel
def hand_rows(m: Mechanism, w: Workspace, lp: LoopRows, i: int) -> None:
    """Open rows of body i go on to its parent."""
    for e in range(lp.first[i], lp.first[i + 1]):
        K, to = force_to_parent(m, w.X, i, get6(lp.K, e)), lp.follow[e]
        if to >= 0:
            put6(lp.K, to, add6(get6(lp.K, to), K))
        else:
            put6(lp.K0, ~to, add6(get6(lp.K0, ~to), K))


@loop_kernel
def begin_rows(lp: LoopRows) -> None:
    """Unit forces of all rows on the bodies that they hold."""
    lp.L[:, :] = 0.0
    lp.l[:] = lp.given
    lp.scale[:] = 0.0
    lp.K[:, :] = 0.0
    lp.K0[:, :] = 0.0
    for r in range(len(lp.loop)):
        lp.L[r, r] = lp.soft[r]
        for side in range(2):
            at, f = lp.start[r, side], get6(lp.wrench, 2 * r + side)
            if at >= 0:
                put6(lp.K, at, add6(get6(lp.K, at), f))
            else:
                put6(lp.K0, r, add6(get6(lp.K0, r), f))


@loop_kernel
def _unit(lp: LoopRows, r: int, axis: int) -> Scalar:
    """The factor that makes the motion of row r by a DoF that turns (axis < 3) or slides dimensionless."""
    if axis < 3:
        return 1.0 if lp.axis[r] < 3 else 1.0 / lp.reach[0]
    return lp.reach[0] if lp.axis[r] < 3 else 1.0


@loop_kernel
def add_rows(m: Mechanism, lp: LoopRows, k: int, u: Scalar, D: Scalar, W: Motion, i: int) -> None:
    """Add DoF k of body i to the rows that are open there."""
    j, lp.D[k] = k - m.dof[i], D
    for e in range(lp.first[i], lp.first[i + 1]):
        s, r = along(m, k, get6(lp.K, e)), lp.row[e]
        lp.s[e, j] = s
        lp.scale[r] = max(lp.scale[r], abs(s) * _unit(lp, r, m.axis[k]))
    for e in range(lp.first[i], lp.first[i + 1]):
        r, s = lp.row[e], lp.s[e, j]
        lp.l[r] += s * u / D
        for f in range(lp.first[i], lp.first[i + 1]):
            lp.L[r, lp.row[f]] += s * lp.s[f, j] / D
        put6(lp.K, e, add6(get6(lp.K, e), scale6(-s, W)))


@kernel
def closing_forces(lp: LoopRows, i: int, body: int, a: Motion) -> None:
    """lam of the rows that close at a body with acceleration a."""
    for c in range(lp.closing[i], lp.closing[i + 1]):
        r = lp.closed[c]
        x = lp.y[r, 0] + dot6(get6(lp.YK, r), a)
        if body >= 0:
            for e in range(lp.first[body], lp.first[body + 1]):
                x += lp.YO[r, lp.row[e]] * lp.lam[lp.row[e]]
        lp.lam[r] = -x


@kernel
def add_row_forces(lp: LoopRows, i: int, k: int, j: int, x: Scalar) -> Scalar:
    """The acceleration x of DoF k, the j-th of body i, and the part of the rows open there."""
    for e in range(lp.first[i], lp.first[i + 1]):
        x += lp.s[e, j] * lp.lam[lp.row[e]] / lp.D[k]
    return x
