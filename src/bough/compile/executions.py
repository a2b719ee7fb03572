"""From a routine and its constants to a callable: interpreted, specialised or general, behind one face."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from bough.compile.graph.expr import GraphTooLargeError
from bough.compile.graph.program import Program
from bough.compile.graph.twins import Twins
from bough.compile.routine import Axes, Routine, Sizes, interpret, trace
from bough.compile.run import general as general_code
from bough.compile.run import specialise
from bough.compile.run.call import CompiledFunction
from bough.compile.run.entry import Entry
from bough.compile.run.gate import BAD_INPUT, BAD_OUTPUT

Provider = Callable[[Any, int | None], Entry]
FindTwins = Callable[[Sequence[Any]], Twins | None]

# Past this many nodes a graph costs more to compile than it gains; past these sizes it is not even tried.
LARGEST_GRAPH = 60_000
LARGEST_ARRAY = 20_000


class BoundFunction(CompiledFunction):
    """A bound routine: arrays in float64, or all in float32, give results of their own precision."""

    def __init__(self, name: str, shapes: tuple[Any, Any], code: Provider, dtype: Any) -> None:
        super().__init__(name, *shapes, dtype, single=lambda: code(dtype, 1), batch=lambda: code(dtype, None))
        self._code = code
        self._single_precision = cache(lambda: BoundFunction(name, shapes, code, np.float32))

    def with_code_of(self, choose: Callable[[bool], BoundFunction]) -> BoundFunction:
        """The same function by the code of `choose(batch)`, which is asked for only when that is first needed."""

        def code(dtype: Any, lanes: int | None) -> Entry:
            return choose(lanes != 1)._code(dtype, lanes)

        return BoundFunction(self.name, (self.inputs, self.outputs), code, self.dtype)

    def _call_any(self, inputs: Sequence[Any], out: Any, threads: int | None) -> Any:
        if self.dtype == np.float64 and inputs and all(getattr(x, "dtype", None) == np.float32 for x in inputs):
            return self._single_precision().call(*inputs, out=out, threads=threads)
        return super()._call_any(inputs, out, threads)


class InterpretedFunction(BoundFunction):
    """The same, with the kernel run as plain Python: slow, for debugging and for coverage."""

    def __init__(self, routine: Routine, constants: Sequence[Any], sizes: Sizes, dtype: Any) -> None:
        shapes = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)
        super().__init__(routine.name, shapes, lambda dtype, lanes: Entry(0), dtype)
        self.run = partial(interpret, routine, constants, sizes)

    def with_code_of(self, choose: Callable[[bool], BoundFunction]) -> BoundFunction:
        return self

    def _call_any(self, inputs: Sequence[Any], out: Any, threads: int | None) -> Any:
        arrays, batch = self._conform(inputs)
        outputs = self._outputs(out, batch)
        if not all(np.isfinite(x).all() for x in arrays):
            self._complain(BAD_INPUT, arrays, outputs, batch)
        rows = [self.run(*arrays)] if batch is None else [self.run(*row) for row in zip(*arrays, strict=True)]
        for k, y in enumerate(outputs):
            y[...] = rows[0][k] if batch is None else np.array([row[k] for row in rows]).reshape(y.shape)
        if not all(np.isfinite(y).all() for y in outputs):
            self._complain(BAD_OUTPUT, arrays, outputs, batch)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def bind_arrays(
    routine: Routine,
    groups: Sequence[Any],
    sizes: Sizes,
    *,
    general: bool = False,
    dtype: Any = np.float64,
    lean: Callable[[], Sequence[Any]] | None = None,
    twins: FindTwins | None = None,
) -> BoundFunction:
    """`routine` with `groups` of constants as a function of arrays, compiled on first use.

    It is traced and compiled for these constants (for those that `lean` gives, if it is there), or served by the
    general code if that is wanted or the graph is too large. `twins` finds limbs in the constants that are alike, which
    single calls treat side by side. With BOUGH_INTERPRET=1 nothing is compiled.
    """
    if os.environ.get("BOUGH_INTERPRET") == "1":
        return InterpretedFunction(routine, groups, sizes, dtype)
    shapes = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)

    @cache
    def program() -> Program | None:
        if general or not worth_tracing(routine, sizes):
            return None
        return traced(routine, lean() if lean else groups, sizes, twins)

    def code(dtype: Any, lanes: int | None) -> Entry:
        found = program()
        if found is None:
            return general_code.entry(routine, groups, sizes, dtype)
        return specialise.entry(found, dtype, lanes)

    return BoundFunction(routine.name, shapes, code, dtype)


def worth_tracing(routine: Routine, sizes: Sizes) -> bool:
    """Are the arrays small enough that the graph may be?"""
    arrays = routine.arrays({**routine.inputs, **routine.outputs, **routine.work}, sizes)
    return max(a.size for a in arrays) <= LARGEST_ARRAY


def traced(
    routine: Routine,
    constants: Sequence[Any],
    sizes: Sizes,
    twins: FindTwins | None = None,
    limit: int = LARGEST_GRAPH,
) -> Program | None:
    """The traced routine, its limbs marked where `twins` finds some; None if its graph would be larger than `limit`."""
    found = twins(constants) if twins else None
    marked = _traced(routine, found.constants, sizes, limit, found.axes) if found else None
    return marked or _traced(routine, constants, sizes, limit)


def _traced(
    routine: Routine, constants: Sequence[Any], sizes: Sizes, limit: int, axes: Axes | None = None
) -> Program | None:
    try:
        return trace(routine, constants, sizes, limit, axes)
    except GraphTooLargeError:
        return None
    except ZeroDivisionError:  # a mechanism that is singular everywhere: the general code will say so
        return None
