"""Arguments that are arrays: checked against the routine, and converted where necessary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bough.compile.graph.program import Array
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT, OK
from bough.errors import NonFiniteError, NumericalError, OptionError, ShapeError, some_of


def conform(
    name: str, specs: Sequence[Array], inputs: Sequence[Any], dtype: np.dtype
) -> tuple[list[np.ndarray], int | None]:
    """The inputs as C-contiguous arrays of the function's dtype, and their batch size (None for no batch)."""
    if len(inputs) != len(specs):
        raise OptionError(f"{name} takes {len(specs)} arrays ({', '.join(x.name for x in specs)}), got {len(inputs)}")
    arrays = [_as_array(f"{name}: {spec.name}", x, spec, dtype) for x, spec in zip(inputs, specs, strict=True)]
    batch: int | None = None
    for x, spec in zip(arrays, specs, strict=True):
        if x.ndim > len(spec.shape):
            batch = len(x) if batch is None else batch
            if len(x) != batch:
                raise ShapeError(f"{name}: {spec.name} has {len(x)} rows where an earlier input has {batch}")
    if batch is not None:
        shapes = [(batch, *spec.shape) for spec in specs]
        arrays = [np.ascontiguousarray(np.broadcast_to(x, s)) for x, s in zip(arrays, shapes, strict=True)]
    return arrays, batch


def real_array(what: str, x: Any, expected: str = "") -> np.ndarray:
    """An array of real numbers of some kind; anything else is refused."""
    if isinstance(x, np.ma.MaskedArray):
        raise ShapeError(f"{what} is a masked array, whose mask would be lost; fill it first")
    try:
        given = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{what} is ragged{expected and f'; expected shape {expected}'}") from None
    if given.dtype.kind not in "fiub":
        raise ShapeError(f"{what} must be an array of real numbers, got dtype {given.dtype}")
    return given


def is_real(x: Any) -> bool:
    """Whether x is one real number."""
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def is_count(x: Any, least: int = 1) -> bool:
    """Whether x is a whole number, at least `least`."""
    return isinstance(x, int | np.integer) and not isinstance(x, bool) and bool(x >= least)


def _as_array(what: str, x: Any, spec: Array, dtype: np.dtype) -> np.ndarray:
    given = real_array(what, x, _expected(spec))
    if given.shape != spec.shape and (given.ndim != len(spec.shape) + 1 or given.shape[1:] != spec.shape):
        raise ShapeError(f"{what} must have shape {_expected(spec)}, got {given.shape}")
    return np.require(given, dtype, ("C", "A")).view(dtype)  # has the dtype object that the call trampoline compares


def _expected(spec: Array) -> str:
    return f"{spec.shape} or ({', '.join(map(str, ('batch', *spec.shape)))})"


def results(name: str, specs: Sequence[Array], out: Any, batch: int | None, dtype: np.dtype) -> list[np.ndarray]:
    """New arrays, or views of those of the caller, which must fit exactly."""
    shapes = [spec.shape if batch is None else (batch, *spec.shape) for spec in specs]
    if out is None:
        return [np.empty(shape, dtype) for shape in shapes]
    given = [out] if len(shapes) == 1 else out
    if not isinstance(given, list | tuple) or len(given) != len(shapes):
        raise ShapeError(f"{name}: out must be a tuple of {len(shapes)} arrays")
    for x, shape, spec in zip(given, shapes, specs, strict=True):
        if not isinstance(x, np.ndarray) or x.shape != shape or x.dtype != dtype:
            found = f"{x.dtype} {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
            raise ShapeError(f"{name}: out for {spec.name} must be a {dtype} array {shape}, got {found}")
        if not (x.flags.c_contiguous and x.flags.aligned and x.flags.writeable):
            raise ShapeError(f"{name}: out for {spec.name} must be C-contiguous, aligned and writeable")
    if any(np.may_share_memory(x, y) for k, x in enumerate(given) for y in given[:k]):
        raise ShapeError(f"{name}: the out arrays overlap")
    return [np.asarray(x).view(dtype) for x in given]


# What is wrong with the numbers of a call: which rows, which number, and why if known.


Explain = Callable[[Mapping[str, np.ndarray]], str | None]  # of the inputs of one row


def rows_status(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """OK, BAD_INPUT or BAD_OUTPUT for each row of a batch."""
    status = np.full(rows, OK, np.int8)
    for arrays, what in ((outputs, BAD_OUTPUT), (inputs, BAD_INPUT)):
        for x in arrays:
            finite = np.isfinite(x)
            if not finite.all():  # rarely, so only then is each row checked
                status[~finite.all(axis=tuple(range(1, x.ndim)))] = what
    return status


def bad_input(name: str, specs: Sequence[Array], inputs: Sequence[np.ndarray], batched: bool) -> NonFiniteError:
    """The first input that is not finite, by name and place."""
    for x, spec in zip(inputs, specs, strict=True):
        places = np.argwhere(~np.isfinite(x))
        if len(places):
            where = tuple(int(i) for i in places[0])
            place = where[0] if len(where) == 1 else where
            error = NonFiniteError(f"{name}: {spec.name}[{place}] is {x[where]}; inputs must be finite")
            error.rows = _rows(places) if batched else ()
            return error
    raise AssertionError(f"{name}: all inputs are finite")


def bad_output(
    name: str, specs: tuple[Sequence[Array], Sequence[Array]], arrays: Sequence[np.ndarray], batched: bool, why: Explain
) -> NumericalError:
    """The first output that is not finite, in which rows, and why."""
    count = len(specs[0])
    for x, spec in zip(arrays[count:], specs[1], strict=True):
        places = np.argwhere(~np.isfinite(x))
        if len(places):
            rows = _rows(places) if batched else ()
            first = {s.name: (a[rows[0]] if batched else a) for s, a in zip(specs[0], arrays, strict=False)}
            error = NumericalError(f"{name}: no finite {spec.name}{_in_rows(rows)}; {reason(first, why)}")
            error.rows = rows
            return error
    raise AssertionError(f"{name}: all outputs are finite")


def reason(inputs: Mapping[str, np.ndarray], why: Explain) -> str:
    """Why one row has no finite result: the reason of `why`, overflow, or else a singularity."""
    found = why(inputs)
    if found:
        return found
    sizes = {name: float(np.abs(x).max(initial=0.0)) for name, x in inputs.items()}
    largest = max(sizes, key=sizes.__getitem__, default=None)
    if largest is not None and sizes[largest] > float(np.finfo(inputs[largest].dtype).max) ** 0.25:
        return f"overflow: numbers in {largest} are as large as {sizes[largest]:.2g}"
    return "it is singular there"


def _rows(places: np.ndarray) -> tuple[int, ...]:
    return tuple(int(row) for row in np.unique(places[:, 0]))


def _in_rows(rows: tuple[int, ...]) -> str:
    if len(rows) < 2:
        return f" in row {rows[0]}" if rows else ""
    return f" in rows {some_of([*map(str, rows)])}"
