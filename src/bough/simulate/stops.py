"""Stops in a step with contacts: a joint that its stop pushes is locked to the velocity that reaches it.

A locked joint has a rotor so heavy that nothing moves it, as in steps without contacts (`dynamics.laws`). Which joints
are locked is an active set: `start` says which stops push. A stop that would have to pull is released, a free joint
that passes its stop is locked, and the step is repeated until neither happens. Where no stop pushed before, a cheaper
kernel takes all joints as free and only watches them (`watch_stops`).

Beside contacts that slip an active set may have no end: locked, a stop has to pull; released, the joint passes it.
General code then takes stops as rows with laws of their own, which are solved with all others (`newton`).
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel, loop_kernel
from bough.compile.scalar import positive, size, step
from bough.dynamics.laws import StepNumbers
from bough.joints import Mechanism
from bough.opspace.sweeps.jacobian import DofTree
from bough.types import Rows, Scalar, Workspace

WATCHED, LOCKED, ROWS = 0, 1, 2  # what becomes of joints at stops


class Stops(NamedTuple):
    """Joints that have stops."""

    dof: Rows  # (stops,) the kernels' degree of freedom
    v: Rows  # (stops,) the same in v
    coordinate: Rows  # (stops,) in q
    lower: Rows  # (stops,)
    upper: Rows  # (stops,)
    friction: Rows  # (stops,)
    of_dof: Rows  # (dofs,) among the stops, -1
    how: Rows  # (1,) WATCHED, LOCKED or ROWS


@kernel
def reach(o: Stops, n: int, q: Rows, dt: Scalar) -> tuple[Scalar, Scalar]:
    """The velocities that reach the stops of joint n within dt; zero for a joint beyond one."""
    x = q[o.coordinate[n]]
    return -positive(x - o.lower[n]) / dt, positive(o.upper[n] - x) / dt


@kernel
def lock_joints(m: Mechanism, f: DofTree, c: StepNumbers, o: Stops, q: Rows, dt: Scalar, w: Workspace) -> None:
    """w.locked and w.end of joints that a stop pushes (w.stop) and a heavy rotor in w.H."""
    for n in range(len(o.dof)):
        if o.how[0] == LOCKED:
            lowest, highest = reach(o, n, q, dt)
            last = f.rows[o.dof[n] + 1] - 1
            at_low, at_high = m.one[0] - step(-w.stop[n]), m.one[0] - step(w.stop[n])
            w.low[n], w.locked[n] = at_low, at_low + at_high
            w.end[n] = at_high * highest + at_low * lowest
            w.articulated[n] = w.H[last]
            w.H[last] = w.H[last] + w.locked[n] * c.lock[0]


@kernel
def bound_rows(o: Stops, q: Rows, dt: Scalar, w: Workspace) -> None:
    """w.lowest and w.highest of the last rows, those of stops: the velocities that reach them."""
    for n in range(len(o.dof)):
        r = len(w.lam) - len(o.dof) + n
        w.lowest[r], w.highest[r] = reach(o, n, q, dt)


@kernel
def push_locked(c: StepNumbers, o: Stops, v: Rows, w: Workspace) -> None:
    """w.column with what brings locked joints to w.end; w.load is what acted on them before."""
    for n in range(len(o.dof)):
        if o.how[0] == LOCKED:
            w.load[n] = w.column[o.dof[n], 0]
            w.column[o.dof[n], 0] = w.load[n] + w.locked[n] * c.lock[0] * (w.end[n] - v[o.v[n]])


@kernel
def sum_descendants(f: DofTree, o: Stops, w: Workspace) -> None:
    """Add to w.load and w.articulated the force and inertia of all joints behind each stop.

    Of a locked joint, w.H has none of its own but the heavy rotor.
    """
    for k in range(len(f.parent)):
        i, b, D = f.parent[k], f.rows[k + 1] - 2, w.H[f.rows[k + 1] - 1]
        while i >= 0:
            n = o.of_dof[i]
            if n >= 0:
                w.load[n] = w.load[n] - w.H[b] * w.column[k, 0]
                w.articulated[n] = w.articulated[n] - w.H[b] * (w.H[b] * D)
            i = f.parent[i]
            b = b - 1


@kernel
def judge_stops(
    m: Mechanism, f: DofTree, o: Stops, q: Rows, dt: Scalar, v_after: Rows, lam: Rows, w: Workspace
) -> Scalar:
    """Impulses of stops in `lam`, zero where one would pull, and an estimate where a free joint passes one.

    Returns by how much velocities contradict the active set. w.z and w.column are those of the impulses of all rows.
    A free joint that passes its stop keeps its velocity: a change without an impulse on its base would raise energy.
    """
    one, total = m.one[0], m.zero[0]
    for n in range(len(o.dof)):
        k, a, at_low, locked = o.dof[n], o.v[n], w.low[n], w.locked[n]
        lowest, highest = reach(o, n, q, dt)
        # friction acts against the motion to the stop, and leaves less for the stop
        with_motion = step(w.end[n]) - step(-w.end[n])
        push = reaction(f, n, k, w) + locked * with_motion * (dt * o.friction[n])
        keeps = at_low * step(push) + (locked - at_low) * step(-push)
        below, above, free = positive(lowest - v_after[a]), positive(v_after[a] - highest), one - locked
        lam[len(w.lam) + n] = keeps * push + free * w.articulated[n] * (below - above)
        total = total + free * (below + above) + (locked - keeps) * size(push) / w.articulated[n]
        v_after[a] = free * v_after[a] + locked * w.end[n]
    return total


@kernel
def reaction(f: DofTree, n: int, k: int, w: Workspace) -> Scalar:
    """The impulse on degree of freedom k, that of stop n, beside all others: row k of L' D L times the change of v."""
    D, i, b = w.H[f.rows[k + 1] - 1], f.parent[k], f.rows[k + 1] - 2
    push = w.articulated[n] * (w.change[k] + w.column[k, 0]) - w.load[n] - w.z[k] * D
    while i >= 0:
        push = push + w.H[b] * D * (w.change[i] + w.column[i, 0])
        i = f.parent[i]
        b = b - 1
    return push


