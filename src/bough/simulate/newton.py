"""Impulses of all rows together: sticking rows by one factor, slipping ones by sweeps and generalised Newton steps.

A Newton step (Alart & Curnier 1991) solves all rows at once, for the state that each law is in: a contact opens,
sticks, or slips along p = f - r w; a joint slips, sticks, or is at a stop. Where steps do not converge, sweeps go on
and Newton steps start again from there, or from where they led if that is nearer to all laws. Sweeps that solve each
law exactly (`cone`) may cycle where contacts that slip act on one limb; projections onto cones after the change of
variables of de Saxce & Feng (1998) do not, but are slower: both take turns. Rows may be redundant: each step moves
impulses as little as it can, so that the start decides between them and not rounding.
"""

from __future__ import annotations

from bough.compile.kernel import loop_kernel
from bough.simulate.cone import JOINT, Laws, joint_row, solve_sticking, sweep, velocities
from bough.types import Rows, Scalar, Workspace

FIRST, BETWEEN, ROUNDS = 12, 20, 10  # exact sweeps, more projections in each round than in the last, and rounds
STEPS, CONVERGED = 12, 1e-9
LEAST_SHARE, FACTOR, SHARES = 1e-9, 100.0, 4  # of mobilities, added to rows that stick: these in turn
TINY = 1e-36
OPEN, STICKS, SLIPS = 0.0, 1.0, 2.0  # states of laws; the impulse of a slipping joint is known, as of an open contact


@loop_kernel
def solve_impulses(k: Laws, A: Rows, b: Rows, friction: Rows, lam: Rows, small: Scalar, w: Workspace) -> Scalar:
    """lam (rows,) from where it is, and in w.start; returns how far the last sweep still moved a velocity."""
    change = 0.0
    if k.goes_on[0] == 0:
        for n in range(k.most[0]):
            change = sweep(k, n, A, b, friction, lam, w)
        return change
    for r in range(len(lam)):
        change = change + abs(lam[r])
    if change > 0.0:
        change = solve_sticking(k, A, b, friction, w.start, lam, small, w)
        if change <= small:
            return change
        for r in range(len(lam)):
            lam[r] = w.start[r]
    for n in range(FIRST):
        change = sweep(k, n, A, b, friction, lam, w)
        if change <= small:
            return change
    for n in range(ROUNDS):
        if n % 2 == 1:
            for s in range(FIRST):
                change = sweep(k, n + s, A, b, friction, lam, w)
        for r in range(len(lam)):
            w.swept[r] = lam[r]
        newton_steps(k, A, b, friction, LEAST_SHARE * FACTOR ** (n % SHARES), lam, w)
        velocities(A, b, lam, w.after)
        found = project_impulses(k, A, friction, lam, w)
        if found <= small:
            return found
        if not found < change:
            for r in range(len(lam)):
                lam[r] = w.swept[r]
            velocities(A, b, lam, w.after)
        for _ in range(BETWEEN * (n + 1)):
            change = project_impulses(k, A, friction, lam, w)
            if change <= small:
                return change
    return change


@loop_kernel
def project_impulses(k: Laws, A: Rows, friction: Rows, lam: Rows, w: Workspace) -> Scalar:
    """One sweep, in which a contact's impulse becomes P(f - r (w + friction |w_t| n)), P the projection onto its cone.

    Returns the largest change of a velocity; no change is a solution of all laws. Keeps w.after = A lam + b.
    """
    change = 0.0
    for i in range(len(k.row)):
        r, mu = k.row[i], friction[i]
        if k.kind[i] == JOINT:
            joint_row(k, A, w.after[r] - A[r, r] * lam[r], r, mu, lam, w)
            change = max(change, A[r, r] * abs(lam[r] - w.before[r]))
            update_velocities(A, r, lam[r] - w.before[r], w)
        else:
            v0, v1, v2 = w.after[r], w.after[r + 1], w.after[r + 2]
            square = TINY
            for a in range(3):
                for c in range(3):
                    square = square + A[r + a, r + c] * A[r + a, r + c]
            by = square**-0.5
            f0 = lam[r] - by * (v0 + mu * (v1 * v1 + v2 * v2) ** 0.5)
            f1, f2 = lam[r + 1] - by * v1, lam[r + 2] - by * v2
            length, share = (f1 * f1 + f2 * f2) ** 0.5, 1.0
            if length > mu * f0:
                f0 = max((f0 + mu * length) / (1.0 + mu * mu), 0.0)
                share = mu * f0 / length
            d0, d1, d2 = f0 - lam[r], share * f1 - lam[r + 1], share * f2 - lam[r + 2]
            change = max(change, max(abs(d0), abs(d1), abs(d2)) / by)
            lam[r], lam[r + 1], lam[r + 2] = f0, share * f1, share * f2
            update_velocities(A, r, d0, w)
            update_velocities(A, r + 1, d1, w)
            update_velocities(A, r + 2, d2, w)
    return change


