"""Potentials of single joints: their force -V' in the joint's torque, and h V'' where a rotor's inertia is.

A step moves q by h qdd. With the force at its end, -V'(q + h qdd) = -V' - h V'' qdd, the accelerations are those of
(M + h V'') qdd = tau - V': stable however stiff V is. Where V is concave, V'' is left out.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from bough.compile.kernel import loop_kernel
from bough.compile.scalar import sincos
from bough.joints import Mechanism, difference_joint
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

# Kinds of terms, and what their four values are
HARMONIC = 0  # stiffness, rest: k/2 (x - x0)^2
COSINE = 1  # amplitude, multiplicity, phase: A (1 + cos(n x - phase))
BARRIER = 2  # lower, upper, strength, gap: -strength log of the distances to both, parabolas within the gap
GIVEN = 3  # slope, curvature, energy, x where a function found them


class Springs(NamedTuple):
    """Terms of potentials, by degree of freedom, and what they add to: n freedoms, T terms."""

    begin: IntArray  # (n,) first term of a freedom
    end: IntArray  # (n,)
    kind: IntArray  # (T,)
    value: FloatArray  # (T, 4)
    given: FloatArray  # (n,) torques that the user set
    rotor: FloatArray  # (n,) armature of the model, and damping times half the step's dt
    tau: FloatArray  # (n,) torques in all
    armature: FloatArray  # (n,) rotor + h V''
    neutral: FloatArray  # (nq,)
    x: FloatArray  # (nv,) where joints are: the tangent vector from neutral
    h: FloatArray  # (1,) of a step


@cache
def no_springs() -> Springs:
    """Of no joint."""
    ints, none = np.zeros(0, np.int64), np.zeros(0)
    return Springs(ints, ints, ints, np.zeros((0, 4)), none, none, none, none, none, none, none)


@loop_kernel
def _barrier(gap: Scalar, strength: Scalar, s: Scalar) -> Vector:
    """(V, dV/ds, V'') of -strength log(s / gap), continued below s = gap by the parabola that touches it."""
    if s >= gap:
        return -strength * np.log(s / gap), -strength / s, strength / (s * s)
    k = strength / (gap * gap)
    d = gap - s
    return k * d * gap + 0.5 * k * d * d, -k * (gap + d), k


@loop_kernel
def term(p: Springs, t: int, x: Scalar) -> Vector:
    """(V, V', V'') of one term at x."""
    kind = p.kind[t]
    if kind == HARMONIC:
        k, d = p.value[t, 0], x - p.value[t, 1]
        return 0.5 * k * d * d, k * d, k
    if kind == COSINE:
        A, n = p.value[t, 0], p.value[t, 1]
        s, c = sincos(n * x - p.value[t, 2])
        return A * (1.0 + c), -A * n * s, -A * n * n * c
    if kind == BARRIER:
        a = _barrier(p.value[t, 3], p.value[t, 2], x - p.value[t, 0])
        b = _barrier(p.value[t, 3], p.value[t, 2], p.value[t, 1] - x)
        return a[0] + b[0], a[1] - b[1], a[2] + b[2]
    return p.value[t, 2], p.value[t, 0], p.value[t, 1]


@loop_kernel
def spring(m: Mechanism, p: Springs, q: Rows, i: int) -> None:
    """Torques and armatures of joint i, where there is a potential."""
    k0, k1 = m.dof[i], m.dof[i + 1]
    if k0 < k1 and p.begin[k0] < p.end[k1 - 1]:
        difference_joint(m, i, p.neutral, q, p.x)
        for k in range(k0, k1):
            slope, curvature = 0.0, 0.0
            for t in range(p.begin[k], p.end[k]):
                v = term(p, t, p.x[m.v_index[k]])
                slope += v[1]
                curvature += v[2]
            p.tau[k] = p.given[k] - slope
            p.armature[k] = p.rotor[k] + p.h[0] * max(curvature, 0.0)


@loop_kernel
def spring_all(m: Mechanism, p: Springs, q: Rows) -> None:
    """Torques and armatures of all joints with a potential."""
    for i in range(len(m.parent)):
        spring(m, p, q, i)


@loop_kernel
def spring_some(m: Mechanism, p: Springs, q: Rows, joints: Rows) -> None:
    """The same of some joints."""
    for k in range(len(joints)):
        spring(m, p, q, joints[k])


@loop_kernel
def spring_energy(m: Mechanism, p: Springs, q: Rows) -> Scalar:
    """The sum of all potentials."""
    total = 0.0
    for i in range(len(m.parent)):
        k0, k1 = m.dof[i], m.dof[i + 1]
        if k0 < k1 and p.begin[k0] < p.end[k1 - 1]:
            difference_joint(m, i, p.neutral, q, p.x)
            for k in range(k0, k1):
                for t in range(p.begin[k], p.end[k]):
                    total += term(p, t, p.x[m.v_index[k]])[0]
    return total
