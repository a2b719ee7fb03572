"""Newton's method for equilibria: the Hessian of gravity, forces and potentials, eliminated in O(n) like an inertia.

Forces f at points x with directions fixed in the world have, for joint i on the way from the ground to joint j,

    d2E / dq_i dq_j = -w_i . N_j,    N_j = sum over bodies beyond j of (S_j x) x f = (G - tr G) w_j + v_j x F
    F = sum f,  G = sum x f'

with w and v the angular and linear parts of the axis S_j at the frame's origin. A spring to a point in space adds its
stiffness there, as a point mass adds its inertia. So the matrix K + mu D is eliminated from the tips to the ground as a
mass matrix is, with one change: U = IA S - (N, 0), d = S'U + V'' + mu rotor.

D is the metric of a trust region: a body that turns by a vector w has the size c |w|^2, with c the sum of |x| |f| over
the forces that act on it and through the joints beyond it. The energy of a body with its forces bends down by no more
than that when it turns, so mu is a number of the order of 1 whatever the loads are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.engines.loops import LoopRows
from bough.adaptive.engines.rest import Ties, direction
from bough.adaptive.engines.sweeps import SweepWork, inward, make_work, outward_accelerations, world_poses
from bough.adaptive.potentials import Springs, term
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.layout import compose, get_pose
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import (
    Mechanism,
    along,
    difference_joint,
    force_to_parent,
    freedom,
    origin_in_parent,
    turn_to_parent,
)
from bough.spatial import (
    add3,
    add6,
    articulated,
    articulated_add,
    cross,
    dot3,
    get3,
    get6,
    get9,
    get10,
    get21,
    join,
    outer,
    put3,
    put6,
    put9,
    put21,
    rigid_scale,
    rotate,
    rotate_back,
    scale3,
    scale6,
    sub3,
)
from bough.types import ArticulatedInertia, FloatArray, Force, Rotation, Rows, Scalar, Vector, Workspace

SLACK = 1e100  # the compliance of a spring that does nothing
ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ZERO15 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
FAR_FROM = 1e-6  # of its length: a spring that is shorter has no stiffness across


class NewtonWork(NamedTuple):
    """Working space: N bodies, n DoF."""

    sweep: SweepWork
    still: Mechanism  # without gravity, its armature the stiffness of joints
    pose: FloatArray  # (N, 12) in the world
    F: FloatArray  # (N, 3) forces beyond a body's joint with directions in the world, in its frame
    G: FloatArray  # (N, 9) and their moments x f'
    B: FloatArray  # (N, 9) those of the forces on a body itself and through the joints on it
    K: FloatArray  # (N, 21) stiffness of springs to points in space
    metric: FloatArray  # (N, 10) of the trust region, in the form of rigid inertias
    f: FloatArray  # (N, 6) all forces on a body, in its frame
    p: FloatArray  # (N, 6)
    N: FloatArray  # (n, 6) geometric stiffness of joints
    slope: FloatArray  # (n,) V' less the torque given
    curve: FloatArray  # (n,) V''
    rotor: FloatArray  # (n,) of the metric, at joints
    energy: FloatArray  # (2,) of loads and joints, and the size of what it is a sum of


def newton_work(m: Mechanism) -> NewtonWork:
    """Space for a mechanism."""
    N, n = len(m.parent), len(m.axis)
    widths = (12, 3, 9, 9, 21, 10, 6, 6)
    arrays = [*(np.zeros((N, k)) for k in widths), np.zeros((n, 6)), *np.zeros((3, n)), np.zeros(2)]
    still = m._replace(gravity=np.zeros(3), armature=np.zeros(n))
    return NewtonWork(make_work(N, n, False, False, False), still, *arrays)


@inlined
@kernel
def _outer(x: Vector, f: Vector) -> Rotation:
    a, b, c = scale3(x[0], f), scale3(x[1], f), scale3(x[2], f)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
@kernel
def _add9(a: Rows, i: int, x: Rotation) -> None:
    for k in range(9):
        a[i, k] += x[k]


@inlined
@loop_kernel
def widen(w: NewtonWork, i: int, x: Vector, f: Vector) -> None:
    """Add |x| |f| to the size of a turn of body i."""
    c = np.sqrt(dot3(x, x) * dot3(f, f))
    for k in range(3):
        w.metric[i, k] += c


@inlined
@loop_kernel
def _load(m: Mechanism, loads: Loads, w: NewtonWork, i: int) -> None:
    """Gravity and applied forces on body i, and their energy."""
    (E, P), I = get_pose(w.pose, i), get10(m.inertia, i)
    g = rotate_back(E, (m.gravity[0], m.gravity[1], m.gravity[2]))
    h = (I[6], I[7], I[8])
    F, G = scale3(I[9], g), _outer(h, g)
    n, f = cross(h, g), F
    lift = dot3((m.gravity[0], m.gravity[1], m.gravity[2]), add3(scale3(I[9], P), rotate(E, h)))
    w.energy[0] -= lift
    w.energy[1] += abs(lift)
    put3(w.F, i, F)
    put9(w.G, i, G)
    for k in range(10):
        w.metric[i, k] = 0.0
    for k in range(21):
        w.K[i, k] = 0.0
    widen(w, i, h, g)
    slot = loads.slot[i]
    if slot >= 0:
        for j in range(loads.first[slot], loads.first[slot + 1]):
            r, l, t = get3(loads.point, j), get3(loads.force, j), get3(loads.moment, j)
            if j < loads.along[slot]:
                work = dot3(l, add3(P, rotate(E, r)))
                w.energy[0] -= work
                w.energy[1] += abs(work)
                l, t = rotate_back(E, l), rotate_back(E, t)
                put3(w.F, i, add3(get3(w.F, i), l))
                _add9(w.G, i, _outer(r, l))
            widen(w, i, r, l)
            f, n = add3(f, l), add3(n, add3(t, cross(r, l)))
    put6(w.f, i, join(n, f))


@loop_kernel
def newton_place(m: Mechanism, q: Rows, loads: Loads, p: Springs, w: NewtonWork) -> None:
    """Where all bodies are, forces on them, potentials of joints, and the energy."""
    w.energy[0], w.energy[1] = 0.0, 0.0
    world_poses(m, q, w.sweep.X, w.pose)
    for i in range(len(m.parent)):
        _load(m, loads, w, i)
        difference_joint(m, i, p.zero, q, p.x)
        for k in range(m.dof[i], m.dof[i + 1]):
            x = p.x[m.v_index[k]]
            w.slope[k], w.curve[k] = -p.given[k], 0.0
            w.energy[0] -= p.given[k] * x
            w.energy[1] += abs(p.given[k] * x)
            for t in range(p.begin[k], p.end[k]):
                v = term(p, t, x)
                w.energy[0] += v[0]
                w.energy[1] += abs(v[0])
                w.slope[k] += v[1]
                w.curve[k] += v[2]


@kernel
def newton_forces(m: Mechanism, w: NewtonWork, out: Rows) -> None:
    """out (n,) += S' of the forces w.f on all bodies beyond each joint."""
    for i in range(len(m.parent)):
        put6(w.p, i, get6(w.f, i))
    for i in range(len(m.parent) - 1, -1, -1):
        f = get6(w.p, i)
        for k in range(m.dof[i], m.dof[i + 1]):
            out[k] += along(m, k, f)
        if m.parent[i] >= 0:
            put6(w.p, m.parent[i], add6(get6(w.p, m.parent[i]), force_to_parent(m, w.sweep.X, i, f)))


