"""Error measures (Redon & Lin 2005, section 4; the relative joint rule corrected so that its bound holds).

A culled cluster C leaves joint accelerations out whose weighted squares sum to A(C). Over the clusters left closed:
linkage measures bound the square root of their sum, joint measures that of the largest; relative ones divide by the
norm of all joint accelerations, or by the largest one computed so far, which is a lower bound of the largest of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from bough.adaptive.passes import ABSOLUTE_JOINT, ABSOLUTE_LINKAGE, RELATIVE_JOINT, RELATIVE_LINKAGE


@dataclass(frozen=True)
class ErrorMeasure:
    """A stopping rule and the error it allows; 0 is exact."""

    rule: int
    eps: float
    name: str

    def __post_init__(self) -> None:
        eps: Any = self.eps
        if not (isinstance(eps, (int, float)) and math.isfinite(eps) and eps >= 0.0):
            raise ValueError(f"{self.name}: eps must be a finite number that is not negative, got {self.eps!r}")

    @property
    def is_relative(self) -> bool:
        return self.rule in (RELATIVE_LINKAGE, RELATIVE_JOINT)

    def clamped(self, floor: float) -> ErrorMeasure:
        """The same measure with eps at least `floor`."""
        return replace(self, eps=max(self.eps, floor))


def absolute_linkage(eps: float) -> ErrorMeasure:
    """Norm of the error of all joint accelerations at most eps."""
    return ErrorMeasure(ABSOLUTE_LINKAGE, eps, "absolute_linkage")


def relative_linkage(eps: float) -> ErrorMeasure:
    """That norm at most eps times the norm of all joint accelerations."""
    return ErrorMeasure(RELATIVE_LINKAGE, eps, "relative_linkage")


def absolute_joint(eps: float) -> ErrorMeasure:
    """Error of each joint acceleration at most eps."""
    return ErrorMeasure(ABSOLUTE_JOINT, eps, "absolute_joint")


def relative_joint(eps: float) -> ErrorMeasure:
    """Error of each joint acceleration at most eps times the largest joint acceleration."""
    return ErrorMeasure(RELATIVE_JOINT, eps, "relative_joint")
