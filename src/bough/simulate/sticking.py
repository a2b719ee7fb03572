"""Impulses of contacts that stick, all at once by one factor: what sweeps would find where nothing starts to slip.

Contacts that pressed in the last step stick and the others are open; a joint sticks, or slips with all of its friction,
as before. The sticking rows obey A lam = -b, which a dense L D L' solves. Where the laws agree with the guess (impulses
within their cones, nothing going into the ground), this is a solution, as far as `velocities` shows; elsewhere sweeps
must find one (`cone`).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import clip, larger, size, step
from bough.opspace.sweeps.factored import ldl, ldl_solve
from bough.simulate.cone import JOINT, Laws
from bough.types import Rows, Scalar, Workspace


@kernel
def solve_sticking(
    k: Laws, A: Rows, b: Rows, friction: Rows, start: Rows, lam: Rows, small: Scalar, w: Workspace
) -> Scalar:
    """lam (rows,) if all rows stick that stuck in `start`; returns their largest velocity, above `small` where a law
    is broken."""
    guess_sticking(k, A, friction, start, lam, w)
    for r in range(len(lam)):
        # a row that does not stick gets a mobility beside which all others vanish: cheaper than removing it
        w.factor[r, r] = w.factor[r, r] + (k.one[0] - w.sticks[r]) * k.far[0]
        w.after[r] = -b[r]
        for i in range(len(k.row)):
            if k.kind[i] == JOINT:
                w.after[r] = w.after[r] - A[r, k.row[i]] * lam[k.row[i]]
        for s in range(r):
            w.factor[r, s] = A[r, s]
    ldl(w.factor, k.zero[0], w)
    ldl_solve(w.after, w)
    for r in range(len(lam)):
        lam[r] = lam[r] + w.sticks[r] * w.after[r]
    velocities(A, b, lam, w.after)
    wrong = broken_laws(k, friction, lam, w)
    return sticking_speed(k, w) + wrong * (k.one[0] + small + small)


@kernel
def guess_sticking(k: Laws, A: Rows, friction: Rows, start: Rows, lam: Rows, w: Workspace) -> None:
    """w.sticks by the impulses in `start`, lam of joints that slip, and the diagonal of w.factor.

    Rows may be redundant: a share of each mobility that changes no digit of a velocity picks the least impulses.
    """
    one = k.one[0]
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] == JOINT:
            w.sticks[r] = one - step(size(start[r]) - (one - k.small[0]) * friction[i])
            lam[r] = (one - w.sticks[r]) * clip(start[r], -friction[i], friction[i])
            w.factor[r, r] = A[r, r] + k.hold[0] * A[r, r] + k.tiny[0]
        else:
            share = k.hold[0] * (A[r, r] + A[r + 1, r + 1] + A[r + 2, r + 2]) + k.tiny[0]
            for s in range(r, r + 3):
                w.sticks[s], lam[s] = one - step(-start[r]), k.zero[0]
                w.factor[s, s] = A[s, s] + share


@kernel
def velocities(A: Rows, b: Rows, lam: Rows, after: Rows) -> None:
    """after = A lam + b."""
    for r in range(len(lam)):
        after[r] = b[r]
        for c in range(len(lam)):
            after[r] = after[r] + A[r, c] * lam[c]


@kernel
def broken_laws(k: Laws, friction: Rows, lam: Rows, w: Workspace) -> Scalar:
    """How many laws the guess in w.sticks breaks, by the velocities in w.after."""
    count = k.zero[0]
    for i in range(len(k.row)):
        r, one = k.row[i], k.one[0]
        if k.kind[i] == JOINT:
            agrees = w.sticks[r] * step(friction[i] - size(lam[r]))
            agrees = agrees + (one - w.sticks[r]) * step(-lam[r] * w.after[r])
        else:
            reach = friction[i] * lam[r]
            inside = step(reach) * step(reach * reach - lam[r + 1] * lam[r + 1] - lam[r + 2] * lam[r + 2])
            agrees = w.sticks[r] * inside + (one - w.sticks[r]) * step(w.after[r])
        count = count + one - agrees
    return count


@kernel
def sticking_speed(k: Laws, w: Workspace) -> Scalar:
    """The largest velocity of a row that sticks."""
    largest = k.zero[0]
    for r in range(len(w.sticks)):
        largest = larger(largest, w.sticks[r] * size(w.after[r]))
    return largest


STICKING_WORK = {"sticks": "solved", "after": "solved", "factor": "solved solved"}
