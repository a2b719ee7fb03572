"""General code with eight rows of a batch side by side in vectors: for straight-line kernels too long to be traced.

One configuration, and single precision, are served by plain general code.
"""

from __future__ import annotations

from functools import cache as cache_once
from typing import Any

import numpy as np

from bough.compile.lower.module import of_lanes, row_kinds
from bough.compile.lower.values import LANES, description
from bough.compile.routine import Constants, Groups, Routine, Sizes, resolve
from bough.compile.run import general
from bough.compile.run.direct import load
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
        return native_code(routine, general.cast(constants.groups, dtype), sizes)

    return Entry(plain.single, code)


def native_code(routine: Routine, constants: Groups, sizes: Sizes) -> NativeCode:
    """The routine with these constants, which are already cast."""
    kinds = list(map(description, row_kinds(routine, constants, LANES)))
    how = f"lanes {kinds} {routine.arguments} {routine.outputs}"
    code = load(routine.body, how, lambda: of_lanes(routine, constants))

    def new_context() -> tuple[int, Any]:
        fresh = context(routine, constants, sizes)
        return fresh.address, fresh

    return NativeCode(code.address, code, new_context)


def context(routine: Routine, constants: Groups, sizes: Sizes) -> general.Context:
    """Constants, working space, inputs that are zero, extents, and arrays of vectors for a call's rows."""
    rows = {**routine.arguments, **routine.outputs}
    inside = [*routine.work.values(), *(routine.inputs[name] for name in sorted(routine.zeros))]
    shapes = [resolve(shape, sizes) for shape in (*inside, *rows.values())]
    lanes = [_vectors(shape) for shape in shapes]
    table = [x for group in constants for a in group for x in (a.ctypes.data, *a.shape)]
    for array, shape in zip(lanes[: len(inside)], shapes[: len(inside)], strict=True):
        table += [array.ctypes.data, *shape]
    table += [x for shape in shapes[len(inside) :] for x in shape]
    table += [array.ctypes.data for array in lanes[len(inside) :]]
    return general.Context(np.array(table, np.int64), (*(a for group in constants for a in group), *lanes))


def _vectors(shape: tuple[int, ...]) -> Any:
    """Zeros of a shape for each lane, in lines of the cache."""
    size = WIDTH * int(np.prod(shape))
    memory = np.zeros(size + ALIGNED // 8)
    start = -memory.ctypes.data % ALIGNED // 8
    return memory[start : start + size]
