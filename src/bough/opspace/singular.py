"""Lambda from Lambda^-1, and singular task sets: directions that the mechanism cannot move, or hardly.

Directions are the eigenvectors of Lambda^-1 with rows scaled by their usual mobility. An eigenvalue e says how far a
unit force moves the mechanism along one, compared with what is usual; sqrt(e) is a singular value of the weighted
Jacobian with rows so scaled. Neither has a unit, whether rows are metres, radians or momenta.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from bough.compile.run.arrays import is_real
from bough.errors import NumericalError, OptionError, TaskError, some_of
from bough.opspace.arrays import PRECISIONS
from bough.opspace.taskset import TaskSet
from bough.types import IntArray, RealArray

Singular: TypeAlias = Literal["refuse", "truncate", "damp"]
# Rows whose share in the worst direction is below this fraction of the largest share are not named.
SHARE = 0.3
ADVICE = "keep away from such configurations, drop rows, or choose singular='truncate' or 'damp'"


class SingularTasksError(TaskError):
    """Tasks that are singular, and refused; in a batch with the numbers of all such rows."""

    rows: tuple[int, ...] = ()


def scaled_eigenvalues(Lam_inv: RealArray, scale: RealArray | None = None) -> tuple[RealArray, RealArray, RealArray]:
    """d, and eigenvalues and eigenvectors of D^-1 Lambda^-1 D^-1; d^2 is `scale` (m,), or the diagonal of Lambda^-1."""
    mobility = np.diagonal(Lam_inv, axis1=-2, axis2=-1) if scale is None else scale
    d = np.sqrt(np.abs(mobility))
    d = np.where(d > 0.0, d, 1.0).astype(Lam_inv.dtype)
    values, vectors = np.linalg.eigh(Lam_inv / (d[..., :, None] * d[..., None, :]))
    return d, values, vectors


def rank(Lam_inv: RealArray, threshold: Any, scale: RealArray | None = None) -> Any:
    """The number of directions in which the tasks can be moved: () or (batch,)."""
    _, values, _ = scaled_eigenvalues(Lam_inv, scale)
    return np.count_nonzero(values > threshold, axis=-1)


def truncated_inverse(Lam_inv: RealArray, threshold: Any, scale: RealArray | None = None) -> RealArray:
    """The inverse on the directions that move (scaled eigenvalues above the threshold), zero on the others."""
    d, values, vectors = scaled_eigenvalues(Lam_inv, scale)
    keep = values > threshold
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0).astype(Lam_inv.dtype)
    core = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return core / (d[..., :, None] * d[..., None, :])


def refuse_singular(
    tasks: TaskSet, Lam_inv: RealArray, threshold: float, scale: RealArray | None = None, among: Any = slice(None),
    advice: str = ADVICE,
) -> None:  # fmt: skip
    """Raise for the first matrix (m, m), or the first `among` a batch, that has a direction below the threshold."""
    flat = Lam_inv.reshape(-1, tasks.size, tasks.size)
    rows = np.arange(len(flat))[among][rank(flat[among], threshold, scale) < tasks.size]
    for k in rows:
        where = f" at row {k} of the batch" if Lam_inv.ndim == 3 else ""
        values, vectors = scaled_eigenvalues(flat[k], scale)[1:]
        error = SingularTasksError(
            f"the tasks are singular{where}: {_reasons(tasks, values, vectors[:, 0], threshold)}; {advice}"
        )
        error.rows = tuple(rows.tolist()) if Lam_inv.ndim == 3 else ()
        raise error


def _reasons(tasks: TaskSet, values: RealArray, worst: RealArray, threshold: float) -> str:
    """Rank, rows and size of the worst direction."""
    share, size = np.abs(worst), max(float(values[0]), 0.0)
    rows = some_of([tasks.row_names[r] for r in np.flatnonzero(share > SHARE * share.max())], 6)
    return (
        f"rank {np.count_nonzero(values > threshold)} of {tasks.size}, and {rows} can hardly be moved together "
        f"(smallest scaled singular value {size**0.5:.1e}, expected above {threshold**0.5:.1e})"
    )


def check_threshold(threshold: float) -> float:
    if not 0.0 < threshold < 1.0:
        raise OptionError(f"threshold is a fraction of the mobility of single rows, between 0 and 1, got {threshold}")
    return float(threshold)


def check_damping(damping: float) -> float:
    if not is_real(damping) or not 0.0 < damping < np.inf:
        raise OptionError(f"damping is added to Lambda^-1 and must be positive and finite, got {damping}")
    return float(damping)


class Inversion:
    """Lambda of tasks whose rows have a usual `mobility` (m,); `limits` are the threshold and the damping.

    `invert` is compiled; what it finds doubtful is decided by numpy.
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
            Lam, strain = np.empty_like(Lam_inv), np.full((*Lam_inv.shape[:-2], 1), np.inf)
        worst = strain.item() if strain.ndim == 1 else strain.max(initial=0.0)
        if not worst < self._largest_strain:
            self._examine(Lam_inv, Lam, np.flatnonzero(~(strain < self._largest_strain)))
        return Lam

    def _examine(self, Lam_inv: RealArray, Lam: RealArray, rows: IntArray) -> None:
        """Put in what a quick inversion finds doubtful, in these rows of a batch; a singular one is refused."""
        size = self.tasks.size
        damping, advice = self._damping[Lam_inv.dtype], ADVICE
        few = Lam_inv.reshape(-1, size, size)[rows] + damping * np.eye(size, dtype=Lam_inv.dtype)
        doubtful = rows
        if self.singular == "damp":
            advice = f"damping={damping.item():g} is lost in the rounding of Lambda^-1: choose more"
            values = np.linalg.eigvalsh(few)  # rounding makes those of Lambda^-1 negative, or hides the damping
            lost = (values[:, 0] < 0.5 * damping) | (damping < 0.1 * np.finfo(few.dtype).eps * values[:, -1])
            doubtful = rows[lost]
        refuse_singular(self.tasks, Lam_inv, self.threshold, self.mobility, doubtful, advice)
        Lam.reshape(-1, size, size)[rows] = np.linalg.inv(few)
