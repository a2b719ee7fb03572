"""Fixman's potential kT/2 log det H and its gradient in O(n) (Fixman 1974; Jain 1997).

Rigid groups have the density sqrt(det H) exp(-U/kT) in torsion space; flexible molecules, whose bonds and angles are
stiff springs, have exp(-U/kT). Fixman's potential makes up for it. With spatial vectors at the world's origin, s_j the
axis of joint j, p its parent, Ia_j what is left of the articulated inertia of its subtree when the joint gives way, and
Omega_p = J_p H^-1 J_p',

    d log det H / dq_j = -2 tr(s_j x  Omega_p  Ia_j):

moving joint j is, for its subtree, the opposite motion of all that carries it. Omega follows from the roots outward:

    Omega_j = (1 - s_j W_j') Omega_p (1 - W_j s_j') + s_j s_j' / D_j,   U_j = IA_j s_j, D_j = s_j' U_j, W_j = U_j / D_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bough.adaptive.compiled import compiled
from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.dynamics.kinematics import place_body
from bough.errors import ModelError
from bough.joints import Mechanism, freedom, joint_motion
from bough.model import Model
from bough.spatial import add3, cross, get9, get10, get_tail, rotate
from bough.types import FloatArray, Rows, Scalar


class FixmanWork(NamedTuple):
    """Scratch of the sweep; 6 x 6 matrices row by row, angular first."""

    X: FloatArray  # (bodies, 12)
    P: FloatArray  # (bodies, 12) placements in the world
    IA: FloatArray  # (bodies, 6, 6) articulated inertias at the world's origin, then Ia
    s: FloatArray  # (dofs, 6) axes there
    W: FloatArray  # (dofs, 6)
    D: FloatArray  # (dofs,)
    Omega: FloatArray  # (bodies, 6, 6)
    M: FloatArray  # (2, 6, 6)


@explained
class LogDeterminant:
    """log det H of a model and its gradient: q (nq,) -> (value, (nv,)).

    Joints of several degrees of freedom must hang on the world, as those of molecules do: H does not change with them.
    """

    def __init__(self, model: Model) -> None:
        m = model.mechanism
        wide = np.diff(m.dof) > 1
        if model.couplings or (wide & (m.parent >= 0)).any() or m.armature.any():
            raise ModelError(
                "log det H: expected one degree of freedom a joint, but for roots; no mimic joints or rotors"
            )
        n, k = len(m.parent), len(m.axis)
        self.model = model
        self._work = FixmanWork(
            np.zeros((n, 12)), np.zeros((n, 12)), np.zeros((n, 6, 6)), np.zeros((k, 6)), np.zeros((k, 6)), np.zeros(k),
            np.zeros((n, 6, 6)), np.zeros((2, 6, 6)),
        )  # fmt: skip

    def __call__(self, q: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros(self.model.nv)
        value = compiled(log_determinant)(self.model.mechanism, np.ascontiguousarray(q), gradient, self._work)
        return float(value), gradient


@loop_kernel
def log_determinant(m: Mechanism, q: Rows, gradient: Rows, w: FixmanWork) -> Scalar:
    """log det H, and its gradient (nv,)."""
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        world_inertia(m, i, w)
        for k in range(m.dof[i], m.dof[i + 1]):
            world_axis(m, i, k, w)
    value = 0.0
    for i in range(len(m.parent) - 1, -1, -1):
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            value += math.log(give_way(i, k, w))
        p = m.parent[i]
        if p >= 0:
            for a in range(6):
                for b in range(6):
                    w.IA[p, a, b] += w.IA[i, a, b]
    for i in range(len(m.parent)):
        p = m.parent[i]
        for a in range(6):
            for b in range(6):
                w.Omega[i, a, b] = w.Omega[p, a, b] if p >= 0 else 0.0
        for k in range(m.dof[i], m.dof[i + 1]):
            gradient[m.v_index[k]] = slope(i, k, w) if p >= 0 else 0.0
            carry(i, k, w)
    return value


@loop_kernel
def world_inertia(m: Mechanism, i: int, w: FixmanWork) -> None:
    """IA of body i alone, at the world's origin: [[J + m (c.c 1 - c c'), m c x], [-m c x, m 1]]."""
    I, R, p = get10(m.inertia, i), get9(w.P, i), get_tail(w.P, i)
    mass, h = I[9], rotate(R, (I[6], I[7], I[8]))
    # moments in the world's axes about the body's origin, by columns
    a, b, c = rotate(R, (I[0], I[3], I[4])), rotate(R, (I[3], I[1], I[5])), rotate(R, (I[4], I[5], I[2]))
    x = rotate(R, (a[0], b[0], c[0]))
    y = rotate(R, (a[1], b[1], c[1]))
    z = rotate(R, (a[2], b[2], c[2]))
    J = (x, y, z)
    H = (h[0] + mass * p[0], h[1] + mass * p[1], h[2] + mass * p[2])
    # about the world's origin: J + (2 h.p + m p.p) 1 - h p' - p h' - m p p'
    trace = 2.0 * (h[0] * p[0] + h[1] * p[1] + h[2] * p[2]) + mass * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    w.IA[i] = 0.0
    for r in range(3):
        w.IA[i, 3 + r, 3 + r] = mass
        w.IA[i, r, r] = trace
    put_moments(w, i, J, h, p, mass)
    w.IA[i, 0, 4], w.IA[i, 0, 5], w.IA[i, 1, 5] = -H[2], H[1], -H[0]
    w.IA[i, 1, 3], w.IA[i, 2, 3], w.IA[i, 2, 4] = H[2], -H[1], H[0]
    for r in range(3):
        for s in range(3):
            w.IA[i, 3 + s, r] = w.IA[i, r, 3 + s]


@loop_kernel
def put_moments(
    w: FixmanWork,
    i: int,
    J: tuple[tuple[Scalar, Scalar, Scalar], tuple[Scalar, Scalar, Scalar], tuple[Scalar, Scalar, Scalar]],
    h: tuple[Scalar, Scalar, Scalar],
    p: tuple[Scalar, Scalar, Scalar],
    mass: Scalar,
) -> None:
    """Add J - h p' - p h' - m p p' to the moments of body i."""
    x, y, z = J
    w.IA[i, 0, 0] += x[0] - 2.0 * h[0] * p[0] - mass * p[0] * p[0]
    w.IA[i, 1, 1] += y[1] - 2.0 * h[1] * p[1] - mass * p[1] * p[1]
    w.IA[i, 2, 2] += z[2] - 2.0 * h[2] * p[2] - mass * p[2] * p[2]
    xy = x[1] - h[0] * p[1] - p[0] * h[1] - mass * p[0] * p[1]
    xz = x[2] - h[0] * p[2] - p[0] * h[2] - mass * p[0] * p[2]
    yz = y[2] - h[1] * p[2] - p[1] * h[2] - mass * p[1] * p[2]
    w.IA[i, 0, 1], w.IA[i, 1, 0] = xy, xy
    w.IA[i, 0, 2], w.IA[i, 2, 0] = xz, xz
    w.IA[i, 1, 2], w.IA[i, 2, 1] = yz, yz


