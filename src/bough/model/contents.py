"""The contents of a model in the user's order: joints, frames, limits, passive forces, mimic couplings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from bough.errors import UnknownNameError, nearest, short
from bough.types import FloatArray, IntArray

WORLD = "world"


class Joint(NamedTuple):
    """One joint as the user knows it: the slices of q and v that belong to it."""

    name: str
    body: str
    type: str
    q: slice
    v: slice


class Numbered(Sequence[str]):
    """Names with a number each, which are made when they are read: `first`, then word0, word1, ... up to n."""

    def __init__(self, word: str, n: int, *first: str) -> None:
        self.word, self.n, self.first = word, n, first

    def __len__(self) -> int:
        return len(self.first) + self.n

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            return tuple(self)[i]
        k = range(len(self))[i]
        return self.first[k] if k < len(self.first) else f"{self.word}{k - len(self.first)}"

    def place(self, name: str) -> int | None:
        """Where a name is, found without making the others; None if it is nowhere."""
        digits = name.removeprefix(self.word)
        k = int(digits) if len(digits) < 19 and digits.isdecimal() else -1
        if 0 <= k < self.n and name == f"{self.word}{k}":
            return len(self.first) + k
        return self.first.index(name) if name in self.first else None

    def __iter__(self) -> Iterator[str]:
        yield from self.first
        yield from [f"{self.word}{k}" for k in range(self.n)]


def filled_names(given: Sequence[str], kind: str, first: int = 0) -> list[str]:
    """The names, and in the place of an empty one its kind and number, with "_" behind it if that is taken."""
    names = []
    for k, name in enumerate(given, first):
        own = name or f"{kind}{k}"
        while not name and own in given:
            own += "_"
        names.append(own)
    return names


class Joints(Sequence[Joint]):
    """The joints of a model, kept as columns: a `Joint` is made when it is read, so a million are cheap."""

    def __init__(
        self, names: Sequence[str], bodies: Sequence[str], types: tuple[str, ...], q: IntArray, v: IntArray
    ) -> None:
        """`q` and `v` are (joints, 2): where the part of each joint starts and stops."""
        self.names, self.bodies, self.types = names, bodies, types
        self.q, self.v = freeze(q), freeze(v)

    def __reduce__(self) -> tuple[Any, ...]:
        return Joints, (self.names, self.bodies, self.types, self.q, self.v)

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, i: int) -> Joint: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Joint, ...]: ...
    def __getitem__(self, i: int | slice) -> Joint | tuple[Joint, ...]:
        if isinstance(i, slice):
            return tuple(self[k] for k in range(*i.indices(len(self))))
        q, v = slice(*self.q[i].tolist()), slice(*self.v[i].tolist())
        return Joint(self.names[i], self.bodies[i], self.types[i], q, v)


class JointLimits(NamedTuple):
    """Joint limits per degree of freedom, infinite where there is none, all (nv,)."""

    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    effort: FloatArray


class Passive(NamedTuple):
    """Passive joint forces by degree of freedom, all (nv,): used by `simulate` and ignored by `Dynamics`.

    The force of a joint is -damping v - friction sign(v) - stiffness (x - rest), where x - rest is the tangent vector
    from `Model.rest_configuration` to q. Units: N m s or N s/m, N m or N, N m or N/m (per radian or metre), rad or m.
    """

    damping: FloatArray
    friction: FloatArray  # dry
    stiffness: FloatArray
    rest: FloatArray  # zero for joints that turn or move in several directions at once

    @classmethod
    def none(cls, nv: int) -> Passive:
        """No passive force on any of nv degrees of freedom."""
        return cls(*np.zeros((4, nv)))


class Frames(NamedTuple):
    """Named frames: `body` is the kernel's body number (-1 = world), (R, p) the placement in that body's laid frame."""

    names: Sequence[str]
    body: IntArray
    R: FloatArray
    p: FloatArray


class ScalarJoints(NamedTuple):
    """Joints with one coordinate that stands in q itself: revolute, prismatic and helical ones, not scaled by mimicry.

    In the order of the kernels. Only these have position limits.
    """

    q: IntArray  # where the coordinate is in q
    v: IntArray  # where its degree of freedom is in v


class Coupling(NamedTuple):
    """A mimic joint: x_follower = ratio x_leader + offset. The follower has no place of its own in q and v."""

    follower: str
    leader: str
    ratio: float
    offset: float


def unknown(what: str, name: Any, known: tuple[str, ...]) -> str:
    """The sentence that refuses a name, with the nearest known ones, or the first where none is near."""
    hint = nearest(str(name), known, "it has")
    return f"the model has no {what} {short(name) if isinstance(name, str) else name!r}{hint}"


def place_of(what: str, name: Any, names: Sequence[str], numbers: Callable[[], Mapping[str, int]]) -> int:
    """The place of a name among others, whose numbers are read only where needed; an unknown name is refused."""
    found = None
    if isinstance(name, str):
        found = names.place(name) if isinstance(names, Numbered) else numbers().get(name)
    if found is None:
        raise UnknownNameError(unknown(what, name, tuple(names)))
    return found


def freeze(value: Any) -> Any:
    """Arrays read-only, with those they are views of, inside tuples too."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        freeze(value.base)
    elif isinstance(value, tuple):
        names = value and isinstance(value[0], str) and isinstance(value[-1], str)  # perhaps a million
        for item in () if names else value:
            freeze(item)
    return value
