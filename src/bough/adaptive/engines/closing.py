"""The system of the rows that close at one body, L_CC lam_C = b: by its eigenvalues, as rows may be redundant."""

from __future__ import annotations

import numpy as np

from bough.adaptive.engines.loop_rows import LoopRows
from bough.adaptive.handles import IDLE, REDUNDANT, UNREACHABLE
from bough.compile.kernel import inlined, loop_kernel
from bough.spatial import dot6, get6
from bough.types import Motion, Rows, Scalar


@inlined
@loop_kernel
def _scaled(lp: LoopRows, c0: int, c1: int) -> Scalar:
    """Scales of turning and of sliding rows: units do not decide which of them are redundant."""
    turn, slide = 0.0, 0.0
    for c in range(c0, c1):
        r = lp.closed[c]
        if lp.axis[r] < 3:
            turn = max(turn, lp.L[r, r])
        else:
            slide = max(slide, lp.L[r, r])
    top = max(turn, slide)
    turn = 1.0 / np.sqrt(turn) if turn > IDLE * top else 0.0
    slide = 1.0 / np.sqrt(slide) if slide > IDLE * top else 0.0
    for c in range(c0, c1):
        r = lp.closed[c]
        lp.scale[r] = turn if lp.axis[r] < 3 else slide
    return top


@inlined
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


@inlined
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
