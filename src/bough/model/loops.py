"""Loops: pairs of frames that a mechanism holds together beyond its tree (Featherstone 2008, chapter 8).

| kind | rows | the two frames |
| --- | --- | --- |
| connect | 3 | have one origin |
| weld | 6 | coincide |
| hinge | 5 | have one origin and one z axis, about which they may turn |
| slide | 5 | have the same axes and lie on one z axis, along which they may move |
| cylindrical | 4 | lie on one z axis, about and along which they may move |
| distance | 1 | have origins at a fixed distance |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from bough.errors import ModelError, unknown_option
from bough.model.bodies import placed
from bough.types import FloatArray

ClosureKind: TypeAlias = Literal["connect", "weld", "hinge", "slide", "cylindrical", "distance"]
CLOSURE_KINDS: tuple[str, ...] = get_args(ClosureKind)
# components [linear, angular] of the relative velocity, in the axes of the frames, that each kind leaves free
FREED: dict[str, tuple[int, ...]] = {
    "connect": (3, 4, 5), "weld": (), "hinge": (5,), "slide": (2,), "cylindrical": (2, 5),
    "distance": (1, 2, 3, 4, 5),  # of the line between the frames
}  # fmt: skip


class LoopClosure(NamedTuple):
    """Two frames on different bodies and how they are joined: see the table of kinds above."""

    name: str
    kind: ClosureKind
    frame: str
    other: str
    length: float = 0.0  # metres between the origins, of a distance

    @property
    def components(self) -> tuple[int, ...]:
        """The components [linear, angular], 0 to 5, of the relative velocity that it constrains."""
        return tuple(k for k in range(6) if k not in FREED[self.kind])

    @property
    def rows(self) -> int:
        """The number of directions that it constrains."""
        return len(self.components)

    def __str__(self) -> str:
        end = f" - {self.other} = {self.length:g} m" if self.kind == "distance" else f" = {self.other}"
        return f"{self.kind} {self.name}: {self.frame}{end}"


def check_closure(name: str, kind: str, taken: Iterable[str], length: float | None) -> float:
    """The length of a closure; refuses an unknown kind, a name that is empty or taken, and a length out of place."""
    if kind not in CLOSURE_KINDS:
        raise unknown_option(f"closure {name!r}: there is no kind {kind!r}", kind, CLOSURE_KINDS)
    if not name or name in taken:
        raise ModelError(f"closure {name!r}: the name is taken or empty")
    if kind != "distance":
        if length is not None:
            raise ModelError(f"closure {name!r}: only a distance has a length, and this is a {kind}")
        return 0.0
    try:
        found = float("nan") if length is None else float(length)
    except (TypeError, ValueError):
        found = float("nan")
    if not 0.0 < found < float("inf"):
        raise ModelError(f"closure {name!r}: a distance needs length=, in metres and above zero, got {length!r}")
    return found


def end_of(closure: str, frame: str, point: object) -> tuple[FloatArray, FloatArray] | None:
    """The placement of a closure's own frame in `frame`; None where it is `frame` itself."""
    return None if point is None else placed(point, f"closure {closure!r} at {frame!r}")


def check_ends(closures: Iterable[LoopClosure], carrier: Mapping[str, int]) -> None:
    """Refuse a closure between frames of one body, which has nothing to close; `carrier` numbers moving bodies."""
    for c in closures:
        if carrier[c.frame] == carrier[c.other]:
            where = "the world" if carrier[c.frame] < 0 else "one body"
            raise ModelError(
                f"closure {c.name!r}: {c.frame!r} and {c.other!r} are both fixed to {where}, so there is nothing to "
                f'close; leave it out (in a file: equality="drop")'
            )
