"""One step of inverse kinematics as a kernel (Levenberg 1944, Marquardt 1963; Nakamura & Hanafusa 1986 for the form).

With W e the weighted errors, W J their Jacobian on the joints that are free, and z a motion that is wished besides,
    d = argmin |W (e - J d)|^2 + damping |d - z|^2 = z + (W J)' ((W J)(W J)' + damping 1)^-1 W (e - J z),
or the same by an nv x nv matrix where there are more rows than freedoms. The damping is a share of |W e|^2, which lets
far targets be approached calmly and near ones be reached quadratically (Sugihara 2011), and a floor. Without damping z
moves in the null space of J only: what is said by z is of lower priority than the rows. All zeros of J fold when this
is traced.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import Mechanism, integrate_joint, joint_motion
from bough.opspace.sweeps.errors import ERROR_WORK, Aims, task_errors
from bough.opspace.sweeps.inverse import ldl, ldl_solve
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Scalar, Workspace


@kernel
def errors_and_jacobian(
    m: Mechanism,
    t: Seeds,
    p: JacobianPattern,
    g: Aims,
    q: Rows,
    goal: tuple[Rows, Rows],
    weight: Rows,
    error: Rows,
    w: Workspace,
) -> None:
    """error (rows,), w.e = W e and w.WJ = W J (rows, nv)."""
    joint_motion(m, q, w.X)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.WJ)
    task_errors(m, t, g, q, goal[0], goal[1], error, w)
    for r in range(len(error)):
        w.e[r] = weight[r] * error[r]
        for c in range(w.WJ.shape[1]):
            w.WJ[r, c] = weight[r] * w.WJ[r, c]


@kernel
def slopes(m: Mechanism, free: Rows, slope: Rows, w: Workspace) -> Scalar:
    """slope (nv,) = (W J)' W e, then only the columns of free joints are left; returns |W e|^2."""
    square = m.zero[0]
    for r in range(len(w.e)):
        square = square + w.e[r] * w.e[r]
    for c in range(len(slope)):
        x = m.zero[0]
        for r in range(len(w.e)):
            x = x + w.WJ[r, c] * w.e[r]
            w.WJ[r, c] = free[c] * w.WJ[r, c]
        slope[c] = x
    return square


@kernel
def solve_damped(A: Rows, x: Rows, damping: Scalar, w: Workspace) -> None:
    """x = (A + damping 1)^-1 x for a symmetric A, of which the lower triangle is read."""
    ldl(A, damping, w)
    ldl_solve(x, w)


@kernel
def by_rows(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, target: Rows, posture: Rows, weight: Rows, damping: Rows, free: Rows, pull: Rows,
    moved: Rows, error: Rows, slope: Rows, step: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step by a matrix of rows x rows."""
    errors_and_jacobian(m, t, p, g, q, (target, posture), weight, error, w)
    mu = damping[1] + damping[0] * slopes(m, free, slope, w)
    for r in range(len(error)):
        for c in range(len(step)):
            w.e[r] = w.e[r] - w.WJ[r, c] * pull[c]
        for s in range(r + 1):
            x = m.zero[0]
            for c in range(len(step)):
                x = x + w.WJ[r, c] * w.WJ[s, c]
            w.A[r, s] = x
    solve_damped(w.A, w.e, mu, w)
    for c in range(len(step)):
        x = free[c] * pull[c]
        for r in range(len(error)):
            x = x + w.WJ[r, c] * w.e[r]
        step[c] = x
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, step, m.one[0], moved)


@kernel
def by_freedoms(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, target: Rows, posture: Rows, weight: Rows, damping: Rows, free: Rows, pull: Rows,
    moved: Rows, error: Rows, slope: Rows, step: Rows, w: Workspace,
) -> None:  # fmt: skip
    """The step by a matrix of nv x nv: ((W J)' W J + damping 1) (d - z) = (W J)' W (e - J z)."""
    errors_and_jacobian(m, t, p, g, q, (target, posture), weight, error, w)
    mu = damping[1] + damping[0] * slopes(m, free, slope, w)
    for r in range(len(error)):
        for c in range(len(step)):
            w.e[r] = w.e[r] - w.WJ[r, c] * pull[c]
    for a in range(len(step)):
        y = m.zero[0]
        for r in range(len(error)):
            y = y + w.WJ[r, a] * w.e[r]
        step[a] = y
        for b in range(a + 1):
            x = m.zero[0]
            for r in range(len(error)):
                x = x + w.WJ[r, a] * w.WJ[r, b]
            w.A[a, b] = x
    solve_damped(w.A, step, mu, w)
    for c in range(len(step)):
        step[c] = step[c] + free[c] * pull[c]
    for i in range(len(m.parent)):
        integrate_joint(m, i, q, step, m.one[0], moved)


def step_routine(rows: int, nv: int) -> Routine:
    """The routine that solves with the smaller matrix; sizes must have "small", its order."""
    return Routine(
        "inverse_kinematics",
        by_rows if rows <= nv else by_freedoms,
        inputs={
            "q": "nq", "target": "aims 12", "posture": "nq",
            "weight": "rows", "damping": "2", "free": "nv", "pull": "nv",
        },
        outputs={"moved": "nq", "error": "rows", "slope": "nv", "step": "nv"},
        work=JACOBIAN_WORK
        | ERROR_WORK
        | {"J": "entries", "WJ": "rows nv", "e": "rows"}
        | {"A": "small small", "L": "small small", "U": "small", "pivot": "small"},
    )  # fmt: skip
