"""Loads by arrays: forces on many bodies at once, whose values are set like those of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.forces import Forces
from bough.errors import NonFiniteError, ShapeError, UnknownNameError
from bough.types import FloatArray, IntArray


class Load:
    """A group of forces, made by `QuasiStatics.loads`; `load.values[...] = f` changes any of them."""

    def __init__(self, forces: Forces, numbers: IntArray, size: int, note: Callable[[Sequence[int]], None]) -> None:
        self.forces, self.numbers, self.note = forces, numbers, note
        self._values = Values(self, np.zeros((len(numbers), size)))
        self._at = np.array([forces.row(n) for n in numbers.tolist()], np.int64)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"Load of {len(self)} forces{' and moments' if self.values.shape[1] == 6 else ''}"

    @property
    def values(self) -> Values:
        """Forces (k, 3), or [force, moment] (k, 6), as they were set."""
        return self._values

    @values.setter
    def values(self, given: Any) -> None:
        if given is not self._values:
            self._values[:] = given

    def _rows(self) -> IntArray:
        """Rows of the forces, none of which may have been taken away."""
        if not np.array_equal(self.forces.rows.number[self._at], self.numbers):
            raise UnknownNameError("the forces of this load have been taken away")
        return self._at

    def _write(self, which: IntArray) -> None:
        """Hand these values on."""
        rows, given = self._rows()[which], self._values.array[which]
        wide = given if given.shape[1] == 6 else np.concatenate([given, np.zeros_like(given)], axis=1)
        self.forces.write(rows, wide)
        self.note(self.forces.rows.body[rows].tolist())

    def _write_one(self, k: int, value: npt.ArrayLike) -> None:
        row = int(self._at[k])
        if self.forces.rows.number[row] != self.numbers[k]:
            self._rows()
        self.forces.write_one(row, value)
        self._values.array[k] = value
        self.note((int(self.forces.rows.body[row]),))


class Values:
    """The values of a load: read like an array (copies), changed by assignment only, so that no change is missed."""

    def __init__(self, load: Load, array: FloatArray) -> None:
        self.load, self.array = load, array

    @property
    def shape(self) -> tuple[int, int]:
        """(k, 3) or (k, 6)."""
        return len(self.array), self.array.shape[1]

    def __len__(self) -> int:
        return len(self.array)

    def __repr__(self) -> str:
        return f"Values({self.array!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.array, dtype)

    def __getitem__(self, key: Any) -> Any:
        return np.array(self.array[key])

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:
        if type(key) is int and type(value) in (list, tuple, np.ndarray) and len(value) == self.array.shape[1]:  # type: ignore[arg-type]
            self.load._write_one(key, value)
            return
        given = np.asarray(value, float)
        if not np.isfinite(given).all():
            raise NonFiniteError(f"load: forces must be finite, got {given[~np.isfinite(given)][0]}")
        which = np.unique(np.arange(self.array.size).reshape(self.array.shape)[key] // self.array.shape[1])
        self.load._rows()
        try:
            self.array[key] = given
        except ValueError:
            raise ShapeError(f"load: values of shape {given.shape} do not fit where {self.shape} is indexed") from None
        self.load._write(which)

    def __iadd__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array + np.asarray(other)
        return self

    def __isub__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array - np.asarray(other)
        return self

    def __imul__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array * np.asarray(other)
        return self
