"""CUDA code: compiled by NVRTC, kept on disk like all code, and launched on arrays that are already on the GPU.

Arrays of PyTorch and CuPy, and all that have `__cuda_array_interface__`, are read and written where they are, on the
caller's stream; numpy arrays are copied there and back. Nothing of this is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from sys import modules
from typing import Any

import numpy as np

from bough.compile.graph.program import Array
from bough.compile.routine import Again
from bough.compile.run.cuda.arrays import ArrayView, TensorCall, signature, torch_stream, uploaded, view_of
from bough.compile.run.cuda.gpu import Gpu, Launch, the_gpu
from bough.compile.run.cuda.launches import Launches, ProductLaunches, collector, padded, room_in
from bough.compile.run.exchange import GpuArray
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT, Maker, nothing
from bough.compile.run.libraries import is_on_gpu, moveaxis
from bough.errors import NumericalError, ShapeError


class CudaFunction:
    """A function of arrays on the GPU, by its launches: `f(*inputs, out=None, stream=None, status=False)`.

    One configuration or a batch, (batch, n), or (n, batch) in the layout "columns"; an input without the batch axis
    serves every row. Nothing waits for the GPU. With `status`, an array of bytes comes back too: 1 in each row that
    has a result that is not finite.
    """

    def __init__(self, name: str, launches: Launches | ProductLaunches, again: Again | None = None) -> None:
        self.name, self.launches, self.layouts, self.again = name, launches, launches.layouts, again
        self.inputs, self.outputs = tuple(launches.inputs), tuple(launches.outputs)
        self._known: dict[Any, TensorCall] = {}
        self._bases: dict[Any, list[GpuArray]] = {}

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(f"{x.name}{list(x.shape)}" for x in xs) for xs in (self.inputs, self.outputs))
        return f"<{self.name}({inputs}) -> {outputs}, on the GPU>"

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
        gpu = the_gpu()
        given, home = self._views(inputs, self.inputs, gpu, status)
        dtype, batch = self._dtype(given), self._batch(given, self.inputs)
        rows = 1 if batch is None else batch
        stream = home.stream() if stream is None else stream
        results = self._results(out, home, dtype, batch, gpu)
        wanted = status or home.on_host
        bad = home.zeros((rows,), np.dtype(np.uint8), gpu) if wanted else None
        arguments = [*(g.address for g in given), *(r.address for r in results), bad.address if bad else 0, rows]
        arguments += [self._stride(g, spec) for g, spec in zip(given, self.inputs, strict=True)]
        launch = self.launches.launch(gpu, dtype, rows, arguments, stream) if rows else None
        if plain and launch and all(g.library == "torch" for g in given):
            shapes, places = [r.shape for r in results], [g.shape for g in given]
            likes = [places.index(shape) if shape in places else None for shape in shapes]
            rest = arguments[len(given) + len(results) :]
            room_in(self._known)[signature(inputs)] = TensorCall(launch, shapes, likes, rest)
        found = out if out is not None and not home.on_host else self._returned(results, out, gpu)
        if bad is None:
            return found
        return (found, bad.returned(gpu)) if status else self._checked(found, bad.returned(gpu))

    call = __call__

    def with_status(self, *inputs: Any, out: Any = None, threads: int | None = None) -> tuple[Any, Any]:
        """(result, status): 0 is success, 2 an input that is not finite, 3 a result that is not finite.

        Inputs on the GPU are not checked: a row of them that is not finite has status 3.
        """
        found, bad = self(*inputs, out=out, threads=threads, status=True)
        status = BAD_OUTPUT * (bad.astype(np.int64) if isinstance(bad, np.ndarray) else bad)
        for x, spec in () if any(map(is_on_gpu, inputs)) else zip(inputs, self.inputs, strict=True):
            finite = np.isfinite(np.asarray(x, float))
            if finite.ndim > len(spec.shape):
                finite = np.moveaxis(finite, -1, 0) if self.layouts.inputs == "columns" else finite
                status[~finite.reshape(len(status), -1).all(axis=1)] = BAD_INPUT
            elif not finite.all():
                status[:] = BAD_INPUT
        one = all(np.shape(x) == spec.shape for x, spec in zip(inputs, self.inputs, strict=True))
        return found, status[0] if one else status

    def _again(self, inputs: tuple[Any, ...]) -> Any:
        """The same for tensors of shapes that were checked before; None if they must be checked."""
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

    def on_basis(self, *inputs: Any, last: bool, threads: int | None = None) -> dict[str, tuple[Any, ...]]:
        """See `CompiledFunction`: every unit vector is a launch, which all rows share."""
        self._refuse_threads(threads)
        gpu, pairs = the_gpu(), [*zip(self.inputs, inputs, strict=True)]
        specs, units = [spec for spec, x in pairs if x is not None], [spec for spec, x in pairs if x is None]
        views, home = self._views((x for x in inputs if x is not None), specs, gpu)
        if home.library == "other":
            raise ShapeError(f"{self.name}: derivatives take arrays of PyTorch, CuPy, JAX or numpy")
        known = {spec.name: g for spec, g in zip(specs, views, strict=True)}
        dtype, batch = self._dtype(views), self._batch(views, specs)
        rows, size = 1 if batch is None else batch, dtype.itemsize
        basis, count = self._basis(units, dtype), sum(spec.size for spec in units)
        results = [home.empty((count, *self._shape(spec, batch)), dtype, gpu) for spec in self.outputs]
        strides = [self._stride(known[x.name], x) if x.name in known else 0 for x in self.inputs]
        fixed = {name: g.address for name, g in known.items()}
        for k in range(count if rows else 0):
            moved = fixed | {x.name: basis[x.name] + k * x.size * size for x in units}
            written = [r.address + k * rows * x.size * size for r, x in zip(results, self.outputs, strict=True)]
            arguments = [*(moved[x.name] for x in self.inputs), *written, 0, rows, *strides]
            self.launches.launch(gpu, dtype, rows, arguments, home.stream())
        arrays, first, found = [r.returned(gpu) for r in results], 0, {}
        axes = ([], []) if batch is None else ([], [batch]) if self.layouts.results == "columns" else ([batch], [])
        for unit in units:
            parts = zip((y[first : first + unit.size] for y in arrays), self.outputs, strict=True)
            found[unit.name] = tuple(_placed(y, x, unit, axes, last) for y, x in parts)
            first += unit.size
        return found

    def _basis(self, units: Sequence[Array], dtype: np.dtype) -> dict[str, int]:
        """Addresses of the unit vectors of some inputs, one after the other."""
        key = dtype, tuple(spec.name for spec in units)
        if key not in self._bases:
            sizes = [spec.size for spec in units]
            parts = np.split(np.eye(sum(sizes), dtype=dtype), np.cumsum(sizes)[:-1], axis=1)
            self._bases[key] = [uploaded(part) for part in parts]
        return {spec.name: x.address for spec, x in zip(units, self._bases[key], strict=True)}

    def launcher(
        self,
        *inputs: Any,
        out: Any,
        bad: Any,
        threads: int | None = None,
        first: CudaFunction | None = None,
    ) -> Callable[[], None]:
        """See `CompiledFunction`; all arrays are on the GPU, and a call only launches.

        Where rows may be recomputed, `first` may compute all of them, and this function those that it flags.
        """
        self._refuse_threads(threads)
        kernels = self.launches
        assert isinstance(kernels, Launches)
        gpu = the_gpu()
        given, _ = self._views(inputs, self.inputs, gpu)
        dtype, batch = self._dtype(given), self._batch(given, self.inputs)
        if batch == 0:
            return nothing
        batch = batch or 1
        results = [view_of(x, self.name, "out") for x in out]
        arguments = [*(g.address for g in given), *(r.address for r in results), view_of(bad, self.name, "bad").address]
        arguments += [batch, *(self._stride(g, spec) for g, spec in zip(given, self.inputs, strict=True))]
        few = first is not None and kernels.suits_few(gpu, dtype)
        chain = None if few else kernels.chain(gpu, dtype)
        between = given[0].empty((chain.size if chain else 0, padded(batch)), dtype, gpu)
        memory = (inputs, out, bad, between)
        if chain:
            launch = chain.bind(gpu, dtype, batch, arguments, between.address)
        else:
            launch = kernels.bind(gpu, dtype, batch, arguments)
        begin = first.launcher(*inputs, out=out, bad=bad) if few and first else lambda: launch(given[0].stream())
        passes = self._passes(self.again, int(not few), gpu, given, results) if self.again else []

        def launch_all() -> None:
            assert len(memory) == 4  # lives as long as this
            begin()
            stream = given[0].stream()
            for collect, rows, listed in passes:
                collect(rows, stream)
                launch(stream, listed.address)

        return launch_all

    def _passes(
        self, again: Again, done: int, gpu: Gpu, given: Sequence[ArrayView], results: Sequence[ArrayView]
    ) -> list[tuple[Launch, list[int], ArrayView]]:
        """By pass: what lists the rows to recompute, its arguments, and the list, which the pass before empties."""
        batch, dtype = given[0].shape[0], given[0].dtype
        start = given[[x.name for x in self.inputs].index(again.start)]
        names = [x.name for x in self.outputs]
        flags, found = results[names.index(again.flag[0])], results[names.index(again.found)]
        lists = [given[0].zeros((batch + 1,), np.dtype(np.int32), gpu) for _ in range(max(again.times - done, 2))]
        flag = [flags.address + again.flag[1] * dtype.itemsize, flags.shape[1]]
        rows = [found.address, start.address, found.shape[1], batch]
        made = []
        for here, following in zip(lists, lists[1:] + lists[:1], strict=True):
            made.append((collector(gpu, dtype, batch), [*flag, here.address, following.address, *rows], here))
        return made[: again.times - done]

    def launch_at(
        self, inputs: Sequence[int], outputs: Sequence[int], dtype: np.dtype, batch: int, stream: int
    ) -> None:
        """The same on addresses of whole batches on the GPU."""
        strides = [spec.size for spec in self.inputs]
        self.launches.launch(the_gpu(), dtype, batch, [*inputs, *outputs, 0, batch, *strides], stream)

    @property
    def makers(self) -> dict[str, Maker]:
        return {"make": nothing}

    def with_code_of(self, choose: Callable[[bool], CudaFunction]) -> CudaFunction:
        """The function by the code that is better for batches."""
        return choose(True)

    # Arrays

    def _refuse_threads(self, threads: int | None) -> None:
        if threads is not None:
            raise ShapeError(f"{self.name}: threads= is for batches on the CPU")

    def _views(
        self, arrays: Iterable[Any], specs: Iterable[Array], gpu: Gpu, any_number: bool = False
    ) -> tuple[list[ArrayView], ArrayView]:
        """The arrays on the GPU, and the one whose library and place results have."""
        given = [view_of(x, self.name, spec.name, any_number) for x, spec in zip(arrays, specs, strict=True)]
        home = next((g for g in given if not g.on_host), given[0])
        return [g.on_gpu(gpu, home) for g in given], home

    def _dtype(self, given: Collection[ArrayView]) -> np.dtype:
        kinds = {g.dtype for g in given}
        if len(kinds) > 1 or next(iter(kinds)) not in (np.float32, np.float64):
            found = ", ".join(f"{spec.name} {g.dtype}" for g, spec in zip(given, self.inputs, strict=False))
            raise ShapeError(f"{self.name}: arrays on the GPU must all be float32, or all float64; got {found}")
        return next(iter(kinds))

    def _batch(self, given: Iterable[ArrayView], specs: Sequence[Array]) -> int | None:
        """The number of rows, None for one configuration."""
        batch = None
        for g, spec in zip(given, specs, strict=True):
            if g.shape == spec.shape:
                continue
            rows = self._rows(g.shape, spec)
            if rows is None:
                expected = (*spec.shape, "batch") if self.layouts.inputs == "columns" else ("batch", *spec.shape)
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
        columns = self.layouts.inputs == "columns"
        rows, rest = (shape[-1], shape[:-1]) if columns else (shape[0], shape[1:])
        return rows if rest == spec.shape else None

    def _stride(self, g: ArrayView, spec: Array) -> int:
        return 0 if g.shape == spec.shape else spec.size

    def _shape(self, spec: Array, batch: int | None) -> tuple[int, ...]:
        if batch is None:
            return spec.shape
        return (*spec.shape, batch) if self.layouts.results == "columns" else (batch, *spec.shape)

    def _results(self, out: Any, home: ArrayView, dtype: np.dtype, batch: int | None, gpu: Gpu) -> list[ArrayView]:
        shapes = [self._shape(spec, batch) for spec in self.outputs]
        if out is None or home.on_host:
            return [home.empty(shape, dtype, gpu) for shape in shapes]
        given = [view_of(x, self.name, "out") for x in ([out] if len(shapes) == 1 else out)]
        if [(g.shape, g.dtype, g.on_host) for g in given] != [(shape, dtype, False) for shape in shapes]:
            raise ShapeError(f"{self.name}: out must be {dtype} on the GPU with shape {shapes}")
        return given

    def _returned(self, results: list[ArrayView], out: Any, gpu: Gpu) -> Any:
        arrays = [r.returned(gpu) for r in results]
        if out is not None:
            for x, y in zip([out] if len(arrays) == 1 else out, arrays, strict=True):
                np.copyto(x, y)
            return out
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _checked(self, found: Any, bad: np.ndarray) -> Any:
        """Check results on the host, for which the call waits anyway; those on the GPU are the caller's."""
        rows = np.flatnonzero(bad)
        if rows.size:
            raise NumericalError(f"{self.name}: no finite result in row {rows[0]} ({rows.size} such rows)")
        return found


def _placed(y: Any, result: Array, unit: Array, axes: tuple[list[int], list[int]], last: bool) -> Any:
    """Results of the unit vectors of an input, the first axis of y, with the axes of that input at their place."""
    lead, tail = axes
    if last:
        y = moveaxis(y, 0, -1 - len(tail))
        return y.reshape(*lead, *result.shape, *unit.shape, *tail)
    return moveaxis(y, 0, len(lead)).reshape(*lead, *unit.shape, *result.shape, *tail)
