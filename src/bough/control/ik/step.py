"""One step of inverse kinematics as a kernel (Levenberg 1944, Marquardt 1963; Nakamura & Hanafusa 1986 for the form).

With W e the weighted errors and W J their Jacobian on the joints that are free, a step is
    d = argmin |W (e - J d)|^2 + damping |d|^2 = (W J)' x,  ((W J)(W J)' + damping 1) x = W e,
or the same by an nv x nv matrix where there are more rows than degrees of freedom. The damping is a share of |W e|^2,
so that far targets are approached in short steps and near ones quadratically, and a floor. A row keeps that share as
its state: it is halved when the error falls and four times as large when it grows; no step is undone (after Sugihara
2011). Joints at a limit that the slope pushes outwards are fixed, and all stop at their limits.

Priorities (Escande, Mansard & Wieber 2014): the step of priority k obeys the same equation over the rows of all
priorities up to k. Rows above k have the right side J d, what they have reached, and no damping but `RIGID`. So no
lower priority moves them, to first order; where a joint would pass a limit, its whole step is shortened. An objective
is the last priority, without rows: d is the nearest to its motion z. The multipliers x say which joints at a limit the
rows push outwards: z + (W J)' x, from one step to the next.
All zeros of J fold when this is traced.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, larger, positive, sqrt, step
from bough.joints import Mechanism, integrate_joint, joint_motion, tiny
from bough.opspace.sweeps.errors import ERROR_WORK, Aims, task_errors
from bough.opspace.sweeps.factored import ldl, ldl_solve
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, JacobianPattern, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Scalar, Workspace

RIGID = 1e-13  # damping of rows that a lower priority must not move, relative to their squares
LOWER = 1e-6  # least damping of lower priorities, without which rows above them would move by RIGID / damping
FLOOR, SHARE, COST, SIZE = range(4)  # of a state: damping that is always there, share of |W e|^2, |W e| and |e|


class Limited(NamedTuple):
    """L coordinates with limits, finite numbers, and bounds of damping."""

    q: Rows  # (L,)
    v: Rows  # (L,)
    lower: Rows  # (L,)
    upper: Rows  # (L,)
    share: Rows  # (3,) least, most, and `RIGID`


class Priorities(NamedTuple):
    """Rows by priority: those of priority k end at last[k]; an objective is a last one without rows."""

    last: Rows  # (priorities,)


@kernel
def errors_and_jacobian(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, goal: tuple[Rows, Rows, Rows], weight: Rows, w: Workspace,
) -> None:  # fmt: skip
    """w.error (rows,), w.e = W e and w.WJ = W J (rows, nv); the goal is target, posture, and errors that may stay."""
    joint_motion(m, q, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.WJ)
    task_errors(m, t, g, q, goal[0], goal[1], w.error, w)
    for r in range(len(weight)):
        w.error[r] = w.error[r] - goal[2][r]
        w.e[r] = weight[r] * w.error[r]
        for c in range(w.WJ.shape[1]):
            w.WJ[r, c] = weight[r] * w.WJ[r, c]


@kernel
def slopes(m: Mechanism, b: Limited, rows: int, w: Workspace) -> None:
    """w.slope of the joints with limits: (W J)' W e of the first rows."""
    for k in range(len(b.q)):
        x = m.zero[0]
        for r in range(rows):
            x = x + w.WJ[r, b.v[k]] * w.e[r]
        w.slope[b.v[k]] = x


@kernel
def fix_joints(m: Mechanism, b: Limited, q: Rows, slope: Rows, w: Workspace) -> None:
    """w.free (nv,): 0 for joints at a limit that the slope pushes outwards, else 1."""
    one = m.one[0]
    for c in range(len(w.free)):
        w.free[c] = one
    for k in range(len(b.q)):
        x, s = q[b.q[k]], slope[b.v[k]]
        low, high = step(b.lower[k] - x), step(x - b.upper[k])
        w.free[b.v[k]] = one - low * (one - step(s)) - high * (one - step(-s))


@kernel
def free_columns(w: Workspace, rows: int) -> None:
    """w.F = W J of the joints that are free."""
    for r in range(rows):
        for c in range(len(w.free)):
            w.F[r, c] = w.free[c] * w.WJ[r, c]


@kernel
def arrive(m: Mechanism, b: Limited, q: Rows, motion: Rows, moved: Rows) -> None:
    """moved (nq,): q moved by `motion` (nv,), within the limits."""
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, motion, m.one[0], moved)
    for k in range(len(b.q)):
        x = moved[b.q[k]]
        low = step(b.lower[k] - x)
        high = (m.one[0] - low) * step(x - b.upper[k])
        moved[b.q[k]] = (m.one[0] - low - high) * x + low * b.lower[k] + high * b.upper[k]


