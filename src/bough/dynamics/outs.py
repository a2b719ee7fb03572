"""Arrays for results whose shape, to the user, is not that of the compiled function's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bough.compile.function import CompiledFunction
from bough.compile.graph.program import Array
from bough.compile.run.arrays import results
from bough.errors import ShapeError
from bough.types import RealArray


def by_bodies(name: str, out: Any) -> RealArray:
    """An array (..., nv, 10 bodies) for a regressor as one (..., nv, bodies, 10)."""
    if not isinstance(out, np.ndarray) or out.ndim < 2 or out.shape[-1] % 10 or not out.flags.c_contiguous:
        found = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"{name}: out must be a C-contiguous array (nv, 10 bodies), batches first, got {found}")
    return out.reshape(*out.shape[:-1], out.shape[-1] // 10, 10)


class Turned:
    """A function of three matrices (nv, nv), the first two of which it writes transposed: as they are meant."""

    def __init__(self, function: CompiledFunction, nv: int) -> None:
        self.function, self.nv = function, nv

    def call(self, *inputs: Any, out: Any = None, **how: Any) -> Any:
        """The matrices; `out` takes those of an earlier call as they are, into others they are copied."""
        if out is None and len(getattr(inputs[0], "shape", ())) == 1:
            first, second, third = self.function.call(*inputs, **how)
            if first.ndim == 2:
                return first.T, second.T, third
            return first.swapaxes(-1, -2), second.swapaxes(-1, -2), third
        plain = how.keys() <= {"threads"}  # parameters may change the precision
        room = _turned(out) if out is not None else self._block(inputs) if plain else None
        first, second, third = self.function.call(*inputs, out=room, **how)
        if out is not None and room is not None:
            return out
        found = first.swapaxes(-1, -2), second.swapaxes(-1, -2), third
        return found if out is None else copied(self.function.name, found, out)

    def _block(self, inputs: tuple[Any, ...]) -> tuple[RealArray, ...] | None:
        """Room for the matrices of a batch in one piece, which the allocator keeps; None where there is no batch."""
        q = inputs[0]
        if type(q) is not np.ndarray or q.ndim != 2:
            return None
        single = all(getattr(x, "dtype", None) == np.float32 for x in inputs)
        return tuple(np.empty((3, len(q), self.nv, self.nv), np.float32 if single else np.float64))


def _turned(out: Any) -> tuple[RealArray, ...] | None:
    """Three arrays with the first two transposed, if they lie in memory as such results do; None if they do not."""
    if not isinstance(out, tuple) or len(out) != 3 or not all(isinstance(x, np.ndarray) and x.ndim > 1 for x in out):
        return None
    found = out[0].swapaxes(-1, -2), out[1].swapaxes(-1, -2), out[2]
    return found if all(x.flags.c_contiguous for x in found) else None


def copied(name: str, found: Sequence[RealArray], out: Any) -> Any:
    """The arrays `out`, which must fit, filled with results."""
    specs = [Array(f"result {k}", tuple(x.shape)) for k, x in enumerate(found)]
    for x, y in zip(results(name, specs, out, None, found[0].dtype), found, strict=True):
        np.copyto(x, y)
    return out
