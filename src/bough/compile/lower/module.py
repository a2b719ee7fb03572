"""A module of LLVM: an entry, and all kernels that it needs, each once for arguments of the same types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from bough.compile.ir import Kind as Vector
from bough.compile.ir import transpose
from bough.compile.kernel import is_inlined
from bough.compile.lower.builtins import DECLARATIONS
from bough.compile.lower.function import Translated, called, translate
from bough.compile.lower.values import ENTRY, LANES, Arr, Kind, Num, Numbers, OutsideError, Several, words_in
from bough.compile.lower.writer import Writer, count
from bough.compile.routine import Groups, Routine, work_type

VECTOR = Vector("double", 8)
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


def row_kinds(routine: Routine, constants: Groups, element: str) -> list[Several | Numbers]:
    """The content of a context besides extents: constants, working space, and inputs that are zero."""
    kinds: list[Several | Numbers] = [
        Several(type(g), tuple(Numbers(a.ndim, a.dtype.str) for a in g)) for g in constants
    ]
    if routine.work:
        space = tuple(Numbers(len(shape.split()), element) for shape in routine.work.values())
        kinds.append(Several(work_type(tuple(routine.work)), space))
    return kinds + [Numbers(len(routine.inputs[name].split()), element) for name in sorted(routine.zeros)]


def of_rows(routine: Routine, constants: Groups, dtype: np.dtype) -> str:
    """An entry that calls the kernel for each row of a batch; the context is that of `run.general`."""
    module, out = Module(inline_all=True), Writer()
    read, zeros, at = _context(out, routine, row_kinds(routine, constants, dtype.str))
    rows = _rows(out, routine, dtype.str[1:], at)

    def each(k: Num) -> None:
        arrays = dict(zeros)
        for name, array in rows.items():
            start = reduce(out.product, array.extents, k)
            arrays[name] = array._replace(data=out.address(array, start))
        _call(module, out, routine, read, arrays, len(constants))

    count(out, (0, Num("i", "%batch"), 1), each)
    return module.finished(out)


def of_lanes(routine: Routine, constants: Groups) -> str:
    """The same with eight rows of float64 side by side: every float of a straight-line kernel is a vector.

    Rows are copied into arrays of vectors, which the context holds behind the rest, and results back. Where fewer than
    eight rows are left, the last one is there several times.
    """
    module, out = Module(inline_all=False), Writer()
    read, zeros, at = _context(out, routine, row_kinds(routine, constants, LANES))
    rows = _rows(out, routine, "f8", at)
    at += sum(len(array.extents) for array in rows.values())
    lanes = {name: out.read("%a", at + k, Numbers(0, "<f8")) for k, name in enumerate(rows)}
    batch = Num("i", "%batch")

    def copy(name: str, numbers: list[Any], back: bool) -> None:
        array = rows[name]
        size: Any = reduce(out.product, array.extents, 1)
        starts = [out.product(size, k) for k in numbers]

        def eight(e: Num) -> None:
            there = [out.address(array, out.sum(start, e)) for start in starts]
            here = [out.address(lanes[name], out.product(out.sum(e, c), 8)) for c in range(8)]
            origins, places = (here, there) if back else (there, here)
            vectors = [out(f"load {VECTOR.type}, ptr {origin}, align 8") for origin in origins]
            for x, place in zip(transpose(out, VECTOR, vectors), places, strict=True):
                out.do(f"store {VECTOR.type} {x}, ptr {place}, align 8")

        def one(e: Num) -> None:
            for j, start in enumerate(starts):
                there, here = out.sum(start, e), out.sum(out.product(e, 8), j)
                if back:
                    out.store(array, there, out.load(lanes[name], here))
                else:
                    out.store(lanes[name], here, out.load(array, there))

        count(out, (0, out.binary("-", size, 7), 8), eight)
        count(out, (out.product(out.binary("//", size, 8), 8), size, 1), one)

    def each(group: Num) -> None:
        first = out.product(group, 8)
        last = out.binary("-", batch, 1)
        numbers = []
        for j in range(8):
            k = out.sum(first, j)
            numbers.append(out.select(out.compare("<", k, batch), k, last))
        for name in routine.arguments:
            copy(name, numbers, back=False)
        arrays = zeros | {name: Arr(LANES, lanes[name].data, array.extents) for name, array in rows.items()}
        _call(module, out, routine, read, arrays, len(constants))
        for name in routine.outputs:
            copy(name, numbers, back=True)

    count(out, (0, out.binary("//", out.sum(batch, 7), 8), 1), each)
    return module.finished(out)


def _context(out: Writer, routine: Routine, kinds: Sequence[Kind]) -> tuple[list[Any], dict[str, Any], int]:
    """The content of a context, inputs that are zero by name, and the number of words read."""
    at, read = 0, []
    for kind in kinds:
        read.append(out.read("%a", at, kind))
        at += words_in(kind)
    return read, dict(zip(sorted(routine.zeros), read[len(read) - len(routine.zeros) :], strict=True)), at


def _rows(out: Writer, routine: Routine, element: str, at: int) -> dict[str, Arr]:
    """The arrays of a call, whole, with the extents of a row, which the context has from word `at` on."""
    rows = {}
    for k, (name, shape) in enumerate({**routine.arguments, **routine.outputs}.items()):
        extents = tuple(out.read("%a", at + j, "i") for j in range(len(shape.split())))
        at += len(extents)
        where = out(f"getelementptr inbounds ptr, ptr %arrays, i64 {k}")
        rows[name] = Arr(element, out(f"load ptr, ptr {where}"), extents)
    return rows


def _call(module: Module, out: Writer, routine: Routine, read: list[Any], arrays: dict[str, Any], few: int) -> None:
    """The kernel on arrays by name; the first `few` of what was read are constants."""
    given = [arrays[name] for name in (*routine.inputs, *routine.outputs)]
    called(module, out, routine.body, [*read[:few], *given, read[few] if routine.work else 0])
