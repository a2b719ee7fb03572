"""The general execution: a routine is compiled once, for every model and size, behind the common native entry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache as cache_once
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.lower.module import of_rows, row_kinds
from bough.compile.lower.values import description
from bough.compile.routine import Constants, Groups, Routine, Sizes, resolve, scratch
from bough.compile.run.direct import load
from bough.compile.run.entry import Entry, NativeCode


@dataclass(frozen=True)
class Context:
    """The table an entry reads, with everything it points to kept alive."""

    table: npt.NDArray[np.int64]
    keep: tuple[Any, ...]

    @property
    def address(self) -> int:
        return int(self.table.ctypes.data)


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """One code for one configuration and for many, from the disk cache or compiled now."""

    @cache_once
    def code() -> NativeCode:
        return native_code(routine, cast(constants.groups, dtype), sizes, dtype)

    return Entry(code, code)


def native_code(routine: Routine, constants: Groups, sizes: Sizes, dtype: np.dtype) -> NativeCode:
    """The routine with these constants, which are already cast."""
    kinds = list(map(description, row_kinds(routine, constants, dtype.str)))
    how = f"rows of {dtype} {kinds} {routine.arguments} {routine.outputs}"
    code = load(routine.body, how, lambda: of_rows(routine, constants, dtype))

    def new_context() -> tuple[int, Any]:
        fresh = context(routine, constants, sizes, dtype)
        return fresh.address, fresh

    return NativeCode(code.address, code, new_context)


def cast(constants: Groups, dtype: npt.DTypeLike) -> list[Any]:
    """Constants with their floating-point arrays in the working precision."""
    return [
        type(group)(*(np.ascontiguousarray(a, a.dtype if a.dtype.kind == "i" else dtype) for a in group))
        for group in constants
    ]


def context(routine: Routine, constants: Groups, sizes: Sizes, dtype: npt.DTypeLike) -> Context:
    """A context with a workspace of its own; `constants` are already cast."""
    work = scratch(routine, sizes, dtype)
    zeros = [np.zeros(resolve(routine.inputs[name], sizes), dtype) for name in sorted(routine.zeros)]
    arrays = [a for group in constants for a in group] + list(work) + zeros
    shapes = [resolve(shape, sizes) for shape in (*routine.arguments.values(), *routine.outputs.values())]
    table = [x for a in arrays for x in (a.ctypes.data, *a.shape)] + [x for shape in shapes for x in shape]
    return Context(np.array(table, np.int64), (*arrays,))
