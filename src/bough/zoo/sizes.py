"""Arguments of the zoo, checked: sizes that fit in memory, and seeds."""

from __future__ import annotations

import operator

import numpy as np

from bough.errors import ModelError, TooLargeError, short

MOST_BODIES = 10_000_000  # about 20 GB


def sized(name: str, what: str, value: int, bodies: int | None = None) -> int:
    """A whole number of at least 1 that makes no more bodies than fit (as many as the number, if not told)."""
    try:
        size = operator.index(value)
    except TypeError:
        raise ModelError(f"{name}: {what} must be a whole number, got {short(repr(value))}") from None
    if size < 1:
        raise ModelError(f"{name}: {what} must be at least 1, got {size}")
    if (size if bodies is None else bodies) > MOST_BODIES:
        raise TooLargeError(f"{name}: {what} = {short(str(size))} makes more than {MOST_BODIES:,} bodies, the most")
    return size


def generator(name: str, seed: int, *more: int) -> np.random.Generator:
    """Random numbers of a seed."""
    try:
        return np.random.default_rng([operator.index(seed), *more] if more else operator.index(seed))
    except (TypeError, ValueError):
        raise ModelError(f"{name}: a seed is a whole number that is not negative, got {short(repr(seed))}") from None
