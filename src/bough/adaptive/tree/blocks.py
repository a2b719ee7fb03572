"""6 x 6 blocks: products on scratch space, and the packed form in which a node keeps them.

Scratch is an array (blocks, 6, WIDTH); a block is named by its number, and worked on by whole rows (see `rows`). A
node's record is flat: a symmetric block is its upper triangle row by row (21 numbers), a general one its rows (36).
Six-vectors are tuples, as everywhere in Bough.
"""

from __future__ import annotations

from bough.adaptive.tree.layout import A1, PA1, PHI1, T1, T2, TMP, XF, Layout, State, W, joint_places
from bough.compile.kernel import kernel, loop_kernel
from bough.compile.vectors import flipped, give, joined, pack, plus, put, replaced, row, scaled, taken, unpacked
from bough.joints import Mechanism
from bough.spatial import add6, cross, dot6, get6, get10, scale6, symmetric_times
from bough.types import Block, Force, Motion, RigidInertia, Rotation, Rows, Six, Vector


@kernel
def six(r: Rows, o: int) -> Motion:
    """Six numbers of a record."""
    return (r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5])


@kernel
def put_six(r: Rows, o: int, x: Motion) -> None:
    r[o], r[o + 1], r[o + 2], r[o + 3], r[o + 4], r[o + 5] = x[0], x[1], x[2], x[3], x[4], x[5]


@kernel
def symmetric_six(r: Rows, o: int, x: Motion) -> Motion:
    """A packed symmetric block times a vector."""
    return (
        r[o] * x[0] + r[o + 1] * x[1] + r[o + 2] * x[2] + r[o + 3] * x[3] + r[o + 4] * x[4] + r[o + 5] * x[5],
        r[o + 1] * x[0] + r[o + 6] * x[1] + r[o + 7] * x[2] + r[o + 8] * x[3] + r[o + 9] * x[4] + r[o + 10] * x[5],
        r[o + 2] * x[0] + r[o + 7] * x[1] + r[o + 11] * x[2] + r[o + 12] * x[3] + r[o + 13] * x[4] + r[o + 14] * x[5],
        r[o + 3] * x[0] + r[o + 8] * x[1] + r[o + 12] * x[2] + r[o + 15] * x[3] + r[o + 16] * x[4] + r[o + 17] * x[5],
        r[o + 4] * x[0] + r[o + 9] * x[1] + r[o + 13] * x[2] + r[o + 16] * x[3] + r[o + 18] * x[4] + r[o + 19] * x[5],
        r[o + 5] * x[0] + r[o + 10] * x[1] + r[o + 14] * x[2] + r[o + 17] * x[3] + r[o + 19] * x[4] + r[o + 20] * x[5],
    )


@kernel
def full_six(r: Rows, o: int, x: Motion) -> Motion:
    """A block times a vector."""
    return (
        dot6(six(r, o), x),
        dot6(six(r, o + 6), x),
        dot6(six(r, o + 12), x),
        dot6(six(r, o + 18), x),
        dot6(six(r, o + 24), x),
        dot6(six(r, o + 30), x),
    )


@kernel
def transposed_six(r: Rows, o: int, x: Motion) -> Motion:
    """The transpose of a block times a vector."""
    a, b, c = six(r, o), six(r, o + 6), six(r, o + 12)
    d, e, f = six(r, o + 18), six(r, o + 24), six(r, o + 30)
    return (
        a[0] * x[0] + b[0] * x[1] + c[0] * x[2] + d[0] * x[3] + e[0] * x[4] + f[0] * x[5],
        a[1] * x[0] + b[1] * x[1] + c[1] * x[2] + d[1] * x[3] + e[1] * x[4] + f[1] * x[5],
        a[2] * x[0] + b[2] * x[1] + c[2] * x[2] + d[2] * x[3] + e[2] * x[4] + f[2] * x[5],
        a[3] * x[0] + b[3] * x[1] + c[3] * x[2] + d[3] * x[3] + e[3] * x[4] + f[3] * x[5],
        a[4] * x[0] + b[4] * x[1] + c[4] * x[2] + d[4] * x[3] + e[4] * x[4] + f[4] * x[5],
        a[5] * x[0] + b[5] * x[1] + c[5] * x[2] + d[5] * x[3] + e[5] * x[4] + f[5] * x[5],
    )


