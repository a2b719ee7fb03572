"""Leaves of an assembly tree: free rigid bodies, copies of a split hub, and the ground."""

from __future__ import annotations

from typing import Any

from bough.adaptive.blocks import clear
from bough.adaptive.compiled import inlined
from bough.compile.kernel import kernel
from bough.inertia import symmetric_times
from bough.spatial import add6, cross, get6, scale6

ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def free_body(I: Any, f: Any) -> Any:
    """The acceleration of a free rigid body under a force at its origin; I as in `Linkage.inverse`."""
    m = cross((I[6], I[7], I[8]), (f[3], f[4], f[5]))
    return turned(I, (f[0] - m[0], f[1] - m[1], f[2] - m[2]), I[9] * f[3], I[9] * f[4], I[9] * f[5])


@kernel
def turned(I: Any, n: Any, x: Any, y: Any, z: Any) -> Any:
    """The acceleration at the origin of a body whose centre accelerates by (x, y, z) under a moment n about it."""
    w = symmetric_times(I, n)
    l = cross((I[6], I[7], I[8]), w)
    return (w[0], w[1], w[2], x + l[0], y + l[1], z + l[2])


@inlined
def leaf_inverse(plan: Any, i: int) -> Any:
    I = plan.inverse
    return (I[i, 0], I[i, 1], I[i, 2], I[i, 3], I[i, 4], I[i, 5], I[i, 6], I[i, 7], I[i, 8], I[i, 9])


@inlined
def load_leaf(plan: Any, st: Any, leaf: int, c: int) -> None:
    """Phi of one copy of a body: its inertia is shared evenly among the copies. The ground does not yield."""
    S, i = st.scratch, plan.leaf_body[leaf]
    if i == len(plan.parent):
        clear(S, c)
        return
    I, k = leaf_inverse(plan, i), float(plan.copies[i])
    x, y, z = I[6], I[7], I[8]
    # Turning: w = J^-1 n, l = c x w. Pushing along an axis e also turns, by n = -c x e.
    _put_column(S, c, 0, k, turned(I, (1.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 1, k, turned(I, (0.0, 1.0, 0.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 2, k, turned(I, (0.0, 0.0, 1.0), 0.0, 0.0, 0.0))
    _put_column(S, c, 3, k, turned(I, (0.0, -z, y), I[9], 0.0, 0.0))
    _put_column(S, c, 4, k, turned(I, (z, 0.0, -x), 0.0, I[9], 0.0))
    _put_column(S, c, 5, k, turned(I, (-y, x, 0.0), 0.0, 0.0, I[9]))


@kernel
def _put_column(S: Any, c: int, j: int, k: Any, a: Any) -> None:
    for i in range(6):
        S[c, i, j] = k * a[i]


@inlined
def leaf_bias(plan: Any, st: Any, g: Any, leaf: int) -> Any:
    """b of a leaf. The first copy of a body bears its force; relative to free fall, the ground accelerates upward."""
    i = plan.leaf_body[leaf]
    if i == len(plan.parent):
        return (0.0, 0.0, 0.0, -g[0], -g[1], -g[2])
    if leaf >= len(plan.parent):
        return ZERO6
    return scale6(float(plan.copies[i]), free_body(leaf_inverse(plan, i), get6(st.force, plan.last[i])))


@inlined
def leaf_acceleration(m: Any, plan: Any, st: Any, leaf: int, f: Any) -> Any:
    """The acceleration of a body, relative to free fall, when f acts on its handle."""
    i = plan.leaf_body[leaf]
    k = float(plan.copies[i])
    return add6(leaf_bias(plan, st, m.gravity, leaf), scale6(k, free_body(leaf_inverse(plan, i), f)))
