"""Lambda from Lambda^-1, by a choice for tasks that are singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bough.errors import NumericalError
from bough.opspace.quantities import PRECISIONS
from bough.opspace.singular import Singular, refuse_singular, truncated_inverse
from bough.opspace.taskset import TaskSet
from bough.types import RealArray


class Inversion:
    """Lambda of tasks whose rows have a usual `mobility` (m,); `limits` are the threshold and the damping.

    `invert` is compiled; what it finds doubtful is looked at by numpy.
    """

    def __init__(
        self,
        tasks: TaskSet,
        invert: Callable[..., tuple[RealArray, RealArray]],
        mobility: RealArray,
        singular: Singular,
        limits: tuple[float, float],
    ) -> None:
        self.tasks, self.mobility, self.singular, self.threshold = tasks, mobility, singular, limits[0]
        self._invert, self._largest_strain = invert, 1.0 / (tasks.size * limits[0] ** 2)
        self._damping = {t: np.array([limits[1] if singular == "damp" else 0.0], t) for t in PRECISIONS}
        self._scale = {t: mobility.astype(t) for t in PRECISIONS}

    def __call__(self, Lam_inv: RealArray) -> RealArray:
        """Lambda (m, m), or one for each row of a batch."""
        if self.singular == "truncate":
            return truncated_inverse(Lam_inv, self.threshold, self.mobility)
        try:
            Lam, strain = self._invert(Lam_inv, self._damping[Lam_inv.dtype], self._scale[Lam_inv.dtype])
        except NumericalError:
            return self._examine(Lam_inv)
        worst = strain.item() if strain.ndim == 1 else strain.max(initial=0.0)
        return Lam if worst < self._largest_strain else self._examine(Lam_inv)

    def _examine(self, Lam_inv: RealArray) -> RealArray:
        """Lambda of matrices that a quick inversion finds doubtful; a singular one is refused."""
        damped = Lam_inv + self._damping[Lam_inv.dtype] * np.eye(self.tasks.size, dtype=Lam_inv.dtype)
        if self.singular != "damp":
            refuse_singular(self.tasks, damped, self.threshold, self.mobility)
        return np.linalg.inv(damped)
