"""The CUDA execution: text of `emit.cuda` compiled by NVRTC and launched on arrays on the card.

Belongs here: the two ways to a card (cuda-core, CuPy), arrays of other libraries as addresses, functions of these.
Does not belong here: what the kernels say (`emit.cuda`). Nothing here is imported before it is asked for.
"""

from __future__ import annotations

from bough.compile.emit.cuda import Layout
from bough.compile.graph.program import Program
from bough.compile.routine import Constants, Routine, Sizes
from bough.compile.run.cuda.function import CudaFunction
from bough.compile.run.specialised import LARGEST_DERIVATIVE, LARGEST_GRAPH, program_of
from bough.errors import TooLargeError

__all__ = ["CudaFunction", "bind"]


def bind(routine: Routine, constants: Constants, sizes: Sizes, layout: Layout = "rows") -> CudaFunction:
    """A routine with its constants as a function of arrays on the card, traced and compiled on first use."""

    def program() -> Program:
        found = program_of(routine, constants, sizes)
        if found is None:
            limit = LARGEST_DERIVATIVE if routine.only_traced else LARGEST_GRAPH
            raise TooLargeError(
                f"{routine.name} takes too many operations for the card, more than {limit:,}; "
                "general code on the CPU has no such limit"
            )
        return found

    inputs, outputs = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)
    return CudaFunction(routine.name, inputs, outputs, program, layout)
