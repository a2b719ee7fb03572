"""The form of a kernel, by a rule, so that results are the same bits on every GPU of one model.

The rule takes the needs of the kernel (lines and live values for 1, 2 and 4 threads a row) and the limits of the GPU.
Its constants are fitted to measured times of some thirty kernels with 2,000 to 60,000 operations on an H200
(benchmarks/gpu_forms.json). `candidates` are the forms worth timing where bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bough.compile.emit.cuda import Arrangement, Form, Layouts, Needs, needs, tile_bytes
from bough.compile.emit.limits import SPILL_BLOCK, Limits
from bough.compile.graph.program import Array

BLOCKS = (32, 64, 128, 256)
USUAL_BLOCK = 64
STAGED_FROM = 48  # numbers of a row; smaller rows are written in one piece anyway
RESIDENT = (8, 6, 4, 2)  # resident blocks of a multiprocessor, of forms that spill to shared memory
SHORTER = 0.9  # of twice as many threads for a row: lines, or they are idle
# Numbers of the rule
LONG, LONG_COST = 7000, 2.0  # lines: longer kernels overflow the instruction cache, and take so many times as long
ALONE = {1: 1.6, 2: 1.25, 4: 1.0}  # times as long, by threads for a row, as neighbours do not read rows together
OVERFLOW_POWER = 0.75  # of live values beside registers and shared memory: the compiler spills some at little cost
BUSY = 512  # threads of a multiprocessor, fewer of which leave it idle
USUAL_RESIDENT, ROOMY = 4, 6  # the default, and that by which the need of registers is measured
SCATTERED = 8.0  # times as long, where many results go to memory one by one
SLACK = {4: 1.1, 8: 1.3}  # a little that is left to the compiler does no harm, by bytes of a number
MANY_BLOCKS = 2500  # lines: of longer kernels fewer than RESIDENT[0] blocks share the instruction cache
ENDLESS, ENDLESS_SLACK = 12_000, 1.85  # lines: kernels of one thread that wait for instructions, so that warps count
CACHED = 0.9  # of shared memory and L1 cache, for spilled values and the rows that are read
STAGED_CROWDED, TILE_SHARE = 350, 0.75  # registers from which staged forms spill, and the largest share of their tiles
TOO_FEW, HOLDS = 1.5, 1.2  # times the live values for which there is memory, see `_resident_beside_tile`
OVERFLOW, WASTE = 460, 1.5  # widths that take more registers, and that times the least, are not timed


class FormAndBlock(NamedTuple):
    """The form of a launch."""

    form: Form
    block: int


class KernelNeeds(NamedTuple):
    """The facts of a function before its text is written: `needs` by the number of threads a row."""

    needs: Mapping[int, Needs]
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    dtype: np.dtype
    layouts: Layouts

    def form(self, lanes: int, staged: bool = False, resident: int = 0) -> Form:
        return Form(lanes, self.layouts.inputs, staged, resident, self.layouts.results, self.layouts.listed)

    def is_staged(self, lanes: int, block: int, limits: Limits) -> bool:
        """Whether results are staged in shared memory: rows of many numbers, if a block of them fits."""
        return self.has_large_rows and self.tile(lanes, block) <= limits.tile

    @property
    def has_large_rows(self) -> bool:
        return self.layouts.results == "rows" and sum(spec.size for spec in self.outputs) >= STAGED_FROM

    def tile(self, lanes: int, threads: int) -> float:
        """Bytes of shared memory for the results of so many threads."""
        return tile_bytes(self.outputs, self.dtype) * threads / lanes


def kernel_needs(
    arranged: Callable[[int], Arrangement], dtype: np.dtype, layouts: Layouts, limits: Limits, has_twins: bool
) -> KernelNeeds:
    """The needs of a program for one thread a row, and for all numbers of threads that shorten the code."""
    found: dict[int, Needs] = {}
    program = arranged(1).program
    kernels = KernelNeeds(found, program.inputs, program.outputs, dtype, layouts)
    for lanes in (1, 2, 4) if has_twins else (1,):
        form = kernels.form(lanes, kernels.is_staged(lanes, BLOCKS[0], limits))
        wanted = needs(arranged(lanes), dtype, form)
        if found and wanted.lines > SHORTER * found[lanes // 2].lines:
            break
        found[lanes] = wanted
    return kernels


def rule(kernels: KernelNeeds, limits: Limits) -> FormAndBlock:
    """The form, from the kernel and the GPU alone."""
    lanes = min(kernels.needs, key=lambda lanes: _cost(kernels, lanes, limits))
    staged = [block for block in (USUAL_BLOCK, BLOCKS[0]) if kernels.is_staged(lanes, block, limits)]
    if not staged:
        return FormAndBlock(kernels.form(lanes, resident=_resident(kernels, lanes, limits)), USUAL_BLOCK)
    tile, crowded = kernels.tile(lanes, SPILL_BLOCK), kernels.needs[lanes].registers > STAGED_CROWDED
    if crowded and tile <= TILE_SHARE * limits.spill_memory(USUAL_RESIDENT) * SPILL_BLOCK:
        return FormAndBlock(
            kernels.form(lanes, staged=True, resident=_resident_beside_tile(kernels, lanes, limits)), SPILL_BLOCK
        )
    return FormAndBlock(kernels.form(lanes, staged=True), staged[0])


def _cost(kernels: KernelNeeds, lanes: int, limits: Limits) -> float:
    """The relative time of a row with so many threads."""
    lines, registers = kernels.needs[lanes]
    cost = lanes * lines * (LONG_COST if lines > LONG else 1.0)
    cost *= max(1.0, registers / _room(kernels, ROOMY, limits)) ** OVERFLOW_POWER
    if kernels.layouts.inputs == "rows":
        cost *= ALONE[lanes]
    if kernels.is_staged(lanes, BLOCKS[0], limits):
        return cost * max(1.0, BUSY * kernels.tile(lanes, 1) / limits.shared)
    return cost * SCATTERED if kernels.has_large_rows else cost


def _resident(kernels: KernelNeeds, lanes: int, limits: Limits) -> int:
    """The most resident blocks whose registers and shared memory hold all live values; 0 where none spill."""
    lines, registers = kernels.needs[lanes]
    if registers <= limits.live_registers(kernels.dtype, RESIDENT[0]):
        return 0
    endless = lanes == 1 and lines > ENDLESS
    slack = ENDLESS_SLACK if endless else SLACK[kernels.dtype.itemsize]
    for blocks in RESIDENT:
        if blocks == RESIDENT[0] and MANY_BLOCKS < lines and not endless:
            continue
        if slack * _room(kernels, blocks, limits) >= registers:
            if _leaves_cache(kernels, lanes, blocks, limits):
                return max(blocks, USUAL_RESIDENT)
            if registers <= limits.live_registers(kernels.dtype, USUAL_RESIDENT):
                return 0
    return USUAL_RESIDENT


def _leaves_cache(kernels: KernelNeeds, lanes: int, blocks: int, limits: Limits) -> bool:
    """Whether the L1 cache, which is the shared memory that is left, holds the rows that are read."""
    if kernels.layouts.inputs == "columns":
        return True
    excess = 4 * (kernels.needs[lanes].registers - limits.live_registers(kernels.dtype, blocks))
    spilled = min(max(0, excess), limits.spill_memory(blocks)) * SPILL_BLOCK
    read = kernels.dtype.itemsize * sum(spec.size for spec in kernels.inputs) * SPILL_BLOCK // lanes
    return blocks * (spilled + read) <= CACHED * limits.shared


def _resident_beside_tile(kernels: KernelNeeds, lanes: int, limits: Limits) -> int:
    """Resident blocks of a staged form: two where they hold what four spill a third of."""
    registers, tile = kernels.needs[lanes].registers, int(kernels.tile(lanes, 1))
    holds = [_room(kernels, blocks, limits, tile) for blocks in (USUAL_RESIDENT, RESIDENT[-1])]
    return RESIDENT[-1] if TOO_FEW * holds[0] < registers <= HOLDS * holds[1] else USUAL_RESIDENT


def _room(kernels: KernelNeeds, blocks: int, limits: Limits, tile: int = 0) -> int:
    """Live values for which a thread has registers or shared memory beside its tile, in registers of four bytes."""
    return limits.live_registers(kernels.dtype, blocks) + (limits.spill_memory(blocks) - tile) // 4


def candidates(kernels: KernelNeeds, limits: Limits) -> Iterator[Form]:
    """Forms worth timing."""
    least = min(x.registers for x in kernels.needs.values())
    for lanes, (_, registers) in kernels.needs.items():
        if registers > OVERFLOW and registers > WASTE * least:
            continue
        spilling = [s for s in RESIDENT if registers > limits.live_registers(kernels.dtype, s)]
        enough = [s for s in spilling if 1.4 * _room(kernels, s, limits) >= registers]
        if not enough or registers <= OVERFLOW:
            yield kernels.form(lanes)
        if kernels.is_staged(lanes, BLOCKS[0], limits):
            yield kernels.form(lanes, staged=True)
        yield from (kernels.form(lanes, resident=s) for s in enough or spilling[-2:])
