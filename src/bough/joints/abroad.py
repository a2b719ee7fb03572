"""How a joint is written in other engines, where that is not as here: the layout of its q and of its v."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from bough.errors import NonFiniteError
from bough.types import FloatArray

Layout: TypeAlias = Callable[[FloatArray], FloatArray]  # a joint's part of q, (..., n), as another part


class Abroad(NamedTuple):
    """One joint in one engine. `axes` are those of its v there, in order; `turned` says whether the linear and the
    angular part are in the axes of the frame that the joint hangs on, and not in the body's."""

    to: Layout
    back: Layout
    nq: int
    axes: tuple[int, ...]
    turned: tuple[bool, bool] = (False, False)


def same(q: FloatArray) -> FloatArray:
    return q


def scalar_first(q: FloatArray) -> FloatArray:
    """A part that ends in a quaternion x y z w, with w before x."""
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], -1)


def scalar_last(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., :-4], q[..., -3:], q[..., -4:-3]], -1)


def unit_quaternion(q: FloatArray) -> FloatArray:
    """The last four of q as a unit quaternion x y z w."""
    x = q[..., -4:]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if (length < 1e-12).any():
        raise NonFiniteError("a quaternion in q is zero: it cannot be normalised")
    unit: FloatArray = x / length
    return unit
