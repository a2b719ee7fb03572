"""Small changes of a mechanism on the LTDL factor of H, along one path each: O(d^2) in place of a new factorization.

Locked joints, payloads and compliant contacts add s v v' to H with v on one path (Gill, Golub, Murray & Saunders 1974).
Factors are immutable: to undo a change, go back to the factor before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.model import Model
from bough.sparsity.factor import Factor

# A lock is an armature so large that the joint's acceleration is zero to this accuracy.
LOCK = 1e12


def lock_joint(factor: Factor, model: Model, joint: str) -> Factor:
    """The factor with a joint held: its accelerations are zero to about 1e-12 of what they would be."""
    v = model.joint(joint).v
    for k in range(v.start, v.stop):
        unit = np.zeros(model.nv)
        unit[k] = 1.0
        factor = factor.update(unit, LOCK * float(factor.hmul(unit)[k]))
    return factor


def add_payload(factor: Factor, J: npt.ArrayLike, inertia: npt.ArrayLike) -> Factor:
    """The factor with a rigid body of 6x6 `inertia` welded where J (6, nv) is the Jacobian, in the same coordinates.

    `inertia` may be any positive semidefinite (k, k) matrix, J (k, nv) on one path: a stiffness times dt^2 makes it a
    compliant contact.
    """
    values, vectors = np.linalg.eigh(np.asarray(inertia, float))
    rows: Any = vectors.T @ np.asarray(J, float)
    for value, row in zip(values, rows, strict=True):
        if value > 0.0:
            factor = factor.update(row, float(value))
    return factor
