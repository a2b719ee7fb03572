"""Loops in the articulated-body algorithm at rest: constraint forces are eliminated where the two sides of a loop meet.

On the way from the tips to the ground each row r of a constraint carries K_r, what a unit of its force exerts on the
body that the way has come to. With lam the forces of all rows that are still open, at freedom k of body i,

    u = tau - S' pA     s_r = S' K_r     qdd = (u + sum s_r lam_r - U' a) / D
    K_r - W s_r -> parent     L_rs += s_r s_s / D     l_r += s_r u / D

and where rows C meet, on body i with rows O still open, L_CC lam_C = -(K_C' a_i + L_CO lam_O + l_C + gap_C / h), so

    IA += K_C L_CC^-1 K_C'     pA += K_C L_CC^-1 (l_C + gap_C / h)     K_O -= K_C L_CC^-1 L_CO     ...

(after Popov, Vereshchagin & Zenkevich 1978; Sathya & Carpentier 2024). O(n) beside the squares of rows open together.
"""

from __future__ import annotations

from typing import Any

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.closing import factor_closing, solve_closing
from bough.adaptive.engines.loop_rows import LoopRows, place_loops
from bough.adaptive.engines.plain import PlainWork, outward, plain_move, turns
from bough.adaptive.engines.restrained import Trial
from bough.adaptive.node import ZERO3, ZERO6, Springs, spring_all
from bough.adaptive.passes import Loads
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.dynamics.articulated import inertia_to_parent, split_freedom
from bough.joints import (
    Mechanism,
    along,
    force_to_parent,
    freedom,
    integrate_joint,
    motion_to_body,
    move_joint,
    turn_to_body,
)
from bough.spatial import add6, articulated_downdate, dot6, get6, get21, join, put6, put21, scale6
from bough.types import Motion, Rows, Scalar, Workspace

# Shares of accelerations before a step that are left after it: those are hardly others; they turned round
CALM_RATIO, BRAKED = 0.5, -0.5


@loop_kernel
def close_loops(w: Workspace, lp: LoopRows, i: int, body: int, free: Motion) -> None:
    """Eliminate the forces of the rows that close at body i (the ground where `body` < 0)."""
    c0, c1 = lp.closing[i], lp.closing[i + 1]
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
        return
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


@inlined
@kernel
def _hand_rows(m: Mechanism, w: Workspace, lp: LoopRows, i: int) -> None:
    """Open rows of body i go on to its parent."""
    for e in range(lp.first[i], lp.first[i + 1]):
        K, to = force_to_parent(m, w.X, i, get6(lp.K, e)), lp.follow[e]
        if to >= 0:
            put6(lp.K, to, add6(get6(lp.K, to), K))
        else:
            put6(lp.K0, ~to, add6(get6(lp.K0, ~to), K))


@inlined
@loop_kernel
def _begin_rows(lp: LoopRows) -> None:
    """Unit forces of all rows on the bodies that they hold."""
    lp.K[:, :] = 0.0
    lp.K0[:, :] = 0.0
    for r in range(len(lp.loop)):
        for side in range(2):
            at, f = lp.start[r, side], get6(lp.wrench, 2 * r + side)
            if at >= 0:
                put6(lp.K, at, add6(get6(lp.K, at), f))
            else:
                put6(lp.K0, r, add6(get6(lp.K0, r), f))


