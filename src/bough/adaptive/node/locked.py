"""Nodes as rigid bodies: what `rigid` needs of a cluster, kept in its record, and what release of its joints would add.

Clusters with the ground do not move when they are rigid: their inertia is left at zero, and kappa, in the frame of
the ground, which accelerates by a_0 = -g relative to free fall, is all that release adds:

    kappa = kappa^A + kappa^B - 2 F_B' a_0 + a_0' I_B a_0 - gamma' beta + Q' R
"""

from __future__ import annotations

from bough.adaptive.node.blocks import full_six, put_six, six, symmetric_six
from bough.adaptive.node.layout import (
    B1,
    B2,
    FORCE,
    GAMMA,
    IDENTITY,
    INERTIA,
    KAPPA,
    PHI1,
    PHI2,
    PHI12,
    ZERO3,
    Blueprint,
    State,
    placement,
    tail,
)
from bough.adaptive.node.leaves import ZERO6, leaf_bias
from bough.adaptive.node.motion import cross_pose, far_pose
from bough.adaptive.node.rigid import handle_force, joined_force, joined_inertia, joined_kappa, locked_square
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import Mechanism
from bough.spatial import add6, dot6, get6, get10, motion_out, rigid_scale, rigid_times, scale6, sub6
from bough.types import Force, Motion, RigidInertia, Scalar

ZERO10 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
@kernel
def is_ground(plan: Blueprint, code: int) -> bool:
    """Whether the ground belongs to a cluster."""
    return (plan.near[code] if code >= 0 else plan.leaf_body[~code]) == len(plan.parent)


@inlined
@loop_kernel
def cluster_inertia(m: Mechanism, plan: Blueprint, st: State, code: int) -> RigidInertia:
    """I_C in the near frame; zero where the ground belongs to it."""
    if code >= 0:
        r, o = st.record[plan.offset[code] : plan.offset[code + 1]], INERTIA
        a, b = six(r, o), (r[o + 6], r[o + 7], r[o + 8], r[o + 9])
        return (a[0], a[1], a[2], a[3], a[4], a[5], b[0], b[1], b[2], b[3])
    i = plan.leaf_body[~code]
    if i == len(plan.parent):
        return ZERO10
    return rigid_scale(1.0 / float(plan.copies[i]), get10(m.inertia, plan.last[i]))


@inlined
@loop_kernel
def join_inertia(m: Mechanism, plan: Blueprint, st: State, n: int) -> None:
    """I_C of node n."""
    I = ZERO10
    if plan.near[n] != len(plan.parent):
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        I = joined_inertia(
            cluster_inertia(m, plan, st, plan.left[n]), cluster_inertia(m, plan, st, plan.right[n]), R, p
        )
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    for k in range(10):
        r[INERTIA + k] = I[k]


@inlined
@loop_kernel
def _own(m: Mechanism, plan: Blueprint, st: State, code: int) -> RigidInertia:
    """(F_C, kappa) of a child."""
    if code >= 0:
        r = st.record[plan.offset[code] : plan.offset[code + 1]]
        return six(r, FORCE), r[KAPPA]
    leaf = ~code
    if leaf >= len(plan.parent):
        return ZERO6, 0.0
    F = get6(st.force, plan.last[leaf])
    return F, dot6(F, leaf_bias(plan, st, m.gravity, leaf))


@inlined
@loop_kernel
def join_forces(m: Mechanism, plan: Blueprint, st: State, n: int, beta: Motion) -> None:
    """F_C and kappa of node n, once gamma and R are known."""
    r, b = st.record[plan.offset[n] : plan.offset[n + 1]], plan.body[n]
    FA, kA = _own(m, plan, st, plan.left[n])
    FB, kB = _own(m, plan, st, plan.right[n])
    kappa = joined_kappa(kA, kB, six(r, GAMMA), beta)
    if b >= 0:
        d, o = plan.dof[b + 1] - plan.dof[b], tail(plan, n)
        for x in range(d):
            kappa += st.tau[plan.dof[b] + x] * r[o + 6 * d + d * d + x]
    F = ZERO6
    if plan.near[n] != len(plan.parent):
        R, p = far_pose(plan, st, n, (IDENTITY, ZERO3))
        F = joined_force(FA, FB, R, p)
    elif not is_ground(plan, plan.right[n]):
        R, p = placement(plan, st, b)
        a = motion_out(R, p, (0.0, 0.0, 0.0, -m.gravity[0], -m.gravity[1], -m.gravity[2]))
        I = cluster_inertia(m, plan, st, plan.right[n])
        kappa += dot6(a, sub6(rigid_times(I, a), scale6(2.0, FB)))
    put_six(r, FORCE, F)
    r[KAPPA] = kappa


@inlined
@loop_kernel
def released_energy(plan: Blueprint, st: State, n: int, f1: Force, f2: Force) -> Scalar:
    """E of node n under forces on its handles: f' (Phi - Phi_r) f + 2 f' (b - b_r) + dk; rounding below zero is cut."""
    r, o = st.record[plan.offset[n] : plan.offset[n + 1]], INERTIA
    if plan.near[n] == len(plan.parent):
        return max(r[KAPPA], 0.0)
    E = r[KAPPA] + dot6(f1, add6(scale6(2.0, six(r, B1)), symmetric_six(r, PHI1, f1)))
    f = add6(f1, six(r, FORCE))
    if plan.handles[n] == 2:
        R, p = cross_pose(plan, st, n)
        E += dot6(f2, add6(scale6(2.0, six(r, B2)), symmetric_six(r, PHI2, f2))) + 2.0 * dot6(
            f1, full_six(r, PHI12, f2)
        )
        f = handle_force(f, f2, R, p)
    a, b = six(r, o), (r[o + 6], r[o + 7], r[o + 8], r[o + 9])
    return max(E - locked_square((a[0], a[1], a[2], a[3], a[4], a[5], b[0], b[1], b[2], b[3]), f), 0.0)
