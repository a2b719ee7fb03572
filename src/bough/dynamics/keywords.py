"""The keywords that every function of `Dynamics` takes, stated once: for type checkers and for `help`."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, signature
from typing import Any, TypedDict, TypeVar

import numpy.typing as npt

from bough.errors import OptionError, short

T = TypeVar("T")


class RunKeywords(TypedDict, total=False):
    """How a function runs: over how many threads, and with which of the `inputs` that its `Dynamics` was made with."""

    threads: int | None
    inertia: npt.ArrayLike
    armature: npt.ArrayLike
    gravity: npt.ArrayLike
    placement: npt.ArrayLike


class CallKeywords(RunKeywords, total=False):
    """The same, and an array for the result."""

    out: npt.NDArray[Any] | None


class TupleKeywords(RunKeywords, total=False):
    """The same, and a tuple of arrays for several results."""

    out: tuple[npt.NDArray[Any], ...] | None


# by the name that a method gives to its last argument
KEYWORDS = {"given": ("threads",), "call": ("out", "threads")}


def written_out(cls: type[T]) -> type[T]:
    """A class whose methods show `out` and `threads` in their signatures where they take keywords of this file."""
    for method in vars(cls).values():
        if not callable(method):
            continue
        found = signature(method)
        *stated, last = found.parameters.values() or [None]
        if last is not None and last.kind is Parameter.VAR_KEYWORD and str(last.annotation).startswith("Unpack"):
            more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in KEYWORDS[last.name]]
            rest = Parameter("parameters", Parameter.VAR_KEYWORD)
            method.__signature__ = found.replace(parameters=[*stated, *more, rest])
    return cls


def word_of(option: str, given: Any) -> Any:
    """An option that is a word, or None."""
    if given is None or isinstance(given, str):
        return given
    raise OptionError(f"{option} is a word, got {short(repr(given))}")


def check_frames(frames: Any, jacobians: Any) -> None:
    """Refuse what is no list of names where kinematics takes one; None stands for all frames."""
    for what, names in (("frames", () if frames is None else frames), ("jacobians", jacobians)):
        if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(x, str) for x in names):
            hint = f"; write [{names!r}]" if isinstance(names, str) else ""
            raise OptionError(f"kinematics: {what} is a list of names, got {short(repr(names))}{hint}")