@kernel
def judge(
    m: Mechanism, b: Limited, k: int, rows: tuple[int, int], weight: Rows, state: Rows, after: Rows, w: Workspace
) -> Scalar:
    """The damping of priority k, and after[k]: its state with the share of the next step, |W e| and |e|.

    |e| is that of the rows that have a weight.
    """
    one, size, square = m.one[0], m.zero[0], m.zero[0]
    for r in range(rows[0], rows[1]):
        square = square + w.e[r] * w.e[r]
        size = size + (one - step(-weight[r])) * w.error[r] * w.error[r]
    cost = sqrt(square)
    growth = cost - state[k, COST]
    for j in range(k):  # of lower priorities, what is above them counts too
        growth = growth + after[j, COST] - state[j, COST]
    grew, two = step(growth), one + one
    share = state[k, SHARE] * (grew * two * two + (one - grew) / two)
    after[k, FLOOR], after[k, SHARE] = state[k, FLOOR], clip(share, b.share[0], b.share[1])
    after[k, COST], after[k, SIZE] = cost, sqrt(size)
    return state[k, FLOOR] + state[k, SHARE] * square


@kernel
def begin(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited, q: Rows, goal: tuple[Rows, Rows, Rows],
    weight: Rows, state: Rows, after: Rows, w: Workspace,
) -> Scalar:  # fmt: skip
    """W e in w.e and W J of what is free in w.F, for the only priority; the damping of its step."""
    errors_and_jacobian(m, t, p, g, q, goal, weight, w)
    slopes(m, b, len(weight), w)
    fix_joints(m, b, q, w.slope, w)
    free_columns(w, len(weight))
    return judge(m, b, 0, (0, len(weight)), weight, state, after, w)


@kernel
def gram(m: Mechanism, F: Rows, rows: int, A: Rows) -> None:
    """The lower triangle of A = F F' of the first rows."""
    for r in range(rows):
        for s in range(r + 1):
            x = m.zero[0]
            for c in range(F.shape[1]):
                x = x + F[r, c] * F[s, c]
            A[r, s] = x


@kernel
def by_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited,
    q: Rows, target: Rows, posture: Rows, offset: Rows, weight: Rows, state: Rows,
    moved: Rows, after: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step of one priority by a matrix of rows x rows."""
    mu = begin(m, t, p, g, b, q, (target, posture, offset), weight, state, after, w)
    gram(m, w.F, len(weight), w.A)
    ldl(w.A, mu, w)
    ldl_solve(w.e, w)
    for c in range(len(w.motion)):
        x = m.zero[0]
        for r in range(len(weight)):
            x = x + w.F[r, c] * w.e[r]
        w.motion[c] = x
    arrive(m, b, q, w.motion, moved)


@kernel
def by_freedoms(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited,
    q: Rows, target: Rows, posture: Rows, offset: Rows, weight: Rows, state: Rows,
    moved: Rows, after: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The same by a matrix of nv x nv: ((W J)' W J + damping 1) d = (W J)' W e."""
    mu = begin(m, t, p, g, b, q, (target, posture, offset), weight, state, after, w)
    for a in range(len(w.motion)):
        y = m.zero[0]
        for r in range(len(weight)):
            y = y + w.F[r, a] * w.e[r]
        w.motion[a] = y
        for c in range(a + 1):
            x = m.zero[0]
            for r in range(len(weight)):
                x = x + w.F[r, a] * w.F[r, c]
            w.A[a, c] = x
    ldl(w.A, mu, w)
    ldl_solve(w.motion, w)
    arrive(m, b, q, w.motion, moved)


