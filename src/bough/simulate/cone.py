"""Impulses of contacts and of joints with dry friction, by block Gauss-Seidel sweeps.

Nonsmooth Gauss-Seidel (Jourdan, Alart & Jean 1998; Jean 1999) on w = A lam + b: each row or contact in turn gets the
impulse of its own law, given all others. The law of a contact is Coulomb's, with the exact cone: it opens;
or sticks, by the impulse that stops it, where that lies in the cone; or slips against its friction, by the root of one
equation, so that normal and tangential impulse are found together, and no dilation is added. A joint's row shrinks by
its dry friction; that of its stops is bounded by the velocities that reach them. As zero is always allowed, sweeps that
have converged never raise the kinetic energy. Nothing branches on a number: a fixed count of sweeps can be traced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.kernel import kernel
from bough.compile.scalar import clip, larger, positive, size, sqrt, step
from bough.opspace.sweeps.factored import ldl, ldl_solve
from bough.types import Rows, Scalar, Workspace

JOINT, CONTACT = 0, 1
TOLERANCES, SMALL = {8: 5e-10, 4: 1e-5}, {8: 1e-12, 4: 1e-6}  # by bytes of a number
LEAST_SLOPE, TINY = 1e-3, 1e-36
HOLD, FAR = 1e-13, 1e36


class Laws(NamedTuple):
    """The laws of rows, and their constants as data. A contact has three rows: normal, two tangents."""

    kind: Rows  # (laws,) JOINT or CONTACT
    row: Rows  # (laws,) its first row
    zero: Rows  # (1,)
    one: Rows  # (1,)
    tolerance: Rows  # (1,) change of velocities at which sweeps end, relative to the largest without impulses
    small: Rows  # (2,) mobilities below this share of the others are none; the least slope of a Newton step
    tiny: Rows  # (1,) a square impulse that is none
    most: Rows  # (1,) sweeps
    goes_on: Rows  # (1,) whether sweeps end when impulses have been found, and Newton steps help (`newton`)
    hold: Rows  # (1,) share of mobilities that makes redundant rows a choice (see `solve_sticking`)
    far: Rows  # (1,) a mobility beside which all others are none
    bounded: Rows  # (rows,) 1 where velocities stay between w.lowest and w.highest: the row of a joint's stops


def laws(joints: int, contacts: int, sweeps: int | None, dtype: npt.DTypeLike = np.float64, stops: int = 0) -> Laws:
    """Laws of rows of joints, then three for each contact, then of stops; `sweeps` None means until they converge."""
    kind = np.array([JOINT] * joints + [CONTACT] * contacts + [JOINT] * stops, np.int64)
    last = joints + 3 * contacts
    row = np.array([*range(joints), *range(joints, last, 3), *range(last, last + stops)], np.int64)
    size = np.dtype(dtype).itemsize
    shares = np.array([TOLERANCES[size]]), np.array([SMALL[size], LEAST_SLOPE]), np.array([TINY])
    most, goes_on = np.array([sweeps or 0]), np.array([int(sweeps is None)])
    bounded = np.repeat([0, 1], [last, stops])
    return Laws(kind, row, np.zeros(1), np.ones(1), *shares, most, goes_on, np.array([HOLD]), np.array([FAR]), bounded)


@kernel
def start_sweeps(k: Laws, A: Rows, b: Rows, start: Rows, lam: Rows, w: Workspace) -> Scalar:
    """lam = start, and blocks of A for the laws; returns the largest velocity that needs an impulse."""
    largest = k.zero[0]
    for r in range(len(lam)):
        lam[r] = start[r]
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] == JOINT:
            largest = larger(largest, size(b[r]))
        else:
            own_blocks(k, A, i, w)
            largest = larger(larger(larger(largest, -b[r]), size(b[r + 1])), size(b[r + 2]))
    return largest


@kernel
def own_blocks(k: Laws, A: Rows, i: int, w: Workspace) -> None:
    """Of contact i: 1 / A_nn, A_nt / A_nn, the mobility S of its tangents where the normal does not move, and S^-1.

    Where a direction has no mobility of its own beside the others, a share that changes no digit is added.
    """
    r, three = k.row[i], k.one[0] + k.one[0] + k.one[0]
    six = three + three
    tiny = k.small[0] * (A[r, r] + A[r + 1, r + 1] + A[r + 2, r + 2]) + k.small[0] * k.small[0]
    w.own[i, 0] = A[r, r] / (A[r, r] * A[r, r] + tiny * tiny)
    w.own[i, 1], w.own[i, 2] = w.own[i, 0] * A[r, r + 1], w.own[i, 0] * A[r, r + 2]
    p = A[r + 1, r + 1] - w.own[i, 1] * A[r, r + 1] + tiny
    x = A[r + 1, r + 2] - w.own[i, 1] * A[r, r + 2]
    s = A[r + 2, r + 2] - w.own[i, 2] * A[r, r + 2] + tiny
    over = k.one[0] / (p * s - x * x)
    w.own[i, 3], w.own[i, 4], w.own[i, 5] = p, x, s
    w.own[i, 6], w.own[i, 7], w.own[i, 8] = over * s, over * x, over * p
    # trace S^-1 if all directions are alike; S^-1 itself has no bound where tangents do not move by themselves
    w.own[i, 10] = six / (A[r, r] + A[r + 1, r + 1] + A[r + 2, r + 2] + k.small[0] * k.small[0])


@kernel
def sweep(k: Laws, n: int, A: Rows, b: Rows, friction: Rows, lam: Rows, w: Workspace) -> Scalar:
    """One sweep, by its number; returns the largest change of a velocity."""
    update_impulses(k, n, A, b, friction, lam, w)
    return largest_change(k, A, lam, w)


@kernel
def update_impulses(k: Laws, n: int, A: Rows, b: Rows, friction: Rows, lam: Rows, w: Workspace) -> None:
    """Update the impulses of all laws in turn, by the number of the sweep."""
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] == JOINT:
            joint_row(k, A, rest(A, b, r, r, 1, lam), r, friction[i], lam, w)
        else:
            z = (rest(A, b, r, r, 3, lam), rest(A, b, r + 1, r, 3, lam), rest(A, b, r + 2, r, 3, lam))
            if n == 0:
                w.own[i, 9] = first_slip(k, A, z, r, friction[i], lam)
            contact(k, z, i, friction[i], lam, w)


@kernel
def largest_change(k: Laws, A: Rows, lam: Rows, w: Workspace) -> Scalar:
    """The largest change of a velocity in the last sweep.

    A function of its own: sweeps that do not read it are the same operations, and become a loop on a GPU.
    """
    moved = k.zero[0]
    for i in range(len(k.row)):
        r = k.row[i]
        by = size(lam[r] - w.before[r])
        if k.kind[i] != JOINT:
            by = larger(larger(by, size(lam[r + 1] - w.before[r + 1])), size(lam[r + 2] - w.before[r + 2]))
            # while g is no root yet, sweeps have not converged
            by = larger(by, (w.own[i, 11] - w.own[i, 11] * w.own[i, 12]) * size(w.own[i, 13]))
        moved = larger(moved, A[r, r] * by)
    return moved


@kernel
def rest(A: Rows, b: Rows, r: int, first: int, count: int, lam: Rows) -> Scalar:
    """The velocity of row r without the impulses of the `count` rows from `first` on."""
    z = b[r]
    for c in range(len(lam)):
        if c < first or c >= first + count:
            z = z + A[r, c] * lam[c]
    return z


@kernel
def joint_row(k: Laws, A: Rows, z: Scalar, r: int, friction: Scalar, lam: Rows, w: Workspace) -> None:
    """A joint that sticks by its friction, slips against it, or is at a stop."""
    own = A[r, r]
    by = own * friction
    v = positive(z - by) - positive(-z - by)
    if k.bounded[r] == 1:
        v = clip(v, w.lowest[r], w.highest[r])
    w.before[r] = lam[r]
    lam[r] = (v - z) * own / (own * own + k.tiny[0])


@kernel
def first_slip(k: Laws, A: Rows, z: tuple[Scalar, Scalar, Scalar], r: int, friction: Scalar, lam: Rows) -> Scalar:
    """g to begin with: of the impulse that sweeps start from its velocity against it, over it.

    Where that is none, what it would be if the contact stopped along its normal and all tangents were alike.
    """
    f0, f1, f2 = lam[r], lam[r + 1], lam[r + 2]
    v1 = z[1] + A[r + 1, r] * f0 + A[r + 1, r + 1] * f1 + A[r + 1, r + 2] * f2
    v2 = z[2] + A[r + 2, r] * f0 + A[r + 2, r + 1] * f1 + A[r + 2, r + 2] * f2
    known = positive(-(v1 * f1 + v2 * f2) / (f1 * f1 + f2 * f2 + k.tiny[0]))
    far = sqrt(z[1] * z[1] + z[2] * z[2]) * A[r, r] / (friction * size(z[0]) + k.small[0])
    guess = positive(far - A[r + 1, r + 1] - A[r + 2, r + 2])
    return known + step(-known) * guess


@kernel
def contact(k: Laws, z: tuple[Scalar, Scalar, Scalar], i: int, friction: Scalar, lam: Rows, w: Workspace) -> None:
    """A contact that opens, sticks or slips; z is its velocity without its own impulse.

    With w_n = 0 the normal impulse is a - beta f and the tangential velocity y + S f. It slips where y + S f = -g f
    with g > 0 and |f| = friction (a - beta f): a root in g, by Newton's method from the last g. At g = 0 it sticks.
    """
    r, x = k.row[i], w.own[i]
    touches, a = step(-z[0]), -x[0] * z[0]
    y = (z[1] - x[1] * z[0], z[2] - x[2] * z[0])
    # stopping it altogether
    s1, s2 = x[7] * y[1] - x[6] * y[0], x[7] * y[0] - x[8] * y[1]
    s0 = a - x[1] * s1 - x[2] * s2
    reach = friction * s0
    sticks = step(reach) * step(reach * reach - s1 * s1 - s2 * s2)
    x[9] = next_slip(k, friction, a, y, x)
    t1, t2, _ = tangential(k, y, x)
    t0 = positive(a - x[1] * t1 - x[2] * t2)
    length = sqrt(t1 * t1 + t2 * t2 + k.tiny[0])
    gap = length - friction * t0
    scale = (length - positive(gap)) / length
    t1, t2 = scale * t1, scale * t2
    x[11], x[12], x[13] = touches, sticks, gap
    w.before[r], w.before[r + 1], w.before[r + 2] = lam[r], lam[r + 1], lam[r + 2]
    lam[r] = touches * (t0 + sticks * (s0 - t0))
    lam[r + 1] = touches * (t1 + sticks * (s1 - t1))
    lam[r + 2] = touches * (t2 + sticks * (s2 - t2))


@kernel
def tangential(k: Laws, y: tuple[Scalar, Scalar], x: Rows) -> tuple[Scalar, Scalar, Scalar]:
    """f = -(S + g)^-1 y, and 1 / det(S + g)."""
    p, s = x[3] + x[9], x[5] + x[9]
    over = k.one[0] / (p * s - x[4] * x[4])
    return over * (x[4] * y[1] - s * y[0]), over * (x[4] * y[0] - p * y[1]), over


@kernel
def next_slip(k: Laws, friction: Scalar, a: Scalar, y: tuple[Scalar, Scalar], x: Rows) -> Scalar:
    """Newton's next g for reach / |f| = 1, which is nearly linear in g."""
    f1, f2, over = tangential(k, y, x)
    # the slope of f is -(S + g)^-1 f
    d1, d2 = over * (x[4] * f2 - (x[5] + x[9]) * f1), over * (x[4] * f1 - (x[3] + x[9]) * f2)
    square = f1 * f1 + f2 * f2 + k.tiny[0]
    length, reach = sqrt(square), friction * (a - x[1] * f1 - x[2] * f2)
    # over the square, so that nothing underflows in single precision
    slope = -friction * (x[1] * d1 + x[2] * d2) - reach * ((f1 * d1 + f2 * d2) / square)
    least = k.small[1] * x[10] * length
    return positive(x[9] + (length - reach) / larger(least, slope))  # exact where it is the first


