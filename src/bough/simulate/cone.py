"""Impulses of contacts with dry friction and of joints at their limits, by block Gauss-Seidel sweeps.

Nonsmooth Gauss-Seidel (Jourdan, Alart & Jean 1998; Jean 1999) on w = A lam + b: each row or contact in turn gets the
impulse that its own law asks for, given all others. The law of a contact is Coulomb's, with the exact cone: it opens,
or sticks, or slips against its friction (by projections with de Saxce & Feng's correction, 1998); normal and tangential
impulse are not decoupled, and no dilation is added. A joint's row shrinks by its dry friction and is clipped to bounds.
As zero is always allowed, sweeps that have converged never raise the kinetic energy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import sqrt

JOINT, CONTACT = 0, 1
SWEEPS, TURNS, TOLERANCE, SMALL = 5000, 10, 1e-9, 1e-12


class Laws(NamedTuple):
    """The laws of rows, and numbers that kernels must not spell out. A contact has three: normal, two tangents."""

    kind: Any  # (laws,) JOINT or CONTACT
    row: Any  # (laws,) its first row
    zero: Any  # (1,)
    one: Any  # (1,)
    tolerance: Any  # (1,) change of velocities at which sweeps end, relative to the largest without impulses
    small: Any  # (1,) pivots below this share of the first are none
    most: Any  # (2,) sweeps, and turns of a slipping contact in each


def laws(joints: int, contacts: int) -> Laws:
    """Rows of joints first, then three for each contact."""
    kind = np.array([JOINT] * joints + [CONTACT] * contacts, np.int64)
    row = np.array([*range(joints), *(joints + 3 * c for c in range(contacts))], np.int64)
    return Laws(kind, row, np.zeros(1), np.ones(1), np.array([TOLERANCE]), np.array([SMALL]), np.array([SWEEPS, TURNS]))


@kernel
def impulses(
    k: Any, A: Any, b: Any, friction: Any, lower: Any, upper: Any, start: Any, lam: Any, change: Any, w: Any
) -> None:
    """lam (rows,) from `start`; `friction` (laws,) is a coefficient for contacts, an impulse for joints."""
    largest = start_sweeps(k, A, b, start, lam, w)
    for _ in range(k.most[0]):
        moved = k.zero[0]
        for i in range(len(k.row)):
            r = k.row[i]
            if k.kind[i] == JOINT:
                moved = max(moved, joint_row(k, A, r, friction[i], lower[i], upper[i], lam, w) * A[r, r])
            else:
                moved = max(moved, contact(k, A, r, friction[i], lam, w) * A[r, r])
        change[0] = moved
        if moved <= k.tolerance[0] * largest:
            break


@kernel
def start_sweeps(k: Any, A: Any, b: Any, start: Any, lam: Any, w: Any) -> Any:
    """w.v = b + A start; returns the largest velocity that asks for an impulse."""
    largest = k.zero[0]
    for r in range(len(lam)):
        lam[r] = start[r]
        w.v[r] = b[r]
        for c in range(len(lam)):
            w.v[r] = w.v[r] + A[r, c] * start[c]
    for i in range(len(k.row)):
        r = k.row[i]
        if k.kind[i] == JOINT:
            largest = max(largest, abs(b[r]))
        else:
            largest = max(largest, max(-b[r], max(abs(b[r + 1]), abs(b[r + 2]))))
    return largest


@kernel
def push(A: Any, r: int, value: Any, lam: Any, w: Any) -> Any:
    """Give row r the impulse `value`, and all velocities what it changes; returns by how much."""
    by = value - lam[r]
    if value != lam[r]:
        lam[r] = value
        for c in range(len(lam)):
            w.v[c] = w.v[c] + A[c, r] * by
    return abs(by)


@kernel
def joint_row(k: Any, A: Any, r: int, friction: Any, lower: Any, upper: Any, lam: Any, w: Any) -> Any:
    """A joint that sticks by its dry friction, slips against it, or stops at a bound; returns how far lam moved."""
    own = A[r, r]
    if own <= k.zero[0]:
        return k.zero[0]
    z = w.v[r] - own * lam[r]
    by = own * friction
    v = z - min(max(z, -by), by)
    v = min(max(v, lower), upper)
    return push(A, r, (v - z) / own, lam, w)


@kernel
def contact(k: Any, A: Any, r: int, friction: Any, lam: Any, w: Any) -> Any:
    """A contact that opens, sticks or slips; returns how far its impulse moved."""
    zero = k.zero[0]
    for i in range(3):
        w.rest[i] = w.v[r + i]
        w.new[i] = zero
        for j in range(3):
            w.rest[i] = w.rest[i] - A[r + i, r + j] * lam[r + j]
    if w.rest[0] < zero and A[r, r] > zero:
        if friction <= zero:
            w.new[0] = -w.rest[0] / A[r, r]
        elif not sticks(k, A, r, friction, w):
            slip(k, A, r, friction, lam, w)
    moved = zero
    for i in range(3):
        moved = max(moved, push(A, r + i, w.new[i], lam, w))
    return moved


@kernel
def sticks(k: Any, A: Any, r: int, friction: Any, w: Any) -> bool:
    """Try the impulse that stops the contact, by elimination; it must lie in the cone."""
    d0 = A[r, r]
    l1, l2 = A[r + 1, r] / d0, A[r + 2, r] / d0
    d1, x = A[r + 1, r + 1] - l1 * A[r + 1, r], A[r + 2, r + 1] - l2 * A[r + 1, r]
    small = k.small[0] * d0
    if d1 <= small:
        return False
    l3 = x / d1
    d2 = A[r + 2, r + 2] - l2 * A[r + 2, r] - l3 * x
    if d2 <= small:
        return False
    y0, y1 = -w.rest[0], -w.rest[1] + l1 * w.rest[0]
    y2 = -w.rest[2] - l2 * y0 - l3 * y1
    f2 = y2 / d2
    f1 = y1 / d1 - l3 * f2
    f0 = y0 / d0 - l1 * f1 - l2 * f2
    if f0 < k.zero[0] or f1 * f1 + f2 * f2 > friction * friction * f0 * f0:
        return False
    w.new[0], w.new[1], w.new[2] = f0, f1, f2
    return True


@kernel
def slip(k: Any, A: Any, r: int, friction: Any, lam: Any, w: Any) -> None:
    """Impulse on the edge of the cone, against the sliding: projections of lam - rho (w + friction |w_t| n)."""
    zero, one = k.zero[0], k.one[0]
    rho = one / (A[r, r] + A[r + 1, r + 1] + A[r + 2, r + 2])
    f0, f1, f2 = lam[r], lam[r + 1], lam[r + 2]
    if f0 <= zero:
        f0 = -w.rest[0] / A[r, r]
    for _ in range(k.most[1]):
        w0 = w.rest[0] + A[r, r] * f0 + A[r, r + 1] * f1 + A[r, r + 2] * f2
        w1 = w.rest[1] + A[r + 1, r] * f0 + A[r + 1, r + 1] * f1 + A[r + 1, r + 2] * f2
        w2 = w.rest[2] + A[r + 2, r] * f0 + A[r + 2, r + 1] * f1 + A[r + 2, r + 2] * f2
        g0 = f0 - rho * (w0 + friction * sqrt(w1 * w1 + w2 * w2))
        g1, g2 = f1 - rho * w1, f2 - rho * w2
        size = sqrt(g1 * g1 + g2 * g2)
        if size > friction * g0:
            f0 = (g0 + friction * size) / (one + friction * friction)
            if f0 <= zero:
                f0, f1, f2 = zero, zero, zero
            else:
                f1, f2 = friction * f0 * g1 / size, friction * f0 * g2 / size
        else:
            f0, f1, f2 = g0, g1, g2
    w.new[0], w.new[1], w.new[2] = f0, f1, f2


IMPULSES = Routine(
    "contact_impulses",
    impulses,
    inputs={
        "A": "rows rows", "b": "rows", "friction": "laws", "lower": "laws", "upper": "laws", "start": "rows",
    },
    outputs={"lam": "rows", "change": "1"},
    work={"v": "rows", "new": "3", "rest": "3"},
)  # fmt: skip
