"""Small changes of a mechanism on the LTDL factor of H, along one path each: O(d^2) in place of a new factorization.

Locked joints, payloads and compliant contacts add s v v' to H, or take it away, with v on one path (Gill, Golub, Murray
& Saunders 1974). Factors are immutable: each change gives a new one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import FactorizationError
from bough.model import Model
from bough.sparsity.factor import Factor

# The pivot of a locked degree of freedom: it stands for infinity, and accelerations divided by it are zero.
LOCKED = 1e300


def lock_joint(factor: Factor, model: Model, joint: str) -> Factor:
    """The factor with a joint held: solutions of H x = b have x = 0 there and satisfy all other rows.

    What the elimination of the joint took from its ancestors is given back: D_k l l' along the path.
    """
    for k in _dofs(model, joint)[::-1]:
        row, pivot = _row(factor, k)
        if pivot >= LOCKED:
            raise FactorizationError(f"joint {joint!r} is locked already")
        factor = _with_row(factor.update(row, pivot), k, np.zeros_like(row), LOCKED)
    return factor


def unlock_joint(locked: Factor, original: Factor, model: Model, joint: str) -> Factor:
    """The factor with a joint free again; `original` is one from before the lock, with the same subtree below it."""
    for k in _dofs(model, joint):
        row, pivot = _row(original, k)
        if _row(locked, k)[1] < LOCKED:
            raise FactorizationError(f"joint {joint!r} is not locked")
        locked = _with_row(locked, k, row, pivot).update(row, -pivot)
    return locked


def add_payload(factor: Factor, J: npt.ArrayLike, inertia: npt.ArrayLike) -> Factor:
    """The factor with a rigid body of 6x6 `inertia` welded where J (6, nv) is the Jacobian, in the same coordinates.

    `inertia` may be any positive semidefinite (k, k) matrix with J (k, nv) on one path: a contact's stiffness times
    dt^2 makes it compliant.
    """
    values, vectors = np.linalg.eigh(np.asarray(inertia, float))
    rows: Any = vectors.T @ np.asarray(J, float)
    for value, row in zip(values, rows, strict=True):
        if value > 0.0:
            factor = factor.update(row, float(value))
    return factor


def _dofs(model: Model, joint: str) -> list[int]:
    """The joint's degrees of freedom, root first."""
    v = model.joint(joint).v
    return sorted(range(v.start, v.stop), key=lambda k: int(model.dof_tree.rank[k]))


def _row(factor: Factor, k: int) -> tuple[npt.NDArray[Any], float]:
    """Row k of L left of the diagonal, as a full vector, and the pivot."""
    tree, rank = factor.tree, factor.tree.rank[k]
    first, last = tree.rows[rank], tree.rows[rank + 1] - 1
    row = np.zeros(tree.n)
    row[tree.order[tree.ancestors[first:last]]] = factor.packed[first:last]
    return row, float(factor.packed[last])


def _with_row(factor: Factor, k: int, row: npt.NDArray[Any], pivot: float) -> Factor:
    tree, rank, packed = factor.tree, factor.tree.rank[k], factor.packed.copy()
    first, last = tree.rows[rank], tree.rows[rank + 1] - 1
    packed[first:last] = row[tree.order[tree.ancestors[first:last]]]
    packed[last] = pivot
    return replace(factor, packed=packed)
