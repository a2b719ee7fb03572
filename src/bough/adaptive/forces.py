"""The forces a user applies: checked, numbered one by one or in groups, and gathered for the passes when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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

    def force(self, body: int) -> None:
        """Another force on a body."""
        self.forces.append(body)
        self._note(self.forces, FORCES)

    def many_forces(self, bodies: Sequence[int] | IntArray) -> None:
        """Other forces on several bodies."""
        self.closures = self.solution = True
        self.given += 1
        if len(bodies) > FORCES * self.size:
            self.most_forces = True
        elif not self.most_forces:
            self.forces.extend(bodies.tolist() if isinstance(bodies, np.ndarray) else bodies)
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
    def touched(self) -> list[int]:
        """Bodies and joints with other forces or torques."""
        return self.forces + self.torques

    @property
    def is_small(self) -> bool:
        """Whether the tree may be brought up to date along some of its ways only."""
        few = len(self.torques) <= WHOLE * self.size and len(self.forces) <= FORCES * self.size + 64
        return few and not (self.everything or self.most_forces)

    def taken_by_tree(self) -> None:
        """The tree is up to date with forces and torques."""
        self.forces.clear()
        self.torques.clear()
        self.everything = self.most_forces = self.measure = False

    def taken_by_plain(self) -> None:
        """Forces and torques have reached the plain engine, but not the tree."""
        if self.forces or self.torques or self.most_forces:
            self.everything, self.most_forces = True, False
        self.forces.clear()
        self.torques.clear()


# Directions of a force: kept in the world, or turning with the body
FRAMES = {"world": True, "local": False, "body": False}


class ForceRows(NamedTuple):
    """One row for each force that ever was, in room that grows."""

    body: IntArray
    world: npt.NDArray[np.bool_]
    force: FloatArray  # (rows, 3) in the world's axes or the laid frame's
    moment: FloatArray
    point: FloatArray  # (rows, 3) in the laid frame
    turn: FloatArray  # (rows, 3, 3) orientation of the user's axes there
    number: IntArray  # (rows,) of the force, -1 where the row is free


def make_rows(count: int) -> ForceRows:
    """Free rows."""
    threes = [np.zeros((count, 3)) for _ in range(3)]
    ints, free = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    return ForceRows._make([ints, np.zeros(count, bool), *threes, np.zeros((count, 3, 3)), free])


class Forces:
    """Numbered forces on bodies of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows, self._free = make_rows(8), list(range(7, -1, -1))
        self.row_of: dict[int, int] = {}
        self.following = 0
        self.always: tuple[int, ...] = ()  # bodies to be listed even without a force
        self.turning = False  # whether the room kept for them is for forces that turn along
        self._slot = np.full(len(model.mechanism.parent), -1, np.int32)
        self._loads: Loads | None = None
        self.removals = 0
        self.waiting: list[Callable[[], None]] = []  # what writes forces that were set one by one
        self.in_world: set[int] = set()  # numbers of forces in the world's axes
        self.pending: dict[int, tuple[float, float, float]] = {}  # other values of those, by number, which wait
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

    def body(self, body: str | int) -> tuple[int, FloatArray, FloatArray]:
        """Number of the primitive that carries a body or frame, and the placement of its frame there."""
        frames, k = self.model.frames, self.frame(body)
        return int(frames.body[k]), frames.R[k], frames.p[k]

    # One by one

    def add(self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None, frame: str) -> int:
        """Check and keep a force; returns its number."""
        at = np.zeros((1, 3)) if point is None else vector(point, 3, "point")[None]
        f = wrench(force)
        return int(self.add_many(self.frames([body]), at, frame, f[None])[0])

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
            self.in_world.update(numbers.tolist())
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

    def write_pending(self) -> IntArray:
        """Write forces that were changed one by one; returns their bodies."""
        rows = np.array([self.row_of[n] for n in self.pending], np.int64)
        given = np.zeros((len(rows), 6))
        given[:, :3] = list(self.pending.values())
        self.pending.clear()
        self.write(rows, given)
        return self.rows.body[rows]

    def write(self, at: IntArray, values: FloatArray) -> None:
        """Other values [force, moment] (k, 6), in the user's axes, for forces in these rows."""
        self.flush()
        rows = self.rows
        turned = np.einsum("nij,nwj->nwi", rows.turn[at], values.reshape(-1, 2, 3))
        rows.force[at], rows.moment[at] = turned[:, 0], turned[:, 1]
        if self._loads is not None:
            place = self._place[at]
            self._loads.force[place], self._loads.moment[place] = turned[:, 0], turned[:, 1]

    def write_plain(self, at: IntArray, values: FloatArray) -> None:
        """Other values (k, 3), in the world's axes, for forces without moments in these rows."""
        self.flush()
        self.rows.force[at] = values
        if self._loads is not None:
            self._loads.force[self._place[at]] = values

    def flush(self) -> None:
        """Write forces that wait."""
        while self.waiting:
            self.waiting.pop()()

    def remove(self, numbers: Iterable[int]) -> list[int]:
        """Take forces away; returns the bodies."""
        self.flush()
        self.removals += 1
        at = [self.row(n) for n in numbers]
        for n in numbers:
            del self.row_of[n]
            self.in_world.discard(n)
        self.rows.number[at] = -1
        self._free.extend(at)
        self._loads = None
        return [int(b) for b in self.rows.body[at]]

    def loads(self) -> Loads:
        """All forces by body; the same object until a force is added or removed."""
        self.flush()
        if self._loads is None:
            used = np.flatnonzero(self.rows.number >= 0)
            used = used[np.argsort(self.rows.number[used], kind="stable")]  # sums do not depend on which rows are used
            applied = Applied._make(a[used] for a in self.rows[:5])
            both = (np.concatenate(pair) for pair in zip(applied, no_force(self.always, not self.turning), strict=True))
            self._loads, place = gather(Applied._make(both), self._slot)
            self._place = np.zeros(len(self.rows.body), np.int64)
            self._place[used] = place[: len(used)]
        return self._loads

    def places(self, rows: IntArray) -> IntArray:
        """Where the forces of these rows are in `loads()`."""
        self.loads()
        return self._place[rows]

    def read(self, rows: IntArray) -> FloatArray:
        """Forces (k, 3) in these rows, which kernels have written into `loads()`."""
        found = self.loads().force[self._place[rows]]
        self.rows.force[rows] = found
        return found

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays."""
        self.flush()
        used = np.array(sorted(self.row_of.items()), np.int64).reshape(-1, 2)[:, 1]
        return {f"force_{name}": getattr(self.rows, name)[used] for name in ForceRows._fields}

    def restore(self, arrays: dict[str, npt.NDArray[Any]], following: int) -> None:
        """The state that `state` gave."""
        rows = [arrays[f"force_{name}"] for name in ForceRows._fields]
        spare = make_rows(8)
        count = len(rows[0])
        self.rows = ForceRows._make(np.concatenate([a, b]) for a, b in zip(rows, spare, strict=True))
        self._free = list(range(count + 7, count - 1, -1))
        self.row_of = dict(zip(self.rows.number[:count].tolist(), range(count), strict=True))
        self.in_world = {n for n, row in self.row_of.items() if self.rows.world[row]}
        self.following, self._loads = following, None


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
