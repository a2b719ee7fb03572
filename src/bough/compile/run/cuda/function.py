"""CUDA code: compiled by NVRTC, kept on disk like all code, and launched on arrays that are already on the card.

Arrays of PyTorch and CuPy, and all that have `__cuda_array_interface__`, are read and written where they are, on the
caller's stream; numpy arrays are copied there and back. Nothing of this is imported before it is asked for.

For each function, precision and card the best form (threads for each row, results by way of shared memory or not) and
block is found by trying them on the first large batch, and kept on disk.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import product
from sys import modules
from typing import Any, NamedTuple

import numpy as np

from bough.compile.emit.cuda import CudaText, Form, Layout, emit
from bough.compile.graph.program import Array, Program
from bough.compile.run.cache import fetch, fingerprint
from bough.compile.run.cuda.arrays import Given, TensorCall, look_at, signature
from bough.compile.run.cuda.card import Card, Kernel, the_card
from bough.errors import NumericalError, ShapeError

BLOCKS = (64, 128, 256)
WORTH_TRYING = 4096  # rows: smaller batches say nothing about large ones
LARGEST_TILE = 96 * 1024  # bytes of shared memory for the results of a block
STAGED_FROM = 48  # numbers of a row; smaller rows leave in one piece anyway


class Launch(NamedTuple):
    """How a function is launched."""

    form: Form
    block: int


class CudaFunction:
    """A function of arrays on the card: `f(*inputs, out=None, stream=None, status=False)`.

    One configuration or a batch, (batch, n), or (n, batch) with layout "columns"; an input without the batch axis
    serves every row. Nothing waits for the card. With `status`, an array of bytes comes back too: 1 in each row that
    has a result that is not finite. `program` is asked for on the first call.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        program: Callable[[], Program],
        layout: Layout = "rows",
    ) -> None:
        self.name, self.inputs, self.outputs, self.layout = name, tuple(inputs), tuple(outputs), layout
        self._program = cache(program)
        self._lock = threading.Lock()
        self._choices: dict[np.dtype, tuple[Launch, bool]] = {}
        self._kernels: dict[tuple[np.dtype, Form], tuple[Kernel, int]] = {}
        self._known: dict[Any, TensorCall] = {}

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(f"{x.name}{list(x.shape)}" for x in xs) for xs in (self.inputs, self.outputs))
        return f"<{self.name}({inputs}) -> {outputs}, on the card>"

    def __call__(
        self, *inputs: Any, out: Any = None, threads: int | None = None, stream: Any = None, status: bool = False
    ) -> Any:
        plain = out is None and threads is None and stream is None and not status
        found = self._again(inputs) if plain and self._known else None
        if found is not None:
            return found
        if threads is not None:
            raise ShapeError(f"{self.name}: threads= is for batches on the CPU")
        if len(inputs) != len(self.inputs):
            names = ", ".join(x.name for x in self.inputs)
            raise ShapeError(f"{self.name} takes {len(self.inputs)} arrays ({names}), got {len(inputs)}")
        card = the_card()
        given = [look_at(x, self.name, spec.name) for x, spec in zip(inputs, self.inputs, strict=True)]
        home = next((g for g in given if not g.on_host), given[0])
        given = [g.on_the_card(card, home) for g in given]
        dtype = self._dtype(given)
        batch = self._batch(given)
        stream = home.stream() if stream is None else stream
        results = self._results(out, home, dtype, batch, card)
        wanted = status or home.on_host
        bad = home.zeros((1 if batch is None else batch,), np.dtype(np.uint8), card) if wanted else None
        arguments = [*(g.address for g in given), *(r.address for r in results), bad.address if bad else 0, batch or 1]
        arguments += [self._stride(g, spec) for g, spec in zip(given, self.inputs, strict=True)]
        self._launch(card, dtype, batch or 1, arguments, stream)
        if plain and all(g.kind == "torch" for g in given):
            self._known[signature(inputs)] = TensorCall(dtype, batch or 1, [r.shape for r in results], arguments)
        found = out if out is not None and not home.on_host else self._returned(results, out, card)
        if bad is None:
            return found
        return (found, bad.returned(card)) if status else self._checked(found, bad.returned(card))

    call = __call__

    def _again(self, inputs: tuple[Any, ...]) -> Any:
        """The same for tensors of shapes that were examined before; None where it must be looked at again."""
        torch = modules["torch"]
        for x in inputs:
            if type(x) is not torch.Tensor or not x.is_cuda or x.requires_grad or not x.is_contiguous():
                return None
        known = self._known.get(signature(inputs))
        if known is None:
            return None
        like = inputs[0]
        found = [torch.empty(shape, dtype=like.dtype, device=like.device) for shape in known.shapes]
        count = len(inputs) + len(found)
        arguments = [*(x.data_ptr() for x in (*inputs, *found)), *known.arguments[count:]]
        stream = torch.cuda.current_stream(like.device).cuda_stream
        self._launch(the_card(), known.dtype, known.batch, arguments, stream)
        return found[0] if len(found) == 1 else tuple(found)

    def launcher(self, *inputs: Any, out: Any, bad: Any) -> Callable[[], None]:
        """The same call on the same arrays, all on the card, again and again: only the launch is left.

        `out` has an array for each result; `bad` is one byte for each row, set where a result is not finite.
        """
        card = the_card()
        given = [look_at(x, self.name, spec.name) for x, spec in zip(inputs, self.inputs, strict=True)]
        dtype, batch = self._dtype(given), self._batch(given) or 1
        results = [look_at(x, self.name, "out") for x in out]
        arguments = [*(g.address for g in given), *(r.address for r in results), look_at(bad, self.name, "bad").address]
        arguments += [batch, *(self._stride(g, spec) for g, spec in zip(given, self.inputs, strict=True))]
        memory = (inputs, out, bad)

        def launch() -> None:
            assert len(memory) == 3  # kept as long as this
            self._launch(card, dtype, batch, arguments, given[0].stream())

        return launch

    def launch_at(
        self, inputs: Sequence[int], outputs: Sequence[int], dtype: np.dtype, batch: int, stream: int
    ) -> None:
        """The same on addresses of whole batches on the card."""
        strides = [spec.size for spec in self.inputs]
        self._launch(the_card(), dtype, batch, [*inputs, *outputs, 0, batch, *strides], stream)

    # Where functions of the CPU have quicker ways, these are what they are.

    def shortcut(self, method: Callable[..., Any], *_: Any) -> Callable[..., Any]:
        return method

    def with_code_of(self, choose: Callable[[bool], CudaFunction]) -> CudaFunction:
        """The function by the code that is better for batches."""
        return choose(True)

    # Arrays

    def _dtype(self, given: list[Given]) -> np.dtype:
        kinds = {g.dtype for g in given}
        if len(kinds) > 1 or next(iter(kinds)) not in (np.float32, np.float64):
            found = ", ".join(f"{spec.name} {g.dtype}" for g, spec in zip(given, self.inputs, strict=True))
            raise ShapeError(f"{self.name}: arrays on the card must all be float32, or all float64; got {found}")
        return next(iter(kinds))

    def _batch(self, given: list[Given]) -> int | None:
        """The number of rows, None for one configuration."""
        batch = None
        for g, spec in zip(given, self.inputs, strict=True):
            if g.shape == spec.shape:
                continue
            rows = self._rows(g.shape, spec)
            if rows is None:
                expected = (*spec.shape, "batch") if self.layout == "columns" else ("batch", *spec.shape)
                raise ShapeError(
                    f"{self.name}: {spec.name} must have shape {spec.shape} or ({', '.join(map(str, expected))}), "
                    f"got {g.shape}"
                )
            if batch not in (None, rows):
                raise ShapeError(f"{self.name}: {spec.name} has {rows} rows where an earlier input has {batch}")
            batch = rows
        return batch

    def _rows(self, shape: tuple[int, ...], spec: Array) -> int | None:
        if len(shape) != len(spec.shape) + 1:
            return None
        columns = self.layout == "columns"
        rows, rest = (shape[-1], shape[:-1]) if columns else (shape[0], shape[1:])
        return rows if rest == spec.shape else None

    def _stride(self, g: Given, spec: Array) -> int:
        return 0 if g.shape == spec.shape else spec.size

    def _shape(self, spec: Array, batch: int | None) -> tuple[int, ...]:
        if batch is None:
            return spec.shape
        return (*spec.shape, batch) if self.layout == "columns" else (batch, *spec.shape)

    def _results(self, out: Any, home: Given, dtype: np.dtype, batch: int | None, card: Card) -> list[Given]:
        shapes = [self._shape(spec, batch) for spec in self.outputs]
        if out is None or home.on_host:
            return [home.empty(shape, dtype, card) for shape in shapes]
        given = [look_at(x, self.name, "out") for x in ([out] if len(shapes) == 1 else out)]
        if [(g.shape, g.dtype, g.on_host) for g in given] != [(shape, dtype, False) for shape in shapes]:
            raise ShapeError(f"{self.name}: out must be {dtype} on the card with shape {shapes}")
        return given

    def _returned(self, results: list[Given], out: Any, card: Card) -> Any:
        arrays = [r.returned(card) for r in results]
        if out is not None:
            for x, y in zip([out] if len(arrays) == 1 else out, arrays, strict=True):
                np.copyto(x, y)
            return out
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _checked(self, found: Any, bad: np.ndarray) -> Any:
        """Results on the host are waited for anyway, so they are looked at; those on the card are the caller's."""
        rows = np.flatnonzero(bad)
        if rows.size:
            raise NumericalError(f"{self.name}: no finite result in row {rows[0]} ({rows.size} such rows)")
        return found

    # Code

    def _launch(self, card: Card, dtype: np.dtype, batch: int, arguments: Sequence[int], stream: Any) -> None:
        choice, tried = self._choices.get(dtype, (None, False))
        if choice is None or (not tried and batch >= WORTH_TRYING and not card.is_capturing(stream)):
            with self._lock:
                choice = self._choose(card, dtype, batch, arguments, stream)
        kernel, row_bytes = self._kernel(card, dtype, choice.form)
        _start(card, kernel, choice, row_bytes, batch, arguments, stream)

    def _choose(self, card: Card, dtype: np.dtype, batch: int, arguments: Sequence[int], stream: Any) -> Launch:
        """The best form and block: as kept on disk, by trying if the batch is large, else the likeliest."""
        tried = batch >= WORTH_TRYING
        name = f"cuda choice {fingerprint(self._program())} {dtype.str} {self.layout} {card.name}"
        if tried:
            kept = json.loads(
                fetch(name, lambda: json.dumps(self._try(card, dtype, batch, arguments, stream)).encode())
            )
            choice = Launch(Form(*kept[0]), kept[1])
        else:
            direct = [form for form in self._forms() if not form.staged]
            choice = Launch(direct[0], 128)
        self._choices[dtype] = choice, tried
        return choice

    def _forms(self) -> list[Form]:
        """Forms worth trying, the likeliest first."""
        lanes = (4, 2, 1) if self._program().marks else (1,)
        large = self.layout == "rows" and sum(spec.size for spec in self.outputs) >= STAGED_FROM
        return [Form(n, self.layout, staged) for n, staged in product(lanes, (True, False) if large else (False,))]

    def _try(self, card: Card, dtype: np.dtype, batch: int, arguments: Sequence[int], stream: Any) -> tuple[Form, int]:
        """Run all forms in all blocks, and take the fastest."""
        forms = self._forms()
        with ThreadPoolExecutor(len(forms)) as pool:
            list(pool.map(lambda form: self._kernel(card, dtype, form), forms))
        times = {}
        for form, block in product(forms, BLOCKS):
            kernel, row_bytes = self._kernel(card, dtype, form)
            choice = Launch(form, block)
            if row_bytes * block // form.lanes <= LARGEST_TILE and block <= kernel.most_threads:
                work = partial(_start, card, kernel, choice, row_bytes, batch, arguments, stream)
                times[choice] = card.seconds(work, stream)
        return min(times, key=lambda choice: times[choice])

    def _kernel(self, card: Card, dtype: np.dtype, form: Form) -> tuple[Kernel, int]:
        found = self._kernels.get((dtype, form))
        if found is None:
            source = emit(self._program(), dtype, form)
            found = self._kernels[dtype, form] = compiled(card, source, dtype), source.row_bytes
        return found


def compiled(card: Card, source: CudaText, dtype: np.dtype) -> Kernel:
    """The kernel of a text for this card, from the disk where it is there."""
    name = f"cuda {card.architecture} {card.compiler} {source.text}"
    return card.load(
        fetch(name, lambda: card.compile(source.text, fast=dtype == np.float32), machine=card.architecture)
    )


def _start(
    card: Card, kernel: Kernel, choice: Launch, row_bytes: int, batch: int, arguments: Sequence[int], stream: Any
) -> None:
    rows = choice.block // choice.form.lanes
    card.launch(kernel, -(-batch // rows), choice.block, row_bytes * rows, arguments, stream)