@kernel
def slipping(k: Laws, friction: Rows, lam: Rows) -> Scalar:
    """Number of contacts whose friction force is at its limit."""
    count = k.zero[0]
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] != JOINT:
            reach = friction[i] * lam[r]
            reach = reach * reach * (k.one[0] - k.small[0])
            pull = lam[r + 1] * lam[r + 1] + lam[r + 2] * lam[r + 2]
            count = count + step(pull - reach) * (k.one[0] - step(-lam[r]))
    return count


SWEEP_WORK = {"own": "laws 14", "before": "solved", "lowest": "solved", "highest": "solved"}


# Sticking contacts, all at once. Contacts that pressed in the last step stick and the others are open; a joint sticks,
# or slips with all of its friction, as before. The sticking rows obey A lam = -b, which a dense L D L' solves. Where
# laws agree with that guess (impulses within their cones, nothing going into the ground), it is a solution; elsewhere
# sweeps must find one.


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
    largest = broken_laws(k, friction, lam, w) * (k.one[0] + small + small)
    for r in range(len(lam)):
        largest = larger(largest, w.sticks[r] * size(w.after[r]))
    return largest


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
    """Number of contact laws that the guess in w.sticks violates, by the velocities in w.after."""
    count = k.zero[0]
    for i in range(len(k.row)):
        r, one = k.row[i], k.one[0]
        if k.kind[i] == JOINT:
            agrees = w.sticks[r] * step(friction[i] - size(lam[r]))
            agrees = agrees + (one - w.sticks[r]) * step(-lam[r] * w.after[r])
            if k.bounded[r] == 1:
                agrees = agrees * step(w.after[r] - w.lowest[r]) * step(w.highest[r] - w.after[r])
        else:
            reach = friction[i] * lam[r]
            inside = step(reach) * step(reach * reach - lam[r + 1] * lam[r + 1] - lam[r + 2] * lam[r + 2])
            agrees = w.sticks[r] * inside + (one - w.sticks[r]) * step(w.after[r])
        count = count + one - agrees
    return count


STICKING_WORK = {"sticks": "solved", "after": "solved", "factor": "solved solved"}
