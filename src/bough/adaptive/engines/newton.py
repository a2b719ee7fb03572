"""Newton's method for equilibria: the Hessian of gravity, forces and potentials, eliminated in O(n) like an inertia.

Forces f at points x with directions fixed in the world have, for joint i on the way from the ground to joint j,

    d2E / dq_i dq_j = -w_i . N_j,    N_j = sum over bodies beyond j of (S_j x) x f = (G - tr G) w_j + v_j x F
    F = sum f,  G = sum x f'

with w and v the angular and linear parts of the axis S_j at the frame's origin. So the matrix mu M + H is eliminated
from the tips to the ground as a mass matrix is, with one change: U = mu IA S - (N, 0), D = S'U + V'' + mu armature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.engines.plain import orient
from bough.adaptive.tree.contract import Loads
from bough.adaptive.tree.springs import Springs, term
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.joints import (
    Mechanism,
    along,
    articulated_freedom,
    articulated_to_parent,
    difference_joint,
    force_to_parent,
    freedom,
    motion_to_body,
    move_joint,
    origin_in_parent,
    turn_to_parent,
)
from bough.spatial import (
    add3,
    add6,
    articulated,
    articulated_add,
    articulated_downdate,
    cross,
    dot3,
    dot6,
    get3,
    get6,
    get9,
    get10,
    get21,
    join,
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
from bough.types import FloatArray, Force, Rotation, Rows, Scalar, Vector

SINGULAR = 1e-14  # a pivot this much smaller than what it is made of is none
ZERO6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class NewtonWork(NamedTuple):
    """Working space: N bodies, n freedoms."""

    X: FloatArray  # (N, 12)
    E: FloatArray  # (N, 9)
    P: FloatArray  # (N, 3) origins in the world
    IA: FloatArray  # (N, 21)
    F: FloatArray  # (N, 3) forces beyond a body's joint with directions in the world, in its frame
    G: FloatArray  # (N, 9) and their moments x f'
    f: FloatArray  # (N, 6) all forces on a body, in its frame
    p: FloatArray  # (N, 6)
    W: FloatArray  # (n, 6)
    D: FloatArray  # (n,)
    u: FloatArray  # (n,)
    slope: FloatArray  # (n,) V' less the torque given
    curve: FloatArray  # (n,) V''
    rotor: FloatArray  # (n,) what mu times is added to at joints beside inertia
    energy: FloatArray  # (2,) of loads and joints, and the size of what it is a sum of


def newton_work(m: Mechanism) -> NewtonWork:
    """Room for a mechanism."""
    N, n = len(m.parent), len(m.axis)
    widths = (12, 9, 3, 21, 3, 9, 6, 6)
    return NewtonWork._make([*(np.zeros((N, k)) for k in widths), np.zeros((n, 6)), *np.zeros((5, n)), np.zeros(2)])


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
def _load(m: Mechanism, loads: Loads, w: NewtonWork, i: int) -> None:
    """Gravity and applied forces on body i, and their energy."""
    E, I = get9(w.E, i), get10(m.inertia, i)
    g = rotate_back(E, (m.gravity[0], m.gravity[1], m.gravity[2]))
    h = (I[6], I[7], I[8])
    F, G = scale3(I[9], g), _outer(h, g)
    n, f = cross(h, g), F
    P = get3(w.P, i)
    lift = dot3((m.gravity[0], m.gravity[1], m.gravity[2]), add3(scale3(I[9], P), rotate(E, h)))
    w.energy[0] -= lift
    w.energy[1] += abs(lift)
    put3(w.F, i, F)
    put9(w.G, i, G)
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
            f, n = add3(f, l), add3(n, add3(t, cross(r, l)))
    put6(w.f, i, join(n, f))


@loop_kernel
def place_bodies(m: Mechanism, q: Rows, w: NewtonWork) -> None:
    """Joint transforms, and where all bodies are in the world."""
    for i in range(len(m.parent)):
        move_joint(m, q, i, w.X)
        orient(m, w, i)
        o = origin_in_parent(m, w.X, i)
        if m.parent[i] >= 0:
            o = add3(get3(w.P, m.parent[i]), rotate(get9(w.E, m.parent[i]), o))
        put3(w.P, i, o)


@loop_kernel
def newton_place(m: Mechanism, q: Rows, loads: Loads, p: Springs, w: NewtonWork) -> None:
    """Where all bodies are, forces on them, potentials of joints, and the energy."""
    w.energy[0], w.energy[1] = 0.0, 0.0
    place_bodies(m, q, w)
    for i in range(len(m.parent)):
        _load(m, loads, w, i)
        difference_joint(m, i, p.neutral, q, p.x)
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
            put6(w.p, m.parent[i], add6(get6(w.p, m.parent[i]), force_to_parent(m, w.X, i, f)))


@inlined
@kernel
def _moments_to_parent(m: Mechanism, w: NewtonWork, i: int) -> None:
    """F and G of body i about the parent's origin."""
    p, G = m.parent[i], get9(w.G, i)
    F = turn_to_parent(m, w.X, i, get3(w.F, i))
    o = origin_in_parent(m, w.X, i)
    # R G R' column by column, then row by row
    a = turn_to_parent(m, w.X, i, (G[0], G[3], G[6]))
    b = turn_to_parent(m, w.X, i, (G[1], G[4], G[7]))
    c = turn_to_parent(m, w.X, i, (G[2], G[5], G[8]))
    x = turn_to_parent(m, w.X, i, (a[0], b[0], c[0]))
    y = turn_to_parent(m, w.X, i, (a[1], b[1], c[1]))
    z = turn_to_parent(m, w.X, i, (a[2], b[2], c[2]))
    put3(w.F, p, add3(get3(w.F, p), F))
    _add9(w.G, p, (x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]))
    _add9(w.G, p, _outer(o, F))