@loop_kernel
def update_velocities(A: Rows, r: int, by: Scalar, w: Workspace) -> None:
    """w.after where the impulse of row r has changed; A is symmetric, and most rows are open."""
    if by != 0.0:
        for c in range(len(w.after)):
            w.after[c] = w.after[c] + A[r, c] * by


@loop_kernel
def newton_steps(k: Laws, A: Rows, b: Rows, friction: Rows, share: Scalar, lam: Rows, w: Workspace) -> None:
    """lam moved by Newton steps, as near as they come; a step longer than the last is halved, as it may cycle.

    `share` of the largest mobility is added to those of sticking rows: where rows contradict each other, steps are
    then no longer than impulses of that order.
    """
    last = 1e300
    for _ in range(STEPS):
        velocities(A, b, lam, w.after)
        count = choose_states(k, A, friction, lam, w)
        fill_system(k, A, friction, share, lam, count, w)
        if solve_system(count, w) == 0:
            return
        speed, most = 0.0, 1.0
        for c in range(count):
            w.move[int(w.index[c])] = w.G[c, count]
        for r in range(len(lam)):
            speed, most = max(speed, abs(w.move[r] * A[r, r])), max(most, abs(b[r]))
        pace = 1.0 if speed < last else 0.5
        last = speed
        for r in range(len(lam)):
            lam[r] = lam[r] + pace * w.move[r]
        if not speed > CONVERGED * most:
            return


@loop_kernel
def choose_states(k: Laws, A: Rows, friction: Rows, lam: Rows, w: Workspace) -> int:
    """w.state of all laws by w.after, w.index of rows that are unknown, w.move of the others; how many are unknown."""
    count = 0
    for i in range(len(k.row)):
        r, rows = k.row[i], 1
        if k.kind[i] == JOINT:
            own = A[r, r]
            z = w.after[r] - own * lam[r]
            free = z - min(max(z, -own * friction[i]), own * friction[i])
            w.state[i], w.move[r], w.goal[r] = OPEN, -lam[r], free
            if k.bounded[r] == 1:
                w.goal[r] = min(max(free, w.lowest[r]), w.highest[r])
            if w.goal[r] != free or (free == 0.0 and friction[i] > 0.0):
                w.state[i] = STICKS
            elif free > 0.0:
                w.move[r] = -lam[r] - friction[i]
            elif free < 0.0:
                w.move[r] = -lam[r] + friction[i]
        else:
            rows = 3
            own = A[r, r] + TINY
            press = lam[r] - w.after[r] / own
            p, s = lam[r + 1] - w.after[r + 1] / own, lam[r + 2] - w.after[r + 2] / own
            w.state[i] = STICKS
            if press <= 0.0:
                w.state[i] = OPEN
            elif p * p + s * s > friction[i] * friction[i] * press * press:
                w.state[i] = SLIPS
            for c in range(3):
                w.move[r + c], w.goal[r + c] = -lam[r + c], 0.0
        if w.state[i] != OPEN:
            for c in range(rows):
                w.index[count], w.move[r + c] = r + c, 0.0
                count = count + 1
    return count


