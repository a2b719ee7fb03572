"""Configurations as points of a manifold: neutral and random ones, in batches.

Floating joints move on SE(3), planar ones on SE(2), spherical ones on SO(3), as in Pinocchio; all others are vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.joints.mechanism import BALL, FREE, PLANAR, Mechanism

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


# Quaternions x y z w, batches in front


def _unit(q: FloatArray) -> FloatArray:
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def quaternion_rotate(q: FloatArray, x: FloatArray) -> FloatArray:
    t = 2.0 * np.cross(q[..., :3], x)
    return x + q[..., 3:] * t + np.cross(q[..., :3], t)