@kernel
def newton_sum(m: Mechanism, w: NewtonWork) -> None:
    """F and G of all bodies beyond each joint, from those of each body."""
    for i in range(len(m.parent) - 1, -1, -1):
        if m.parent[i] >= 0:
            _moments_to_parent(m, w, i)


@inlined
@loop_kernel
def _geometric(m: Mechanism, w: NewtonWork, i: int, k: int) -> Force:
    """(-N_k, 0): what forces do to the stiffness between joints above and freedom k."""
    S, G, F = freedom(m, k, 1.0), get9(w.G, i), get3(w.F, i)
    a, v = (S[0], S[1], S[2]), (S[3], S[4], S[5])
    N = add3(sub3(rotate(G, a), scale3(G[0] + G[4] + G[8], a)), cross(v, F))
    return (-N[0], -N[1], -N[2], 0.0, 0.0, 0.0)


@inlined
@loop_kernel
def _size(w: NewtonWork, i: int) -> Scalar:
    """How large moments x f' of the forces beyond a joint are."""
    most = 0.0
    for j in range(9):
        most = max(most, abs(w.G[i, j]))
    return most


@loop_kernel
def newton_factor(m: Mechanism, w: NewtonWork, mu: float) -> Scalar:
    """Eliminate mu M + H; returns how many pivots are negative, or NaN where one is zero to rounding."""
    wrong = 0.0
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(rigid_scale(mu, get10(m.inertia, i)), 0.0))
    for i in range(len(m.parent) - 1, -1, -1):
        IA = get21(w.IA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            U = add6(articulated_freedom(m, k, IA), _geometric(m, w, i, k))
            D = along(m, k, U) + w.curve[k] + mu * w.rotor[k]
            if not abs(D) > SINGULAR * (_size(w, i) + abs(w.curve[k]) + mu * m.inertia[i, 9]):
                return np.nan
            if D < 0.0:
                wrong += 1.0
            W = (U[0] / D, U[1] / D, U[2] / D, U[3] / D, U[4] / D, U[5] / D)
            put6(w.W, k, W)
            w.D[k] = D
            IA = articulated_downdate(IA, W, U)
        p = m.parent[i]
        if p >= 0:
            put21(w.IA, p, articulated_add(get21(w.IA, p), articulated_to_parent(m, w.X, i, IA)))
    return wrong


@kernel
def newton_solve(m: Mechanism, w: NewtonWork, force: Rows, out: Rows) -> None:
    """out (nv,) = (mu M + H)^-1 force (n,)."""
    for i in range(len(m.parent)):
        put6(w.p, i, ZERO6)
    for i in range(len(m.parent) - 1, -1, -1):
        f = get6(w.p, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            u = force[k] - along(m, k, f)
            w.u[k] = u / w.D[k]
            f = add6(f, scale6(u, get6(w.W, k)))
        if m.parent[i] >= 0:
            put6(w.p, m.parent[i], add6(get6(w.p, m.parent[i]), force_to_parent(m, w.X, i, f)))
    for i in range(len(m.parent)):
        a = ZERO6
        if m.parent[i] >= 0:
            a = motion_to_body(m, w.X, i, get6(w.p, m.parent[i]))
        for k in range(m.dof[i], m.dof[i + 1]):
            x = w.u[k] - dot6(get6(w.W, k), a)
            out[m.v_index[k]] = x
            a = add6(a, freedom(m, k, x))
        put6(w.p, i, a)


@loop_kernel
def newton_motion(m: Mechanism, w: NewtonWork, step: Rows) -> Scalar:
    """The largest angle by which a body turns, or a joint slides, when joints move by `step` (nv,)."""
    most = 0.0
    for i in range(len(m.parent)):
        a = ZERO6
        if m.parent[i] >= 0:
            a = motion_to_body(m, w.X, i, get6(w.p, m.parent[i]))
        for k in range(m.dof[i], m.dof[i + 1]):
            x = step[m.v_index[k]]
            a = add6(a, freedom(m, k, x))
            if m.axis[k] > 2:
                most = max(most, abs(x))
        put6(w.p, i, a)
        most = max(most, np.sqrt(dot3((a[0], a[1], a[2]), (a[0], a[1], a[2]))))
    return most
