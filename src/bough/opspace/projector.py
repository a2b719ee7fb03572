"""Rows eliminated from a linear system: what they leave of velocities, and the forces and moves that keep them.

With X = M^-1 J' and P the pseudo-inverse of J X = Lambda^-1, rows that are at rest leave v - X P J v of a velocity,
and the least move (in the metric of M) that undoes a gap is -X P gap. Redundant rows share what one of them would do.
The dense elimination behind `Loops.onto`, the steps of `bough.simulate` and derivatives of constrained dynamics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.types import FloatArray

SMALLEST = 1e-10  # eigenvalues of Lambda^-1 below this part of the largest belong to redundant rows


class RowProjector(NamedTuple):
    """Rows J (..., k, nv) on a system with the matrix M."""

    J: FloatArray
    X: FloatArray  # (..., nv, k) M^-1 J'
    P: FloatArray  # (..., k, k) pseudo-inverse of J X
    is_redundant: bool  # whether any rows are

    @classmethod
    def of(cls, J: FloatArray, X: FloatArray) -> RowProjector:
        """From J and M^-1 J'."""
        values, vectors = np.linalg.eigh(J @ X)
        seen = values > SMALLEST * values.max(axis=-1, keepdims=True, initial=0.0)
        inverse = np.where(seen, 1.0 / np.where(seen, values, 1.0), 0.0)
        P: Any = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return cls(J, X, P, not seen.all())

    def project(self, columns: FloatArray) -> FloatArray:
        """Columns (..., nv, c) without what moves the rows."""
        return columns - self.X @ (self.P @ (self.J @ columns))

    def closing(self, gap: FloatArray) -> FloatArray:
        """The least move (..., nv) that undoes a gap (..., k)."""
        return -(self.X @ (self.P @ gap[..., None]))[..., 0]
