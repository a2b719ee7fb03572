"""General code with eight rows of a batch side by side in vectors: for straight-line kernels too long to be traced.

One configuration, and single precision, are served by plain general code.
"""

from __future__ import annotations

from functools import cache as cache_once
from typing import Any

import numpy as np

from bough.compile.lower.module import of_lanes
from bough.compile.lower.values import LANES
from bough.compile.routine import Constants, Routine, Sizes, resolve
from bough.compile.run import general
from bough.compile.run.entry import Entry, NativeCode

WIDTH = 8
ALIGNED = 64  # bytes


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """Code for one configuration and for many."""
    plain = general.compile(routine, constants, sizes, dtype)
    if dtype != np.float64:
        return plain

    @cache_once
    def code() -> NativeCode:
        groups = general.cast(constants.groups, dtype)

        def new() -> general.Context:
            """With arrays of vectors for the rows of a call."""
            rows = (*routine.arguments.values(), *routine.outputs.values())
            vectors = [_vectors(resolve(shape, sizes)) for shape in rows]
            return general.context(routine, groups, sizes, _vectors, vectors)

        return general.native_code(routine, groups, ("lanes", LANES), of_lanes, new)

    return Entry(plain.single, code)


def _vectors(shape: tuple[int, ...]) -> Any:
    """Zeros of a shape for each lane, in lines of the cache."""
    size = WIDTH * int(np.prod(shape))
    memory = np.zeros(size + ALIGNED // 8)
    start = -memory.ctypes.data % ALIGNED // 8
    return memory[start : start + size]