# Whole blocks


@kernel
def get_all(S: Rows, c: int) -> Block:
    """The six rows of a block."""
    return (row(S, c, 0), row(S, c, 1), row(S, c, 2), row(S, c, 3), row(S, c, 4), row(S, c, 5))


@kernel
def put_all(S: Rows, c: int, x: Block) -> None:
    put(S, c, 0, x[0])
    put(S, c, 1, x[1])
    put(S, c, 2, x[2])
    put(S, c, 3, x[3])
    put(S, c, 4, x[4])
    put(S, c, 5, x[5])


@kernel
def taken_all(r: Rows, o: int) -> Block:
    """The six rows of a block in a record."""
    return (taken(r, o), taken(r, o + 6), taken(r, o + 12), taken(r, o + 18), taken(r, o + 24), taken(r, o + 30))


@loop_kernel
def store_symmetric(S: Rows, c: int, r: Rows, o: int) -> None:
    """Rounding leaves a symmetric block skew: its mean with its transpose is kept, which is worth three digits."""
    x = get_all(S, c)
    y = flipped(x)
    early = (mean(x[0], y[0]), mean(x[1], y[1]), mean(x[2], y[2]))
    pack(r, o, (early[0], early[1], early[2], mean(x[3], y[3]), mean(x[4], y[4]), mean(x[5], y[5])))


@loop_kernel
def mean(x: Six, y: Six) -> Six:
    """The mean of two rows."""
    return plus(scaled(0.5, x), 0.5, y)


@kernel
def store_full(S: Rows, c: int, r: Rows, o: int) -> None:
    for i in range(6):
        give(r, o + 6 * i, row(S, c, i))


