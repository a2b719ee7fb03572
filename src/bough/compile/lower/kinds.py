"""Kinds of arguments, and the table in which compiled code finds them.

An entry is `int64 entry(void **arrays, int64 batch, void *context)`. The context is a table of words: addresses and
extents of arrays, and numbers, so that a call costs the same however many arrays a kernel needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bough.compile.identity import identity

ENTRY = "entry"
LANES = "v8"  # instead of a dtype: an array whose elements are those of eight rows side by side


@dataclass(frozen=True)
class Numbers:
    """An array argument."""

    ndim: int
    dtype: str


@dataclass(frozen=True)
class Several:
    """A tuple of arguments, named or not."""

    type: type
    fields: tuple[Any, ...]


Kind = Numbers | Several | str  # "i" for a whole number, "f" for another one


def words_in(kind: Kind) -> int:
    """How many words of a table an argument takes."""
    if isinstance(kind, Several):
        return sum(map(words_in, kind.fields))
    return 1 + kind.ndim if isinstance(kind, Numbers) else 1


def description(kind: Kind) -> str:
    """A text that is the same for the same kind, in every process."""
    if isinstance(kind, Several):
        return f"{identity(kind.type)}({', '.join(map(description, kind.fields))})"
    return repr(kind)