@loop_kernel
def world_axis(m: Mechanism, i: int, k: int, w: FixmanWork) -> None:
    """s_k at the world's origin."""
    own = freedom(m, k, 1.0)
    R, p = get9(w.P, i), get_tail(w.P, i)
    turn = rotate(R, (own[0], own[1], own[2]))
    slide = add3(rotate(R, (own[3], own[4], own[5])), cross(p, turn))
    w.s[k, 0], w.s[k, 1], w.s[k, 2] = turn[0], turn[1], turn[2]
    w.s[k, 3], w.s[k, 4], w.s[k, 5] = slide[0], slide[1], slide[2]


@loop_kernel
def give_way(i: int, k: int, w: FixmanWork) -> Scalar:
    """Take degree of freedom k out of IA of body i; returns D."""
    for a in range(6):
        total = 0.0
        for b in range(6):
            total += w.IA[i, a, b] * w.s[k, b]
        w.W[k, a] = total
    D = 0.0
    for a in range(6):
        D += w.s[k, a] * w.W[k, a]
    w.D[k] = D
    for a in range(6):
        for b in range(6):
            w.IA[i, a, b] -= w.W[k, a] * w.W[k, b] / D
    for a in range(6):
        w.W[k, a] = w.W[k, a] / D
    return D


@loop_kernel
def slope(i: int, k: int, w: FixmanWork) -> Scalar:
    """-2 tr(s x Omega_p Ia), where Omega of body i still is that of its parent."""
    for a in range(6):
        for b in range(6):
            total = 0.0
            for c in range(6):
                total += w.Omega[i, a, c] * w.IA[i, c, b]
            w.M[0, a, b] = total
    x, y, z, u, v, t = w.s[k, 0], w.s[k, 1], w.s[k, 2], w.s[k, 3], w.s[k, 4], w.s[k, 5]
    # rows of s x: [w x, 0], [v x, w x]
    return -2.0 * (
        z * (w.M[0, 0, 1] - w.M[0, 1, 0]) + y * (w.M[0, 2, 0] - w.M[0, 0, 2]) + x * (w.M[0, 1, 2] - w.M[0, 2, 1])
        + z * (w.M[0, 3, 4] - w.M[0, 4, 3]) + y * (w.M[0, 5, 3] - w.M[0, 3, 5]) + x * (w.M[0, 4, 5] - w.M[0, 5, 4])
        + t * (w.M[0, 0, 4] - w.M[0, 1, 3]) + v * (w.M[0, 2, 3] - w.M[0, 0, 5]) + u * (w.M[0, 1, 5] - w.M[0, 2, 4])
    )  # fmt: skip


@loop_kernel
def carry(i: int, k: int, w: FixmanWork) -> None:
    """Omega of body i beyond degree of freedom k: (1 - s W') Omega (1 - W s') + s s' / D."""
    for a in range(6):
        total = 0.0
        for b in range(6):
            total += w.Omega[i, a, b] * w.W[k, b]
        w.M[1, 0, a] = total
    inner = 1.0 / w.D[k]
    for a in range(6):
        inner += w.W[k, a] * w.M[1, 0, a]
    for a in range(6):
        for b in range(6):
            w.Omega[i, a, b] += inner * w.s[k, a] * w.s[k, b] - w.s[k, a] * w.M[1, 0, b] - w.M[1, 0, a] * w.s[k, b]
