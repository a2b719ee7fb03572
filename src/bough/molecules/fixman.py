"""Velocities of a temperature, and Fixman's potential kT/2 log det H with its gradient, both in O(n).

The articulated-body sweep factors H^-1 = A' D^-1 A (Rodriguez, Jain & Kreutz-Delgado 1991), so A' D^-1/2 e has the
covariance H^-1 where e are independent normal numbers. The product of all D is the determinant of H.

Rigid groups have the density sqrt(det H) exp(-U/kT) in torsion space; flexible molecules, whose bonds and angles are
stiff springs, have exp(-U/kT). Fixman's potential (Fixman 1974; Jain 1997) makes up for it. With spatial vectors at the
first body's origin along the world's axes, s_j the axis of joint j, p its parent, Ia_j what is left of the articulated
inertia of its subtree when the joint gives way, and Omega_p = J_p H^-1 J_p',

    d log det H / dq_j = -2 tr(s_j x  Omega_p  Ia_j):

moving joint j is, for its subtree, the opposite motion of all that carries it. Omega follows from the roots outward:

    Omega_j = (1 - s_j W_j') Omega_p (1 - W_j s_j') + s_j s_j' / D_j,   U_j = IA_j s_j, D_j = s_j' U_j, W_j = U_j / D_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.dynamics.kinematics import place_body
from bough.errors import ModelError
from bough.joints import Mechanism, freedom, joint_motion
from bough.model import Model
from bough.spatial import (
    add6,
    articulated,
    articulated_add,
    articulated_column,
    articulated_downdate,
    articulated_times,
    cross_motion,
    dot6,
    get6,
    get9,
    get10,
    get21,
    get_tail,
    motion_in,
    outer,
    put6,
    put10,
    put21,
    rigid_in,
    scale6,
    sub3,
    sub6,
)
from bough.types import ArticulatedInertia, FloatArray, Motion, Rows, Scalar


class Sweep(NamedTuple):
    """Scratch of the sweeps; symmetric matrices are packed as articulated inertias."""

    X: FloatArray  # (bodies, 12)
    P: FloatArray  # (bodies, 12) placements in the world
    I: FloatArray  # (bodies, 10)
    IA: FloatArray  # (bodies, 21) articulated inertias, then Ia
    s: FloatArray  # (dofs, 6) axes
    W: FloatArray  # (dofs, 6)
    D: FloatArray  # (dofs,)
    Omega: FloatArray  # (bodies, 21)
    v: FloatArray  # (bodies, 6) velocities


def sweep_work(model: Model) -> Sweep:
    """Scratch for a model."""
    n, k = len(model.mechanism.parent), len(model.mechanism.axis)
    sizes = ((n, 12), (n, 12), (n, 10), (n, 21), (k, 6), (k, 6), (k,), (n, 21), (n, 6))
    return Sweep(*map(np.zeros, sizes))


@loop_kernel
def place_bodies(m: Mechanism, q: Rows, w: Sweep) -> None:
    """Place bodies, axes and inertias."""
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        R, p = get9(w.P, i), sub3(get_tail(w.P, i), get_tail(w.P, 0))
        put10(w.I, i, rigid_in(R, p, get10(m.inertia, i)))
        for k in range(m.dof[i], m.dof[i + 1]):
            put6(w.s, k, motion_in(R, p, freedom(m, k, 1.0)))


@loop_kernel
def eliminate_joints(m: Mechanism, w: Sweep) -> None:
    """W, D and Ia of all joints."""
    for i in range(len(m.parent)):
        put21(w.IA, i, articulated(get10(w.I, i), 0.0))
    for i in range(len(m.parent) - 1, -1, -1):
        IA, p = get21(w.IA, i), m.parent[i]
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            U = articulated_times(IA, get6(w.s, k))
            w.D[k] = dot6(U, get6(w.s, k))
            W = scale6(1.0 / w.D[k], U)
            IA = articulated_downdate(IA, W, U)
            put6(w.W, k, W)
        put21(w.IA, i, IA)
        if p >= 0:
            put21(w.IA, p, articulated_add(get21(w.IA, p), IA))


@loop_kernel
def draw_velocities(m: Mechanism, e: Rows, v: Rows, w: Sweep) -> None:
    """v (nv,) = H^-1/2 e."""
    for i in range(len(m.parent)):
        a = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if m.parent[i] >= 0:
            a = get6(w.v, m.parent[i])
        for k in range(m.dof[i], m.dof[i + 1]):
            j = m.v_index[k]
            v[j] = e[j] / math.sqrt(w.D[k]) - dot6(get6(w.W, k), a)
            a = add6(a, scale6(v[j], get6(w.s, k)))
        put6(w.v, i, a)


@loop_kernel
def thermal_velocities(m: Mechanism, q: Rows, e: Rows, v: Rows, w: Sweep) -> None:
    """v (nv,) = H(q)^-1/2 e."""
    place_bodies(m, q, w)
    eliminate_joints(m, w)
    draw_velocities(m, e, v, w)


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
        self.model, self._work = model, sweep_work(model)

    def __call__(self, q: FloatArray) -> tuple[float, FloatArray]:
        gradient = np.zeros(self.model.nv)
        value = compiled(log_determinant)(self.model.mechanism, np.ascontiguousarray(q), gradient, self._work)
        return float(value), gradient


@loop_kernel
def log_determinant(m: Mechanism, q: Rows, gradient: Rows, w: Sweep) -> Scalar:
    """log det H, and its gradient (nv,)."""
    place_bodies(m, q, w)
    eliminate_joints(m, w)
    value = 0.0
    for k in range(len(w.D)):
        value += math.log(w.D[k])
    for i in range(len(m.parent)):
        p = m.parent[i]
        put21(w.Omega, i, get21(w.Omega, max(p, 0)))
        if p < 0:
            w.Omega[i] = 0.0
        for k in range(m.dof[i], m.dof[i + 1]):
            Omega, s, W = get21(w.Omega, i), get6(w.s, k), get6(w.W, k)
            gradient[m.v_index[k]] = slope(Omega, get21(w.IA, i), s) if p >= 0 else 0.0
            # (1 - s W') Omega (1 - W s') + s s' / D = Omega + s y' + y s'
            moved = articulated_times(Omega, W)
            y = sub6(scale6(0.5 * (1.0 / w.D[k] + dot6(W, moved)), s), moved)
            put21(w.Omega, i, articulated_add(Omega, articulated_add(outer(s, y), outer(y, s))))
    return value


@loop_kernel
def slope(Omega: ArticulatedInertia, Ia: ArticulatedInertia, s: Motion) -> Scalar:
    """-2 tr(s x Omega Ia), with Omega of the parent."""
    trace = 0.0
    for axis in (0, 1, 2, 3, 4, 5):
        trace = trace + cross_motion(s, articulated_times(Omega, articulated_column(Ia, axis)))[axis]
    return -2.0 * trace
