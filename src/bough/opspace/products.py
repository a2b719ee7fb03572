"""How Jbar, N and joint forces follow from what is known of a state: by dense products, or by the packed factor."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.errors import ShapeError
from bough.types import RealArray

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace
    from bough.opspace.state import OperationalState


class ByMatrices:
    """Dense products of J and H^-1 J', which come from one call: best on small models, and all that mimics allow."""

    def jbar(self, op: OperationalState) -> RealArray:
        return op.weighted.weighted @ op.inertia

    def nullspace(self, op: OperationalState) -> RealArray:
        return identity(op.jbar.shape[-2], op.q.dtype) - op.jbar @ op.weighted.J

    def joint_forces(self, op: OperationalState, F: RealArray, tau0: RealArray) -> RealArray:
        """tau0 + J' (F - Lambda (H^-1 J')' tau0)."""
        moved = apply(np.swapaxes(op.weighted.weighted, -1, -2), tau0)
        return tau0 + apply(np.swapaxes(op.weighted.J, -1, -2), F - apply(op.inertia, moved))


class ByFactor:
    """Sparse products on packed J and the packed LTDL factor of H (Featherstone 2010, eqs. 9, 10 and 33)."""

    def __init__(self, space: OperationalSpace) -> None:
        self.space = space

    def jbar(self, op: OperationalState) -> RealArray:
        known = op.factored
        return self.space.function("jbar").call(known.L, known.YD, op.inertia)

    def nullspace(self, op: OperationalState) -> RealArray:
        return self.space.function("nullspace").call(op.factored.J, op.jbar)

    def joint_forces(self, op: OperationalState, F: RealArray, tau0: RealArray) -> RealArray:
        known = op.factored
        return self.space.function("joint_forces").call(known.J, known.L, op.inertia, F, tau0)


@cache
def identity(n: int, dtype: np.dtype[Any]) -> RealArray:
    """(n, n), not to be changed."""
    return np.eye(n, dtype=dtype)


def apply(A: RealArray, x: RealArray) -> RealArray:
    """A x for a matrix and a vector, or for batches of both."""
    if x.shape[-1:] != A.shape[-1:]:
        raise ShapeError(f"expected a vector of {A.shape[-1]} numbers, or rows of them, got shape {x.shape}")
    return (A @ x[..., None])[..., 0]
