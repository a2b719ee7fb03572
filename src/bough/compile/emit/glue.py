"""Kernels as entries: the Python text of a function that unpacks addresses and calls a kernel, for Numba to compile.

The entry is `int64 entry(void **arrays, int64 batch, void *context)`. The context is a table of words: addresses and
extents of arrays, and numbers, so that a call costs the same however many arrays a kernel needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bough.compile.routine import Groups, Routine, work_type

ENTRY = "entry"
HEAD = ("def entry(_arrays, _batch, _context):", " _table = _array(_context, (1 << 20,), _int)")


@dataclass
class Glue:
    """The text of an entry, and the names in it that stand for kernels and types."""

    kernel: Callable[..., Any]
    source: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    place: int = 0
    readers: dict[str, tuple[int, Kind]] = field(default_factory=dict)

    def take(self) -> str:
        """The next word of the table."""
        self.place += 1
        return f"_table[{self.place - 1}]"

    def name(self, what: Any, stem: str) -> str:
        """A name for an object in the text: the same for the same object."""
        known = next((name for name, value in self.names.items() if value is what), None)
        if known is None:
            known = f"_{stem}{len(self.names)}"
            self.names[known] = what
        return known

    def array(self, ndim: int, dtype: np.dtype) -> str:
        """The next array of the table."""
        address, extents = self.take(), [self.take() for _ in range(ndim)]
        return f"_array({address}, ({', '.join(extents)},), {self.name(dtype.type, dtype.name)})"


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


def of_arguments(kernel: Callable[..., Any], kinds: tuple[Kind, ...]) -> Glue:
    """An entry that finds the kernel's arguments in the context, and puts its result, if any, into the first word."""
    glue, at = Glue(kernel), 1
    for k, kind in enumerate(kinds):
        glue.readers[f"_read{k}"] = at, kind
        at += words_in(kind)
    arguments = ", ".join(f"{name}(_context)" for name in glue.readers)
    glue.source = f"def entry(_arrays, _batch, _context):\n _keep(_context, _kernel({arguments}))\n return 0"
    return glue


def of_rows(routine: Routine, constants: Groups, dtype: np.dtype) -> Glue:
    """An entry that calls the kernel for each row of a batch. Names of the routine's own arrays are free: all others
    begin with an underscore."""
    glue, lines = Glue(routine.body), [*HEAD]
    for k, group in enumerate(constants):
        fields = [glue.array(a.ndim, a.dtype) for a in group]
        lines.append(f" _m{k} = {glue.name(type(group), 'T')}({', '.join(fields)})")
    work = [glue.array(len(shape.split()), dtype) for shape in routine.work.values()]
    lines.append(
        f" _work = {glue.name(work_type(tuple(routine.work)), 'T')}({', '.join(work)})" if work else " _work = 0"
    )
    for name in sorted(routine.zeros):
        lines.append(f" {name} = {glue.array(len(routine.inputs[name].split()), dtype)}")
    supplied = {**routine.arguments, **routine.outputs}
    lines.append(f" _given = _array(_arrays, ({len(supplied)},), _int)")
    rows = []
    for k, (name, shape) in enumerate(supplied.items()):
        extents = [glue.take() for _ in shape.split()]
        address = f"_given[{k}] + _row * {dtype.itemsize} * {' * '.join(extents)}"
        rows.append(f"  {name} = _array({address}, ({', '.join(extents)},), {glue.name(dtype.type, dtype.name)})")
    names = [f"_m{k}" for k in range(len(constants))] + [*routine.inputs, *routine.outputs]
    lines += [" for _row in range(_batch):", *rows, f"  _kernel({', '.join(names)}, _work)", " return 0"]
    glue.source = "\n".join(lines)
    return glue
