"""Spilling of live values to shared memory, by Belady's rule (Belady 1966).

A thread of a GPU has 255 registers, and what the compiler spills goes to local memory, which all threads together
overflow. Shared memory holds as much again for each thread. Where too many values are live, the one with the farthest
next use is spilled. It is stored once, for no value ever changes, and reloaded before that use. Without a free slot the
compiler decides. Operands of a loop are live to its end, as the next turn reads them again, and a value that is
reloaded in a loop is in its register only there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NAME = re.compile(r"\bt\d+[sc]?\b")
DEFINITION = re.compile(r"^(?:const )?Real (t\d+)(?:(s), t\d+(c))?\b")
SOON = 24  # lines: a value that is used within so many stays in its register
LOOP, END_OF_LOOP = "REPEAT", "}"  # how the lines around a loop begin


def defined_by(line: str) -> list[str]:
    """The names that a line defines."""
    found = DEFINITION.match(line)
    if not found:
        return []
    name, *both = found.groups()
    return [name + kind for kind in both] if both[0] else [name]


class SharedSpills:
    """Lines in which at most `registers` values are live beside the spilled ones, as far as `slots` allow."""

    def __init__(self, lines: Sequence[str], registers: int, slots: int) -> None:
        self.registers = registers
        self.lines: list[str] = []
        self.slots = 0  # in use at the most
        self._free = list(range(slots))[::-1]
        self._slot: dict[str, int] = {}  # of each spilled value
        self._uses: dict[str, list[int]] = {}  # lines that read a value, the last first
        self._live: dict[str, str] = {}  # values in registers, by the name that they have there
        self._outside: dict[str, str] = {}  # those before the loop
        defined = [defined_by(line) for line in lines]
        self._through = passed_through(lines)
        for k in range(len(lines) - 1, -1, -1):
            for name in (*self._read(lines[k], defined[k]), *self._through.get(k, ())):
                self._uses.setdefault(name, []).append(k)
        for k, line in enumerate(lines):
            self._write(k, line, defined[k])

    @staticmethod
    def _read(line: str, defined: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(NAME.findall(line)) if name not in defined]

    def _write(self, k: int, line: str, defined: list[str]) -> None:
        read = self._read(line, defined)
        if line.startswith(LOOP):
            self._outside = dict(self._live)
        for name in read:
            if name not in self._live:
                self._live[name] = f"{name}_{k}"
                self.lines.append(f"const Real {name}_{k} = RELOAD({self._slot[name]});")
        self.lines.append(NAME.sub(lambda found: self._live.get(found[0], found[0]), line))
        if line == END_OF_LOOP:
            self._live = {name: x for name, x in self._live.items() if self._outside.get(name) == x}
        for name in (*read, *self._through.get(k, ())):
            self._uses[name].pop()
            if not self._uses[name]:
                self._release(name)
        self._live |= {name: name for name in defined if self._uses.get(name)}
        self._spill_excess(k)

    def _release(self, name: str) -> None:
        self._live.pop(name, None)
        if name in self._slot:
            self._free.append(self._slot.pop(name))

    def _spill_excess(self, k: int) -> None:
        excess = len(self._live) - self.registers
        if excess <= 0:
            return
        far = [name for name in self._live if self._uses[name][-1] >= k + SOON]
        while excess > 0:
            able = far if self._free else [name for name in far if name in self._slot]
            if not able:
                return
            name = max(able, key=lambda name: self._uses[name][-1])
            far.remove(name)
            self._spill(name)
            excess -= 1

    def _spill(self, name: str) -> None:
        register = self._live.pop(name)
        if name not in self._slot:
            slot = self._slot[name] = self._free.pop()
            self.slots = max(self.slots, slot + 1)
            self.lines.append(f"SPILL({slot}, {register});")


def passed_through(lines: Sequence[str]) -> dict[int, list[str]]:
    """By the last line of each loop, the values of before it that it reads."""
    found: dict[int, list[str]] = {}
    read: dict[str, None] | None = None
    own: set[str] = set()
    for k, line in enumerate(lines):
        if line.startswith(LOOP):
            read, own = {}, set()
        elif line == END_OF_LOOP and read is not None:
            found[k], read = [*read], None
        elif read is not None:
            own.update(defined_by(line))
            read |= dict.fromkeys(name for name in NAME.findall(line) if name not in own)
    return found


def peak(lines: Sequence[str]) -> int:
    """The most values that are live at one time."""
    last = {name: k for k, line in enumerate(lines) for name in NAME.findall(line)}
    for end, names in passed_through(lines).items():
        last |= {name: max(end, last[name]) for name in names}
    ends = [0] * len(lines)
    for k in last.values():
        ends[k] += 1
    live = most = 0
    for line, ending in zip(lines, ends, strict=True):
        live += len(defined_by(line))
        most, live = max(most, live), live - ending
    return most