@inlined
@loop_kernel
def _moments_to_parent(m: Mechanism, w: NewtonWork, i: int) -> None:
    """F and G of body i about the parent's origin."""
    p, G = m.parent[i], get9(w.G, i)
    F = turn_to_parent(m, w.sweep.X, i, get3(w.F, i))
    o = origin_in_parent(m, w.sweep.X, i)
    # R G R' column by column, then row by row
    a = turn_to_parent(m, w.sweep.X, i, (G[0], G[3], G[6]))
    b = turn_to_parent(m, w.sweep.X, i, (G[1], G[4], G[7]))
    c = turn_to_parent(m, w.sweep.X, i, (G[2], G[5], G[8]))
    x = turn_to_parent(m, w.sweep.X, i, (a[0], b[0], c[0]))
    y = turn_to_parent(m, w.sweep.X, i, (a[1], b[1], c[1]))
    z = turn_to_parent(m, w.sweep.X, i, (a[2], b[2], c[2]))
    widen(w, p, o, F)
    put3(w.F, p, add3(get3(w.F, p), F))
    _add9(w.G, p, (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]))
    _add9(w.G, p, _outer(o, F))
    _add9(w.B, p, _outer(o, F))


@loop_kernel
def newton_sum(m: Mechanism, w: NewtonWork) -> None:
    """F and G of all bodies beyond each joint, from those of each body, and the size of turns."""
    for i in range(len(m.parent)):
        put9(w.B, i, get9(w.G, i))
    for i in range(len(m.parent) - 1, -1, -1):
        if m.parent[i] >= 0:
            _moments_to_parent(m, w, i)


