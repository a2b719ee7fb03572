"""A module of LLVM: an entry, and all kernels that it needs, each once for arguments of the same types."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from bough.compile.kernel import is_inlined
from bough.compile.lower.builtins import DECLARATIONS
from bough.compile.lower.function import Translated, called, translate
from bough.compile.lower.kinds import ENTRY, Kind, Numbers, Several, words_in
from bough.compile.lower.values import Arr, Num, OutsideError
from bough.compile.lower.writer import Writer, count
from bough.compile.routine import Groups, Routine, work_type

UNFINISHED = object()  # the result of a function that is being translated


class Module:
    """Translated kernels and what they were made of."""

    def __init__(self, inline_all: bool) -> None:
        self._inline_all = inline_all
        self._known: dict[tuple[Any, tuple[Any, ...]], Translated] = {}
        self.texts: list[str] = []

    def is_inlined(self, function: Callable[..., Any]) -> bool:
        return self._inline_all or is_inlined(function)

    def translated(self, function: Callable[..., Any], kinds: tuple[Any, ...]) -> Translated:
        """A kernel for arguments of these types."""
        found = self._known.get((function, kinds))
        if found is None:
            name = f"k{len(self._known)}.{function.__name__}"
            self._known[function, kinds] = Translated(name, UNFINISHED)
            found, text = translate(self, function, kinds, name)
            self._known[function, kinds] = found
            self.texts.append(text)
        if found.result is UNFINISHED:
            raise OutsideError(f"{function.__name__}, which calls itself")
        return found

    def finished(self, out: Writer) -> str:
        """The text of all, with these lines of the entry."""
        head = f"define i64 @{ENTRY}(ptr %arrays, i64 %batch, ptr %a) nounwind {{"
        entry = [head, "start:", *out.head, " br label %first", "first:", *out.lines, " ret i64 0", "}"]
        return "\n".join([*DECLARATIONS, *self.texts, *entry, "!0 = !{}"])


def of_arguments(kernel: Callable[..., Any], kinds: tuple[Kind, ...]) -> str:
    """An entry that finds the kernel's arguments in the context, and puts its result, if any, into the first word."""
    module, out, at, given = Module(inline_all=False), Writer(), 1, []
    for kind in kinds:
        given.append(out.read("%a", at, kind))
        at += words_in(kind)
    result = called(module, out, kernel, given)
    if result is not None:
        out.do(f"store double {out.number(result, 'f').ref}, ptr %a")
    return module.finished(out)


def row_kinds(routine: Routine, constants: Groups, dtype: np.dtype) -> list[Several | Numbers]:
    """What a context holds besides extents: constants, working space, and inputs that are zero."""
    kinds: list[Several | Numbers] = [
        Several(type(g), tuple(Numbers(a.ndim, a.dtype.str) for a in g)) for g in constants
    ]
    if routine.work:
        space = tuple(Numbers(len(shape.split()), dtype.str) for shape in routine.work.values())
        kinds.append(Several(work_type(tuple(routine.work)), space))
    return kinds + [Numbers(len(routine.inputs[name].split()), dtype.str) for name in sorted(routine.zeros)]


def of_rows(routine: Routine, constants: Groups, dtype: np.dtype) -> str:
    """An entry that calls the kernel for each row of a batch; the context is that of `run.general`."""
    module, out, at, read = Module(inline_all=True), Writer(), 0, []
    for kind in row_kinds(routine, constants, dtype):
        read.append(out.read("%a", at, kind))
        at += words_in(kind)
    zeros = read[len(read) - len(routine.zeros) :]
    arrays: dict[str, Any] = dict(zip(sorted(routine.zeros), zeros, strict=True))
    rows = {}
    for k, (name, shape) in enumerate({**routine.arguments, **routine.outputs}.items()):
        extents = tuple(out.read("%a", at + j, "i") for j in range(len(shape.split())))
        at += len(extents)
        where = out(f"getelementptr inbounds ptr, ptr %arrays, i64 {k}")
        rows[name] = Arr(dtype.str[1:], out(f"load ptr, ptr {where}"), extents)
    scratch = read[len(constants)] if routine.work else 0

    def each(k: Num) -> None:
        for name, array in rows.items():
            start = reduce(out.product, array.extents, k)
            arrays[name] = array._replace(data=out.address(array, start))
        given = [arrays[name] for name in (*routine.inputs, *routine.outputs)]
        called(module, out, routine.body, [*read[: len(constants)], *given, scratch])

    count(out, (0, Num("i", "%batch"), 1), each)
    return module.finished(out)
