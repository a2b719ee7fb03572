"""Strict priorities through a block factorization of the stacked Lambda^-1 (Sentis & Khatib 2005, without projectors).

With Lambda^-1 = L D L', L unit lower triangular by blocks of one priority each, D_k is the inverse inertia of level k
in the null space of the levels before it, and L^-1 J holds the Jacobians J_k N of all levels. Neither N nor Jbar is
formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import TaskError
from bough.opspace.singular import check_threshold, rank, truncated_inverse
from bough.opspace.space import OperationalSpace
from bough.opspace.state import apply
from bough.types import RealArray


class Prioritised(NamedTuple):
    """Task forces that respect the priorities, and what they achieve; in a batch with a leading axis."""

    force: RealArray  # (m,) stacked task force F, for tau = J' F
    acceleration: RealArray  # (m,) the task accelerations that result
    rank: RealArray  # (levels,) directions that each level could still move


@explained
class Hierarchy:
    """Levels of tasks, the most important first; a level is a list of task names of the space.

    Without `levels`, each task of the space is a level of its own, in the order of the space. Directions that higher
    levels leave no room for (eigenvalues of D_k below `threshold` times the largest of the level's own Lambda^-1) are
    given up.
    """

    def __init__(
        self, space: OperationalSpace, levels: Sequence[Iterable[str]] | None = None, threshold: float = 1e-8
    ) -> None:
        self.space, self.threshold = space, check_threshold(threshold)
        names = [[name] for name in space.tasks.names] if levels is None else [list(level) for level in levels]
        listed = [name for level in names for name in level]
        unknown = [name for name in listed if name not in space.tasks.slices]
        if unknown:
            raise TaskError(f"the space has no task {unknown[0]!r}; expected some of {', '.join(space.tasks.names)}")
        missing = [name for name in space.tasks.names if listed.count(name) != 1]
        if missing:
            raise TaskError(f"task {missing[0]!r} is in {listed.count(missing[0])} levels: expected exactly one")
        rows = [np.r_[tuple(space.tasks.slices[name] for name in level)] for level in names]
        self.order = np.concatenate(rows)
        ends = np.cumsum([len(r) for r in rows])
        self.levels = [slice(int(end) - len(r), int(end)) for r, end in zip(rows, ends, strict=True)]

    def forces(self, Lam_inv: RealArray, bias: RealArray, desired: npt.ArrayLike) -> Prioritised:
        """F (m,) that gives the desired task accelerations (m,) as far as higher priorities allow. O(m^3)."""
        L, D, inverses, ranks = self._factorize(Lam_inv)
        target = np.asarray(desired, float)[..., self.order] - np.asarray(bias)[..., self.order]
        f, reached = np.zeros(target.shape), np.zeros(target.shape)
        for level, Dk, inverse in zip(self.levels, D, inverses, strict=True):
            # what higher levels already do to this one: rows of L times D f
            carried = apply(L[..., level, : level.start], reached[..., : level.start])
            f[..., level] = apply(inverse, target[..., level] - carried)
            reached[..., level] = apply(Dk, f[..., level])
        force, acceleration = np.empty_like(f), np.empty_like(f)
        force[..., self.order] = np.linalg.solve(np.swapaxes(L, -1, -2), f[..., None])[..., 0]
        acceleration[..., self.order] = apply(L, reached)
        dtype = np.asarray(Lam_inv).dtype
        return Prioritised(force.astype(dtype), (acceleration + bias).astype(dtype), np.stack(ranks, axis=-1))

    def _factorize(self, Lam_inv: RealArray) -> tuple[RealArray, list[RealArray], list[RealArray], list[RealArray]]:
        """L, the blocks D_k, their inverses on the directions that are left, and how many those are."""
        A = np.array(Lam_inv[..., self.order[:, None], self.order], float)
        L = np.broadcast_to(np.eye(A.shape[-1]), A.shape).copy()
        blocks, inverses, ranks = [], [], []
        for level in self.levels:
            own = np.asarray(Lam_inv)[..., self.order[level, None], self.order[level]]
            D = A[..., level, level].copy()
            inverse, directions = self._pseudo_inverse(D, own)
            blocks.append(D)
            inverses.append(inverse)
            ranks.append(directions)
            below = slice(level.stop, None)
            L[..., below, level] = A[..., below, level] @ inverse
            A[..., below, below] -= L[..., below, level] @ np.swapaxes(A[..., below, level], -1, -2)
        return L, blocks, inverses, ranks

    def _pseudo_inverse(self, D: RealArray, own: RealArray) -> tuple[RealArray, RealArray]:
        """The inverse of D on directions that are not negligible against the level's own Lambda^-1."""
        mobility = np.diagonal(own, axis1=-2, axis2=-1)
        # in single precision what is left of a direction is known to about 1e-6
        least = max(self.threshold, 1e-5) if own.dtype == np.float32 else self.threshold
        threshold = least * np.count_nonzero(mobility > 0.0, axis=-1)[..., None]
        return truncated_inverse(D, threshold, mobility), rank(D, threshold, mobility)
