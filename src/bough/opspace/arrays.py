"""Arrays of a call: their precision, and numbers that lie beside them on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from sys import modules
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import real_array
from bough.compile.run.libraries import full, is_on_gpu, library_of
from bough.errors import ShapeError
from bough.types import RealArray

DOUBLE = np.dtype(np.float64)
PRECISIONS: tuple[np.dtype[Any], ...] = (DOUBLE, np.dtype(np.float32))


def checked_dtype(dtype: npt.DTypeLike | None) -> np.dtype[Any] | None:
    """float64 or float32, or none."""
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in PRECISIONS:
        raise ShapeError(f"dtype is float64 or float32, got {dtype!r}")
    return found


def in_one_precision(arrays: Sequence[Any], dtype: np.dtype[Any] | None) -> tuple[RealArray, ...]:
    """Arrays in one precision: this one, else single where all are. Those on a GPU stay as they are."""
    if dtype is None or dtype is DOUBLE:
        for x in arrays:
            if type(x) is not np.ndarray or x.dtype is not DOUBLE:
                break
        else:  # the usual case, at a third of the time
            return tuple(arrays)
    if any(map(is_on_gpu, arrays)):
        return tuple(arrays)
    single = all(getattr(x, "dtype", None) == np.float32 for x in arrays)
    try:
        return tuple([np.asarray(x, dtype or (np.float32 if single else np.float64)) for x in arrays])
    except (TypeError, ValueError):
        [real_array("q, v or a force", x) for x in arrays]
        raise


def kept_beside(q: Any, x: float, kept: dict[Any, Any]) -> Any:
    """A number as an array (1,) in the library, precision and place of q; nothing is copied from the host.

    It is always the same, and made once: filling a tensor takes as long as a small kernel.
    """
    if library_of(q) != "torch":
        return full((1,), x, q)
    found = kept.get((q.device, q.dtype))
    if found is None:
        found, cuda = full((1,), x, q), modules["torch"].cuda
        if not cuda.is_current_stream_capturing():  # what is recorded is not done yet
            cuda.current_stream(q.device).synchronize()  # for all streams
            kept[q.device, q.dtype] = found
    return found
