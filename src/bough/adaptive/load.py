"""Loads by arrays: forces on many bodies at once, whose values are set like those of an array."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.changes import Changes
from bough.adaptive.forces import Forces
from bough.errors import NonFiniteError, ShapeError, UnknownNameError, short
from bough.types import FloatArray, IntArray


class Load:
    """A group of forces, made by `QuasiStatics.loads`; `load.values[...] = f` changes any of them.

    Single forces that are set wait until they are needed, and are then written all at once.
    """

    def __init__(self, forces: Forces, numbers: IntArray, size: int, changes: Changes) -> None:
        self.forces, self.numbers, self.changes = forces, numbers, changes
        self._values = Values(self, np.zeros((len(numbers), size)))
        self._at = np.array([forces.row(n) for n in numbers.tolist()], np.int64)
        self.bodies = forces.rows.body[self._at]
        # forces alone in the world's axes are kept as they are given
        self.is_plain = size == 3 and bool(forces.rows.world[self._at].all())
        self._known = forces.removals  # how many were taken away when these were last known to be there

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

    def rows(self) -> IntArray:
        """Rows of the forces, none of which may have been taken away."""
        if self._known != self.forces.removals:
            if not np.array_equal(self.forces.rows.number[self._at], self.numbers):
                raise UnknownNameError("the forces of this load have been taken away")
            self._known = self.forces.removals
        return self._at

    def write(self, which: IntArray | None) -> None:
        """Hand values in these places on, or with None all."""
        rows = self.rows() if which is None else self.rows()[which]
        given = self._values.array if which is None else self._values.array[which]
        if self.is_plain:
            self.forces.write_plain(rows, given)
        else:
            self.forces.write(rows, given if given.shape[1] == 6 else np.concatenate([given, 0.0 * given], axis=1))
        self.changes.many_forces(self.bodies if which is None else self.bodies[which])

    def set_one(self, k: int, value: npt.ArrayLike) -> bool:
        """Let force k wait with another value of three finite numbers; False if it is no such thing."""
        given: Any = value.tolist() if type(value) is np.ndarray else value
        try:
            x, y, z = given
            good = isfinite(x + y + z)
        except (TypeError, ValueError, OverflowError):
            return False
        if not (good and self.is_plain and 0 <= k < len(self._at)):
            return False
        if self._known != self.forces.removals:
            self.rows()
        pending, changes = self._values.pending, self.changes
        if not pending:
            self.forces.waiting.append(self.flush)
        pending[k] = (x, y, z)
        changes.closures = changes.solution = True
        return True

    def read(self) -> None:
        """Take over the values that kernels have written."""
        self._values.array[:, :3] = self.forces.read(self.rows())

    def flush(self) -> None:
        """Write what waits."""
        pending = self._values.pending
        if pending:
            which = np.fromiter(pending, np.int64, len(pending))
            self._values.array[which] = np.array(list(pending.values()), float)
            pending.clear()
            self.write(which)


class Values:
    """The values of a load: read like an array (copies), changed by assignment only, so that no change is missed."""

    def __init__(self, load: Load, array: FloatArray) -> None:
        self.load, self._array = load, array
        self.pending: dict[int, Any] = {}  # values that wait to be written, by place

    @property
    def array(self) -> FloatArray:
        """All values."""
        if self.pending:
            which = np.fromiter(self.pending, np.int64, len(self.pending))
            self._array[which] = np.array(list(self.pending.values()), float)
        return self._array

    @property
    def shape(self) -> tuple[int, int]:
        """(k, 3) or (k, 6)."""
        return len(self._array), self._array.shape[1]

    def __len__(self) -> int:
        return len(self._array)

    def __repr__(self) -> str:
        return f"Values({self.array!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.array, dtype)

    def __getitem__(self, key: Any) -> Any:
        return np.array(self.array[key])

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:
        if type(key) is int and self.load.set_one(key, value):
            return
        load = self.load
        load.flush()
        given, array = np.asarray(value), self.array
        if given.dtype.kind not in "fiub":
            raise ShapeError(f"load: forces are numbers, got {short(repr(value))}")
        if not np.isfinite(given).all():
            raise NonFiniteError(f"load: forces must be finite, got {given[~np.isfinite(given)][0]}")
        load.rows()
        whole = isinstance(key, slice) and key == slice(None)
        width = array.shape[1]
        which = None if whole else np.unique(np.arange(array.size).reshape(array.shape)[key] // width)
        try:
            array[key] = given
        except ValueError:
            raise ShapeError(f"load: values of shape {given.shape} do not fit where {self.shape} is indexed") from None
        load.write(which)

    def __iadd__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array + np.asarray(other)
        return self

    def __isub__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array - np.asarray(other)
        return self

    def __imul__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array * np.asarray(other)
        return self
