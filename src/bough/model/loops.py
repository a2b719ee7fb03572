"""Loops: pairs of frames that a mechanism holds together beyond its tree (Featherstone 2008, chapter 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from bough.errors import ModelError
from bough.model.bodies import placed
from bough.types import FloatArray

ClosureKind: TypeAlias = Literal["connect", "weld"]
CLOSURE_KINDS: tuple[str, ...] = get_args(ClosureKind)


class LoopClosure(NamedTuple):
    """Two frames on different bodies that coincide ("weld", six rows), or whose origins do ("connect", three)."""

    name: str
    kind: ClosureKind
    frame: str
    other: str

    @property
    def rows(self) -> int:
        """How many directions it holds: 6 of a weld, else 3."""
        return 6 if self.kind == "weld" else 3


def check_closure(name: str, kind: str, taken: Iterable[str]) -> None:
    """Refuse a closure that is neither a connect nor a weld, or whose name is empty or taken."""
    if kind not in CLOSURE_KINDS:
        raise ModelError(f"closure {name!r}: kind is 'connect' or 'weld', got {kind!r}")
    if not name or name in taken:
        raise ModelError(f"closure {name!r}: the name is taken or empty")


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