@loop_kernel
def newton_ties(w: NewtonWork, t: Ties, stiff: Rows) -> None:
    """Forces and energies of springs between points, and the stiffness of those to points in space.

    stiff (k, 6): each spring's direction in the world, its stiffness along and across it, and how far it is stretched.
    """
    for j in range(len(t.stiffness)):
        a, b, r, k = t.body[j, 0], t.body[j, 1], get3(t.point, 2 * j), t.stiffness[j]
        e, long = direction(t, j)
        stretch = long - t.length[j]
        across = k if t.length[j] == 0.0 else 0.0
        if long > FAR_FROM * t.length[j] and t.length[j] > 0.0:
            across = k * stretch / long
        put3(stiff, j, e)
        stiff[j, 3], stiff[j, 4], stiff[j, 5] = k, across, stretch
        w.energy[0] += 0.5 * k * stretch * stretch
        w.energy[1] += 0.5 * k * stretch * stretch
        pull = scale3(k * stretch, e)
        if a >= 0:
            _tie_body(w, a, r, pull)
        if b >= 0:
            _tie_body(w, b, get3(t.point, 2 * j + 1), scale3(-1.0, pull))
        elif a >= 0:
            put21(
                w.K, a, articulated_add(get21(w.K, a), point_stiffness(r, rotate_back(get9(w.pose, a), e), k, across))
            )


@inlined
@loop_kernel
def _tie_body(w: NewtonWork, i: int, r: Vector, pull: Vector) -> None:
    """A force in the world's axes on a point of body i."""
    f = rotate_back(get9(w.pose, i), pull)
    put6(w.f, i, add6(get6(w.f, i), join(cross(r, f), f)))
    _stiffen(w, i, r, f)


@loop_kernel
def newton_loops(w: NewtonWork, lp: LoopRows, pull: Rows) -> None:
    """The forces of the rows of loops, (m,) or of the first of all rows, which stiffen bodies where the second frame
    is."""
    for r in range(len(pull)):
        c, j = lp.loop[r], lp.axis[r]
        B, x = compose(get_pose(lp.pose, 2 * c + 1), get_pose(lp.frame, 2 * c + 1))
        last, z = r + 2 - j % 3, (B[2], B[5], B[8])  # where the row about z is, if the loop has one
        if last < len(lp.axis) and lp.axis[last] == 2:
            z = ZERO3
        for side in range(2):
            i, (R, p) = lp.body[c, side], get_pose(lp.pose, 2 * c + side)
            if i >= 0:
                f = scale6(pull[r], get6(lp.wrench, 2 * r + side))
                put6(w.f, i, add6(get6(w.f, i), f))
                if j < 3:
                    _stiffen_by_moment(w, i, (f[0], f[1], f[2]), rotate_back(R, z))
                else:
                    _stiffen(w, i, rotate_back(R, sub3(x, p)), (f[3], f[4], f[5]))


@inlined
@loop_kernel
def _stiffen_by_moment(w: NewtonWork, i: int, n: Vector, z: Vector) -> None:
    """A moment of a loop on body i, whose frames may turn about z, or not at all where z is zero; in its frame.

    Turns a of both bodies have the second order sum w_i x w_j / 2 over the joints on their ways, so that G is the
    antisymmetric matrix of n. If they differ by s z, the moment follows the second frame: s n . (a x z) / 2.
    """
    h = scale3(0.5, n)
    _add9(w.G, i, (0.0, h[2], -h[1], -h[2], 0.0, h[0], h[1], -h[0], 0.0))
    m = cross(z, h)
    xy, xz, yz = z[0] * m[1] + z[1] * m[0], z[0] * m[2] + z[2] * m[0], z[1] * m[2] + z[2] * m[1]
    A = (2.0 * z[0] * m[0], 2.0 * z[1] * m[1], 2.0 * z[2] * m[2], xy, xz, yz)
    put21(w.K, i, articulated_add(get21(w.K, i), A + ZERO15))
    widen(w, i, n, (1.0, 0.0, 0.0))


