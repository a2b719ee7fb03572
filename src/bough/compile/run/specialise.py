"""Program -> machine code for the host, from the disk cache where it is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.compile.emit import llvm
from bough.compile.graph import schedule, twins
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Program
from bough.compile.routine import operations
from bough.compile.run import cache, native
from bough.compile.run.call import CompiledFunction
from bough.compile.run.entry import Entry

LEAST_GAIN = 0.9  # moves between numbers and vectors cost more than their number says


def entry(program: Program, dtype: Any = np.float64, lanes: int | None = None) -> Entry:
    """The code of `program` with `lanes` rows side by side: 1 = one after another, None = as many as the CPU takes."""
    dtype = np.dtype(dtype)
    width = native.host().lanes(dtype)
    lanes = lanes or width

    def build() -> bytes:
        # one row at a time, code of a higher level is no faster
        return native.compile_ir(emit(program, dtype, lanes, width), level=1 if lanes == 1 else 2)

    name = f"specialised {cache.fingerprint(program)} {dtype.str} {lanes}"
    code = native.load(cache.fetch(name, build), llvm.ENTRY)
    return Entry(code.address, owner=code)


def emit(program: Program, dtype: np.dtype, lanes: int, width: int) -> str:
    """The LLVM IR of a program: with twin limbs side by side where rows are not and where that shortens the code."""
    if lanes == 1 and program.marks:
        arranged, units = twins.side_by_side(schedule.optimise(program), width)
        alone = twins.cost(arranged, [(i,) for unit in units for i in set(unit)])
        if twins.cost(arranged, units) < LEAST_GAIN * alone:
            return llvm.emit(arranged, dtype, lanes, width, units=units)
    return llvm.emit(schedule.optimise(drop_dead_code(twins.settle(program))), dtype, lanes, width)


def cost(program: Program) -> int:
    """What one configuration takes, roughly in instructions: to compare algorithms by."""
    if not program.marks:
        return operations(program).total
    return twins.cost(*twins.find_units(program, native.host().lanes(np.dtype(np.float64))))


def specialise(name: str, program: Program, dtype: Any = np.float64, lanes: int | None = None) -> CompiledFunction:
    """`program` as a function of arrays; compiled on its first call for one configuration, and again for a batch."""
    return CompiledFunction(
        name,
        program.inputs,
        program.outputs,
        dtype,
        single=lambda: entry(program, dtype, 1),
        batch=lambda: entry(program, dtype, lanes),
    )
