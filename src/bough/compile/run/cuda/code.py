"""The code of the GPU as an entry like that of other executions, for arrays on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from bough.compile.emit.cuda import Layouts
from bough.compile.graph.program import Array, Program
from bough.compile.run.cuda.arrays import view_of
from bough.compile.run.cuda.gpu import the_gpu
from bough.compile.run.cuda.launches import Launches, ProductLaunches
from bough.compile.run.entry import Opened
from bough.compile.run.gate import Signature, WorkQueue, python_gate

AnyLaunches: TypeAlias = Launches | ProductLaunches


class GpuCode:
    """Kernels for any precision, compiled on first use; `launches` of arrays on the GPU by their layouts."""

    is_shared = True

    def __init__(
        self, name: str, inputs: Sequence[Array], outputs: Sequence[Array], launches: Callable[[Layouts], AnyLaunches]
    ) -> None:
        self.name, self.inputs, self.outputs, self.launches = name, tuple(inputs), tuple(outputs), cache(launches)

    @classmethod
    def of_program(
        cls, name: str, inputs: Sequence[Array], outputs: Sequence[Array], program: Callable[[], Program]
    ) -> GpuCode:
        return cls(name, inputs, outputs, partial(Launches, cache(program), inputs, outputs))

    def open(self, signature: Signature, queue: WorkQueue | None = None) -> Opened:
        """A call trampoline for arrays on the host: they are copied to the GPU and back."""
        return Opened(python_gate(signature, partial(self._run, signature), queue))

    def _run(self, signature: Signature, arrays: Sequence[np.ndarray]) -> None:
        gpu, count = the_gpu(), len(signature.inputs)
        batch = len(arrays[0]) if signature.batched else 1
        host = [view_of(x, self.name, "an array", any_number=True) for x in arrays]
        given = [g.on_gpu(gpu, host[0]) for g in host[:count]]
        found = [g.empty(g.shape, g.dtype, gpu) for g in host[count:]]
        strides = [spec.size if signature.batched else 0 for spec in self.inputs]
        arguments = [*(g.address for g in (*given, *found)), 0, batch, *strides]
        self.launches(Layouts()).launch(gpu, signature.dtype, batch, arguments, 0)
        for array, result in zip(arrays[count:], found, strict=True):
            gpu.download(result.keep, array)
