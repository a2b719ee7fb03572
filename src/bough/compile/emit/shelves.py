"""Values that wait long for their next use, put on shelves of shared memory instead of registers.

A thread of a GPU has 255 registers, and what does not fit there goes to memory that all threads together overflow.
Shared memory holds as much again for each thread. Of the values that wait, the one is put away whose next use is
farthest (Belady 1966); it is written once, for no value ever changes, and read again where it is wanted. What finds no
room there either is left to the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NAME = re.compile(r"\bt\d+[sc]?\b")
MADE = re.compile(r"^(?:const )?Real (t\d+)(?:(s), t\d+(c))?\b")
SOON = 24  # lines: what is wanted within so many stays


def made_by(line: str) -> list[str]:
    """The names that a line defines."""
    found = MADE.match(line)
    if not found:
        return []
    name, *both = found.groups()
    return [name + kind for kind in both] if both[0] else [name]


class Shelves:
    """Lines with values put away, so that no more than `registers` of them are held, as far as `slots` allow."""

    def __init__(self, lines: Sequence[str], registers: int, slots: int) -> None:
        self.registers = registers
        self.lines: list[str] = []
        self.slots = 0  # that were ever taken
        self._free = list(range(slots))[::-1]
        self._slot: dict[str, int] = {}
        self._uses: dict[str, list[int]] = {}  # of each name, the last first
        self._called: dict[str, str] = {}  # what a value in a register is called now
        made = [made_by(line) for line in lines]
        for k in range(len(lines) - 1, -1, -1):
            for name in self._read(lines[k], made[k]):
                self._uses.setdefault(name, []).append(k)
        for k, line in enumerate(lines):
            self._write(k, line, made[k])

    @staticmethod
    def _read(line: str, made: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(NAME.findall(line)) if name not in made]

    def _write(self, k: int, line: str, made: list[str]) -> None:
        read = self._read(line, made)
        for name in read:
            if name not in self._called:
                self._called[name] = f"{name}_{k}"
                self.lines.append(f"const Real {name}_{k} = FETCH({self._slot[name]});")
        self.lines.append(NAME.sub(lambda found: self._called.get(found[0], found[0]), line))
        for name in read:
            self._uses[name].pop()
            if not self._uses[name]:
                self._forget(name)
        self._called |= {name: name for name in made if self._uses.get(name)}
        self._make_room(k)

    def _forget(self, name: str) -> None:
        del self._called[name]
        if name in self._slot:
            self._free.append(self._slot.pop(name))

    def _make_room(self, k: int) -> None:
        excess = len(self._called) - self.registers
        if excess <= 0:
            return
        far = [name for name in self._called if self._uses[name][-1] >= k + SOON]
        while excess > 0:
            kept = far if self._free else [name for name in far if name in self._slot]
            if not kept:
                return
            name = max(kept, key=lambda name: self._uses[name][-1])
            far.remove(name)
            self._put_away(name)
            excess -= 1

    def _put_away(self, name: str) -> None:
        called = self._called.pop(name)
        if name not in self._slot:
            slot = self._slot[name] = self._free.pop()
            self.slots = max(self.slots, slot + 1)
            self.lines.append(f"SHELVE({slot}, {called});")


def peak(lines: Sequence[str]) -> int:
    """The most values that wait for a use at one time."""
    last = {name: k for k, line in enumerate(lines) for name in NAME.findall(line)}
    ends = [0] * len(lines)
    for k in last.values():
        ends[k] += 1
    held = most = 0
    for line, leaving in zip(lines, ends, strict=True):
        held += len(made_by(line))
        most, held = max(most, held), held - leaving
    return most
