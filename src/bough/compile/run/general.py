"""The general execution: a routine is compiled once, for every model and size, behind the common native entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache as cache_once
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.lower.module import of_rows, row_kinds
from bough.compile.lower.values import description
from bough.compile.routine import Constants, Groups, Routine, Sizes, resolve
from bough.compile.run.direct import load
from bough.compile.run.entry import Entry, NativeCode

MakeZeros = Callable[[tuple[int, ...]], npt.NDArray[Any]]


@dataclass(frozen=True)
class Context:
    """The table an entry reads, with everything it points to kept alive."""

    table: npt.NDArray[np.int64]
    keep: tuple[Any, ...]


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """One code for one configuration and for many, from the disk cache or compiled now."""

    @cache_once
    def code() -> NativeCode:
        groups = cast(constants.groups, dtype)
        new = partial(context, routine, groups, sizes, partial(np.zeros, dtype=dtype))
        return native_code(routine, groups, (f"rows of {dtype}", dtype.str), partial(of_rows, dtype=dtype), new)

    return Entry(code, code)


def native_code(
    routine: Routine,
    constants: Groups,
    how: tuple[str, str],
    text: Callable[[Routine, Groups], str],
    new: Callable[[], Context],
) -> NativeCode:
    """The routine with these constants, which are already cast; `how` names the entry and the elements of arrays."""
    entry, element = how
    kinds = list(map(description, row_kinds(routine, constants, element)))
    name = f"{entry} {kinds} {routine.arguments} {routine.outputs}"
    code = load(routine.body, name, partial(text, routine, constants))

    def new_context() -> tuple[int, Any]:
        fresh = new()
        return int(fresh.table.ctypes.data), fresh

    return NativeCode(code.address, code, new_context)


def cast(constants: Groups, dtype: npt.DTypeLike) -> list[Any]:
    """Constants with their floating-point arrays in the working precision."""
    return [
        type(group)(*(np.ascontiguousarray(a, a.dtype if a.dtype.kind == "i" else dtype) for a in group))
        for group in constants
    ]


def context(
    routine: Routine, constants: Groups, sizes: Sizes, zeros: MakeZeros, rows: Sequence[npt.NDArray[Any]] = ()
) -> Context:
    """Constants, which are already cast, working space, inputs that are zero, extents of rows, and arrays for these."""
    inside = [*routine.work.values(), *(routine.inputs[name] for name in sorted(routine.zeros))]
    shapes = [resolve(shape, sizes) for shape in inside]
    known = [a for group in constants for a in group]
    arrays = [*known, *map(zeros, shapes)]
    table = [x for a, shape in zip(arrays, [*(a.shape for a in known), *shapes], strict=True)
             for x in (a.ctypes.data, *shape)]  # fmt: skip
    table += [n for shape in (*routine.arguments.values(), *routine.outputs.values()) for n in resolve(shape, sizes)]
    table += [a.ctypes.data for a in rows]
    return Context(np.array(table, np.int64), (*arrays, *rows))