@loop_kernel
def loop_jacobian(m: Mechanism, q: Rows, w: Workspace, lp: LoopRows) -> None:
    """How rows open with the freedoms on their ways, in lp.s, and how far they are open at q."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
    place_loops(m, w.X, lp)
    _begin_rows(lp)
    for i in range(len(m.parent) - 1, -1, -1):
        for e in range(lp.first[i], lp.first[i + 1]):
            for k in range(m.dof[i], m.dof[i + 1]):
                lp.s[e, k - m.dof[i]] = along(m, k, get6(lp.K, e))
        _hand_rows(m, w, lp, i)


@inlined
@kernel
def _open_rows(lp: LoopRows, k: int, u: Scalar, D: Scalar, W: Motion, i: int, j: int) -> None:
    """What freedom k, the j-th of body i, does to the open rows; their s is there."""
    for e in range(lp.first[i], lp.first[i + 1]):
        r, s = lp.row[e], lp.s[e, j]
        lp.l[r] += s * u / D
        for f in range(lp.first[i], lp.first[i + 1]):
            lp.L[r, lp.row[f]] += s * lp.s[f, j] / D
        put6(lp.K, e, add6(get6(lp.K, e), scale6(-s, W)))


@loop_kernel
def looped_inward(m: Mechanism, tau: Rows, w: Workspace, lp: LoopRows) -> None:
    """Eliminate joints and loops from the tips to the ground."""
    lp.L[:, :] = 0.0
    lp.l[:] = lp.given
    _begin_rows(lp)
    for i in range(len(m.parent) - 1, -1, -1):
        if lp.closing[i] < lp.closing[i + 1]:
            close_loops(w, lp, i, i, ZERO6)
        IA, pA = get21(w.IA, i), get6(w.pA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            D, W, IA = split_freedom(m, k, IA)
            u = tau[k] - along(m, k, pA)
            put6(w.W, k, W)
            w.u[k], lp.D[k] = u / D, D
            for e in range(lp.first[i], lp.first[i + 1]):
                lp.s[e, k - m.dof[i]] = along(m, k, get6(lp.K, e))
            _open_rows(lp, k, u, D, W, i, k - m.dof[i])
            pA = add6(pA, scale6(u, W))
        inertia_to_parent(m, i, IA, w)
        p = m.parent[i]
        if p >= 0:
            put6(w.pA, p, add6(get6(w.pA, p), force_to_parent(m, w.X, i, pA)))
        _hand_rows(m, w, lp, i)
    N = len(m.parent)
    if lp.closing[N] < lp.closing[N + 1]:
        close_loops(w, lp, N, -1, join(ZERO3, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))


@inlined
@kernel
def _forces(lp: LoopRows, i: int, body: int, a: Motion) -> None:
    """lam of the rows that close at a body with acceleration a."""
    for c in range(lp.closing[i], lp.closing[i + 1]):
        r = lp.closed[c]
        x = lp.y[r, 0] + dot6(get6(lp.YK, r), a)
        if body >= 0:
            for e in range(lp.first[body], lp.first[body + 1]):
                x += lp.YO[r, lp.row[e]] * lp.lam[lp.row[e]]
        lp.lam[r] = -x


@kernel
def looped_accelerations(m: Mechanism, force: Rows, qdd: Rows, w: Workspace, lp: LoopRows) -> None:
    """Forces of loops and joint accelerations from the ground to the tips; the former are added to `force`."""
    _forces(lp, len(m.parent), -1, join(ZERO3, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))
    for i in range(len(m.parent)):
        p = m.parent[i]
        if p >= 0:
            a = motion_to_body(m, w.X, i, get6(w.a, p))
        else:
            a = join(ZERO3, turn_to_body(m, w.X, i, (-m.gravity[0], -m.gravity[1], -m.gravity[2])))
        for k in range(m.dof[i], m.dof[i + 1]):
            x = w.u[k] - dot6(get6(w.W, k), a)
            for e in range(lp.first[i], lp.first[i + 1]):
                x += lp.s[e, k - m.dof[i]] * lp.lam[lp.row[e]] / lp.D[k]
            qdd[m.v_index[k]] = x
            a = add6(a, freedom(m, k, x))
        put6(w.a, i, a)
        if lp.closing[i] < lp.closing[i + 1]:
            _forces(lp, i, i, a)
    for r in range(len(lp.loop)):
        for side in range(2):
            i = lp.body[lp.loop[r], side]
            if i >= 0:
                put6(force, i, add6(get6(force, i), scale6(lp.lam[r], get6(lp.wrench, 2 * r + side))))


@loop_kernel
def looped_solve(
    m: Mechanism, q: Rows, tau: Rows, force: Rows, qdd: Rows, loads: Loads, w: PlainWork, lp: LoopRows
) -> None:
    """All joint accelerations at rest, loops held."""
    outward(m, q, force, loads, w)
    place_loops(m, w.X, lp)
    looped_inward(m, tau, w, lp)
    looped_accelerations(m, force, qdd, w, lp)


@inlined
@loop_kernel
def _ratio(m: Mechanism, new: Rows, old: Rows) -> Scalar:
    """Accelerations along those before, by these."""
    along_old, square = 0.0, 0.0
    for k in range(len(m.axis)):
        v = m.v_index[k]
        along_old += new[v] * old[v]
        square += old[v] * old[v]
    return along_old / max(square, 1e-300)


@loop_kernel
def looped_march(
    m: Mechanism, q: Rows, tau: Rows, force: Rows, qdd: Rows, loads: Loads, w: PlainWork, p: Springs, lp: LoopRows,
    r: Trial, h: float, turn: float, steps: int,
) -> Scalar:  # fmt: skip
    """Take steps; returns how many are left where one would turn a joint too far, or was braked at its end.

    Such a step is taken back. One after which accelerations were much the same as before is followed by one that is not
    looked at, so that steps one by one cost no more.
    """
    while steps > 0:
        looped_solve(m, q, tau, force, qdd, loads, w, lp)
        ratio = _ratio(m, qdd, r.qdd)
        if turns(m, qdd, h, turn):
            break
        for k in range(len(m.axis)):
            r.qdd[m.v_index[k]] = qdd[m.v_index[k]]
        looks = not ratio >= CALM_RATIO
        if looks:
            for i in range(len(m.parent)):
                integrate_joint(m, i, q, r.zero, 0.0, r.first)
        plain_move(m, q, qdd, h)
        spring_all(m, p, q)
        if looks:
            looped_solve(m, q, tau, force, qdd, loads, w, lp)
            if not _ratio(m, qdd, r.qdd) >= BRAKED:
                for i in range(len(m.parent)):
                    integrate_joint(m, i, r.first, r.zero, 0.0, q)
                spring_all(m, p, q)
                for k in range(len(m.axis)):
                    r.qdd[m.v_index[k]] = 0.0
                break
        steps -= 1
    return float(steps)


def solve_loops(*arguments: Any) -> None:
    """`looped_solve`, compiled."""
    compiled(looped_solve)(*arguments)


def march_loops(*arguments: Any) -> int:
    """`looped_march`, compiled."""
    return int(compiled(looped_march)(*arguments))
