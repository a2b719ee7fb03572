"""A joint between two clusters (Featherstone 1999, in the K-form): what it transmits and how it yields.

K = X Phi_2^A X' + Phi_1^B takes a force through the joint to the gap in acceleration that it opens. W takes a gap to
the constraint force that closes it, U to the joint's acceleration, D a joint torque to that acceleration: W = T (T' K
T)^-1 T' with T the constrained axes. Sweeping K on those axes gives all three at once, and W is exactly zero along
the freed axes.
"""

from __future__ import annotations

from bough.adaptive.node.blocks import clear, multiply, negate, subtract_transposed, sweep
from bough.adaptive.node.layout import D_, K_, U_, V_, W_, Blueprint, State
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.compile.vectors import joined, plus, put, replaced, row, scaled
from bough.joints import Mechanism
from bough.types import Rows

WELDED = 1e300  # an armature that nothing moves


@inlined
@loop_kernel
def constrain(m: Mechanism, plan: Blueprint, st: State, b: int) -> None:
    """W (constraint forces), U and D (joint acceleration) of the joint of body b, from K. K itself is destroyed."""
    k0, d = plan.dof[b], plan.dof[b + 1] - plan.dof[b]
    if d == 1 and plan.simple[b] == 1 and m.pitch[k0] == 0.0:
        _one_axis(st.scratch, m.axis[k0])
    elif plan.simple[b] == 1:
        _several_axes(m, st.scratch, k0, d)
    else:
        _any_subspace(st.scratch, st.freedoms, k0, d)
    for a in range(d):
        if m.armature[k0 + a] != 0.0:
            _add_armature(st.scratch, a, d, m.armature[k0 + a])


@loop_kernel
def _one_axis(S: Rows, axis: int) -> None:
    """One freed axis z: W = -swept, U = e_z - swept row z, D = swept zz."""
    for k in range(6):
        if k != axis:
            sweep(S, K_, k)
    for i in range(6):
        put(S, W_, i, replaced(scaled(-1.0, row(S, K_, i)), axis, 0.0))
    put(S, W_, axis, joined(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    put(S, U_, 0, replaced(scaled(-1.0, row(S, K_, axis)), axis, 1.0))
    S[D_, 0, 0] = S[K_, axis, axis]


@kernel
def _freed_axes(m: Mechanism, k0: int, d: int) -> int:
    """The freed axes as bits."""
    bits = 0
    for k in range(k0, k0 + d):
        bits |= 1 << m.axis[k]
    return bits


@loop_kernel
def _several_axes(m: Mechanism, S: Rows, k0: int, d: int) -> None:
    """Any set of freed axes; a helical joint is sheared so that its screw becomes a pure turn."""
    pitch, freed = m.pitch[k0] if d == 1 else 0.0, _freed_axes(m, k0, d)
    put(S, K_, 5, plus(row(S, K_, 5), -pitch, row(S, K_, 2)))
    for i in range(6):
        S[K_, i, 5] -= pitch * S[K_, i, 2]
    for axis in range(6):
        if not freed >> axis & 1:
            sweep(S, K_, axis)
    for i in range(6):
        held = not freed >> i & 1
        for j in range(6):
            S[W_, i, j] = -S[K_, i, j] if held and not freed >> j & 1 else 0.0
    for a in range(d):
        for j in range(6):
            S[U_, a, j] = 0.0 if freed >> j & 1 else -S[K_, m.axis[k0 + a], j]
        S[U_, a, m.axis[k0 + a]] = 1.0
        for c in range(d):
            S[D_, a, c] = S[K_, m.axis[k0 + a], m.axis[k0 + c]]
    put(S, W_, 2, plus(row(S, W_, 2), -pitch, row(S, W_, 5)))
    for i in range(6):
        S[W_, i, 2] -= pitch * S[W_, i, 5]
    for a in range(d):
        S[U_, a, 2] -= pitch * S[U_, a, 5]


@loop_kernel
def _any_subspace(S: Rows, freedoms: Rows, k0: int, d: int) -> None:
    """Freedoms along any axes: V = K^-1, D = (S' V S)^-1, U = D S' V, W = V - V S U."""
    for k in range(6):
        sweep(S, K_, k)
    clear(S, V_)
    clear(S, D_)
    for a in range(d):
        for k in range(6):
            put(S, V_, a, plus(row(S, V_, a), -freedoms[k0 + a, k], row(S, K_, k)))
        for c in range(d):
            for k in range(6):
                S[D_, a, c] += S[V_, a, k] * freedoms[k0 + c, k]
    for a in range(d):
        sweep(S, D_, a)
    negate(S, D_, D_)
    multiply(S, U_, D_, V_)
    negate(S, W_, K_)
    subtract_transposed(S, W_, V_, U_)


@loop_kernel
def _add_armature(S: Rows, a: int, d: int, armature: float) -> None:
    """A rotor on freedom a: D' = (D^-1 + armature)^-1, and W, U with it, by one rank-one change; it may be welded."""
    x = 1.0 / S[D_, a, a] if armature >= WELDED else armature / (1.0 + armature * S[D_, a, a])
    u = row(S, U_, a)
    for i in range(6):
        put(S, W_, i, plus(row(S, W_, i), x * S[U_, a, i], u))
    for c in range(d):
        S[V_, 0, c], S[V_, 2, c] = x * S[D_, c, a], S[D_, a, c]
    for c in range(d):
        put(S, U_, c, plus(row(S, U_, c), -S[V_, 0, c], u))
        for e in range(d):
            S[D_, c, e] -= S[V_, 0, c] * S[V_, 2, e]
    if armature >= WELDED:
        put(S, U_, a, scaled(0.0, u))
        for c in range(d):
            S[D_, a, c], S[D_, c, a] = 0.0, 0.0
