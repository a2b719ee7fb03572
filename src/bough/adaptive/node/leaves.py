"""Leaves of an assembly tree: free rigid bodies, copies of a split hub, and the ground."""

from __future__ import annotations

from bough.adaptive.node.blocks import clear
from bough.adaptive.node.layout import Blueprint, State
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.compile.vectors import joined, put
from bough.joints import Mechanism
from bough.spatial import add6, cross, get6, get10, scale6, symmetric_times
from bough.types import Force, Motion, RigidInertia, Vector

ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def free_body(I: RigidInertia, f: Force) -> Motion:
    """The acceleration of a free rigid body under a force at its origin; I as in `Linkage.inverse`."""
    m = cross((I[6], I[7], I[8]), (f[3], f[4], f[5]))
    w = symmetric_times(I, (f[0] - m[0], f[1] - m[1], f[2] - m[2]))
    l = cross((I[6], I[7], I[8]), w)
    return (w[0], w[1], w[2], I[9] * f[3] + l[0], I[9] * f[4] + l[1], I[9] * f[5] + l[2])


@inlined
@kernel
def leaf_inverse(plan: Blueprint, i: int) -> RigidInertia:
    return get10(plan.inverse, i)


@inlined
@loop_kernel
def load_leaf(plan: Blueprint, st: State, leaf: int, c: int) -> None:
    """Phi of one copy of a body: its inertia is shared evenly among the copies. The ground does not yield."""
    S, i = st.scratch, plan.leaf_body[leaf]
    if i == len(plan.parent):
        clear(S, c)
        return
    I, k = leaf_inverse(plan, i), float(plan.copies[i])
    at, push = (I[6], I[7], I[8]), k * I[9]
    x, y, z = (k * I[0], k * I[3], k * I[4]), (k * I[3], k * I[1], k * I[5]), (k * I[4], k * I[5], k * I[2])
    # [J^-1, J^-1 cx'; cx J^-1, cx J^-1 cx' + 1/m], with cx the cross product by the centre of mass
    u, v, w = cross(at, x), cross(at, y), cross(at, z)
    put(S, c, 0, joined(x[0], x[1], x[2], u[0], u[1], u[2]))
    put(S, c, 1, joined(y[0], y[1], y[2], v[0], v[1], v[2]))
    put(S, c, 2, joined(z[0], z[1], z[2], w[0], w[1], w[2]))
    x, y, z = (u[0], v[0], w[0]), (u[1], v[1], w[1]), (u[2], v[2], w[2])
    u, v, w = cross(at, x), cross(at, y), cross(at, z)
    put(S, c, 3, joined(x[0], x[1], x[2], u[0] + push, u[1], u[2]))
    put(S, c, 4, joined(y[0], y[1], y[2], v[0], v[1] + push, v[2]))
    put(S, c, 5, joined(z[0], z[1], z[2], w[0], w[1], w[2] + push))


@inlined
@loop_kernel
def leaf_bias(plan: Blueprint, st: State, g: Vector, leaf: int) -> Motion:
    """b of a leaf. The first copy of a body bears its force; relative to free fall, the ground accelerates upward."""
    i = plan.leaf_body[leaf]
    if i == len(plan.parent):
        return (0.0, 0.0, 0.0, -g[0], -g[1], -g[2])
    if leaf >= len(plan.parent):
        return ZERO6
    return scale6(float(plan.copies[i]), free_body(leaf_inverse(plan, i), get6(st.force, plan.last[i])))


@inlined
@loop_kernel
def leaf_acceleration(m: Mechanism, plan: Blueprint, st: State, leaf: int, f: Force) -> Motion:
    """The acceleration of a body, relative to free fall, when f acts on its handle."""
    i = plan.leaf_body[leaf]
    k = float(plan.copies[i])
    return add6(leaf_bias(plan, st, m.gravity, leaf), scale6(k, free_body(leaf_inverse(plan, i), f)))