@loop_kernel
def clear(S: Rows, c: int) -> None:
    zero = joined(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(6):
        put(S, c, i, zero)


@loop_kernel
def add_blocks(S: Rows, c: int, a: int, b: int) -> None:
    for i in range(6):
        put(S, c, i, plus(row(S, a, i), 1.0, row(S, b, i)))


@loop_kernel
def negate(S: Rows, c: int, a: int) -> None:
    for i in range(6):
        put(S, c, i, scaled(-1.0, row(S, a, i)))


# Products: entries of the left factor times rows of the right one


@kernel
def across(S: Rows, a: int, i: int) -> Motion:
    """The entries of row i."""
    return (S[a, i, 0], S[a, i, 1], S[a, i, 2], S[a, i, 3], S[a, i, 4], S[a, i, 5])


@kernel
def down(S: Rows, a: int, j: int) -> Motion:
    """The entries of column j."""
    return (S[a, 0, j], S[a, 1, j], S[a, 2, j], S[a, 3, j], S[a, 4, j], S[a, 5, j])


@kernel
def plus_mix(z: Six, a: Six, x: Block) -> Six:
    """z + the sum of a[k] x[k], x being rows."""
    z = plus(plus(plus(z, a[0], x[0]), a[1], x[1]), a[2], x[2])
    return plus(plus(plus(z, a[3], x[3]), a[4], x[4]), a[5], x[5])


@kernel
def mix(a: Six, x: Block) -> Six:
    """The sum of a[k] x[k], x being rows."""
    z = plus(plus(scaled(a[0], x[0]), a[1], x[1]), a[2], x[2])
    return plus(plus(plus(z, a[3], x[3]), a[4], x[4]), a[5], x[5])


@kernel
def multiply(S: Rows, c: int, a: int, b: int) -> None:
    """c = a b."""
    x = get_all(S, b)
    for i in range(6):
        put(S, c, i, mix(across(S, a, i), x))


@loop_kernel
def multiply_less(S: Rows, c: int, a: int, b: int, d: int) -> None:
    """c = a b - d."""
    x = get_all(S, b)
    for i in range(6):
        put(S, c, i, plus_mix(scaled(-1.0, row(S, d, i)), across(S, a, i), x))


@kernel
def transposed_multiply(S: Rows, c: int, a: int, b: int) -> None:
    """c = a' b."""
    x = get_all(S, b)
    for i in range(6):
        put(S, c, i, mix(down(S, a, i), x))


@kernel
def add_transposed(S: Rows, c: int, a: int, b: int) -> None:
    """c += a' b."""
    x = get_all(S, b)
    for i in range(6):
        put(S, c, i, plus_mix(row(S, c, i), down(S, a, i), x))


@kernel
def subtract_transposed(S: Rows, c: int, a: int, b: int) -> None:
    """c -= a' b."""
    x = get_all(S, b)
    for i in range(6):
        a0, a1, a2, a3, a4, a5 = down(S, a, i)
        put(S, c, i, plus_mix(row(S, c, i), (-a0, -a1, -a2, -a3, -a4, -a5), x))


@loop_kernel
def sweep(S: Rows, c: int, k: int) -> None:
    """Beaton's sweep of a symmetric block on axis k: a set of swept axes holds minus the inverse of its sub-block."""
    pivot, y = 1.0 / S[c, k, k], row(S, c, k)
    for i in range(6):
        if i != k:
            x = S[c, i, k] * pivot
            put(S, c, i, replaced(plus(row(S, c, i), -x, y), k, x))
    put(S, c, k, replaced(scaled(pivot, y), k, -pivot))


# Placements (R, p)


@kernel
def carry(S: Rows, c: int, a: int, R: Rotation, p: Vector) -> None:
    """c = X a: each column is a motion brought into the frame placed at (R, p)."""
    u, v, w = row(S, a, 0), row(S, a, 1), row(S, a, 2)
    _turn_back(S, c, 0, R, (u, v, w))
    x = plus(plus(row(S, a, 3), p[2], v), -p[1], w)
    y = plus(plus(row(S, a, 4), p[0], w), -p[2], u)
    z = plus(plus(row(S, a, 5), p[1], u), -p[0], v)
    _turn_back(S, c, 3, R, (x, y, z))


@kernel
def _turn_back(S: Rows, c: int, i: int, R: Rotation, x: Block) -> None:
    """Rows i, i + 1, i + 2 of c = R' x."""
    put(S, c, i, plus(plus(scaled(R[0], x[0]), R[3], x[1]), R[6], x[2]))
    put(S, c, i + 1, plus(plus(scaled(R[1], x[0]), R[4], x[1]), R[7], x[2]))
    put(S, c, i + 2, plus(plus(scaled(R[2], x[0]), R[5], x[1]), R[8], x[2]))


@loop_kernel
def transform(S: Rows, c: int, R: Rotation, p: Vector) -> None:
    """c = X', which takes forces out of the frame placed at (R, p)."""
    x = joined(0.0, 0.0, 0.0, R[0], R[1], R[2])
    y = joined(0.0, 0.0, 0.0, R[3], R[4], R[5])
    z = joined(0.0, 0.0, 0.0, R[6], R[7], R[8])
    put(S, c, 0, plus(plus(joined(R[0], R[1], R[2], 0.0, 0.0, 0.0), -p[2], y), p[1], z))
    put(S, c, 1, plus(plus(joined(R[3], R[4], R[5], 0.0, 0.0, 0.0), -p[0], z), p[2], x))
    put(S, c, 2, plus(plus(joined(R[6], R[7], R[8], 0.0, 0.0, 0.0), -p[1], x), p[0], y))
    put(S, c, 3, x)
    put(S, c, 4, y)
    put(S, c, 5, z)


@kernel
def into_joint_frame(S: Rows, x21: int, x2: int, a21: int, a2: int, R: Rotation, p: Vector) -> None:
    """X a21 and X a2 X'; block XF holds X' (`transform`)."""
    carry(S, x21, a21, R, p)
    if a21 == a2:
        multiply(S, x2, x21, XF)
    else:
        carry(S, TMP, a2, R, p)
        multiply(S, x2, TMP, XF)


# Leaves of an assembly tree: free rigid bodies, copies of a split hub, and the ground.


ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def free_body(I: RigidInertia, f: Force) -> Motion:
    """The acceleration of a free rigid body under a force at its origin; I as in `Linkage.inverse`."""
    m = cross((I[6], I[7], I[8]), (f[3], f[4], f[5]))
    w = symmetric_times(I, (f[0] - m[0], f[1] - m[1], f[2] - m[2]))
    l = cross((I[6], I[7], I[8]), w)
    return (w[0], w[1], w[2], I[9] * f[3] + l[0], I[9] * f[4] + l[1], I[9] * f[5] + l[2])


@kernel
def leaf_inverse(plan: Layout, i: int) -> RigidInertia:
    return get10(plan.inverse, i)


@loop_kernel
def load_leaf(plan: Layout, st: State, leaf: int, c: int) -> None:
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


# Children of a node: leaves, or nodes with one handle or two


@loop_kernel
def load_child(plan: Layout, st: State, code: int, to: tuple[int, int, int], o: tuple[int, int, int]) -> None:
    """Phi or Psi of a child, at o: at its near handle, and if it has two across and at the far one. Leaves have no Psi.

    The one across is needed as 21 of A and as 12 of B: rows at the joint in both.
    """
    S = st.scratch
    if code < 0:
        if o[0] == PHI1:
            load_leaf(plan, st, ~code, to[0])
        else:
            clear(S, to[0])
        return
    r = st.record[plan.offset[code] : plan.offset[code + 1]]
    put_all(S, to[0], unpacked(r, o[0]))
    if plan.handles[code] == 2:
        across_ = taken_all(r, o[1])
        put_all(S, to[1], flipped(across_) if to[0] == A1 or to[0] == PA1 else across_)
        put_all(S, to[2], unpacked(r, o[2]))


@kernel
def both_ends(plan: Layout, st: State, n: int, near: int, far: int) -> tuple[Motion, Motion]:
    """Six numbers of node n at its near handle and at its far one; one handle is both."""
    r = st.record[plan.offset[n] : plan.offset[n + 1]]
    return six(r, near), six(r, far if plan.handles[n] == 2 else near)


@loop_kernel
def leaf_bias(plan: Layout, st: State, g: Vector, leaf: int) -> Motion:
    """b of a leaf. The first copy of a body carries its force; relative to free fall, the ground accelerates upward."""
    i = plan.leaf_body[leaf]
    if i == len(plan.parent):
        return (0.0, 0.0, 0.0, -g[0], -g[1], -g[2])
    if leaf >= len(plan.parent):
        return ZERO6
    return scale6(float(plan.copies[i]), free_body(leaf_inverse(plan, i), get6(st.force, plan.last[i])))


@loop_kernel
def leaf_acceleration(m: Mechanism, plan: Layout, st: State, leaf: int, f: Force) -> Motion:
    """The acceleration of a body, relative to free fall, when f acts on its handle."""
    i = plan.leaf_body[leaf]
    k = float(plan.copies[i])
    return add6(leaf_bias(plan, st, m.gravity, leaf), scale6(k, free_body(leaf_inverse(plan, i), f)))


# What a joint does


@loop_kernel
def joint_terms(
    plan: Layout, st: State, n: int, beta: Motion, Q: Rows, k0: int, share: float
) -> tuple[Force, Motion, Motion]:
    """gamma, T1' beta + u1' Q and T2' beta + u2' Q of node n, whose record gets R; its torques are share Q[k0 ...]."""
    r, at, two = st.record[plan.offset[n] : plan.offset[n + 1]], joint_places(plan, n), plan.handles[n] == 2
    gamma, e1, e2 = symmetric_six(r, W, beta), transposed_six(r, T1, beta), ZERO6
    if two:
        e2 = transposed_six(r, T2, beta)
    for x in range(at.d):
        torque, rest = share * Q[k0 + x], -dot6(six(r, at.U + 6 * x), beta)
        gamma = add6(gamma, scale6(torque, six(r, at.U + 6 * x)))
        e1 = add6(e1, scale6(torque, six(r, at.u1 + 6 * x)))
        if two:
            e2 = add6(e2, scale6(torque, six(r, at.u2 + 6 * x)))
        for y in range(at.d):
            rest += r[at.D + at.d * x + y] * share * Q[k0 + y]
        r[at.R + x] = rest
    return gamma, e1, e2
