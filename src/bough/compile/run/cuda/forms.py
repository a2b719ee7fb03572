"""Which form a kernel takes: by a rule, so that results are the same bits on every GPU of one model.

The rule looks at what the kernel needs (lines and waiting values for 1, 2 and 4 threads for a row) and at what the GPU
has. Its numbers are fitted to the times of forms on an H200 (benchmarks/gpu_forms.json) of some thirty kernels with
2,000 to 60,000 operations. `candidates` are worth timing where bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bough.compile.emit.cuda import Arrangement, Form, Layouts, Needs, needs, tile_bytes
from bough.compile.emit.limits import SHELF_BLOCK, Limits
from bough.compile.graph.program import Array

BLOCKS = (32, 64, 128, 256)
USUAL_BLOCK = 64
STAGED_FROM = 48  # numbers of a row; smaller rows leave in one piece anyway
SHELVED = (8, 6, 4, 2)  # blocks on a multiprocessor, of forms with shelves
SHORTER = 0.9  # of twice as many threads for a row: lines, or they are idle
# Numbers of the rule
LONG, LONG_COST = 7000, 2.0  # lines: longer kernels overflow the instruction cache, and take so many times as long
ALONE = {1: 1.6, 2: 1.25, 4: 1.0}  # times as long, by threads for a row, as neighbours do not read rows together
BUSY = 512  # threads of a multiprocessor, fewer of which leave it idle
USUAL_SHELVES, ROOMY = 4, 6  # blocks with shelves where nothing better is known, and by which crowds are measured
SCATTERED = 8.0  # times as long, where many results go to memory one by one
SLACK = {4: 1.1, 8: 1.3}  # a little that is left to the compiler does no harm, by bytes of a number
MANY_BLOCKS = 2500  # lines: of longer kernels fewer than SHELVED[0] blocks share the instruction cache
ENDLESS, ENDLESS_SLACK = 12_000, 1.85  # lines: kernels of one thread that wait for instructions, so that warps count
CACHED = 0.9  # of shared memory and first cache, for shelves and the rows that are read
STAGED_CROWDED, TILE_SHARE = 350, 0.75  # registers from which staged forms have shelves, beside tiles of that share
OVERFLOW, WASTE = 460, 1.5  # widths that take more registers, and that times the least, are not timed


class FormAndBlock(NamedTuple):
    """How a function is launched."""

    form: Form
    block: int


class KernelNeeds(NamedTuple):
    """What is known of a function before its text is written: `needs` by the number of threads for a row."""

    needs: Mapping[int, Needs]
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    dtype: np.dtype
    layouts: Layouts

    def form(self, lanes: int, staged: bool = False, shelved: int = 0) -> Form:
        return Form(lanes, self.layouts.inputs, staged, shelved, self.layouts.results, self.layouts.listed)

    def is_staged(self, lanes: int, block: int, limits: Limits) -> bool:
        """Whether results leave through shared memory: rows of many numbers, where a block of them fits."""
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
    """What a program needs for one thread for a row, and for as many as shorten the code."""
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
        return FormAndBlock(kernels.form(lanes, shelved=_shelved(kernels, lanes, limits)), USUAL_BLOCK)
    tile, crowded = kernels.tile(lanes, SHELF_BLOCK), kernels.needs[lanes].registers > STAGED_CROWDED
    if crowded and tile <= TILE_SHARE * limits.shelf(USUAL_SHELVES) * SHELF_BLOCK:
        return FormAndBlock(kernels.form(lanes, staged=True, shelved=USUAL_SHELVES), SHELF_BLOCK)
    return FormAndBlock(kernels.form(lanes, staged=True), staged[0])


def _cost(kernels: KernelNeeds, lanes: int, limits: Limits) -> float:
    """What a row takes with so many threads, beside other numbers of them."""
    lines, registers = kernels.needs[lanes]
    cost = lanes * lines * (LONG_COST if lines > LONG else 1.0)
    cost *= max(1.0, registers / _room(kernels, ROOMY, limits))
    if kernels.layouts.inputs == "rows":
        cost *= ALONE[lanes]
    if kernels.is_staged(lanes, BLOCKS[0], limits):
        return cost * max(1.0, BUSY * kernels.tile(lanes, 1) / limits.shared)
    return cost * SCATTERED if kernels.has_large_rows else cost


def _shelved(kernels: KernelNeeds, lanes: int, limits: Limits) -> int:
    """The most blocks on a multiprocessor whose registers and shelves hold all values; 0 where none are needed."""
    lines, registers = kernels.needs[lanes]
    if registers <= limits.waiting(kernels.dtype, SHELVED[0]):
        return 0
    endless = lanes == 1 and lines > ENDLESS
    slack = ENDLESS_SLACK if endless else SLACK[kernels.dtype.itemsize]
    for blocks in SHELVED:
        if blocks == SHELVED[0] and MANY_BLOCKS < lines and not endless:
            continue
        if slack * _room(kernels, blocks, limits) >= registers:
            if _leaves_cache(kernels, lanes, blocks, limits):
                return max(blocks, USUAL_SHELVES)
            if registers <= limits.waiting(kernels.dtype, USUAL_SHELVES):
                return 0
    return USUAL_SHELVES


def _leaves_cache(kernels: KernelNeeds, lanes: int, blocks: int, limits: Limits) -> bool:
    """Whether the first cache, which is what shelves leave of its memory, holds the rows that are read."""
    if kernels.layouts.inputs == "columns":
        return True
    waiting = 4 * (kernels.needs[lanes].registers - limits.waiting(kernels.dtype, blocks))
    shelves = min(max(0, waiting), limits.shelf(blocks)) * SHELF_BLOCK
    read = kernels.dtype.itemsize * sum(spec.size for spec in kernels.inputs) * SHELF_BLOCK // lanes
    return blocks * (shelves + read) <= CACHED * limits.shared


def _room(kernels: KernelNeeds, blocks: int, limits: Limits) -> int:
    """Registers and, counted in registers, shelves for values that wait."""
    return limits.waiting(kernels.dtype, blocks) + limits.shelf(blocks) // 4


def candidates(kernels: KernelNeeds, limits: Limits) -> Iterator[Form]:
    """Forms worth timing."""
    least = min(x.registers for x in kernels.needs.values())
    for lanes, (_, registers) in kernels.needs.items():
        if registers > OVERFLOW and registers > WASTE * least:
            continue
        shelves = [s for s in SHELVED if registers > limits.waiting(kernels.dtype, s)]
        enough = [s for s in shelves if 1.4 * _room(kernels, s, limits) >= registers]
        if not enough or registers <= OVERFLOW:
            yield kernels.form(lanes)
        if kernels.is_staged(lanes, BLOCKS[0], limits):
            yield kernels.form(lanes, staged=True)
        yield from (kernels.form(lanes, shelved=s) for s in enough or shelves[-2:])
