"""One servo step: the velocity that reduces the errors of tasks within a box, priority by priority.

With rows J v = a, a box low <= v <= high and a motion z to stay near, a priority minimises
    sum of (a - J v)^2 / D + |v - z|^2  subject to  low <= v <= high,
D the damping of its own rows and almost zero for those above it, whose right side is what they have reached. A primal
active-set method (Nocedal & Wright 2006, section 16.5) starts from the velocity of the priority above. With the joints
at the box fixed, the minimum is v = z + J' x, (J J' + D) x = a - J z over those that are free.
"""

from __future__ import annotations

from bough.compile.kernel import kernel, loop_kernel
from bough.compile.routine import Routine
from bough.control.ik.step import INPUTS, LOWER, RIGID, WORK, Priorities, errors_and_jacobian
from bough.joints import Mechanism, tiny
from bough.opspace.sweeps.errors import Aims
from bough.opspace.sweeps.factored import ldl, ldl_solve
from bough.opspace.sweeps.jacobian import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Workspace

PASSES = 4  # for each joint, after which the velocity is what it is: within the box
NEGLIGIBLE = 1e-9  # relative; a joint that is drawn back by less stays fixed


@kernel
def linearise(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, target: Rows, posture: Rows, offset: Rows, weight: Rows, e: Rows, J: Rows, w: Workspace,
) -> None:  # fmt: skip
    """W e (rows,) and W J (rows, nv) at q."""
    errors_and_jacobian(m, t, p, g, q, (target, posture, offset), weight, w)
    for r in range(len(weight)):
        e[r] = w.e[r]
        for c in range(J.shape[1]):
            J[r, c] = w.WJ[r, c]


@loop_kernel
def minimum(J: Rows, n: int, v: Rows, w: Workspace) -> None:
    """w.y (nv,) = z + J' x with the joints fixed where w.free is 0, from the first n rows."""
    for r in range(n):
        y = w.a[r]
        for c in range(len(v)):
            w.F[r, c] = w.free[c] * J[r, c]
            y = y - w.F[r, c] * w.z[c] - (1.0 - w.free[c]) * J[r, c] * v[c]
        w.x[r] = y
        for s in range(r + 1):
            y = w.damping[r] if r == s else 0.0
            for c in range(len(v)):
                y = y + w.F[r, c] * w.F[s, c]
            w.A[r, s] = y
    ldl(w.A[:n], 0.0, w)
    ldl_solve(w.x[:n], w)
    for c in range(len(v)):
        y = w.z[c]
        for r in range(n):
            y = y + J[r, c] * w.x[r]
        w.y[c] = y


@loop_kernel
def move(low: Rows, high: Rows, v: Rows, w: Workspace) -> int:
    """v towards w.y as far as the box lets all free joints; the joint that stops it, which is fixed, or -1."""
    share, stopped = 1.0, -1
    for c in range(len(v)):
        if w.free[c] == 1.0 and (w.y[c] < low[c] or w.y[c] > high[c]):
            end = high[c] if w.y[c] > high[c] else low[c]
            if (end - v[c]) / (w.y[c] - v[c]) < share:
                share, stopped = (end - v[c]) / (w.y[c] - v[c]), c
    for c in range(len(v)):
        if w.free[c] == 1.0:
            v[c] = min(max(v[c] + share * (w.y[c] - v[c]), low[c]), high[c])
    if stopped >= 0:
        v[stopped] = high[stopped] if w.y[stopped] > high[stopped] else low[stopped]
        w.free[stopped] = 0.0
    return stopped


@loop_kernel
def release(low: Rows, high: Rows, v: Rows, w: Workspace) -> int:
    """The fixed joint that w.y draws farthest back into the box, which is freed, or -1."""
    most, found = 0.0, -1
    for c in range(len(v)):
        if w.free[c] == 0.0 and low[c] < high[c]:
            back = w.y[c] - v[c] if v[c] <= low[c] else v[c] - w.y[c]
            if back > most and back > NEGLIGIBLE * (abs(v[c]) + abs(w.y[c])):
                most, found = back, c
    if found >= 0:
        w.free[found] = 1.0
    return found


@loop_kernel
def servo(
    h: Priorities, e: Rows, J: Rows, low: Rows, high: Rows, pull: Rows, damping: Rows, v: Rows, w: Workspace
) -> None:
    """v (nv,) of all priorities; an objective, the last without rows, has the motion `pull`."""
    for c in range(len(v)):
        w.z[c], w.free[c] = 0.0, 1.0
        v[c] = min(max(0.0, low[c]), high[c])
    start = 0
    for k in range(len(h.last)):
        stop = h.last[k]
        for r in range(start):
            y = 0.0
            for c in range(len(v)):
                y = y + J[r, c] * v[c]
            w.a[r], w.damping[r] = y, tiny(1.0)
            for c in range(len(v)):
                w.damping[r] = w.damping[r] + RIGID * J[r, c] * J[r, c]
        for r in range(start, stop):
            w.a[r], w.damping[r] = e[r], max(damping[0], LOWER if k > 0 else 0.0)
        if stop == start:
            for c in range(len(v)):
                w.z[c] = pull[c]
        for _ in range(PASSES * (len(v) + 1)):
            minimum(J, stop, v, w)
            if move(low, high, v, w) < 0 and release(low, high, v, w) < 0:
                break
        start = stop


LINEARISE = Routine(
    "inverse_kinematics",
    linearise,
    inputs={name: shape for name, shape in INPUTS.items() if name != "state"},
    outputs={"e": "rows", "J": "rows nv"},
    work=WORK,
)
SERVO = Routine(
    "inverse_kinematics_step",
    servo,
    inputs={"e": "rows", "J": "rows nv", "low": "nv", "high": "nv", "pull": "nv", "damping": "1"},
    outputs={"v": "nv"},
    work={"z": "nv", "free": "nv", "y": "nv", "F": "rows nv", "a": "rows", "damping": "rows", "x": "rows"}
    | {"A": "rows rows", "L": "rows rows", "U": "rows", "pivot": "rows"},
)
