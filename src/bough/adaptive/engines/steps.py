"""Steps in time: semi-implicit, Runge-Kutta on the manifold (Munthe-Kaas 1999), and one that keeps momenta.

Semi-implicit: v += h qdd, then q moves by h v; potentials and dampers are implicit, by an armature of h d + h^2 V''.
Fourth order: nothing is implicit.
Momenta: each body carries its momentum through space: momenta gain h F, q moves by h v, and at the new place the
velocities are those that the momenta give. The momentum of a free linkage is kept to rounding.

Where there are loops, friction or limits (`lp` is not empty, as the compiler knows), their impulses follow (`stops`):
before a semi-implicit step moves, else at its end. They are internal. Forces hold loops in all stages of a step of
fourth order. What a curved path leaves open, the next step closes.
"""

from __future__ import annotations

from collections.abc import Callable

from bough.adaptive.engines.stops import accelerations_now, apply_impulses
from bough.adaptive.engines.sweeps import (
    JointState,
    LinkageArrays,
    effort,
    from_momenta,
    move_joints,
    outward,
    solve,
    velocities,
    world_poses,
)
from bough.adaptive.tree.layout import get_pose
from bough.compile.kernel import loop_kernel
from bough.dynamics.stepping import Stages, go_runge_kutta
from bough.joints import Mechanism
from bough.spatial import add6, force_in, force_out, get6, get10, join, put6, rigid_times, rotate_back, scale6
from bough.types import Rows, Scalar

# Rates beyond this (m/s or rad/s) are no motion of a linkage
FASTEST = 1e8


@loop_kernel
def rk4_part(x: LinkageArrays, h: float, stage: int) -> None:
    """One stage of a step of fourth order, under forces that may be set before each."""
    m, s = x.m, x.s
    stages = Stages(s.q0, s.v0, s.q, s.v, s.qdd, s.u, s.response, s.move, s.gain)
    if stage == 0:
        move_joints(m, s.q, s.v, 0.0, s.q0)
        for k in range(len(m.axis)):
            s.v0[m.v_index[k]] = s.v[m.v_index[k]]
        go_runge_kutta(m, 0, h, stages)
    accelerations_now(x, 0.0, 0.0)
    go_runge_kutta(m, stage + 1, h, stages)


@loop_kernel
def too_fast(m: Mechanism, s: JointState, h: float) -> int:
    """The first DoF whose rate after a step of h is no motion, or -1."""
    for k in range(len(m.axis)):
        j = m.v_index[k]
        if not (abs(s.v[j] + h * s.qdd[j]) <= FASTEST):
            return k
    return -1


@loop_kernel
def euler(x: LinkageArrays, h: float) -> int:
    """One semi-implicit step, unless it diverges; m has the armature of implicit springs and dampers."""
    m, s = x.m, x.s
    solve(m, s, x.e, x.p, x.loads, x.w, h)
    wrong = too_fast(m, s, h)
    if wrong >= 0:
        return wrong
    for k in range(len(m.axis)):
        j = m.v_index[k]
        s.v0[j] = s.v[j]
        s.v[j] += h * s.qdd[j]
    if len(x.lp) > 0:
        apply_impulses(x, h, 1.0)
        wrong = too_fast(m, s, 0.0)
        if wrong >= 0:
            for k in range(len(m.axis)):
                s.v[m.v_index[k]] = s.v0[m.v_index[k]]
            return wrong
    move_joints(m, s.q, s.v, h, s.q)
    return -1


@loop_kernel
def momentum_step(x: LinkageArrays, h: float) -> int:
    """One step that carries momenta; m has the armature of implicit springs and dampers. Returns as `end_step`.

    On the way w.momentum is about the world's origin.
    """
    m, s, e, w = x.m, x.s, x.e, x.w
    velocities(m, s, w)
    outward(m, s.q, x.loads, w)
    world_poses(m, s.q, w.X, w.P)
    g = m.gravity
    move_joints(m, s.q, s.v, 0.0, s.q0)
    for i in range(len(m.parent)):
        I, f, v = get10(m.inertia, i), get6(w.force, i), get6(w.a, i)
        R, p = get_pose(w.P, i)
        pull = rotate_back(R, (h * g[0], h * g[1], h * g[2]))
        weight = rigid_times(I, join((0.0, 0.0, 0.0), pull))
        put6(w.momentum, i, force_in(R, p, add6(rigid_times(I, v), add6(weight, scale6(h, f)))))
    move_joints(m, s.q, s.v, h, s.q)
    world_poses(m, s.q, w.X, w.P)
    for k in range(len(m.axis)):
        j = m.v_index[k]
        s.v0[j], w.rate[k] = s.v[j], 0.0
    # springs pull as they are stretched now; what they and dampers do to the new rates is an armature
    effort(m, s, e, x.p, w, 0.0)
    for k in range(len(m.axis)):
        w.u[k] = h * w.u[k] + e.rotor[k] * s.v0[m.v_index[k]]
    for i in range(len(m.parent)):
        R, p = get_pose(w.P, i)
        put6(w.momentum, i, force_out(R, p, get6(w.momentum, i)))
    from_momenta(x.still, s, w)
    for k in range(len(m.axis)):
        j = m.v_index[k]
        s.v[j] = s.qdd[j]
        s.qdd[j] = (s.v[j] - s.v0[j]) / h
    return end_step(x, h)


@loop_kernel
def end_step(x: LinkageArrays, h: float) -> int:
    """Let loops, friction and limits act at the end of a step of h. Returns the first DoF whose rate is no motion,
    all being as before the step then, or -1."""
    still, s = x.still, x.s
    wrong = too_fast(still, s, 0.0)
    if len(x.lp) > 0:  # noqa: SIM102
        if wrong < 0:
            apply_impulses(x, h, 1.0)
            wrong = too_fast(still, s, 0.0)
    if wrong >= 0:
        move_joints(still, s.q0, s.v0, 0.0, s.q)
        for k in range(len(still.axis)):
            s.v[still.v_index[k]] = s.v0[still.v_index[k]]
    return wrong


@loop_kernel
def rk4_step(x: LinkageArrays, h: float) -> int:
    """One step of fourth order; returns as `end_step`."""
    for stage in range(4):
        rk4_part(x, h, stage)
    return end_step(x, h)


@loop_kernel
def rk4_stage(x: LinkageArrays, h: float, stage: int) -> Scalar:
    """One stage of one step of fourth order; returns 1 where the step diverges at its end."""
    rk4_part(x, h, stage)
    k = end_step(x, h) if stage == 3 else -1
    x.w.u[0] = float(k)
    return float(k >= 0)


def _march(step: Callable[[LinkageArrays, float], int]) -> Callable[[LinkageArrays, float, float, Rows], None]:
    """Steps until one diverges: `left` (1,) counts them down, and w.u[0] is the degree of freedom that did, or -1.

    With no steps left, accelerations here and now: what both share is compiled once.
    """

    @loop_kernel
    def march(x: LinkageArrays, h: float, lead: float, left: Rows) -> None:
        if left[0] == 0:
            accelerations_now(x, lead, h)
            return
        k = -1
        while left[0] > 0 and k < 0:
            k = step(x, h)
            left[0] -= k < 0
        x.w.u[0] = float(k)

    return march


INTEGRATORS = {"semi_implicit": _march(euler), "rk4": _march(rk4_step), "momentum": _march(momentum_step)}
