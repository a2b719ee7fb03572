"""Whole-body programs of many robots at once, by the interior-point method with rows of the batch side by side.

Bounds of qdd and torque limits are left to rows that would break them without. The same code serves numpy arrays and
tensors on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from bough.compile.executions import CPU, GPU, CompiledFunction, Device, bind_arrays
from bough.compile.routine import Routine
from bough.compile.run.libraries import library_of
from bough.control.interior_point import CONTINUED, FIRST_STATE, INTERIOR_POINT, MEASURED, NEXT_STATE, Blocks, Tuning
from bough.control.rows import EQUATIONS, FORCES, LIMITS
from bough.types import FloatArray

FIRST, MORE, AGAIN = 9, 4, 5  # iterations of all rows, and then how many, how often, of those that are not `CLOSE`
CLOSE = 3e-11  # largest residual of a program that ends its iterations
PROXIMAL, FLOOR, SHARE, CENTRE = 1e-4, 1.0, 0.999, 1e-11
START = 10.0  # weight of inequalities at the start


class SideBySide:
    """Solutions of programs with these blocks of rows: `solve(program)` gives x, A x and residuals.

    A program is a, low, high, ease (rows,), d (n,) and z. `parts` are the places of bounds of qdd and of torque limits.
    """

    def __init__(self, blocks: Blocks, parts: dict[int, Any], sizes: dict[str, int], on_gpu: bool) -> None:
        self.parts = {part: at for part, at in parts.items() if len(at)}
        steps = (LIMITS,) if on_gpu else (FORCES, *self.parts)
        self.methods = [Method(blocks, last, sizes, GPU if on_gpu else CPU) for last in steps]
        self._on_gpu = on_gpu

    def __call__(self, program: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        first, *others = self.methods
        x, g, residual = found = first(program, None if self._on_gpu else self._broken)
        for method in others:
            rows = np.flatnonzero(self._broken(program, g) == method.last)
            if len(rows):
                for mine, new in zip(found, method(rows_of(program, rows), self._broken), strict=True):
                    mine[rows] = new
        return x, g, residual

    def _broken(self, program: tuple[Any, ...], g: FloatArray) -> Any:
        """(batch,) the last part of which rows are broken, if bounds or limits are, else 0."""
        _, low, high, *_ = program
        found = np.zeros(len(g), int)
        for part, at in self.parts.items():
            found[((g[:, at] < low[:, at]) | (g[:, at] > high[:, at])).any(axis=1)] = part
        return found


class Method:
    """The interior-point method on blocks of rows: `method(program)` gives x, A x and residuals.

    Rows of parts behind `last` have no say. A program is a, low, high, ease (rows,), d (n,) and z.
    """

    def __init__(self, blocks: Blocks, last: int, sizes: dict[str, int], device: Device) -> None:
        blocks = blocks._replace(ends=blocks.ends[[EQUATIONS, last]])
        sides = blocks.two + 1
        some = slice(*blocks.ends)
        count = (np.diff(blocks.row) * sides)[some].sum()
        touched = blocks.column[blocks.first[some.start] : blocks.first[some.stop]]
        fixed = 0 if device.is_gpu else touched.min(initial=sizes["n"]) // 4 * 4
        blocks, self.last = blocks._replace(fixed=np.array([fixed])), last
        tuning = Tuning(*(np.array([x]) for x in (0.0, 1.0, PROXIMAL, START, FLOOR, SHARE, CENTRE, max(1, count))))
        how: dict[str, Any] = {"device": device} if device.is_gpu else {"execution": "lanes"}

        def bound(routine: Routine, iterations: int = 1) -> CompiledFunction:
            some = blocks._replace(iterations=np.array([iterations]))
            return bind_arrays(routine, (some, tuning), sizes, **how)

        self._on_gpu = device.is_gpu
        if device.is_gpu:
            self._first, self._next, self._report = bound(FIRST_STATE), bound(NEXT_STATE), bound(MEASURED)
        else:
            self._first, self._next = bound(INTERIOR_POINT, FIRST), bound(CONTINUED, MORE)

    def __call__(self, program: tuple[Any, ...], broken: Callable[..., Any] | None) -> tuple[Any, Any, Any]:
        """Rows need not be solved to the end where `broken(program, A x)` names a part behind `last`."""
        K0: Any = None  # on a GPU, where an iteration is a kernel
        if self._on_gpu:
            x, state, K0 = self._first.call(*program)
            found = self._iterated(program, FIRST, x, state, K0)
        else:
            found = outputs(self._first, program)
        x, state, g, report = found
        xp = import_module(library_of(x))
        for _ in range(AGAIN):
            enough = False if broken is None else broken(program, g) > self.last
            rows = xp.where(~((xp.amax(report, 1) <= CLOSE) | enough))[0]
            if not len(rows):
                break
            some, x0, state0 = rows_of(program, rows), x[rows], state[rows]
            if self._on_gpu:
                more = self._iterated(some, MORE, x0, state0, K0[rows])
            else:
                more = outputs(self._next, (*some, x0, state0))
            for mine, new in zip(found, more, strict=True):
                mine[rows] = new
        return x, g, xp.amax(report, 1)

    def _iterated(self, program: tuple[Any, ...], count: int, x: Any, state: Any, K0: Any) -> list[Any]:
        """x, state, A x and a report after `count` more iterations, on a GPU."""
        for _ in range(count):
            x, state = self._next.call(*program, K0, x, state)
        return [x, state, *self._report.call(*program, x, state)]


def outputs(function: CompiledFunction, inputs: Sequence[FloatArray]) -> list[FloatArray]:
    """Results of a batch, finite or not: residuals say which are. Inputs without a batch are the same for all rows."""
    count = len(inputs[0])
    rows = [np.broadcast_to(x, (count, *s.shape)) for x, s in zip(inputs, function.inputs, strict=True)]
    found, _ = function.with_status(*rows)
    return list(found) if isinstance(found, tuple) else [found]


def rows_of(program: Sequence[Any], rows: Any) -> tuple[Any, ...]:
    """The program of some robots."""
    return tuple(x[rows] if x.ndim == 2 else x for x in program)
