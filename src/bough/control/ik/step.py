"""One step of inverse kinematics as a kernel (Levenberg 1944, Marquardt 1963; Nakamura & Hanafusa 1986 for the form).

With W e the weighted errors, W J their Jacobian on the joints that are free, and z the motion of a secondary objective,
    d = argmin |W (e - J d)|^2 + damping |d - z|^2 = z + (W J)' ((W J)(W J)' + damping 1)^-1 W (e - J z),
or the same by an nv x nv matrix where there are more rows than freedoms. The damping is a share of |W e|^2, which lets
far targets be approached calmly and near ones be reached quadratically, and a floor. A row keeps that share as its
state: it is halved when the error falls and doubled when it grows; no step is taken back (Sugihara 2011). Joints at a
limit that the slope pushes outwards are held, and all stop at their limits. Without damping z moves in the null space
of J only: what is said by z is of lower priority than the rows. All zeros of J fold when this is traced.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.compile.scalar import clip, sqrt, step
from bough.joints import Mechanism, integrate_joint, joint_motion
from bough.opspace.sweeps.errors import ERROR_WORK, Aims, task_errors
from bough.opspace.sweeps.inverse import ldl, ldl_solve
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Scalar, Workspace

FLOOR, SHARE, COST, SIZE = range(4)  # of a state: damping that is always there, share of |W e|^2, |W e| and |e|


class Limited(NamedTuple):
    """L coordinates with limits, finite numbers, and the bounds of the share."""

    q: Rows  # (L,)
    v: Rows  # (L,)
    lower: Rows  # (L,)
    upper: Rows  # (L,)
    share: Rows  # (2,) least, most


@kernel
def errors_and_jacobian(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, q: Rows, goal: tuple[Rows, Rows], weight: Rows, w: Workspace
) -> None:
    """w.error (rows,), w.e = W e and w.WJ = W J (rows, nv)."""
    joint_motion(m, q, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.WJ)
    task_errors(m, t, g, q, goal[0], goal[1], w.error, w)
    for r in range(len(weight)):
        w.e[r] = weight[r] * w.error[r]
        for c in range(w.WJ.shape[1]):
            w.WJ[r, c] = weight[r] * w.WJ[r, c]


@kernel
def slopes(m: Mechanism, b: Limited, q: Rows, w: Workspace) -> Scalar:
    """w.free (nv,): 0 for joints at a limit that the slope (W J)' W e pushes outwards; only free columns of w.WJ are
    left. Returns |W e|^2.
    """
    zero, one = m.zero[0], m.one[0]
    square = zero
    for r in range(len(w.e)):
        square = square + w.e[r] * w.e[r]
    for c in range(len(w.free)):
        w.free[c] = one
    for k in range(len(b.q)):
        slope = zero
        for r in range(len(w.e)):
            slope = slope + w.WJ[r, b.v[k]] * w.e[r]
        x = q[b.q[k]]
        low, high = step(b.lower[k] - x), step(x - b.upper[k])
        w.free[b.v[k]] = one - low * (one - step(slope)) - high * (one - step(-slope))
        for r in range(len(w.e)):
            w.WJ[r, b.v[k]] = w.free[b.v[k]] * w.WJ[r, b.v[k]]
    return square


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
def judge(m: Mechanism, b: Limited, weight: Rows, state: Rows, square: Scalar, after: Rows, w: Workspace) -> None:
    """after (4,): the state with the share of the next step, |W e|, and |e| of the rows that have a weight."""
    one = m.one[0]
    cost, size = sqrt(square), m.zero[0]
    for r in range(len(weight)):
        size = size + (one - step(-weight[r])) * w.error[r] * w.error[r]
    grew = step(cost - state[COST])
    share = state[SHARE] * (grew * (one + one) + (one - grew) / (one + one))
    after[FLOOR], after[SHARE] = state[FLOOR], clip(share, b.share[0], b.share[1])
    after[COST], after[SIZE] = cost, sqrt(size)


@kernel
def solve_damped(A: Rows, x: Rows, damping: Scalar, w: Workspace) -> None:
    """x = (A + damping 1)^-1 x for a symmetric A, of which the lower triangle is read."""
    ldl(A, damping, w)
    ldl_solve(x, w)


@kernel
def begin(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited, where: tuple[Rows, Rows, Rows],
    weight: Rows, state: Rows, pull: Rows, after: Rows, w: Workspace,
) -> Scalar:  # fmt: skip
    """W J of what is free in w.WJ and W (e - J z) in w.e, judged; the damping of the step."""
    q, target, posture = where
    errors_and_jacobian(m, t, p, g, q, (target, posture), weight, w)
    square = slopes(m, b, q, w)
    judge(m, b, weight, state, square, after, w)
    for r in range(len(weight)):
        for c in range(len(pull)):
            w.e[r] = w.e[r] - w.WJ[r, c] * pull[c]
    return state[FLOOR] + state[SHARE] * square


@kernel
def by_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited,
    q: Rows, target: Rows, posture: Rows, weight: Rows, state: Rows, pull: Rows,
    moved: Rows, after: Rows, motion: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step by a matrix of rows x rows."""
    mu = begin(m, t, p, g, b, (q, target, posture), weight, state, pull, after, w)
    for r in range(len(weight)):
        for s in range(r + 1):
            x = m.zero[0]
            for c in range(len(motion)):
                x = x + w.WJ[r, c] * w.WJ[s, c]
            w.A[r, s] = x
    solve_damped(w.A, w.e, mu, w)
    for c in range(len(motion)):
        x = w.free[c] * pull[c]
        for r in range(len(weight)):
            x = x + w.WJ[r, c] * w.e[r]
        motion[c] = x
    arrive(m, b, q, motion, moved)


@kernel
def by_freedoms(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims, b: Limited,
    q: Rows, target: Rows, posture: Rows, weight: Rows, state: Rows, pull: Rows,
    moved: Rows, after: Rows, motion: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step by a matrix of nv x nv: ((W J)' W J + damping 1) (d - z) = (W J)' W (e - J z)."""
    mu = begin(m, t, p, g, b, (q, target, posture), weight, state, pull, after, w)
    for a in range(len(motion)):
        y = m.zero[0]
        for r in range(len(weight)):
            y = y + w.WJ[r, a] * w.e[r]
        motion[a] = y
        for c in range(a + 1):
            x = m.zero[0]
            for r in range(len(weight)):
                x = x + w.WJ[r, a] * w.WJ[r, c]
            w.A[a, c] = x
    solve_damped(w.A, motion, mu, w)
    for c in range(len(motion)):
        motion[c] = motion[c] + w.free[c] * pull[c]
    arrive(m, b, q, motion, moved)


def step_routine(rows: int, nv: int) -> Routine:
    """The routine that solves with the smaller matrix; sizes must have "small", its order."""
    return Routine(
        "inverse_kinematics",
        by_rows if rows <= nv else by_freedoms,
        inputs={
            "q": "nq", "target": "aims 12", "posture": "nq",
            "weight": "rows", "state": "4", "pull": "nv",
        },
        outputs={"moved": "nq", "after": "4", "motion": "nv"},
        work=JACOBIAN_WORK
        | ERROR_WORK
        | {"J": "entries", "WJ": "rows nv", "e": "rows", "error": "rows", "free": "nv"}
        | {"A": "small small", "L": "small small", "U": "small", "pivot": "small"},
    )  # fmt: skip
