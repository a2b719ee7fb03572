"""Impulses of contacts that stick, all at once by one factor: what sweeps would find where nothing slips.

Contacts that pressed before are held and the others left alone; a joint sticks, slips with all of its friction, or is
at a stop, as before. That makes A lam = -b of the rows that are held, which a dense L D L' solves. Where the laws agree
with the guess (impulses within their cones, nothing going into the ground), this is a solution, as far as `velocities`
shows; elsewhere sweeps must find one (`cone`).
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.scalar import clip, larger, size, step
from bough.simulate.cone import JOINT, Laws
from bough.types import Rows, Scalar, Workspace


@kernel
def hold_rows(
    k: Laws, A: Rows, b: Rows, friction: Rows, lower: Rows, upper: Rows, start: Rows, lam: Rows, small: Scalar,
    w: Workspace,
) -> Scalar:  # fmt: skip
    """lam (rows,) if all that `start` held is held; returns what they leave, more than `small` where a law breaks."""
    hold(k, A, b, friction, lower, upper, start, lam, w)
    velocities(A, b, lam, w.after)
    wrong = broken_laws(k, friction, lower, upper, start, lam, w)
    return held_speed(k, w) + wrong * (k.one[0] + small + small)


@kernel
def hold(
    k: Laws, A: Rows, b: Rows, friction: Rows, lower: Rows, upper: Rows, start: Rows, lam: Rows, w: Workspace
) -> None:
    """lam (rows,): rows of which `start` says that they were held get the velocities w.goal. Leaves w.held.

    Rows may be redundant: a share of each mobility that changes no digit of a velocity picks the least impulses.
    """
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] == JOINT:
            guess_joint(k, r, (friction[i], lower[i], upper[i]), start, lam, w)
            w.factor[r, r] = A[r, r] + k.hold[0] * A[r, r] + k.tiny[0]
        else:
            share = k.hold[0] * (A[r, r] + A[r + 1, r + 1] + A[r + 2, r + 2]) + k.tiny[0]
            for s in range(r, r + 3):
                w.held[s] = k.one[0] - step(-start[r])
                w.goal[s], lam[s] = k.zero[0], k.zero[0]
                w.factor[s, s] = A[s, s] + share
    for r in range(len(lam)):
        # what is not held does not move: to be put out of the way is cheaper than to be taken out
        w.factor[r, r] = w.factor[r, r] + (k.one[0] - w.held[r]) * k.far[0]
        w.after[r] = w.goal[r] - b[r]
        for i in range(len(k.row)):
            if k.kind[i] == JOINT:
                w.after[r] = w.after[r] - A[r, k.row[i]] * lam[k.row[i]]
        for s in range(r):
            w.factor[r, s] = A[r, s]
    factorise(k, w.factor)
    substitute(w.factor, w.after)
    for r in range(len(lam)):
        lam[r] = lam[r] + w.held[r] * w.after[r]


@kernel
def guess_joint(k: Laws, r: int, law: tuple[Scalar, ...], start: Rows, lam: Rows, w: Workspace) -> None:
    """A joint sticks with less than its friction, slips with all of it, and with more is at a stop."""
    friction, lower, upper = law
    one = k.one[0]
    sticks = one - step(size(start[r]) - (one - k.small[0]) * friction)
    low = one - step((one + k.small[0]) * friction - start[r])
    high = one - step((one + k.small[0]) * friction + start[r])
    w.held[r] = sticks + low + high
    w.goal[r] = low * lower + high * upper
    lam[r] = (one - w.held[r]) * clip(start[r], -friction, friction)


@kernel
def factorise(k: Laws, L: Rows) -> None:
    """The lower half of L, a matrix before, becomes L and 1 / D of its L D L'."""
    for c in range(len(L)):
        L[c, c] = k.one[0] / L[c, c]
        for r in range(len(L) - 1, c, -1):
            x = L[r, c] * L[c, c]
            for s in range(c + 1, r + 1):
                L[r, s] = L[r, s] - x * L[s, c]
            L[r, c] = x


@kernel
def substitute(L: Rows, x: Rows) -> None:
    """x = (L D L')^-1 x."""
    for r in range(len(x)):
        for s in range(r):
            x[r] = x[r] - L[r, s] * x[s]
    for r in range(len(x) - 1, -1, -1):
        x[r] = x[r] * L[r, r]
        for s in range(r + 1, len(x)):
            x[r] = x[r] - L[s, r] * x[s]


@kernel
def velocities(A: Rows, b: Rows, lam: Rows, after: Rows) -> None:
    """after = A lam + b."""
    for r in range(len(lam)):
        after[r] = b[r]
        for c in range(len(lam)):
            after[r] = after[r] + A[r, c] * lam[c]


@kernel
def broken_laws(k: Laws, friction: Rows, lower: Rows, upper: Rows, start: Rows, lam: Rows, w: Workspace) -> Scalar:
    """How many laws the guess of `hold` breaks, by the velocities in w.after."""
    count = k.zero[0]
    for i in range(len(k.row)):
        r = k.row[i]
        held, one = w.held[r], k.one[0]
        if k.kind[i] == JOINT:
            f, side = friction[i], one - step(-start[r]) - one + step(start[r])
            stops = one - step((one + k.small[0]) * f - size(start[r]))
            stopped, sticks = step(side * lam[r] - f), step(f - size(lam[r]))
            slips = step(-lam[r] * w.after[r]) * step(w.after[r] - lower[i]) * step(upper[i] - w.after[r])
            count = count + one - stops * stopped - (held - stops) * sticks - (one - held) * slips
        else:
            reach = friction[i] * lam[r]
            inside = step(reach) * step(reach * reach - lam[r + 1] * lam[r + 1] - lam[r + 2] * lam[r + 2])
            count = count + one - held * inside - (one - held) * step(w.after[r])
    return count


@kernel
def held_speed(k: Laws, w: Workspace) -> Scalar:
    """By how much a row that is held misses its velocity, at most."""
    largest = k.zero[0]
    for r in range(len(w.held)):
        largest = larger(largest, w.held[r] * size(w.after[r] - w.goal[r]))
    return largest


HOLD_WORK = {"held": "solved", "goal": "solved", "after": "solved", "factor": "solved solved"}
