"""Base parameters: the combinations of inertias that forces depend on (Gautier 1991, by a pivoted QR factorization)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.arguments import explained
from bough.compile.run.arrays import is_count
from bough.errors import OptionError
from bough.identification.equations import Equations, check_drive, check_samples, equations, names_of
from bough.model import Model
from bough.types import FloatArray, IntArray

VISIBLE = 1e-9  # a singular value below this, relative to the largest, is rounding


class BaseParameters(NamedTuple):
    """The identifiable combinations of the unknowns: `combinations` @ x, one row each.

    The first unknown of a row has the factor one and occurs in no other. `condition` is that of the equations for
    them, columns scaled to unit length: how much noise is amplified.
    """

    names: tuple[str, ...]  # of all unknowns
    seen: IntArray  # (rank,) the unknown that leads each combination
    unseen: tuple[str, ...]  # unknowns that no force depends on, alone or together with others
    combinations: FloatArray  # (rank, unknowns)
    condition: float

    @property
    def rank(self) -> int:
        """The number of identifiable combinations."""
        return len(self.seen)

    def __str__(self) -> str:
        lines = [f"{self.rank} of {len(self.names)} numbers can be seen, condition number {self.condition:.3g}"]
        for row in self.combinations:
            terms = [f"{row[k]:+.4g} {self.names[k]}" for k in np.flatnonzero(np.abs(row) > 1e-9)]
            lines.append("  " + " ".join(terms).replace("+1 ", "", 1))
        return "\n".join(lines)


@explained
def base_parameters(
    model: Model, *, drive: tuple[str, ...] = (), samples: int | None = None, seed: int = 0
) -> BaseParameters:
    """The base parameters of a model: the combinations on which joint forces depend; `drive` as in `identify`.

    >>> print(bough.base_parameters(bough.zoo.arm(3)))
    """
    drive = check_drive(drive)
    if not is_count(seed, least=0):
        raise OptionError(f"base_parameters: a seed is a whole number that is not negative, got {seed!r}")
    rng = np.random.default_rng(seed)
    unknowns = 10 * len(model.joints) + len(drive) * model.nv
    count = samples or 20 + 3 * unknowns // model.nv
    q = model.random_configuration(rng, count)
    v, qdd, tau = rng.normal(size=(3, count, model.nv))
    found = check_samples(model, (q, v, qdd, tau), None)
    return seen_in(equations(model, found, drive), names_of(model, drive))


def seen_in(found: Equations, names: tuple[str, ...]) -> BaseParameters:
    """The combinations that these equations determine."""
    scale = np.linalg.norm(found.R, axis=0)
    floor = VISIBLE * scale.max(initial=0.0)
    W = found.R / np.where(scale > floor, scale, 1.0)
    pivots = pivoted(np.where(scale > floor, W, 0.0))
    rank = len(pivots)
    others = np.setdiff1d(np.arange(len(names)), pivots)
    combinations = np.zeros((rank, len(names)))
    combinations[np.arange(rank), pivots] = 1.0
    if rank:
        dependence = np.linalg.lstsq(W[:, pivots], W[:, others], rcond=None)[0]
        scales = np.where(scale > floor, scale, 0.0)
        combinations[:, others] = dependence * scales[others] / scale[pivots][:, None]
    combinations[np.abs(combinations) < 1e-10] = 0.0
    condition = float(np.linalg.cond(W[:, pivots])) if rank else np.inf
    blind = tuple(names[k] for k in others if not combinations[:, k].any())
    return BaseParameters(names, pivots, blind, combinations, condition)


def pivoted(W: FloatArray) -> IntArray:
    """Columns that are independent and span all others, earliest first among equals."""
    left, basis = W.copy(), np.zeros((len(W), 0))
    chosen: list[int] = []
    for _ in range(min(W.shape)):
        lengths = np.linalg.norm(left, axis=0)
        lengths[chosen] = 0.0
        if lengths.max(initial=0.0) < 1e-8:
            break
        k = int(np.flatnonzero(lengths > 0.5 * lengths.max())[0])
        x = left[:, k] - basis @ (basis.T @ left[:, k])
        x /= np.linalg.norm(x)
        basis = np.concatenate([basis, x[:, None]], axis=1)
        left = left - np.outer(x, x @ left)
        chosen.append(k)
    return np.array(sorted(chosen), np.int64)
