"""The forces a user applies: checked, numbered one by one or in groups, and gathered for the passes when needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.tree.contract import Applied, Loads, gather, no_force
from bough.errors import NonFiniteError, ShapeError, UnknownNameError, short, unknown_option
from bough.model import Model
from bough.types import FloatArray, IntArray

# What changed since the last solution: the one thing that decides what must be done again.


# A tree of which more than this share of the leaves changed is redone as a whole: that is cheaper.
WHOLE = 1.0 / 8.0
FORCES = 0.5  # the same where forces have changed, which costs half or less


@dataclass
class Changes:
    """Notes of what inputs and steps have changed, taken back by the solver when it has acted on them.

    Bodies and joints are numbers of primitives. `size` is how many there are.
    """

    size: int
    forces: list[int] = field(default_factory=list)  # bodies on which other forces act
    torques: list[int] = field(default_factory=list)  # joints with other torques
    everything: bool = True  # configuration or gravity: no equation of the tree holds
    most_forces: bool = False  # so many that all equations are redone
    measure: bool = False  # another error is allowed: the bounded pass begins anew
    closures: bool = True  # closure forces must be found again
    solution: bool = True  # the accelerations found last answer other inputs
    given: int = 0  # how often forces or torques were given

    def many_forces(self, bodies: IntArray | Sequence[int]) -> None:
        """Other forces on several bodies."""
        self.closures = self.solution = True
        self.given += 1
        if len(bodies) > FORCES * self.size:
            self.most_forces = True
        elif not self.most_forces:
            self.forces.extend(np.asarray(bodies).tolist())
            self._note(self.forces, FORCES)

    def torque(self, joints: Sequence[int]) -> None:
        """Other torques at several joints."""
        self.torques.extend(joints)
        self._note(self.torques, WHOLE)

    def _note(self, listed: list[int], most: float) -> None:
        self.closures = self.solution = True
        self.given += 1
        if len(listed) > most * self.size + 64:  # named again and again, or many
            listed[:] = set(listed)
            if len(listed) > most * self.size:
                self.all()

    def all(self) -> None:
        """Another configuration or gravity, or a motion of all joints."""
        self.everything = self.closures = self.solution = True

    def error(self) -> None:
        """Another error measure."""
        self.measure = self.solution = True

    def step(self) -> None:
        """A step was taken on the tree, which is up to date with it."""
        self.closures = self.solution = True

    @property
    def any_force(self) -> bool:
        """Whether forces have other values."""
        return self.most_forces or bool(self.forces)

    @property
    def is_small(self) -> bool:
        """Whether the tree may be brought up to date along some of its ways only."""
        few = len(self.torques) <= WHOLE * self.size and len(self.forces) <= FORCES * self.size + 64
        return few and not (self.everything or self.most_forces)

    def clear_all(self) -> None:
        """The tree is up to date with forces and torques."""
        self.forces.clear()
        self.torques.clear()
        self.everything = self.most_forces = self.measure = False

    def note_full_solution(self) -> None:
        """Forces and torques that have changed have reached the full engine, but not the tree."""
        self.everything, self.most_forces = True, False
        self.forces.clear()
        self.torques.clear()


# Directions of a force: kept in the world, or turning with the body
FRAMES = {"world": True, "local": False, "body": False}


class ForceRows(NamedTuple):
    """One row for each force that ever was, in arrays that grow."""

    body: IntArray
    world: npt.NDArray[np.bool_]
    value: FloatArray  # (rows, 6) [force, moment] in the world's axes or the user's frame, as they were set
    point: FloatArray  # (rows, 3) in the laid frame
    turn: FloatArray  # (rows, 3, 3) orientation of the user's axes there
    number: IntArray  # (rows,) of the force, -1 where the row is free


def make_rows(count: int) -> ForceRows:
    """Free rows."""
    ints, free = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    wide = np.zeros((count, 6)), np.zeros((count, 3)), np.zeros((count, 3, 3))
    return ForceRows(ints, np.zeros(count, bool), *wide, free)


class Forces:
    """Numbered forces on bodies of a model. Single ones that are changed wait until they are needed."""

    def __init__(self, model: Model, changes: Changes) -> None:
        self.model, self.changes = model, changes
        self.rows, self._free = make_rows(8), list(range(7, -1, -1))
        self.row_of: dict[int, int] = {}
        self.following = 0
        self.always: tuple[int, ...] = ()  # bodies to be listed even without a force
        self.turning = False  # whether the room kept for them is for forces that turn along
        self._slot = np.full(len(model.mechanism.parent), -1, np.int32)
        self._loads: Loads | None = None
        self.removals = 0
        self._in_world: set[int] = set()  # numbers of forces in the world's axes
        self._waiting: dict[int, tuple[float, float, float]] = {}  # other values of those, by number
        self._place: IntArray = np.zeros(0, np.int64)  # (rows,) where a row's force is in the gathered loads

    def keep(self, bodies: Iterable[int], turning: bool = False) -> None:
        """List these bodies even without a force, with room for one: in the world's axes, or turning along."""
        self.always, self.turning, self._loads = tuple(bodies), turning, None

    def frame(self, body: str | int) -> int:
        """The number of a frame, given by name or as a place in `body_names`."""
        if isinstance(body, str):
            return self.model.frame(body)
        known = self.model.body_frames
        if not 0 <= int(body) < len(known):
            raise UnknownNameError(f"there is no body {body}: expected a name or 0 to {len(known) - 1}")
        return int(known[int(body)])

    def frames(self, bodies: Iterable[str | int]) -> IntArray:
        """The numbers of frames."""
        if isinstance(bodies, str):
            raise UnknownNameError(f"bodies are given as a list, [{bodies!r}], got the name {bodies!r} alone")
        return np.array([self.frame(b) for b in bodies], np.int64)

    def add_many(self, frames: IntArray, points: FloatArray, frame: str, values: FloatArray) -> IntArray:
        """Keep forces [force, moment] (k, 6) on frames at points (k, 3) of theirs; returns their numbers."""
        if frame not in FRAMES:
            raise unknown_option(f"there is no frame {frame!r} for a force", frame, FRAMES)
        known = self.model.frames
        if (known.body[frames] < 0).any():
            raise UnknownNameError("a force on the world moves nothing: expected a moving body")
        self.flush()
        at, rows = self._new_rows(len(frames)), self.rows
        rows.body[at], rows.world[at] = known.body[frames], FRAMES[frame]
        rows.point[at] = known.p[frames] + np.einsum("nij,nj->ni", known.R[frames], points)
        rows.turn[at] = np.eye(3) if FRAMES[frame] else known.R[frames]
        self.rows.number[at] = numbers = np.arange(self.following, self.following + len(frames))
        self.following += len(frames)
        self.row_of.update(zip(numbers.tolist(), at.tolist(), strict=True))
        if FRAMES[frame]:
            self._in_world.update(numbers.tolist())
        self._loads = None
        self.write(at, values)
        return numbers

    def _new_rows(self, count: int) -> IntArray:
        while len(self._free) < count:
            size = len(self.rows.body)
            self.rows = ForceRows._make(np.concatenate([a, b]) for a, b in zip(self.rows, make_rows(size), strict=True))
            self._free = list(range(2 * size - 1, size - 1, -1)) + self._free
        taken = self._free[-count:][::-1] if count else []
        del self._free[len(self._free) - count :]
        return np.array(taken, np.int64)

    def row(self, number: int) -> int:
        """The row of a force."""
        row = self.row_of.get(number)
        if row is None:
            raise UnknownNameError(f"there is no force number {number}")
        return row

    def wait(self, number: int, value: Any) -> bool:
        """Let a force in the world's axes wait with another value of three finite numbers; False if it is none such."""
        given = value.tolist() if type(value) is np.ndarray else value
        try:
            x, y, z = given
            good = isfinite(x + y + z)
        except (TypeError, ValueError, OverflowError):
            return False
        if not (good and number in self._in_world):
            return False
        self._waiting[number] = (x, y, z)
        self.changes.closures = self.changes.solution = True
        return True

    def flush(self) -> None:
        """Write forces that wait."""
        if self._waiting:
            given = np.zeros((len(self._waiting), 6))
            given[:, :3] = list(self._waiting.values())
            at = np.array([self.row_of[n] for n in self._waiting], np.int64)
            self._waiting.clear()
            self.write(at, given)

    def write(self, at: IntArray, values: FloatArray) -> None:
        """Other forces (k, 3), or [force, moment] (k, 6), in the user's axes, in these rows."""
        self.flush()
        rows, width = self.rows, values.shape[1]
        rows.value[at, :width] = values
        if self._loads is not None:
            place, known = self._place[at], values
            if len(self._in_world) < len(self.row_of) and not rows.world[at].all():
                known = self._turned(at, values)
            self._loads.force[place] = known[:, :3]
            if width == 6:
                self._loads.moment[place] = known[:, 3:]
        self.changes.many_forces(rows.body[at])

    def _turned(self, at: IntArray, values: FloatArray) -> FloatArray:
        """Values of rows in the world's axes or the laid frame's."""
        pairs = values.reshape(len(at), values.shape[1] // 3, 3)
        return np.einsum("nij,nwj->nwi", self.rows.turn[at], pairs).reshape(values.shape)

    def remove(self, numbers: Iterable[int]) -> IntArray:
        """Take forces away; returns the bodies."""
        self.flush()
        self.removals += 1
        at = [self.row(n) for n in numbers]
        for n in numbers:
            del self.row_of[n]
            self._in_world.discard(n)
        self.rows.number[at] = -1
        self._free.extend(at)
        self._loads = None
        self.changes.many_forces(self.rows.body[at])
        return self.rows.body[at]

    def loads(self) -> Loads:
        """All forces by body; the same object until a force is added or removed."""
        if self._waiting:
            self.flush()
        if self._loads is None:
            used = np.flatnonzero(self.rows.number >= 0)
            used = used[np.argsort(self.rows.number[used], kind="stable")]  # sums do not depend on which rows are used
            rows, known = self.rows, self._turned(used, self.rows.value[used])
            applied = Applied(rows.body[used], rows.world[used], known[:, :3], known[:, 3:], rows.point[used])
            both = (np.concatenate(pair) for pair in zip(applied, no_force(self.always, not self.turning), strict=True))
            self._loads, place = gather(Applied._make(both), self._slot)
            self._place = np.zeros(len(self.rows.body), np.int64)
            self._place[used] = place[: len(used)]
        return self._loads

    def places(self, rows: IntArray) -> IntArray:
        """Where the forces of these rows are in `loads()`."""
        self.loads()
        return self._place[rows]

    def read(self, rows: IntArray) -> None:
        """Take over forces in these rows, in the world's axes, which kernels have written into `loads()`."""
        self.rows.value[rows, :3] = self.loads().force[self._place[rows]]

    def state(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        self.flush()
        used = [self.row_of[n] for n in sorted(self.row_of)]
        return {"following": self.following, "rows": {name: a[used] for name, a in self.rows._asdict().items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """The state that `state` gave."""
        found, self.following, self._loads = ForceRows(**state["rows"]), state["following"], None
        count = len(found.body)
        self.rows = ForceRows._make(np.concatenate(pair) for pair in zip(found, make_rows(8), strict=True))
        self._free = list(range(count + 7, count - 1, -1))
        self.row_of = dict(zip(found.number.tolist(), range(count), strict=True))
        self._in_world = set(found.number[found.world].tolist())


def vector(value: npt.ArrayLike, size: int, what: str) -> FloatArray:
    """A finite vector (size,); one number will do where size is 1."""
    try:
        a = np.atleast_1d(np.array(value, float))
    except (TypeError, ValueError):
        raise ShapeError(f"{what}: expected {size} numbers, got {value!r}") from None
    if a.shape != (size,):
        raise ShapeError(f"{what}: expected shape ({size},), got {a.shape}")
    bad = np.flatnonzero(~np.isfinite(a))
    if len(bad):
        raise NonFiniteError(f"{what}: must be finite, got {a[bad[0]]} at {bad[0]}")
    return a


def wrench(force: npt.ArrayLike) -> FloatArray:
    """[force, moment] (6,) from (3,) or (6,)."""
    a = vector(force, 6 if np.shape(force) == (6,) else 3, "force")
    return a if len(a) == 6 else np.concatenate([a, np.zeros(3)])


# Loads by arrays: forces on many bodies at once, whose values are set like those of an array.


class Load:
    """A group of forces, made by `loads` of a simulation; `load.values[...] = f` changes any of them."""

    def __init__(self, forces: Forces, numbers: IntArray, size: int) -> None:
        self.forces, self.numbers, self.size = forces, numbers, size
        self._values, self._numbers = Values(self), numbers.tolist()
        self._at = np.array([forces.row(n) for n in self._numbers], np.int64)
        self.bodies = forces.rows.body[self._at]
        self._known = forces.removals  # how many were taken away when these were last known to be there

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"Load of {len(self)} forces{' and moments' if self.size == 6 else ''}"

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

    def wait(self, k: int, value: Any) -> bool:
        """Let force k wait with another value of three finite numbers; False if it is no such thing."""
        return self.size == 3 and 0 <= k < len(self._numbers) and self.forces.wait(self._numbers[k], value)

    def read(self) -> None:
        """Take over the values that kernels have written."""
        self.forces.read(self.rows())


class Values:
    """The values of a load: read like an array (copies), changed by assignment only, so that no change is missed."""

    def __init__(self, load: Load) -> None:
        self.load = load

    @property
    def array(self) -> FloatArray:
        """All values, a copy."""
        self.load.forces.flush()
        return self.load.forces.rows.value[self.load.rows(), : self.load.size]

    @property
    def shape(self) -> tuple[int, int]:
        """(k, 3) or (k, 6)."""
        return len(self.load), self.load.size

    def __len__(self) -> int:
        return len(self.load)

    def __repr__(self) -> str:
        return f"Values({self.array!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.array, dtype)

    def __getitem__(self, key: Any) -> Any:
        return np.array(self.array[key])

    def __setitem__(self, key: Any, value: npt.ArrayLike) -> None:
        load = self.load
        if type(key) is int and load.wait(key, value):
            return
        given = np.asarray(value)
        if given.dtype.kind not in "fiub":
            raise ShapeError(f"load: forces are numbers, got {short(repr(value))}")
        if not np.isfinite(given).all():
            raise NonFiniteError(f"load: forces must be finite, got {given[~np.isfinite(given)][0]}")
        whole = isinstance(key, slice) and key == slice(None)
        array = np.empty(self.shape) if whole else self.array
        try:
            array[key] = given
        except ValueError:
            raise ShapeError(f"load: values of shape {given.shape} do not fit where {self.shape} is indexed") from None
        if whole:
            load.forces.write(load.rows(), array)
        else:
            which = np.unique(np.arange(array.size).reshape(array.shape)[key] // load.size)
            load.forces.write(load.rows()[which], array[which])

    def __iadd__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array + np.asarray(other)
        return self

    def __isub__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array - np.asarray(other)
        return self

    def __imul__(self, other: npt.ArrayLike) -> Values:
        self[:] = self.array * np.asarray(other)
        return self
