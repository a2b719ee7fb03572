"""Which form a kernel takes: by a rule, so that results are the same bits on every GPU of one model.

The rule looks at what the kernel needs (lines and waiting values for 1, 2 and 4 threads for a row) and at what the GPU
has. Its numbers are those that reproduce the forms that were fastest on an H200 for forward and inverse dynamics and
mass matrices of two humanoids, in both precisions and layouts. `candidates` are worth timing where bits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bough.compile.emit.cuda import Arrangement, Form, Layouts, Needs, needs, tile_bytes
from bough.compile.emit.limits import Limits
from bough.compile.graph.program import Array

BLOCKS = (32, 64, 128, 256)
USUAL_BLOCK = 64
STAGED_FROM = 48  # numbers of a row; smaller rows leave in one piece anyway
SHELVED = (8, 6, 4, 2)  # blocks on a multiprocessor, of forms with shelves
SHORTER = 0.9  # of twice as many threads for a row: lines, or they are idle
MOST_WORK = 1.5  # of all threads of a row, beside that of one thread alone
FITTING = 240  # registers for values of a thread without shelves
SLACK = {4: 1.1, 8: 1.3}  # a little that is left to the compiler does no harm, by bytes of a number
LONG = 2500  # lines: of longer kernels fewer blocks share the instruction cache
OVERFLOW, WASTE = 460, 1.5  # widths that take more registers, and that times the least, are not timed


class FormAndBlock(NamedTuple):
    """How a function is launched."""

    form: Form
    block: int


class KernelNeeds(NamedTuple):
    """What is known of a function before its text is written: `needs` by the number of threads for a row."""

    needs: Mapping[int, Needs]
    outputs: Sequence[Array]
    dtype: np.dtype
    layouts: Layouts

    def form(self, lanes: int, staged: bool = False, shelved: int = 0) -> Form:
        return Form(lanes, self.layouts.inputs, staged, shelved, self.layouts.results)

    def is_staged(self, lanes: int, block: int, limits: Limits) -> bool:
        """Whether results leave through shared memory: rows of many numbers, where a block of them fits."""
        large = self.layouts.results == "rows" and sum(spec.size for spec in self.outputs) >= STAGED_FROM
        return large and tile_bytes(self.outputs, self.dtype) * block // lanes <= limits.tile


def kernel_needs(
    arranged: Callable[[int], Arrangement], dtype: np.dtype, layouts: Layouts, limits: Limits, has_twins: bool
) -> KernelNeeds:
    """What a program needs for one thread for a row, and for as many as shorten the code."""
    found: dict[int, Needs] = {}
    kernels = KernelNeeds(found, arranged(1).program.outputs, dtype, layouts)
    for lanes in (1, 2, 4) if has_twins else (1,):
        form = kernels.form(lanes, kernels.is_staged(lanes, BLOCKS[0], limits))
        wanted = needs(arranged(lanes), dtype, form)
        if found and wanted.lines > SHORTER * found[lanes // 2].lines:
            break
        found[lanes] = wanted
    return kernels


def rule(kernels: KernelNeeds, limits: Limits) -> FormAndBlock:
    """The form, from the kernel and the GPU alone."""
    lanes = _lanes(kernels)
    staged = [block for block in (USUAL_BLOCK, BLOCKS[0]) if kernels.is_staged(lanes, block, limits)]
    if staged:
        return FormAndBlock(kernels.form(lanes, staged=True), staged[0])
    return FormAndBlock(kernels.form(lanes, shelved=_shelved(kernels, lanes, limits)), USUAL_BLOCK)


def _lanes(kernels: KernelNeeds) -> int:
    """The most threads that share a row without much more work; in columns the fewest whose values fit registers."""
    alone = kernels.needs[1].lines
    allowed = [n for n, x in kernels.needs.items() if n * x.lines <= MOST_WORK * alone]
    fitting = [n for n in allowed if kernels.needs[n].registers <= FITTING]
    return min(fitting) if fitting and kernels.layouts.inputs == "columns" else max(allowed)


def _shelved(kernels: KernelNeeds, lanes: int, limits: Limits) -> int:
    """The most blocks on a multiprocessor whose registers and shelves hold all values; 0 where none are needed."""
    lines, registers = kernels.needs[lanes]
    blocks = [s for s in SHELVED if s < SHELVED[0] or lines <= LONG]
    if registers <= limits.waiting(kernels.dtype, SHELVED[0]):
        return 0
    slack = SLACK[kernels.dtype.itemsize]
    enough = [s for s in blocks if slack * _room(kernels, s, limits) >= registers]
    return enough[0] if enough else SHELVED[-2]


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
