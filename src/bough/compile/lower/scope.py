"""The names of one kernel while it is translated, and what they stand for where."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from bough.compile.lower.values import OutsideError, common, type_of
from bough.compile.lower.writer import Writer

Key = tuple[str, int]  # a name, and the outermost suite that it belongs to; 0 for all


class BeginAgainError(Exception):
    """Something was learned that is needed from the beginning on."""


class Hints:
    """Facts from earlier attempts at a function."""

    def __init__(self) -> None:
        self.placed: set[str] = set()  # names that need a place on the stack
        self.types: dict[Key, Any] = {}  # types of such names, and of the result under ""
        self.split: set[str] = set()  # names that mean different things in different suites
        self.joined: set[str] = set()  # names that mean one thing everywhere


class Scope:
    """Names of a function: values where they are bound once, places on the stack where they are not."""

    def __init__(self, function: Callable[..., Any], out: Writer, bound: dict[str, int], hints: Hints) -> None:
        self.function, self.out, self.bound, self.hints = function, out, bound, hints
        self.path: list[int] = []  # the suites that we are in, by number
        self._suites = 0
        self._values: dict[str, tuple[Any, int, int]] = {}  # value, depth and number of the suite that bound it
        self._places: dict[Key, tuple[list[str], Any]] = {}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._free = {name: cell.cell_contents for name, cell in cells}

    def enter(self) -> None:
        """Into a suite of statements that may not be run, or more than once."""
        self._suites += 1
        self.path.append(self._suites)

    def leave(self) -> None:
        self.path.pop()

    def is_placed(self, name: str) -> bool:
        return self.bound[name] > 1 or name in self.hints.placed

    def bind(self, name: str, x: Any) -> None:
        """Let a name stand for a value from here on."""
        if not self.is_placed(name):
            self._values[name] = (x, len(self.path), self.path[-1] if self.path else 0)
            return
        self.keep(name, x)

    def keep(self, name: str, x: Any) -> None:
        """Put a value into the place of a name, "" for the result; its type is that of all values put there."""
        kind, key = type_of(x), self._key(name)
        if key not in self._places:
            kind = common(kind, self.hints.types[key]) if key in self.hints.types else kind
            self._places[key] = (self.out.place(kind), kind)
        places, kept = self._places[key]
        if kept != kind:
            self._reconcile(key, kept, kind)
        self.out.keep(places, kept, x)

    def _reconcile(self, key: Key, kept: Any, kind: Any) -> None:
        """A value of another type than those before: it may be another thing under the same name, or a float."""
        name = key[0]
        if name and name not in self.hints.split | self.hints.joined:
            self.hints.split.add(name)  # a loop may count with a name that meant something else in another
            raise BeginAgainError
        wanted = common(kept, kind)
        if wanted != kept:
            self.hints.types[key] = wanted
            raise BeginAgainError

    def _key(self, name: str) -> Key:
        """The scope of a name: one with several meanings must stay within its outermost suite."""
        if name not in self.hints.split:
            return name, 0
        if not self.path:
            self._join(name)
        return name, self.path[0]

    def _join(self, name: str) -> None:
        """The name goes from suite to suite: it means one thing."""
        self.hints.split.discard(name)
        self.hints.joined.add(name)
        raise BeginAgainError

    def kept(self, name: str) -> Any:
        """The value in the place of a name; None where nothing was put."""
        key = self._key(name)
        return self.out.kept(*self._places[key]) if key in self._places else None

    def look_up(self, name: str) -> Any:
        """The value of a name here."""
        if name in self.bound:
            return self._local(name)
        for names in (self._free, self.function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise OutsideError(f"{name} is not known")

    def _local(self, name: str) -> Any:
        if self.is_placed(name):
            if self._key(name) not in self._places:
                if name in self.hints.split:
                    self._join(name)
                raise OutsideError(f"{name} is read before it is bound")
            return self.kept(name)
        if name not in self._values:
            raise OutsideError(f"{name} is read before it is bound")
        value, depth, suite = self._values[name]
        if depth and (len(self.path) < depth or self.path[depth - 1] != suite):
            self.hints.placed.add(name)
            raise BeginAgainError
        return value
