"""The forces a user applies: checked, numbered, and gathered for the passes when they are next needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.passes import Applied, Loads, gather
from bough.errors import NonFiniteError, ShapeError, UnknownNameError
from bough.model import Model

FloatArray = npt.NDArray[np.float64]

# Directions of a force: kept in the world, or turning with the body
FRAMES = {"world": True, "local": False, "body": False}


class Forces:
    """Numbered forces on bodies of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.applied: dict[int, Applied] = {}
        self.turned: dict[int, FloatArray] = {}  # orientation of the user's frame in the laid one, for follower forces
        self.following = 0
        self.always: tuple[int, ...] = ()  # bodies to be listed even without a force
        self._slot = np.full(len(model.mechanism.parent), -1, np.int32)
        self._loads: Loads | None = None

    def frame(self, body: str | int) -> int:
        """The number of a frame, given by name or as a place in `body_names`."""
        if not isinstance(body, str):
            names = self.model.body_names
            if not 0 <= int(body) < len(names):
                raise UnknownNameError(f"there is no body {body}: expected a name or 0 to {len(names) - 1}")
            body = names[int(body)]
        return self.model.frame(body)

    def body(self, body: str | int) -> tuple[int, FloatArray, FloatArray]:
        """Number of the primitive that carries a body or frame, and the placement of its frame there."""
        frames, k = self.model.frames, self.frame(body)
        return int(frames.body[k]), frames.R[k], frames.p[k]

    def add(self, body: str | int, force: npt.ArrayLike, point: npt.ArrayLike | None, frame: str) -> int:
        """Check and keep a force; returns its number."""
        if frame not in FRAMES:
            raise ValueError(f"there is no frame {frame!r} for a force; known: {', '.join(FRAMES)}")
        where, R, p = self.body(body)
        if where < 0:
            raise UnknownNameError("a force on the world moves nothing: expected a moving body")
        at = np.zeros(3) if point is None else vector(point, 3, "point")
        f, n = wrench(force)
        number, self.following = self.following, self.following + 1
        self.turned[number] = np.eye(3) if FRAMES[frame] else R
        turn = self.turned[number]
        self.applied[number] = Applied(where, turn @ f, turn @ n, p + R @ at, FRAMES[frame])
        self._loads = None
        return number

    def change(self, number: int, force: npt.ArrayLike) -> int:
        """Another value for a force; returns the body."""
        old, turn = self._known(number), self.turned[number]
        f, n = wrench(force)
        self.applied[number] = old._replace(force=turn @ f, moment=turn @ n)
        self._loads = None
        return old.body

    def remove(self, number: int) -> int:
        """Take a force away; returns the body."""
        body = self._known(number).body
        del self.applied[number], self.turned[number]
        self._loads = None
        return body

    def _known(self, number: int) -> Applied:
        if number not in self.applied:
            raise UnknownNameError(f"there is no force number {number}")
        return self.applied[number]

    def loads(self) -> Loads:
        """All forces by body."""
        if self._loads is None:
            nothing = [Applied(b, np.zeros(3), np.zeros(3), np.zeros(3), True) for b in self.always]
            self._loads = gather([*self.applied.values(), *nothing], self._slot)
        return self._loads

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays."""
        forces = list(self.applied.values())
        return {
            "force_number": np.array(list(self.applied), np.int64),
            "force_body": np.array([a.body for a in forces], np.int64),
            "force_rows": np.array([[a.force, a.moment, a.point] for a in forces]).reshape(-1, 3, 3),
            "force_world": np.array([a.world for a in forces], bool),
            "force_turned": np.array(list(self.turned.values())).reshape(-1, 3, 3),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]], following: int) -> None:
        """The state that `state` gave."""
        numbers = arrays["force_number"].tolist()
        columns = zip(arrays["force_body"].tolist(), arrays["force_rows"], arrays["force_world"].tolist(), strict=True)
        self.applied = {
            k: Applied(b, rows[0], rows[1], rows[2], w) for k, (b, rows, w) in zip(numbers, columns, strict=True)
        }
        self.turned = dict(zip(numbers, arrays["force_turned"], strict=True))
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


def wrench(force: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """(force, moment) from (3,) or [linear, angular] (6,)."""
    a = vector(force, 6 if np.shape(force) == (6,) else 3, "force")
    return a[:3], a[3:] if len(a) == 6 else np.zeros(3)
