"""`BoundFunction`: the code of an execution as a Python callable on numpy arrays.

Arrays of one configuration have the shape that the function states, say (n,); a batch adds a leading axis,
(batch, n). In a batched call an input without that axis serves every row. C-contiguous arrays of the
function's dtype are passed as they are, anything else is converted first. Non-finite input is refused,
and so is a non-finite result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.graph.program import Array
from bough.compile.run.arrays import Explain, bad_input, bad_output, conform, results, rows_status
from bough.compile.run.entry import Code, Entry, shared_gate
from bough.compile.run.gate import BAD_INPUT, MISFIT, OK, Gate, Maker, Signature, make_front, nothing, rows_at_once
from bough.compile.run.native import compiling
from bough.compile.run.threads import Batches


class BoundFunction:
    """A function of arrays, compiled on first use: `f(*inputs, out=None, threads=None)`.

    `provide(dtype)` gives the code for one configuration and for many. The result is one array, or a
    tuple of them, as there are outputs; `out` takes the same. Arrays that are all in float32 give results in float32.
    Large batches are split over `threads` (by default BOUGH_NUM_THREADS, or the number of CPUs).
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        provide: Callable[[np.dtype], Entry],
        dtype: npt.DTypeLike = np.float64,
        explain: Explain | None = None,
    ) -> None:
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.explain: Explain = explain or (lambda _: None)
        self.dtype = np.dtype(dtype)
        self.entry = cache(provide)
        self._codes: dict[bool, Code] = {}
        self._gates: dict[bool, Gate] = {}
        self._batches: Batches | None = None
        self._unchecked: Batches | None = None
        self._shapes = tuple(x.shape for x in self.outputs)
        self.makers: dict[str, Maker] = {"make": nothing}  # native code for one configuration, and for options
        self.gate: Gate = lambda *_: (
            MISFIT
        )  # (*inputs, *outputs) -> 0 for one configuration in arrays that fit, once compiled
        self.call: Callable[..., Any] = make_front(self._call_any, len(self.inputs), self.makers)

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None) -> Any:
        """The same as `call`, which is native code and faster."""
        return self.call(*inputs, out=out, threads=threads)

    def with_code_of(self, choose: Callable[[bool], BoundFunction]) -> BoundFunction:
        """The same function by the code of `choose(batch)`, which is called on first use."""

        def provide(dtype: np.dtype) -> Entry:
            return Entry(lambda: choose(False).entry(dtype).single(), lambda: choose(True).entry(dtype).batch())

        return BoundFunction(self.name, self.inputs, self.outputs, provide, self.dtype, self.explain)

    @cached_property
    def _in_single_precision(self) -> BoundFunction:
        return BoundFunction(self.name, self.inputs, self.outputs, self.entry, np.float32, self.explain)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(f"{x.name}{list(x.shape)}" for x in xs) for xs in (self.inputs, self.outputs))
        return f"<{self.name}({inputs}) -> {outputs}, {self.dtype}>"

    # Everything else: batches, conversions, and errors with a full explanation.

    def _call_any(self, *inputs: Any, out: Any = None, threads: int | None = None) -> Any:
        if out is None and threads is None:  # given by name, which native code does not read
            result = self.makers["make"](*inputs)
            if result is not None:
                return result
        if type(out) is tuple and self.gate(*inputs, *out) == OK:
            return out
        if self.dtype == np.float64 and inputs and all(getattr(x, "dtype", None) == np.float32 for x in inputs):
            return self._in_single_precision.call(*inputs, out=out, threads=threads)
        result = self._call_fitting_batch(inputs, out, threads)
        if result is not None:
            return result
        arrays, outputs, batch = self._arrays(inputs, out)
        if batch is None:
            status = self._gate(False)(*arrays, *outputs)
        else:
            status = self._batched().run([*arrays, *outputs], threads)
        if status != OK and not all(np.isfinite(x).all() for x in arrays):
            raise bad_input(self.name, self.inputs, arrays, batch is not None)
        if status != OK:
            self._all_rows(arrays, outputs, batch, threads)
            specs = self.inputs, self.outputs
            raise bad_output(self.name, specs, [*arrays, *outputs], batch is not None, self.explain)
        return out if out is not None else outputs[0] if len(outputs) == 1 else tuple(outputs)

    def with_status(self, *inputs: Any, out: Any = None, threads: int | None = None) -> tuple[Any, np.ndarray]:
        """(result, status): nothing is raised for a row without a finite result; all other rows are computed.

        The status, (batch,) or (), is 0 where all is well, 2 where an input is not finite (the result is NaN there) and
        3 where the result is not. Shapes and types that do not fit are refused as ever.
        """
        if self.dtype == np.float64 and inputs and all(getattr(x, "dtype", None) == np.float32 for x in inputs):
            return self._in_single_precision.with_status(*inputs, out=out, threads=threads)
        arrays, outputs, batch = self._arrays(inputs, out)
        status = self._all_rows(arrays, outputs, batch, threads)
        result = out if out is not None else outputs[0] if len(outputs) == 1 else tuple(outputs)
        return result, status

    def on_basis(self, *inputs: Any, last: bool, threads: int | None = None) -> dict[str, tuple[Any, ...]]:
        """See `CompiledFunction`: every unit vector is a row of a batch."""
        known = [spec for spec, x in zip(self.inputs, inputs, strict=True) if x is not None]
        units = [spec for spec, x in zip(self.inputs, inputs, strict=True) if x is None]
        arrays = [x for x in inputs if x is not None]
        single = all(getattr(x, "dtype", None) == np.float32 for x in arrays)
        dtype, k = np.dtype(np.float32 if single else float), sum(spec.size for spec in units)
        arrays, batch = conform(self.name, known, arrays, dtype)
        lead, ends = [] if batch is None else [batch], np.cumsum([spec.size for spec in units])[:-1]
        rows = {
            spec.name: x if batch is None else np.repeat(x, k, axis=0) for spec, x in zip(known, arrays, strict=True)
        }
        for spec, part in zip(units, np.split(np.eye(k, dtype=dtype), ends, axis=1), strict=True):
            rows[spec.name] = np.tile(part.reshape(k, *spec.shape), (*(lead or [1]), *(1 for _ in spec.shape)))
        found = self.call(*(rows[spec.name] for spec in self.inputs), threads=threads)
        found = [y.reshape(*lead, k, *y.shape[1:]) for y in (found if isinstance(found, tuple) else (found,))]
        parts = [np.split(y, ends, axis=len(lead)) for y in found]

        def placed(y: np.ndarray, result: Array, unit: Array) -> np.ndarray:
            y = np.moveaxis(y, len(lead), -1) if last else y
            shape = (*result.shape, *unit.shape) if last else (*unit.shape, *result.shape)
            return y.reshape(*lead, *shape)

        return {
            unit.name: tuple(placed(y[j], result, unit) for y, result in zip(parts, self.outputs, strict=True))
            for j, unit in enumerate(units)
        }

    def launcher(self, *inputs: Any, out: Any, bad: np.ndarray, threads: int | None = None) -> Callable[[], None]:
        """See `CompiledFunction`."""

        def launch() -> None:
            _, status = self.with_status(*inputs, out=out, threads=threads)
            bad[...] |= status != OK

        return launch

    def fill(self, arrays: Sequence[np.ndarray]) -> int:
        """All rows of a batch in arrays that fit, inputs and then outputs, whatever comes out; a status, 0 if all did.

        Of float32 or of float64; nothing is computed beyond an input that is not finite.
        """
        if arrays[0].dtype != self.dtype:
            return self._in_single_precision.fill(arrays)
        return self._any_results().run(arrays, None)

    def _any_results(self) -> Batches:
        if self._unchecked is None:
            self._gate(True)
            self._unchecked = self._batches_of(replace(self._signature(True), is_checked=False))
        return self._unchecked

    def _arrays(self, inputs: Sequence[Any], out: Any) -> tuple[list[np.ndarray], list[np.ndarray], int | None]:
        """Inputs and outputs as the gates take them, apart in memory, and the size of the batch."""
        arrays, batch = conform(self.name, self.inputs, inputs, self.dtype)
        outputs = results(self.name, self.outputs, out, batch, self.dtype)
        if any(np.may_share_memory(x, y) for x in arrays for y in outputs):
            arrays = [x.copy() for x in arrays]
        return arrays, outputs, batch

    def _all_rows(
        self, arrays: list[np.ndarray], outputs: list[np.ndarray], batch: int | None, threads: int | None
    ) -> np.ndarray:
        """Compute all rows whose inputs are finite, NaN for the others, whatever comes out; the status of each."""
        rows = [x[None] if batch is None else x for x in (*arrays, *outputs)]
        given, found = rows[: len(arrays)], rows[len(arrays) :]
        count = 1 if batch is None else batch
        good = rows_status(given, (), count) == OK
        if good.all():
            self._any_results().run(rows, threads)
        else:
            some = [np.empty((int(good.sum()), *y.shape[1:]), self.dtype) for y in found]
            self._any_results().run([*(x[good] for x in given), *some], threads)
            for y, part in zip(found, some, strict=True):
                y[good], y[~good] = part, np.nan
        status = rows_status((), found, count)
        status[~good] = BAD_INPUT
        return status if batch is not None else status.reshape(())

    def _call_fitting_batch(self, inputs: Sequence[Any], out: Any, threads: int | None) -> Any:
        """The result where the inputs are a batch in arrays that fit as they are, as the gates find out; else None."""
        if (
            self._batches is None
            or not all(type(x) is np.ndarray for x in inputs)
            or not inputs
            or inputs[0].ndim <= len(self.inputs[0].shape)
            or self._batches.will_probe(len(inputs[0]), threads)  # runs some rows apart: arrays must be known to fit
        ):
            return None
        results = out
        if out is None:
            results = tuple(np.empty((len(inputs[0]), *shape), self.dtype) for shape in self._shapes)
            results = results[0] if len(results) == 1 else results
        given = (results,) if len(self._shapes) == 1 else results
        if type(given) is not tuple or not all(type(y) is np.ndarray for y in given):
            return None
        return results if self._batches.run([*inputs, *given], threads) == OK else None

    def _gate(self, batched: bool) -> Gate:
        with compiling:
            if batched not in self._gates:
                entry = self.entry(self.dtype)
                code = self._codes[batched] = entry.batch() if batched else entry.single()
                signature = self._signature(batched)
                if batched or _free_threaded():
                    self._gates[batched] = shared_gate(code, signature)
                else:
                    self._open(code, signature)
            return self._gates[batched]

    def _batched(self) -> Batches:
        if self._batches is None:
            self._gate(True)
            self._batches = self._batches_of(self._signature(True))
        return self._batches

    def _batches_of(self, signature: Signature) -> Batches:
        code = self._codes[True]
        gate, most = shared_gate(code, signature), rows_at_once(signature)
        return Batches(gate, lambda queue: code.open(signature, queue).gate, most)

    def _open(self, code: Code, signature: Signature) -> None:
        """One configuration is computed with the GIL held, so that all calls may share one context."""
        self.gate, make = code.open(signature)
        self._gates[False], self.makers["make"] = self.gate, make or nothing

    def _signature(self, batched: bool) -> Signature:
        return Signature(self.inputs, self.outputs, self.dtype, batched)


def _free_threaded() -> bool:
    """Whether this interpreter runs without the GIL."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()
