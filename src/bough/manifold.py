"""Configurations as points of a manifold: neutral and random ones, and the difference of two, in batches.

Floating joints move on SE(3), planar ones on SE(2), spherical ones on SO(3), as in Pinocchio; all others are vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.joints import BALL, FREE, PLANAR, Mechanism

FloatArray = npt.NDArray[np.float64]


def neutral(m: Mechanism, nq: int) -> FloatArray:
    q = np.zeros(nq)
    q[m.q_index[m.kind == BALL] + 3] = 1.0
    q[m.q_index[m.kind == FREE] + 6] = 1.0
    return q


def random(m: Mechanism, lower: FloatArray, upper: FloatArray, rng: np.random.Generator, shape: Any) -> FloatArray:
    q = np.empty(shape)
    q[:] = neutral(m, shape[1])
    first = np.asarray(m.dof[:-1])
    one = np.flatnonzero(m.kind <= 1)
    v = m.v_index[first[one]]
    low, high = lower[v], upper[v]
    reach = np.where(m.kind[one] == 0, np.pi, 1.0)
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -reach), np.where(bounded, high, reach)
    q[:, m.q_index[one]] = rng.uniform(low, high, (shape[0], len(one)))
    for i in np.flatnonzero(m.kind > 1):
        k, kind = int(m.q_index[i]), int(m.kind[i])
        if kind == PLANAR:
            q[:, k : k + 3] = rng.uniform([-1, -1, -np.pi], [1, 1, np.pi], (shape[0], 3))
        elif kind == BALL:
            q[:, k : k + 4] = _unit(rng.normal(size=(shape[0], 4)))
        else:
            q[:, k : k + 3] = rng.uniform(-1, 1, (shape[0], 3))
            q[:, k + 3 : k + 7] = _unit(rng.normal(size=(shape[0], 4)))
    return q


def difference(m: Mechanism, q0: FloatArray, q1: FloatArray, nv: int) -> FloatArray:
    out = np.zeros((*np.broadcast_shapes(q0.shape[:-1], q1.shape[:-1]), nv))
    one = np.flatnonzero(m.kind <= 1)
    k = m.q_index[one]
    out[..., m.v_index[np.asarray(m.dof)[one]]] = q1[..., k] - q0[..., k]
    for i in np.flatnonzero(m.kind > 1):
        k, v = int(m.q_index[i]), m.v_index[m.dof[i] : m.dof[i + 1]]
        if m.kind[i] == PLANAR:
            out[..., v] = _planar_log(q0[..., k : k + 3], q1[..., k : k + 3])
        elif m.kind[i] == BALL:
            back = quaternion_product(_inverse(_unit(q0[..., k : k + 4])), _unit(q1[..., k : k + 4]))
            out[..., v] = quaternion_log(back)
        else:
            turn = _inverse(_unit(q0[..., k + 3 : k + 7]))
            w = quaternion_log(quaternion_product(turn, _unit(q1[..., k + 3 : k + 7])))
            step = quaternion_rotate(turn, q1[..., k : k + 3] - q0[..., k : k + 3])
            out[..., v[3:]], out[..., v[:3]] = w, _screw_log(w, step)
    return out


# Quaternions x y z w, batches in front


def _unit(q: FloatArray) -> FloatArray:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _inverse(q: FloatArray) -> FloatArray:
    return q * np.array([-1.0, -1.0, -1.0, 1.0])


def quaternion_product(a: FloatArray, b: FloatArray) -> FloatArray:
    v = a[..., 3:] * b[..., :3] + b[..., 3:] * a[..., :3] + np.cross(a[..., :3], b[..., :3])
    w = a[..., 3] * b[..., 3] - (a[..., :3] * b[..., :3]).sum(-1)
    return np.concatenate([v, w[..., None]], axis=-1)


def quaternion_rotate(q: FloatArray, x: FloatArray) -> FloatArray:
    t = 2.0 * np.cross(q[..., :3], x)
    return x + q[..., 3:] * t + np.cross(q[..., :3], t)


def quaternion_log(q: FloatArray) -> FloatArray:
    """The shortest rotation vector of a unit quaternion."""
    q = np.where(q[..., 3:] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    return q[..., :3] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 2.0)


def _screw_factors(angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 - cos t) / t^2 and (t - sin t) / t^3, by series near zero."""
    small = angle < 1e-3
    t = np.where(small, 1.0, angle)
    t2 = angle * angle
    b = np.where(small, 0.5 - t2 / 24 + t2 * t2 / 720, (1 - np.cos(t)) / t**2)
    c = np.where(small, 1 / 6 - t2 / 120 + t2 * t2 / 5040, (t - np.sin(t)) / t**3)
    return b, c


def _screw_log(w: FloatArray, p: FloatArray) -> FloatArray:
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    b, c = _screw_factors(angle)
    a = 1.0 - angle * angle * c  # sin t / t
    # coefficient of w x (w x p) in the inverse of 1 + b [w] + c [w]^2
    small = angle < 1e-3
    safe = np.where(small, 1.0, angle * angle)
    k = np.where(small, 1 / 12 + angle * angle / 720, (1.0 - a / (2.0 * b)) / safe)
    wp = np.cross(w, p)
    return p - 0.5 * wp + k * np.cross(w, wp)


def _planar_log(q0: FloatArray, q1: FloatArray) -> FloatArray:
    d = q1 - q0
    c, s = np.cos(q0[..., 2]), np.sin(q0[..., 2])
    zero = np.zeros_like(d[..., :1])
    p = np.stack([c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0]], axis=-1)
    w = np.concatenate([zero, zero, d[..., 2:]], -1)
    l = _screw_log(w, np.concatenate([p, zero], -1))
    return np.concatenate([l[..., :2], d[..., 2:]], axis=-1)
