"""The interpreted execution: the kernel run as plain Python, one row after another, for debugging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bough.compile.routine import Constants, Routine, Sizes, interpret
from bough.compile.run.entry import Entry, Opened
from bough.compile.run.gate import Signature, WorkQueue, python_gate, python_maker


@dataclass(frozen=True)
class PythonCode:
    """A function of the inputs of one row that returns its outputs."""

    function: Callable[..., tuple[Any, ...]]
    is_shared: bool = True

    def open(self, signature: Signature, queue: WorkQueue | None = None) -> Opened:
        gate = python_gate(signature, partial(self._run, signature), queue)
        return Opened(gate, python_maker(signature, gate) if signature.outputs else None)

    def _run(self, signature: Signature, arrays: Sequence[np.ndarray]) -> None:
        rows = zip(*arrays, strict=True) if signature.batched else [arrays]
        count = len(signature.inputs)
        for row in rows:
            for array, result in zip(row[count:], self.function(*row[:count]), strict=True):
                array[...] = result


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """The kernel itself, in double precision whatever the arrays have."""
    code = PythonCode(partial(interpret, routine, constants.groups, sizes))
    return Entry(lambda: code, lambda: code)
