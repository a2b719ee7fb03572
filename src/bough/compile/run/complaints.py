"""What is wrong with the numbers of a call: which rows, which number, and why as far as can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bough.compile.graph.program import Array
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT, OK
from bough.errors import NonFiniteError, NumericalError

Explain = Callable[[Mapping[str, np.ndarray]], str | None]  # of the inputs of one row
SHOWN = 5  # rows that a message names


def rows_status(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """OK, BAD_INPUT or BAD_OUTPUT for each row of a batch."""
    status = np.full(rows, OK, np.int8)
    for arrays, what in ((outputs, BAD_OUTPUT), (inputs, BAD_INPUT)):
        for x in arrays:
            finite = np.isfinite(x)
            if not finite.all():  # rarely, so that rows are looked at one by one only then
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
    """Why one row has no finite result: what `why` knows, numbers too large to be multiplied, or else a singularity."""
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
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return f" in rows {', '.join(map(str, rows[:SHOWN]))}{more}"
