"""CUDA code: compiled by NVRTC, kept on disk like all code, and launched on arrays that are already on the card.

Arrays of PyTorch and CuPy, and all that have `__cuda_array_interface__`, are read and written where they are, on the
caller's stream; numpy arrays are copied there and back. Nothing of this is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from sys import modules
from typing import Any, cast

import numpy as np

from bough.compile.emit.cuda import Layout
from bough.compile.function import CompiledFunction
from bough.compile.graph.program import Array
from bough.compile.run.cuda.arrays import Given, TensorCall, look_at, signature, torch_stream
from bough.compile.run.cuda.card import Card, the_card
from bough.compile.run.cuda.code import CardCode
from bough.compile.run.cuda.exchange import is_on_card
from bough.compile.run.cuda.launches import Launches, room_in
from bough.compile.run.entry import Entry
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT
from bough.compile.run.mappings import Mappings
from bough.errors import NumericalError, ShapeError


class CudaFunction:
    """A function of arrays on the card: `f(*inputs, out=None, stream=None, status=False)`.

    One configuration or a batch, (batch, n), or (n, batch) with layout "columns"; an input without the batch axis
    serves every row. Nothing waits for the card. With `status`, an array of bytes comes back too: 1 in each row that
    has a result that is not finite. `provide(dtype)` gives the code, as on the CPU, and is asked on the first call.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        provide: Callable[[np.dtype], Entry],
        layout: Layout = "rows",
    ) -> None:
        self.name, self.inputs, self.outputs, self.layout = name, tuple(inputs), tuple(outputs), layout
        self.entry = cache(provide)
        self._known: dict[Any, TensorCall] = {}

    @cached_property
    def launches(self) -> Launches:
        """Of its code, which is the same for one row and many and for any precision."""
        return cast(CardCode, self.entry(np.dtype(np.float64)).batch()).launches(self.layout)

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
        self._refuse_threads(threads)
        if len(inputs) != len(self.inputs):
            names = ", ".join(x.name for x in self.inputs)
            raise ShapeError(f"{self.name} takes {len(self.inputs)} arrays ({names}), got {len(inputs)}")
        card = the_card()
        given = [look_at(x, self.name, spec.name, status) for x, spec in zip(inputs, self.inputs, strict=True)]
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
        launch = self.launches.launch(card, dtype, batch or 1, arguments, stream)
        if plain and launch and all(g.kind == "torch" for g in given):
            shapes, places = [r.shape for r in results], [g.shape for g in given]
            likes = [places.index(shape) if shape in places else None for shape in shapes]
            rest = arguments[len(given) + len(results) :]
            room_in(self._known)[signature(inputs)] = TensorCall(launch, shapes, likes, rest)
        found = out if out is not None and not home.on_host else self._returned(results, out, card)
        if bad is None:
            return found
        return (found, bad.returned(card)) if status else self._checked(found, bad.returned(card))

    call = __call__

    def with_status(self, *inputs: Any, out: Any = None, threads: int | None = None) -> tuple[Any, Any]:
        """(result, status): 0 where all is well, 2 where an input is not finite, 3 where the result is not.

        Nothing looks at inputs that are on the card: a row of them that is not finite has status 3.
        """
        found, bad = self(*inputs, out=out, threads=threads, status=True)
        if not isinstance(bad, np.ndarray):
            return found, BAD_OUTPUT * bad
        status = BAD_OUTPUT * bad.astype(np.int64)
        if any(map(is_on_card, inputs)):
            return found, status
        for x, spec in zip(inputs, self.inputs, strict=True):
            finite = np.isfinite(np.asarray(x, float))
            if finite.ndim > len(spec.shape):
                finite = np.moveaxis(finite, -1, 0) if self.layout == "columns" else finite
                status[~finite.reshape(len(status), -1).all(axis=1)] = BAD_INPUT
            elif not finite.all():
                status[:] = BAD_INPUT
        one = all(np.shape(x) == spec.shape for x, spec in zip(inputs, self.inputs, strict=True))
        return found, status[0] if one else status

    def _again(self, inputs: tuple[Any, ...]) -> Any:
        """The same for tensors of shapes that were examined before; None where it must be looked at again."""
        torch = modules["torch"]
        for x in inputs:
            if type(x) is not torch.Tensor or x.requires_grad or not x.is_contiguous():
                return None
        known = self._known.get(signature(inputs))
        if known is None:
            return None
        like = inputs[0]
        found = [
            like.new_empty(shape) if k is None else torch.empty_like(inputs[k])
            for shape, k in zip(known.shapes, known.likes, strict=True)
        ]
        arguments = [x.data_ptr() for x in inputs]
        arguments += [x.data_ptr() for x in found]
        known.launch(arguments + known.rest, torch_stream(like.device))
        return found[0] if len(found) == 1 else tuple(found)

    def launcher(self, *inputs: Any, out: Any, bad: Any, threads: int | None = None) -> Callable[[], None]:
        """See `CompiledFunction`; all arrays are on the GPU, and only the launch is left."""
        self._refuse_threads(threads)
        card = the_card()
        given = [look_at(x, self.name, spec.name) for x, spec in zip(inputs, self.inputs, strict=True)]
        dtype, batch = self._dtype(given), self._batch(given) or 1
        results = [look_at(x, self.name, "out") for x in out]
        arguments = [*(g.address for g in given), *(r.address for r in results), look_at(bad, self.name, "bad").address]
        arguments += [batch, *(self._stride(g, spec) for g, spec in zip(given, self.inputs, strict=True))]
        memory = (inputs, out, bad)

        def launch() -> None:
            assert len(memory) == 3  # kept as long as this
            self.launches.launch(card, dtype, batch, arguments, given[0].stream())

        return launch

    def launch_at(
        self, inputs: Sequence[int], outputs: Sequence[int], dtype: np.dtype, batch: int, stream: int
    ) -> None:
        """The same on addresses of whole batches on the card."""
        strides = [spec.size for spec in self.inputs]
        self.launches.launch(the_card(), dtype, batch, [*inputs, *outputs, 0, batch, *strides], stream)

    # Functions of the CPU have quicker ways here.

    def shortcut(
        self,
        method: Callable[..., Any],
        longer: CompiledFunction | None = None,
        mappings: Mappings | None = None,
        further: Sequence[str] = (),
    ) -> Callable[..., Any]:
        return method

    def lend_make(self, scope: dict[str, Any], name: str) -> None:
        scope[name] = _nothing

    def with_code_of(self, choose: Callable[[bool], CompiledFunction]) -> CompiledFunction:
        """The function by the code that is better for batches."""
        return choose(True)

    # Arrays

    def _refuse_threads(self, threads: int | None) -> None:
        if threads is not None:
            raise ShapeError(f"{self.name}: threads= is for batches on the CPU")

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


def _nothing(*_: Any) -> None:
    """Single configurations have no shorter way."""
