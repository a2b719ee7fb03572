"""The specialised execution: a routine is traced for its constants and compiled for the host.

It is vectorised over the rows of a batch, or in a single call over identical parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from weakref import WeakKeyDictionary

import numpy as np

from bough.compile.emit import llvm, llvm_columns, llvm_product
from bough.compile.emit.llvm_columns import RowPrograms
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.graph import schedule, twins
from bough.compile.graph.expr import GraphTooLargeError
from bough.compile.graph.passes import drop_dead_code, unchecked_inputs
from bough.compile.graph.program import Program
from bough.compile.routine import Axes, Constants, FindTwins, Groups, Routine, Sizes, operations, trace
from bough.compile.run import cache, native
from bough.compile.run.entry import Entry, NativeCode

LEAST_GAIN = 0.9  # moves between numbers and vectors cost more than their number says

# Past this many nodes a graph costs more to compile than it gains; past these sizes it is not even tried.
LARGEST_GRAPH = 60_000
LARGEST_ARRAY = 20_000
# Longer programs are cut into smaller functions: these take half the time to compile, and are no slower. They are in
# modules of their own, which compile side by side.
LONG, LONG_CHUNK, LONG_PARTS = 20_000, 600, 6
LARGEST_DERIVATIVE = 400_000  # of a routine that only runs traced

_programs: WeakKeyDictionary[Constants, dict[tuple[Routine, int], Program | None]] = WeakKeyDictionary()


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """Code for these constants; `serves` says beforehand whether there can be any."""
    program = program_of(routine, constants, sizes)
    if program is None:
        raise GraphTooLargeError(f"{routine.name} takes too many operations")
    return entry(program, dtype)


def serves(routine: Routine, constants: Constants, sizes: Sizes) -> bool:
    """Whether the graph of the routine is small enough to compile."""
    return program_of(routine, constants, sizes) is not None


def program_of(routine: Routine, constants: Constants, sizes: Sizes, largest: int = LARGEST_GRAPH) -> Program | None:
    """The traced routine, kept as long as its constants; None if it would be too large."""
    known = _programs.setdefault(constants, {})
    limit = LARGEST_DERIVATIVE if routine.only_traced else largest
    if (routine, limit) not in known:
        groups = constants.folded or (lambda: constants.groups)
        worth = worth_tracing(routine, sizes)
        known[routine, limit] = traced(routine, groups(), sizes, constants.twins, limit) if worth else None
    return known[routine, limit]


def worth_tracing(routine: Routine, sizes: Sizes) -> bool:
    """Whether the arrays are so small that the graph can be."""
    arrays = routine.arrays({**routine.inputs, **routine.outputs, **routine.work}, sizes)
    return max(a.size for a in arrays) <= LARGEST_ARRAY


def traced(
    routine: Routine, groups: Groups, sizes: Sizes, twins: FindTwins | None = None, limit: int = LARGEST_GRAPH
) -> Program | None:
    """The traced routine, its parts marked where `twins` finds some; None if its graph would be larger than `limit`."""
    found = twins(groups) if twins else None
    marked = _traced(routine, found.constants, sizes, limit, found.axes) if found else None
    return marked or _traced(routine, groups, sizes, limit)


def _traced(routine: Routine, groups: Groups, sizes: Sizes, limit: int, axes: Axes | None = None) -> Program | None:
    try:
        return trace(routine, groups, sizes, limit, axes)
    except GraphTooLargeError:
        return None
    except ZeroDivisionError:  # singular for every input: general code reports it
        return None


def entry(program: Program, dtype: np.dtype, lanes: int | None = None) -> Entry:
    """The code of a program: for batches with `lanes` rows side by side (None = as many as the CPU takes)."""
    return Entry(lambda: native_code(program, dtype, 1), lambda: native_code(program, dtype, lanes))


def native_code(
    program: Program, dtype: np.dtype, lanes: int | None = None, after: SparseProduct | RowPrograms | None = None
) -> NativeCode:
    """The code of `program` with `lanes` rows side by side: 1 = one after another, None = as many as the CPU takes.

    `after` are loops over its outputs; programs of rows are for several side by side.
    """
    width = native.host().lanes(dtype)
    lanes = lanes or width

    def build() -> bytes:
        is_long = len(program.graph) > LONG
        kept = range(len(program.inputs), len(program.inputs) + 2) if isinstance(after, RowPrograms) else ()
        texts = emit(program, dtype, lanes, width, is_long, kept)
        if isinstance(after, RowPrograms):
            texts = (llvm_columns.emit(program, after, dtype, lanes, text) for text in texts)
        elif after is not None:
            texts = (llvm_product.emit(program, after, dtype, lanes, text, width) for text in texts)
        # one row at a time, and of long programs, code of a higher level is no faster
        return native.compile_parts(texts, level=1 if lanes == 1 or is_long else 2)

    name = f"specialised {cache.fingerprint(program)} {dtype.str} {lanes}{_named(after)}"
    code = native.load(cache.fetch(name, build), llvm.ENTRY)
    # one row is cheap to check; the outputs of a product are not those of the program
    of_rows = lanes > 1 and after is None
    return NativeCode(
        code.address,
        code,
        unchecked=unchecked_inputs(drop_dead_code(twins.settle(program))) if of_rows else frozenset(),
    )


def _named(after: SparseProduct | RowPrograms | None) -> str:
    """A key of the loops that follow."""
    if isinstance(after, RowPrograms):
        return f" {[cache.fingerprint(p) for p in after.programs]} {after.rows} {after.results}"
    return f" {after}" if after else ""


def emit(
    program: Program, dtype: np.dtype, lanes: int, width: int, is_long: bool = False, kept: Collection[int] = ()
) -> Iterator[str]:
    """The LLVM IR of a program; single rows are vectorised over twins where that shortens the code."""
    how = (LONG_CHUNK, LONG_PARTS) if is_long else (llvm.CHUNK, 0)
    if lanes == 1 and program.marks:
        # ordering a long program takes time, and twins have an order of their own
        arranged, units = twins.side_by_side((schedule.tidied if is_long else schedule.optimise)(program), width)
        alone = twins.cost(arranged, [(i,) for unit in units for i in set(unit)])
        if twins.cost(arranged, units) < LEAST_GAIN * alone:
            return llvm.emit(arranged, dtype, lanes, width, *how, units)
    return llvm.emit(schedule.optimise(twins.settle(program)), dtype, lanes, width, *how, kept=kept)


def cost(program: Program) -> int:
    """An estimate of the instructions for one configuration, to compare algorithms."""
    if not program.marks:
        return operations(program).total
    return twins.cost(*twins.find_units(program, native.host().lanes(np.dtype(np.float64))))
