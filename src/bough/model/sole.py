"""`Sole`: the part of a frame that touches the ground. Controllers put forces on it, simulations contact points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bough.errors import ModelError

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Sole:
    """A rectangle in the xy plane of a frame, `size` (length along x, width along y) about `point`; or that point.

    The frame's z axis points away from the ground.
    """

    frame: str
    size: tuple[float, float] | None = None
    point: Point = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        where = f"contact {self.frame!r}"
        if self.size is not None and not (_are_numbers(self.size, 2) and min(self.size) >= 0.0):
            raise ModelError(f"{where}: size is (length, width) of its rectangle, not negative, got {self.size!r}")
        if not _are_numbers(self.point, 3):
            raise ModelError(f"{where}: a point has three finite coordinates in its frame, got {self.point!r}")

    @property
    def corners(self) -> tuple[Point, ...]:
        """The four corners in the frame, or the one point."""
        x, y, z = map(float, self.point)
        if self.size is None:
            return ((x, y, z),)
        length, width = self.size
        return tuple((x + a * length / 2, y + b * width / 2, z) for a, b in product((-1, 1), repeat=2))


def _are_numbers(values: Any, count: int) -> bool:
    """Whether these are so many finite real numbers."""
    try:
        numbers = np.asarray(values)
    except ValueError:  # ragged
        return False
    return numbers.shape == (count,) and numbers.dtype.kind in "fiu" and bool(np.isfinite(numbers).all())