@kernel
def watch_stops(
    m: Mechanism, o: Stops, q: Rows, dt: Scalar, largest: Scalar, v_after: Rows, lam: Rows, w: Workspace
) -> Scalar:
    """By how much velocities pass stops, above `largest`; -1 where a stop pushed before, as nothing of this step holds.

    Impulses of stops in `lam` are estimates where a step that locks joints has to follow, and zero elsewhere.
    """
    one, total, pushed = m.one[0], m.zero[0], m.zero[0]
    for n in range(len(o.dof)):
        x, move = q[o.coordinate[n]], dt * v_after[o.v[n]]
        below, above = positive(-positive(x - o.lower[n]) - move), positive(move - positive(o.upper[n] - x))
        lam[len(w.lam) + n] = below - above
        total, pushed = total + below + above, pushed + size(w.stop[n])
    passed = positive(total / dt - largest)
    for n in range(len(o.dof)):
        lam[len(w.lam) + n] = (one - step(-passed)) * lam[len(w.lam) + n]
    free = step(-pushed)
    return free * passed - (one - free)


@loop_kernel
def exchange_stops(lam: Rows, all_of_them: bool, w: Workspace) -> None:
    """Update w.stop from `lam`: all of them, or the last that changes.

    Block principal pivoting (Judice & Pires 1994) is quick; the last alone cannot cycle where contacts do not slip
    (Murty 1974).
    """
    last, first = -1, len(lam) - len(w.stop)
    for n in range(len(w.stop)):
        before, after = w.stop[n], lam[first + n]
        if (before > 0.0) != (after > 0.0) or (before < 0.0) != (after < 0.0):
            last = n
    for n in range(len(w.stop)):
        if all_of_them or n == last:
            w.stop[n] = lam[first + n]


STOP_WORK = {"change": "dofs"} | {
    name: "stops"
    for name in (
        "stop", "locked", "low", "end", "articulated", "load",
    )
}  # fmt: skip