@loop_kernel
def fill_system(k: Laws, A: Rows, friction: Rows, share: Scalar, lam: Rows, count: int, w: Workspace) -> None:
    """w.G (count, count + 1): what the moves of unknown rows do to their laws, and what is missing."""
    most = 0.0
    for r in range(len(lam)):
        most = max(most, A[r, r])
        w.known[r] = 0.0
        for c in range(len(lam)):
            w.known[r] = w.known[r] + A[r, c] * w.move[c]
    row = 0
    for i in range(len(k.row)):
        r = k.row[i]
        if w.state[i] != OPEN:
            fill_sticking(A, r, row, count, share * most, w)
            row = row + 1
            if k.kind[i] != JOINT:
                if w.state[i] == STICKS:
                    fill_sticking(A, r + 1, row, count, share * most, w)
                    fill_sticking(A, r + 2, row + 1, count, share * most, w)
                else:
                    fill_slipping(A, r, row, count, friction[i], lam, w)
                row = row + 2


@loop_kernel
def fill_sticking(A: Rows, r: int, row: int, count: int, share: Scalar, w: Workspace) -> None:
    """Row r has the velocity w.goal: zero, or that of a joint which reaches its stop."""
    for c in range(count):
        w.G[row, c] = A[r, int(w.index[c])]
    w.G[row, row] = w.G[row, row] + share
    w.G[row, count] = w.goal[r] - w.after[r] - w.known[r]


@loop_kernel
def fill_slipping(A: Rows, r: int, row: int, count: int, friction: Scalar, lam: Rows, w: Workspace) -> None:
    """The tangents of the contact at row r: f = friction f_n p / |p| of p = f - w / A_nn."""
    over = 1.0 / (A[r, r] + TINY)
    p, s = lam[r + 1] - over * w.after[r + 1], lam[r + 2] - over * w.after[r + 2]
    length = (p * p + s * s) ** 0.5
    p, s = p / length, s / length
    bent = friction * max(lam[r], 0.0) / length
    # the projection across p: bent (1 - p p')
    pp, ps, ss = bent * (1.0 - p * p), -bent * p * s, bent * (1.0 - s * s)
    for c in range(count):
        at = int(w.index[c])
        x, y = over * A[r + 1, at], over * A[r + 2, at]
        if at == r + 1:
            x = x - 1.0
        if at == r + 2:
            y = y - 1.0
        w.G[row, c], w.G[row + 1, c] = pp * x + ps * y, ps * x + ss * y
    # the three rows of a contact are neighbours
    w.G[row, row - 1], w.G[row + 1, row - 1] = w.G[row, row - 1] - friction * p, w.G[row + 1, row - 1] - friction * s
    w.G[row, row], w.G[row + 1, row + 1] = w.G[row, row] + 1.0, w.G[row + 1, row + 1] + 1.0
    x, y = over * w.known[r + 1], over * w.known[r + 2]
    w.G[row, count] = friction * lam[r] * p - lam[r + 1] - pp * x - ps * y
    w.G[row + 1, count] = friction * lam[r] * s - lam[r + 2] - ps * x - ss * y


@loop_kernel
def solve_system(count: int, w: Workspace) -> int:
    """The last column of w.G (count, count + 1) becomes the solution; 0 if there is none. Partial pivoting."""
    for c in range(count):
        best = c
        for r in range(c + 1, count):
            if abs(w.G[r, c]) > abs(w.G[best, c]):
                best = r
        if not abs(w.G[best, c]) > 0.0:
            return 0
        for a in range(c, count + 1):
            w.G[c, a], w.G[best, a] = w.G[best, a], w.G[c, a]
        for r in range(c + 1, count):
            x = w.G[r, c] / w.G[c, c]
            if x != 0.0:
                for a in range(c + 1, count + 1):
                    w.G[r, a] = w.G[r, a] - x * w.G[c, a]
    for c in range(count - 1, -1, -1):
        for a in range(c + 1, count):
            w.G[c, count] = w.G[c, count] - w.G[c, a] * w.G[a, count]
        w.G[c, count] = w.G[c, count] / w.G[c, c]
        if not abs(w.G[c, count]) < 1e300:
            return 0
    return 1


NEWTON_WORK = {"G": "solved columns", "state": "laws"} | {
    name: "solved" for name in ("index", "move", "known", "swept", "goal")
}