@kernel
def by_priorities(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited, h: Priorities,
    q: Rows, target: Rows, posture: Rows, offset: Rows, weight: Rows, state: Rows, pull: Rows, push: Rows,
    moved: Rows, after: Rows, pushed: Rows, wish: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step of several priorities; push[k - 1] (nv,) is z + (W J)' x of priority k in the last step.

    `wish` (nv,) is that of the last priority within the limits: zero where nothing can be better.
    """
    errors_and_jacobian(m, t, p, g, q, (target, posture, offset), weight, w)
    motion = w.motion
    for c in range(len(motion)):
        motion[c] = m.zero[0]
    start = 0
    for k in range(len(h.last)):
        stop, mu = h.last[k], m.zero[0]
        if stop > start:
            mu = judge(m, b, k, (start, stop), weight, state, after, w)
        for c in range(len(motion)):
            w.z[c] = m.zero[0]
            if stop == start:
                w.z[c] = pull[c]
            if k > 0:
                w.slope[c] = push[k - 1, c]
        if k == 0:
            slopes(m, b, stop, w)
        for _ in range(1 + min(k, 1)):
            fix_joints(m, b, q, w.slope, w)
            free_columns(w, stop)
            multipliers(m, (start, stop), (b.share[2], mu), motion, w)
            for c in range(len(motion)):
                y = w.z[c]
                for r in range(stop):
                    y = y + w.WJ[r, c] * w.x[r]
                w.slope[c] = y
        for c in range(len(motion)):
            if k > 0:
                pushed[k - 1, c] = w.slope[c]
            wish[c] = w.slope[c]
            w.y[c] = w.free[c] * (w.slope[c] - motion[c])
        share = m.one[0]
        if k > 0:
            share = share_within(m, b, q, motion, w)
        for c in range(len(motion)):
            motion[c] = motion[c] + share * w.y[c]
        for j in range(len(b.q)):
            x, c = q[b.q[j]], b.v[j]
            motion[c] = clip(motion[c], b.lower[j] - x, b.upper[j] - x)
            wish[c] = clip(wish[c], b.lower[j] - x, b.upper[j] - x)
        start = stop
    arrive(m, b, q, motion, moved)


@kernel
def share_within(m: Mechanism, b: Limited, q: Rows, motion: Rows, w: Workspace) -> Scalar:
    """The share of w.y, at most 1, by which `motion` may change within the limits."""
    most = m.one[0]
    for j in range(len(b.q)):
        x, c = q[b.q[j]] + motion[b.v[j]], b.v[j]
        up, down = positive(b.upper[j] - x), positive(x - b.lower[j])
        rise = positive(w.y[c])
        most = larger(most, rise / (up + tiny(m.one[0])))
        most = larger(most, (rise - w.y[c]) / (down + tiny(m.one[0])))
    return m.one[0] / most


@kernel
def multipliers(
    m: Mechanism, rows: tuple[int, int], damping: tuple[Scalar, Scalar], motion: Rows, w: Workspace
) -> None:
    """w.x of (F F' + damping) x = right side: J d of the rows above, e of their own, less F z and what is fixed."""
    start, stop = rows
    gram(m, w.F, stop, w.A)
    for r in range(stop):
        x, square = w.e[r], m.zero[0]
        if r < start:
            x = m.zero[0]
            for c in range(len(motion)):
                x = x + w.WJ[r, c] * motion[c]
                square = square + w.WJ[r, c] * w.WJ[r, c]
        for c in range(len(motion)):
            x = x - w.F[r, c] * w.z[c] - (w.WJ[r, c] - w.F[r, c]) * motion[c]
        w.x[r] = x
        if r < start:
            w.A[r, r] = w.A[r, r] + damping[0] * square + tiny(m.one[0])
        else:
            w.A[r, r] = w.A[r, r] + damping[1]
    ldl(w.A[:stop], m.zero[0], w)
    ldl_solve(w.x[:stop], w)


INPUTS = {"q": "nq", "target": "aims 12", "posture": "nq", "offset": "rows", "weight": "rows", "state": "levels 4"}
WORK = (
    JACOBIAN_WORK
    | ERROR_WORK
    | {"J": "entries", "WJ": "rows nv", "F": "rows nv", "e": "rows", "error": "rows", "free": "nv", "slope": "nv"}
    | {"A": "small small", "L": "small small", "U": "small", "pivot": "small"}
)


def step_routine(rows: int, nv: int) -> Routine:
    """The routine of one priority, with the smaller matrix; sizes must have "small", its order."""
    return Routine(
        "inverse_kinematics",
        by_rows if rows <= nv else by_freedoms,
        inputs=INPUTS,
        outputs={"moved": "nq", "after": "levels 4"},
        work=WORK | {"motion": "nv"},
    )


PRIORITY_STEP = Routine(
    "inverse_kinematics",
    by_priorities,
    inputs=INPUTS | {"pull": "nv", "push": "lower nv"},
    outputs={"moved": "nq", "after": "levels 4", "pushed": "lower nv", "wish": "nv"},
    work=WORK | {"motion": "nv", "x": "rows", "z": "nv", "y": "nv"},
)
