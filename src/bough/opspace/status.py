"""A status for each row of a batch: no row raises for the others.

0 where all is well, 2 where an input is not finite (results are NaN there), 3 where a result is not, as compiled
functions have it; and 4 where there is a result that misses its targets, because no motion reaches them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bough.compile.run.arrays import rows_status
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT, OK
from bough.errors import NonFiniteError, NumericalError, ShapeError
from bough.opspace.singular import SingularTasksError
from bough.types import IntArray, RealArray

__all__ = ["BAD_INPUT", "BAD_OUTPUT", "OK", "UNMET", "common_rows", "row_by_row"]

UNMET = 4


def common_rows(arrays: Sequence[RealArray]) -> list[RealArray]:
    """Arrays (n,) or (batch, n) as (batch, n), all of one batch."""
    count = next((len(x) for x in arrays if x.ndim > 1), 1)
    for x in arrays:
        if x.ndim > 2 or (x.ndim == 2 and len(x) != count):
            raise ShapeError(f"batches have one size, but there are {count} and {len(x)} rows")
    return [np.broadcast_to(x, (count, x.shape[-1])) for x in arrays]


def row_by_row(
    compute: Callable[..., Sequence[RealArray]],
    arrays: Sequence[RealArray],
    each: Mapping[str, RealArray] | None = None,
) -> tuple[list[RealArray], IntArray]:
    """The results of `compute` on arrays (batch, n), and the status of each row: rows that it refuses are omitted.

    Keywords in `each` have a value for each row.
    """
    rows, each = common_rows(arrays), each or {}
    if each and all(x.ndim == 1 for x in arrays):
        rows = [np.repeat(x, len(next(iter(each.values()))), axis=0) for x in rows]
        arrays = rows
    count = len(rows[0])
    status: IntArray = rows_status(rows, (), count).astype(np.int64)
    good = np.flatnonzero(status == OK)
    while True:
        try:
            some = {name: x[good] for name, x in each.items()}
            found = compute(*(np.ascontiguousarray(x[good]) for x in rows), **some)
            break
        except (NumericalError, NonFiniteError, SingularTasksError) as error:
            if not error.rows:
                raise
            status[good[list(error.rows)]] = BAD_OUTPUT
            good = np.delete(good, error.rows)
    whole = [np.full((count, *y.shape[1:]), np.nan, y.dtype) for y in found]
    for x, y in zip(whole, found, strict=True):
        x[good] = y
    status[good] = rows_status((), found, len(good))
    if all(x.ndim == 1 for x in arrays):
        return [x[0] for x in whole], status.reshape(())
    return whole, status
