"""Least squares within linear constraints, by a primal-dual interior-point method (Mehrotra 1992), many rows at once.

    minimise  sum of d (x - z)^2 / 2  +  sum over equations of (a x - b)^2 / (2 ease)  +  sum of t^2 / (2 ease)
    subject to  low - t <= a x <= high + t,

where an equation with ease 0 holds exactly, and an inequality with ease 0 has t = 0. With slacks s and multipliers
l of inequalities and y of equations, each of a fixed number of iterations solves
    K dx = right side,  K = D + A' (1 / (ease + proximal)) A + G' (l / (s + ease l)) G
twice with one factorization K = L D L': for l s = 0, and for the centre that this predicts. Equations that hold exactly
have a small `proximal` compliance in place of 0; their multipliers grow until the error is zero (the method of
multipliers). Nothing branches on a number: rows of a batch lie side by side in SIMD lanes, and on a GPU.

Constraints come in blocks of rows that have the same columns: those of one leg, or of one sole. The columns of leading
variables that no inequality has are eliminated from K once, not in each iteration.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import larger, positive, size
from bough.types import Rows, Scalar, Workspace

VIOLATION, OPTIMALITY, GAP = range(3)  # of a report: constraints, stationarity, and complementarity


class Blocks(NamedTuple):
    """Blocks of rows: equations, then inequalities, those with two[b] = 1 with both bounds; then rows of no matter.

    Of these A x is computed at the end.
    """

    row: Rows  # (blocks + 1,) first row of each
    first: Rows  # (blocks + 1,) where its columns begin in `column`
    column: Rows  # ascending within a block
    value: Rows  # (blocks,) where its numbers a begin, those of a column one after the other
    ends: Rows  # (2,) how many blocks there are of equations, and of these and inequalities
    two: Rows  # (blocks,)
    iterations: Rows  # (1,)
    fixed: Rows  # (1,) number of leading variables that no inequality has; a multiple of four


class Tuning(NamedTuple):
    """Numbers of the method."""

    zero: Rows  # (1,)
    one: Rows  # (1,)
    proximal: Rows  # (1,) compliance of equations that hold exactly
    start: Rows  # (1,) weight of inequalities in the least squares that the method starts from
    floor: Rows  # (1,) least slack at the start
    share: Rows  # (1,) of the way to the boundary that a step goes
    centre: Rows  # (1,) least complementarity that is aimed at
    count: Rows  # (1,) how many bounds there are


@kernel
def products(p: Blocks, t: Tuning, blocks: tuple[int, int], a: Rows, x: Rows, g: Rows) -> None:
    """g = A x, rows of some blocks."""
    for b in range(blocks[0], blocks[1]):
        rows = p.row[b + 1] - p.row[b]
        for r in range(rows):
            y = t.zero[0]
            for c in range(p.first[b + 1] - p.first[b]):
                y = y + a[p.value[b] + c * rows + r] * x[p.column[p.first[b] + c]]
            g[p.row[b] + r] = y


@kernel
def add_transposed(p: Blocks, blocks: tuple[int, int], a: Rows, h: Rows, out: Rows) -> None:
    """out += A' h, rows of some blocks."""
    for b in range(blocks[0], blocks[1]):
        rows = p.row[b + 1] - p.row[b]
        columns, first = p.first[b + 1] - p.first[b], p.first[b]
        for c in range(0, columns - 1, 2):  # two sums that do not wait for each other
            k0, k1, m = p.column[first + c], p.column[first + c + 1], p.value[b] + c * rows
            y0, y1 = out[k0], out[k1]
            for r in range(rows):
                x = h[p.row[b] + r]
                y0, y1 = y0 + a[m + r] * x, y1 + a[m + rows + r] * x
            out[k0], out[k1] = y0, y1
        for c in range(columns // 2 * 2, columns):
            y = out[p.column[first + c]]
            for r in range(rows):
                y = y + a[p.value[b] + c * rows + r] * h[p.row[b] + r]
            out[p.column[first + c]] = y


@kernel
def add_gram(p: Blocks, blocks: tuple[int, int], a: Rows, weight: Rows, K: Rows, u: Rows) -> None:
    """K += A' W A of some blocks, lower triangle."""
    for b in range(blocks[0], blocks[1]):
        rows, start, at = p.row[b + 1] - p.row[b], p.first[b], p.value[b]
        for i in range(p.first[b + 1] - start):
            for r in range(rows):
                u[r] = weight[p.row[b] + r] * a[at + i * rows + r]
            k = p.column[start + i]
            for j in range(0, i - 2, 4):
                c0, c1, c2, c3 = (p.column[start + j], p.column[start + j + 1], p.column[start + j + 2],
                                  p.column[start + j + 3])  # fmt: skip
                y0, y1, y2, y3, m = K[k, c0], K[k, c1], K[k, c2], K[k, c3], at + j * rows
                for r in range(rows):
                    v = u[r]
                    y0, y1 = y0 + v * a[m + r], y1 + v * a[m + rows + r]
                    y2, y3 = y2 + v * a[m + 2 * rows + r], y3 + v * a[m + 3 * rows + r]
                K[k, c0], K[k, c1], K[k, c2], K[k, c3] = y0, y1, y2, y3
            for j in range((i + 1) // 4 * 4, i + 1):
                y = K[k, p.column[start + j]]
                for r in range(rows):
                    y = y + u[r] * a[at + j * rows + r]
                K[k, p.column[start + j]] = y


@kernel
def factorize(t: Tuning, pivots: tuple[int, int], K: Rows, U: Rows, V: Rows, inverse: Rows) -> None:
    """L (unit, below the diagonal of K) and 1 / D of K = L D L', for some pivots; what these leave of K behind them.

    Of row i: U_j = K_ij - sum over k < j of U_k L_jk, L_ij = U_j / D_j, D_i = K_ii - sum of U_j L_ij.
    Rows go in pairs, and columns by four: eight sums that do not wait for each other.
    """
    n, first, last = len(inverse), pivots[0], pivots[1]
    for i in range(first, n - 1, 2):
        end = min(i, last)
        for j in range(first, end - 2, 4):
            a0, a1, a2, a3 = K[i, j], K[i, j + 1], K[i, j + 2], K[i, j + 3]
            b0, b1, b2, b3 = K[i + 1, j], K[i + 1, j + 1], K[i + 1, j + 2], K[i + 1, j + 3]
            for k in range(first, j):
                u, v = U[k], V[k]
                a0, a1, a2, a3 = a0 - u * K[j, k], a1 - u * K[j + 1, k], a2 - u * K[j + 2, k], a3 - u * K[j + 3, k]
                b0, b1, b2, b3 = b0 - v * K[j, k], b1 - v * K[j + 1, k], b2 - v * K[j + 2, k], b3 - v * K[j + 3, k]
            x, y, z = K[j + 1, j], K[j + 2, j], K[j + 3, j]
            a1, b1, a2, b2, a3, b3 = a1 - a0 * x, b1 - b0 * x, a2 - a0 * y, b2 - b0 * y, a3 - a0 * z, b3 - b0 * z
            y, z = K[j + 2, j + 1], K[j + 3, j + 1]
            a2, b2, a3, b3 = a2 - a1 * y, b2 - b1 * y, a3 - a1 * z, b3 - b1 * z
            a3, b3 = a3 - a2 * K[j + 3, j + 2], b3 - b2 * K[j + 3, j + 2]
            U[j], U[j + 1], U[j + 2], U[j + 3] = a0, a1, a2, a3
            V[j], V[j + 1], V[j + 2], V[j + 3] = b0, b1, b2, b3
        for j in range(first + (end - first) // 4 * 4, end):
            x, y = K[i, j], K[i + 1, j]
            for k in range(first, j):
                x, y = x - U[k] * K[j, k], y - V[k] * K[j, k]
            U[j], V[j] = x, y
        for j in range(last, i):
            x, y = K[i, j], K[i + 1, j]
            for k in range(first, last):
                x, y = x - U[k] * K[j, k], y - V[k] * K[j, k]
            K[i, j], K[i + 1, j] = x, y
        finish_row(t, i, pivots, K, U, inverse)
        y = K[i + 1, i]
        for k in range(first, end):
            y = y - V[k] * K[i, k]
        V[i], K[i + 1, i] = y, y
        finish_row(t, i + 1, pivots, K, V, inverse)
    for i in range(first + (n - first) // 2 * 2, n):  # the last of an odd number
        for j in range(first, i):
            x = K[i, j]
            for k in range(first, min(j, last)):
                x = x - U[k] * K[j, k]
            U[j], K[i, j] = x, x
        finish_row(t, i, pivots, K, U, inverse)


@kernel
def finish_row(t: Tuning, i: int, pivots: tuple[int, int], K: Rows, U: Rows, inverse: Rows) -> None:
    """Row i of L, and 1 / D_i, or what is left of K_ii."""
    d = K[i, i]
    for j in range(pivots[0], min(i, pivots[1])):
        x = U[j] * inverse[j]
        d = d - U[j] * x
        K[i, j] = x
    K[i, i] = d
    if i < pivots[1]:
        inverse[i] = t.one[0] / d


@kernel
def forward(pivots: tuple[int, int], K: Rows, x: Rows) -> None:
    """x <- L^-1 x, for some pivots."""
    for i in range(pivots[0], pivots[1]):
        y = x[i]
        for j in range(i + 1, len(x)):
            x[j] = x[j] - K[j, i] * y


@kernel
def backward(pivots: tuple[int, int], K: Rows, inverse: Rows, x: Rows) -> None:
    """x <- (D L')^-1 x, for some pivots; those behind them are done."""
    first, last = pivots
    for i in range(first, last):
        x[i] = x[i] * inverse[i]
    for i in range(len(x) - 1, first - 1, -1):
        y = x[i]
        for j in range(first, min(i, last)):
            x[j] = x[j] - K[i, j] * y


@kernel
def equations_gram(p: Blocks, t: Tuning, a: Rows, ease: Rows, d: Rows, w: Workspace) -> None:
    """w.K0, the part of K that stays, without what is eliminated once; the rest of it in w.K; weights of equations."""
    for i in range(len(d)):
        for j in range(i):
            w.K0[i, j] = t.zero[0]
        w.K0[i, i] = d[i]
    for r in range(p.row[p.ends[0]]):
        w.weight[r] = t.one[0] / larger(ease[r], t.proximal[0])
    add_gram(p, (0, p.ends[0]), a, w.weight, w.K0, w.u)
    factorize(t, (0, p.fixed[0]), w.K0, w.U, w.V, w.inverse)
    for i in range(len(w.K)):
        for j in range(min(i + 1, p.fixed[0])):
            w.K[i, j] = w.K0[i, j]


@kernel
def begin(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, x: Rows, w: Workspace
) -> None:
    """The start: x of least squares towards the middle of all bounds; slacks and multipliers of one complementarity."""
    zero, one = t.zero[0], t.one[0]
    equations, inequalities, e = (0, p.ends[0]), (p.ends[0], p.ends[1]), p.row[p.ends[0]]
    equations_gram(p, t, a, ease, d, w)
    for i in range(len(x)):
        x[i] = d[i] * z[i]
    for r in range(e):
        w.h[r] = w.weight[r] * low[r]
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            w.weight[r], w.h[r] = t.start[0], t.start[0] * (high[r] - one)
            if p.two[b] == 1:
                w.h[r] = t.start[0] * (low[r] + high[r]) / (one + one)
    copy_lower(p.fixed[0], w.K0, w.K)
    add_gram(p, inequalities, a, w.weight, w.K, w.u)
    add_transposed(p, (0, p.ends[1]), a, w.h, x)
    factorize(t, (p.fixed[0], len(x)), w.K, w.U, w.V, w.inverse)
    forward((0, len(x)), w.K, x)
    backward((0, len(x)), w.K, w.inverse, x)
    products(p, t, (0, p.ends[1]), a, x, w.g)
    least, slope = t.floor[0], zero
    for i in range(len(x)):
        w.dx[i] = d[i] * (x[i] - z[i])
    for r in range(e):
        w.y[r] = w.weight[r] * (w.g[r] - low[r])
    add_transposed(p, equations, a, w.y, w.dx)
    for i in range(len(x)):
        slope = larger(slope, size(w.dx[i]))
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            least = larger(least, w.g[r] - high[r])
            if p.two[b] == 1:
                least = larger(least, low[r] - w.g[r])
    mu = larger(slope, t.share[0])
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            w.su[r] = larger(least, high[r] - w.g[r])
            w.lu[r] = mu / w.su[r]
            if p.two[b] == 1:
                w.sl[r] = larger(least, w.g[r] - low[r])
                w.ll[r] = mu / w.sl[r]


@kernel
def copy_lower(first: int, A: Rows, B: Rows) -> None:
    """Rows and columns from the first on."""
    for i in range(first, len(A)):
        for j in range(first, i + 1):
            B[i, j] = A[i, j]


@kernel
def residuals(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, x: Rows, w: Workspace
) -> Scalar:
    """Errors of constraints in w.ru and w.rl (of equations in w.ru), the slope in w.slope, and the complementarity.

    w.g = A x is known.
    """
    mu = t.zero[0]
    for b in range(p.ends[1]):
        for r in range(p.row[b], p.row[b + 1]):
            if b < p.ends[0]:
                w.ru[r] = w.g[r] - low[r] - ease[r] * w.y[r]
                w.h[r] = w.y[r]
            else:
                w.ru[r] = w.g[r] - high[r] - ease[r] * w.lu[r] + w.su[r]
                w.h[r] = w.lu[r]
                mu = mu + w.su[r] * w.lu[r]
                if p.two[b] == 1:
                    w.rl[r] = low[r] - w.g[r] - ease[r] * w.ll[r] + w.sl[r]
                    w.h[r] = w.lu[r] - w.ll[r]
                    mu = mu + w.sl[r] * w.ll[r]
    for i in range(len(x)):
        w.slope[i] = d[i] * (x[i] - z[i])
    add_transposed(p, (0, p.ends[1]), a, w.h, w.slope)
    return mu / t.count[0]


@kernel
def direction(p: Blocks, t: Tuning, a: Rows, target: Scalar, w: Workspace) -> None:
    """dx and the changes of slacks and multipliers that lead to the complementarity `target` less w.cu and w.cl.

    w.side is what slope and equations ask for, by L^-1 where K is fixed; dx is complete but there. w.dg = A dx of
    inequalities.
    """
    inequalities, fixed = (p.ends[0], p.ends[1]), p.fixed[0]
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            w.hu[r] = w.wu[r] * (w.ru[r] + (target - w.cu[r]) * w.lu_inv[r] - w.su[r])
            w.h[r] = w.hu[r]
            if p.two[b] == 1:
                w.hl[r] = w.wl[r] * (w.rl[r] + (target - w.cl[r]) * w.ll_inv[r] - w.sl[r])
                w.h[r] = w.hu[r] - w.hl[r]
    for i in range(len(w.dx)):
        w.dx[i] = w.side[i]
    add_transposed(p, inequalities, a, w.h, w.dx)
    for i in range(len(w.dx)):
        w.dx[i] = -w.dx[i]
    forward((fixed, len(w.dx)), w.K, w.dx)
    backward((fixed, len(w.dx)), w.K, w.inverse, w.dx)
    products(p, t, inequalities, a, w.dx, w.dg)
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            w.dlu[r] = w.wu[r] * w.dg[r] + w.hu[r]
            w.dsu[r] = (target - w.cu[r] - w.su[r] * w.dlu[r]) * w.lu_inv[r] - w.su[r]
            if p.two[b] == 1:
                w.dll[r] = w.hl[r] - w.wl[r] * w.dg[r]
                w.dsl[r] = (target - w.cl[r] - w.sl[r] * w.dll[r]) * w.ll_inv[r] - w.sl[r]


@kernel
def lengths(p: Blocks, t: Tuning, w: Workspace) -> tuple[Scalar, Scalar]:
    """How far slacks, and multipliers, may go towards zero: at most 1."""
    primal, dual = t.share[0], t.share[0]
    for b in range(p.ends[0], p.ends[1]):
        for r in range(p.row[b], p.row[b + 1]):
            primal, dual = larger(primal, -w.dsu[r] * w.su_inv[r]), larger(dual, -w.dlu[r] * w.lu_inv[r])
            if p.two[b] == 1:
                primal, dual = larger(primal, -w.dsl[r] * w.sl_inv[r]), larger(dual, -w.dll[r] * w.ll_inv[r])
    return t.share[0] / primal, t.share[0] / dual


@kernel
def inverses(t: Tuning, s: Scalar, l: Scalar, ease: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """1 / s, 1 / l and l / (s + ease l), by one division."""
    both = s + ease * l
    p = t.one[0] / (s * l * both)
    return l * both * p, s * both * p, s * l * l * p


@kernel
def iterate(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, x: Rows, w: Workspace
) -> None:
    """One iteration: predictor, centre, corrector, step; w.g = A x before and after."""
    equations, inequalities = (0, p.ends[0]), (p.ends[0], p.ends[1])
    mu = residuals(p, t, a, low, high, ease, d, z, x, w)
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            w.su_inv[r], w.lu_inv[r], w.wu[r] = inverses(t, w.su[r], w.lu[r], ease[r])
            w.cu[r], w.weight[r] = t.zero[0], w.wu[r]
            if p.two[b] == 1:
                w.sl_inv[r], w.ll_inv[r], w.wl[r] = inverses(t, w.sl[r], w.ll[r], ease[r])
                w.cl[r], w.weight[r] = t.zero[0], w.wu[r] + w.wl[r]
    for i in range(len(x)):
        w.side[i] = w.slope[i]
    for r in range(p.row[p.ends[0]]):
        w.h[r] = w.weight[r] * w.ru[r]
    add_transposed(p, equations, a, w.h, w.side)
    copy_lower(p.fixed[0], w.K0, w.K)
    add_gram(p, inequalities, a, w.weight, w.K, w.u)
    factorize(t, (p.fixed[0], len(x)), w.K, w.U, w.V, w.inverse)
    forward((0, p.fixed[0]), w.K, w.side)
    direction(p, t, a, t.zero[0], w)
    primal, dual = lengths(p, t, w)
    ahead = t.zero[0]
    for b in range(inequalities[0], inequalities[1]):
        for r in range(p.row[b], p.row[b + 1]):
            ahead = ahead + (w.su[r] + primal * w.dsu[r]) * (w.lu[r] + dual * w.dlu[r])
            w.cu[r] = w.dsu[r] * w.dlu[r]
            if p.two[b] == 1:
                ahead = ahead + (w.sl[r] + primal * w.dsl[r]) * (w.ll[r] + dual * w.dll[r])
                w.cl[r] = w.dsl[r] * w.dll[r]
    ratio = ahead / (t.count[0] * mu)
    direction(p, t, a, larger(t.centre[0], ratio * ratio * ratio * mu), w)
    backward((0, p.fixed[0]), w.K, w.inverse, w.dx)
    products(p, t, equations, a, w.dx, w.dg)
    primal, dual = lengths(p, t, w)
    for i in range(len(x)):
        x[i] = x[i] + primal * w.dx[i]
    for b in range(p.ends[1]):
        for r in range(p.row[b], p.row[b + 1]):
            if b < p.ends[0]:
                w.y[r] = w.y[r] + dual * w.weight[r] * (w.dg[r] + w.ru[r])
            else:
                w.su[r], w.lu[r] = w.su[r] + primal * w.dsu[r], w.lu[r] + dual * w.dlu[r]
                if p.two[b] == 1:
                    w.sl[r], w.ll[r] = w.sl[r] + primal * w.dsl[r], w.ll[r] + dual * w.dll[r]
            w.g[r] = w.g[r] + primal * w.dg[r]


@kernel
def measure(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows,
    x: Rows, g: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """g = A x and the report of x, slacks and multipliers."""
    products(p, t, (0, len(p.value)), a, x, w.g)
    report[GAP] = residuals(p, t, a, low, high, ease, d, z, x, w)
    report[VIOLATION], report[OPTIMALITY] = t.zero[0], t.zero[0]
    for i in range(len(x)):
        report[OPTIMALITY] = larger(report[OPTIMALITY], size(w.slope[i]))
    for r in range(len(g)):
        g[r] = w.g[r]
    for b in range(p.ends[1]):
        for r in range(p.row[b], p.row[b + 1]):
            if b < p.ends[0]:
                report[VIOLATION] = larger(report[VIOLATION], size(w.ru[r]))
            else:
                report[VIOLATION] = larger(report[VIOLATION], positive(w.g[r] - high[r] - ease[r] * w.lu[r]))
                if p.two[b] == 1:
                    report[VIOLATION] = larger(report[VIOLATION], positive(low[r] - w.g[r] - ease[r] * w.ll[r]))


@kernel
def get_state(p: Blocks, state: Rows, w: Workspace) -> None:
    """w.y, slacks and multipliers of a state (5, rows)."""
    for r in range(state.shape[1]):
        w.y[r], w.su[r], w.sl[r], w.lu[r], w.ll[r] = state[0, r], state[1, r], state[2, r], state[3, r], state[4, r]


@kernel
def put_state(p: Blocks, t: Tuning, state: Rows, w: Workspace) -> None:
    for k in range(5):
        for r in range(state.shape[1]):
            state[k, r] = t.zero[0]
    for b in range(p.ends[1]):
        for r in range(p.row[b], p.row[b + 1]):
            if b < p.ends[0]:
                state[0, r] = w.y[r]
            else:
                state[1, r], state[3, r] = w.su[r], w.lu[r]
                if p.two[b] == 1:
                    state[2, r], state[4, r] = w.sl[r], w.ll[r]


@kernel
def interior_point(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows,
    x: Rows, state: Rows, g: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """x (n,), g = A x (rows,), and how well they solve the program: `VIOLATION`, `OPTIMALITY` and `GAP`."""
    begin(p, t, a, low, high, ease, d, z, x, w)
    for _ in range(p.iterations[0]):
        iterate(p, t, a, low, high, ease, d, z, x, w)
    measure(p, t, a, low, high, ease, d, z, x, g, report, w)
    put_state(p, t, state, w)


@kernel
def continued(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, x_before: Rows, before: Rows,
    x: Rows, state: Rows, g: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The same from an x and a state on."""
    get_state(p, before, w)
    equations_gram(p, t, a, ease, d, w)
    for i in range(len(x)):
        x[i] = x_before[i]
    products(p, t, (0, p.ends[1]), a, x, w.g)
    for _ in range(p.iterations[0]):
        iterate(p, t, a, low, high, ease, d, z, x, w)
    measure(p, t, a, low, high, ease, d, z, x, g, report, w)
    put_state(p, t, state, w)


# The same one iteration at a time, for executions that trace


@kernel
def first_state(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows,
    x: Rows, state: Rows, K0: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The start, and the part of K that stays."""
    begin(p, t, a, low, high, ease, d, z, x, w)
    put_state(p, t, state, w)
    for i in range(len(x)):
        for j in range(len(x)):
            K0[i, j] = t.zero[0]
    copy_lower(0, w.K0, K0)


@kernel
def next_state(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, K0: Rows, x_before: Rows,
    before: Rows, x: Rows, state: Rows, w: Workspace,
) -> None:  # fmt: skip
    """One iteration."""
    copy_lower(0, K0, w.K0)
    for r in range(p.row[p.ends[0]]):
        w.weight[r] = t.one[0] / larger(ease[r], t.proximal[0])
    for i in range(len(x)):
        x[i] = x_before[i]
    get_state(p, before, w)
    products(p, t, (0, p.ends[1]), a, x, w.g)
    iterate(p, t, a, low, high, ease, d, z, x, w)
    put_state(p, t, state, w)


@kernel
def measured(
    p: Blocks, t: Tuning, a: Rows, low: Rows, high: Rows, ease: Rows, d: Rows, z: Rows, x: Rows, state: Rows,
    g: Rows, report: Rows, w: Workspace,
) -> None:  # fmt: skip
    """g and the report of a state."""
    get_state(p, state, w)
    measure(p, t, a, low, high, ease, d, z, x, g, report, w)


SIDES = [name + side for name in ("r", "s", "l", "w", "h", "ds", "dl", "c") for side in ("u", "l")]
INPUTS = {"a": "numbers", "low": "rows", "high": "rows", "ease": "rows", "d": "n", "z": "n"}
BEFORE = {"x_before": "n", "before": "5 rows"}
STATE = {"x": "n", "state": "5 rows"}
WORK = (
    {name: "rows" for name in ("weight", "h", "g", "dg", "y", *SIDES, "su_inv", "sl_inv", "lu_inv", "ll_inv")}
    | {name: "n" for name in ("dx", "side", "slope", "U", "V", "inverse")}
    | {"K": "n n", "K0": "n n", "u": "widest"}
)
REPORT = {"g": "rows", "report": "3"}
INTERIOR_POINT = Routine("interior_point", interior_point, inputs=INPUTS, outputs=STATE | REPORT, work=WORK)
CONTINUED = Routine("interior_point_on", continued, inputs=INPUTS | BEFORE, outputs=STATE | REPORT, work=WORK)
FIRST_STATE = Routine("interior_point_start", first_state, inputs=INPUTS, outputs=STATE | {"K0": "n n"}, work=WORK)
NEXT_STATE = Routine(
    "interior_point_iteration", next_state, inputs=INPUTS | {"K0": "n n"} | BEFORE, outputs=STATE, work=WORK
)
MEASURED = Routine("interior_point_report", measured, inputs=INPUTS | STATE, outputs=REPORT, work=WORK)
