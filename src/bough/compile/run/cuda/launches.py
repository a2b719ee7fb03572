"""Launches of one program: the forms of its kernel, which of them is best, and how it is started.

For each precision and card the best form (threads for each row, use of shared memory) and block is found by trying
them on the first batch that fills some of the card, and on the first that fills it many times, and kept on disk.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bough.compile.emit.cuda import CudaText, Form, Layout, emit, needs
from bough.compile.emit.shelves import held, room
from bough.compile.graph.program import Array, Program
from bough.compile.run.cache import fetch, fingerprint
from bough.compile.run.cuda.card import Card, Kernel, Launch

BLOCKS = (32, 64, 128, 256)
SMALL_BLOCK = 64  # for batches that are not tried: enough blocks for all multiprocessors
CLASSES = (4096, 65_536)  # rows: from the first on forms are tried, from the second on once more
MOST_KEPT = 256  # launches that are kept prepared
LARGEST_TILE = 114 * 1024  # bytes of shared memory for the results of a block, or its shelves
STAGED_FROM = 48  # numbers of a row; smaller rows leave in one piece anyway
REGISTERS = 230  # that values may take beside what a thread works with
WASTE = 1.5  # widths that overflow, and take more registers than that times the least, are not tried
SHORTER = 0.9  # of twice as many threads for a row: lines, or they are not tried
OVERFLOW = 2 * REGISTERS  # where values take more, and shelves are enough, these are better
SLACK = 1.4  # a little that is left to the compiler does no harm
SHELVED = (8, 6, 4, 2)  # blocks on a multiprocessor, of forms with shelves


class FormAndBlock(NamedTuple):
    """How a function is launched."""

    form: Form
    block: int


class LoadedForm(NamedTuple):
    """A kernel, and what its launches need to know of its text."""

    kernel: Kernel
    row_bytes: int
    blocks: tuple[int, ...]


class Launches:
    """Kernels of a program, compiled when they are wanted."""

    def __init__(
        self, program: Callable[[], Program], inputs: Sequence[Array], outputs: Sequence[Array], layout: Layout
    ) -> None:
        self.program, self.inputs, self.outputs, self.layout = program, inputs, outputs, layout
        self._lock = threading.Lock()
        self._choices: dict[tuple[np.dtype, int], FormAndBlock] = {}  # by precision and class of batch
        self._kernels: dict[tuple[np.dtype, Form], LoadedForm] = {}
        self._prepared: dict[tuple[np.dtype, int], Launch] = {}  # by precision and batch

    def launch(self, card: Card, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> Launch | None:
        """Launch it; the launch itself is returned if it is the same for all calls with so many rows."""
        launch = self._prepared.get((dtype, batch))
        if launch is None:
            with self._lock:
                choice, final = self._choose(card, dtype, batch, arguments, stream)
            launch = self._ready(card, dtype, choice, batch)
            if not final:
                launch(arguments, stream)
                return None
            room_in(self._prepared)[dtype, batch] = launch
        launch(arguments, stream)
        return launch

    def _ready(self, card: Card, dtype: np.dtype, choice: FormAndBlock, batch: int) -> Launch:
        code = self._kernel(card, dtype, choice.form)
        rows, count = choice.block // choice.form.lanes, 2 * len(self.inputs) + len(self.outputs) + 2
        return card.prepared(code.kernel, -(-batch // rows), choice.block, code.row_bytes * rows, count)

    def _choose(
        self, card: Card, dtype: np.dtype, batch: int, arguments: list[int], stream: Any
    ) -> tuple[FormAndBlock, bool]:
        """The best form and block, and whether that is final: not while a graph is recorded, when nothing is tried."""
        size = size_class(batch)
        found = self._choices.get((dtype, size))
        if found:
            return found, True
        if size == 0 or card.is_capturing(stream):
            others = (choice for (kind, _), choice in self._choices.items() if kind == dtype)
            likeliest = Form(4 if self.program().marks else 1, self.layout)
            return next(others, FormAndBlock(likeliest, SMALL_BLOCK)), size == 0
        name = f"cuda choice {fingerprint(self.program())} {dtype.str} {self.layout} {size} {card.name}"
        kept = json.loads(fetch(name, lambda: json.dumps(self._try(card, dtype, batch, arguments, stream)).encode()))
        found = self._choices[dtype, size] = FormAndBlock(Form(*kept[0]), kept[1])
        return found, True

    def choice(self, dtype: np.dtype, batch: int) -> tuple[FormAndBlock, Kernel]:
        """What was chosen for batches of that class, and its kernel."""
        choice = self._choices[dtype, size_class(batch)]
        return choice, self._kernels[dtype, choice.form].kernel

    def _forms(self, dtype: np.dtype) -> list[Form]:
        """Forms worth trying."""
        many = (1, 2, 4) if self.program().marks else (1,)
        wanted = {n: needs(self.program(), dtype, n) for n in many}
        least = min(x.registers for x in wanted.values())
        found = []
        for n, (lines, registers) in wanted.items():
            idle = n > 1 and n // 2 in wanted and lines > SHORTER * wanted[n // 2].lines
            if not idle and (registers <= OVERFLOW or registers <= WASTE * least):
                found += self._ways(dtype, n, registers)
        return found

    def _ways(self, dtype: np.dtype, lanes: int, registers: int) -> list[Form]:
        """Uses of shared memory worth trying for values that take so many registers."""
        shelves = [s for s in SHELVED if registers > held(dtype, s)]
        enough = [s for s in shelves if SLACK * (held(dtype, s) + room(s) // 4) >= registers]
        if held(dtype, 4) + room(4) // 4 >= registers:  # then 2 would be the same
            enough = [s for s in enough if s > 2]
        large = self.layout == "rows" and sum(spec.size for spec in self.outputs) >= STAGED_FROM
        plain = [] if enough and registers > OVERFLOW else [False]
        return [
            *(Form(lanes, self.layout, staged) for staged in plain + [True] * large),
            *(Form(lanes, self.layout, False, s) for s in enough or shelves[-2:]),
        ]

    def _try(self, card: Card, dtype: np.dtype, batch: int, arguments: list[int], stream: Any) -> FormAndBlock:
        """Run all forms in all blocks, and take the fastest."""
        times = self.trial(card, dtype, batch, arguments, stream)
        return min(times, key=lambda choice: times[choice])

    def trial(
        self, card: Card, dtype: np.dtype, batch: int, arguments: list[int], stream: Any
    ) -> dict[FormAndBlock, float]:
        """Seconds of a launch, of each form in each block."""
        forms = self._forms(dtype)
        with ThreadPoolExecutor(len(forms)) as pool:
            list(pool.map(lambda form: self._kernel(card, dtype, form), forms))
        times = {}
        for form in forms:
            code = self._kernel(card, dtype, form)
            for block in code.blocks:
                if code.row_bytes * block // form.lanes <= LARGEST_TILE and block <= code.kernel.most_threads:
                    launch = self._ready(card, dtype, FormAndBlock(form, block), batch)
                    times[FormAndBlock(form, block)] = card.seconds(partial(launch, arguments, stream), stream)
        return times

    def _kernel(self, card: Card, dtype: np.dtype, form: Form) -> LoadedForm:
        found = self._kernels.get((dtype, form))
        if found is None:
            source = emit(self.program(), dtype, form)
            blocks = (source.block,) if source.block else BLOCKS
            found = self._kernels[dtype, form] = LoadedForm(compiled(card, source, dtype), source.row_bytes, blocks)
        return found


def compiled(card: Card, source: CudaText, dtype: np.dtype) -> Kernel:
    """The kernel of a text for this card, from the disk where it is there."""
    name = f"cuda {card.architecture} {card.compiler} {source.text}"
    return card.load(
        fetch(name, lambda: card.compile(source.text, fast=dtype == np.float32), machine=card.architecture)
    )


def room_in(kept: dict[Any, Any]) -> dict[Any, Any]:
    """The same, emptied if there is too much in it."""
    if len(kept) >= MOST_KEPT:
        kept.clear()
    return kept


def size_class(batch: int) -> int:
    return sum(batch >= first for first in CLASSES)