@loop_kernel
def newton_pairs(w: NewtonWork, t: Ties, stiff: Rows, pairs: Rows, lp: LoopRows) -> None:
    """The last rows: of these springs between two bodies, one along each and two across it."""
    first = len(lp.loop) - 3 * len(pairs)
    for c in range(len(pairs)):
        j = pairs[c]
        e, x = get3(stiff, j), (1.0, 0.0, 0.0)
        if abs(e[0]) > 0.7:
            x = (0.0, 1.0, 0.0)
        x = cross(e, x)
        x = scale3(1.0 / np.sqrt(dot3(x, x)), x)
        for axis in range(3):
            d, k, r = e if axis == 0 else x, stiff[j, 3 if axis == 0 else 4], first + 3 * c + axis
            if axis == 1:
                x = cross(e, x)
            lp.soft[r] = 1.0 / k if k != 0.0 else SLACK
            for side in range(2):
                f = rotate_back(get9(w.pose, t.body[j, side]), scale3(2.0 * side - 1.0, d))
                put6(lp.wrench, 2 * r + side, join(cross(get3(t.point, 2 * j + side), f), f))


@inlined
@loop_kernel
def _stiffen(w: NewtonWork, i: int, r: Vector, f: Vector) -> None:
    """A force with a direction in the world on a point of body i, in its frame."""
    put3(w.F, i, add3(get3(w.F, i), f))
    _add9(w.G, i, _outer(r, f))
    widen(w, i, r, f)


@inlined
@loop_kernel
def point_stiffness(r: Vector, e: Vector, k: Scalar, across: Scalar) -> ArticulatedInertia:
    """A stiffness k along e, and another across it, at a point r of a body."""
    K = outer(ZERO6, ZERO6)
    for j in range(3):
        x = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        U = join(cross(r, x), x)
        K = articulated_add(K, outer(scale6(across, U), U))
    U = join(cross(r, e), e)
    return articulated_add(K, outer(scale6(k - across, U), U))


@inlined
@loop_kernel
def _geometric(m: Mechanism, w: NewtonWork, i: int, k: int) -> Force:
    """(-N_k, 0): the geometric stiffness of forces between joints above and DoF k."""
    S, G, F = freedom(m, k, 1.0), get9(w.G, i), get3(w.F, i)
    a, v = (S[0], S[1], S[2]), (S[3], S[4], S[5])
    N = add3(sub3(rotate(G, a), scale3(G[0] + G[4] + G[8], a)), cross(v, F))
    return (-N[0], -N[1], -N[2], 0.0, 0.0, 0.0)


@inlined
@loop_kernel
def _turned(w: NewtonWork, i: int) -> ArticulatedInertia:
    """The stiffness of forces on body i against turns, in the form of an inertia."""
    B = get9(w.B, i)
    xy, xz, yz = -0.5 * (B[1] + B[3]), -0.5 * (B[2] + B[6]), -0.5 * (B[5] + B[7])
    return (B[4] + B[8], B[0] + B[8], B[0] + B[4], xy, xz, yz) + ZERO15


@loop_kernel
def newton_solve(m: Mechanism, w: NewtonWork, lp: Workspace, mu: float, exact: int, force: Rows, out: Rows) -> Scalar:
    """out (nv,) = (K + mu D)^-1 force (n,) with the rows `lp`, or () without; returns what `sweeps.inward` does.

    With `exact` 0, K is that of bodies that turn steadily, each about an axis of its own.
    """
    for i in range(len(m.parent)):
        IA = articulated_add(articulated(rigid_scale(mu, get10(w.metric, i)), 0.0), get21(w.K, i))
        if exact == 0:
            IA = articulated_add(IA, _turned(w, i))
        put21(w.sweep.IA, i, IA)
        put6(w.sweep.pA, i, ZERO6)
        for k in range(m.dof[i], m.dof[i + 1]):
            N = ZERO6
            if exact == 1:
                N = _geometric(m, w, i, k)
            put6(w.N, k, N)
            w.still.armature[k] = w.curve[k] + mu * w.rotor[k]
    wrong = inward(w.still, force, w.sweep, lp, w.N)
    if wrong == wrong:
        outward_accelerations(w.still, w.p, out, w.sweep, lp)
    return wrong
