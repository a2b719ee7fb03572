"""GPU functions: text of `emit.cuda` compiled by NVRTC and launched on arrays on the GPU.

Belongs here: the two ways to a GPU (cuda-core, CuPy), arrays of other libraries as addresses, functions of these.
Does not belong here: the text of kernels (`emit.cuda`). Nothing here is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Sequence

from bough.compile.emit.cuda import LARGEST, Layout, Layouts
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Constants, Routine, Sizes
from bough.compile.run.cuda.function import CudaFunction
from bough.compile.run.cuda.launches import Launches, ProductLaunches
from bough.compile.run.specialised import LARGEST_DERIVATIVE, program_of
from bough.errors import TooLargeError

__all__ = ["CudaFunction", "bind", "bind_product"]


def bind(routine: Routine, constants: Constants, sizes: Sizes, layout: Layout = "rows") -> CudaFunction:
    """A routine with its constants as a function of arrays on the GPU, traced for these constants on first use."""

    def program() -> Program:
        found = program_of(routine, constants, sizes, LARGEST)
        if found is None:
            limit = LARGEST_DERIVATIVE if routine.only_traced else LARGEST
            raise TooLargeError(
                f"{routine.name} takes too many operations for the GPU, more than {limit:,}; "
                "general code on the CPU has no such limit"
            )
        return found

    inputs, outputs = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)
    layouts = Layouts(layout, layout, listed=routine.again is not None)
    return CudaFunction(routine.name, Launches(program, inputs, outputs, layouts), routine.again)


def bind_product(
    name: str, programs: Sequence[Program], product: SparseProduct, results: Sequence[Array]
) -> tuple[CudaFunction, ...]:
    """Functions of arrays on the GPU: programs with one output each, and the sparse product of these.

    Numbers between them lie in columns, so that neighbouring threads access neighbouring addresses.
    """
    parts = (CudaFunction(name, Launches.of_program(program, Layouts(results="columns"))) for program in programs)
    between = [program.outputs[0] for program in programs]
    return *parts, CudaFunction(name, ProductLaunches(product, between, results))
