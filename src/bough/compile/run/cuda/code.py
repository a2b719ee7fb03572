"""The code of the GPU as other executions have theirs: an entry, with gates to arrays on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial

import numpy as np

from bough.compile.emit.cuda import Layout
from bough.compile.graph.program import Array, Program
from bough.compile.run.cuda.arrays import view_of
from bough.compile.run.cuda.gpu import the_gpu
from bough.compile.run.cuda.launches import Launches
from bough.compile.run.entry import Opened
from bough.compile.run.gate import Pile, Signature, python_gate


class GpuCode:
    """KernelNeeds of a program, for any precision and either layout, compiled when they are wanted."""

    is_shared = True

    def __init__(
        self, name: str, program: Callable[[], Program], inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        self.name, self.program, self.inputs, self.outputs = name, cache(program), tuple(inputs), tuple(outputs)

    @cached_property
    def launches(self) -> Callable[[Layout], Launches]:
        """Launches on arrays on the GPU, by their layout."""
        return cache(partial(Launches, self.program, self.inputs, self.outputs))

    def open(self, signature: Signature, pile: Pile | None = None) -> Opened:
        """A gate to arrays on the host, which go to the GPU and come back."""
        return Opened(python_gate(signature, partial(self._run, signature), pile))

    def _run(self, signature: Signature, arrays: Sequence[np.ndarray]) -> None:
        gpu, count = the_gpu(), len(signature.inputs)
        batch = len(arrays[0]) if signature.batched else 1
        host = [view_of(x, self.name, "an array", any_number=True) for x in arrays]
        given = [g.on_gpu(gpu, host[0]) for g in host[:count]]
        found = [g.empty(g.shape, g.dtype, gpu) for g in host[count:]]
        strides = [spec.size if signature.batched else 0 for spec in self.inputs]
        arguments = [*(g.address for g in (*given, *found)), 0, batch, *strides]
        self.launches("rows").launch(gpu, signature.dtype, batch, arguments, 0)
        for array, result in zip(arrays[count:], found, strict=True):
            gpu.download(result.keep, array)
