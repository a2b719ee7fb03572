"""The forces a user applies: checked, numbered one by one or in groups, and gathered for the passes when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.passes import Applied, Loads, gather, no_force
from bough.errors import NonFiniteError, SettingError, ShapeError, UnknownNameError
from bough.model import Model
from bough.types import FloatArray, IntArray

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
            raise SettingError(f"there is no frame {frame!r} for a force; known: {', '.join(FRAMES)}")
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
