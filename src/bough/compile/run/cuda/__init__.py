"""The CUDA execution: text of `emit.cuda` compiled by NVRTC and launched on arrays on the GPU.

Belongs here: the two ways to a GPU (cuda-core, CuPy), arrays of other libraries as addresses, functions of these.
Does not belong here: the text of kernels (`emit.cuda`). Nothing here is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bough.compile.emit.cuda import LARGEST, Layout, Layouts
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Constants, Routine, Sizes
from bough.compile.run.cuda.code import GpuCode
from bough.compile.run.cuda.function import CudaFunction
from bough.compile.run.cuda.launches import ProductLaunches
from bough.compile.run.entry import Entry
from bough.compile.run.specialised import LARGEST_DERIVATIVE, program_of
from bough.errors import TooLargeError

__all__ = ["CudaFunction", "bind", "compile"]


def compile(routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
    """The code of the GPU, traced for these constants on first use; it is the same for any precision."""

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
    code = GpuCode.of_program(routine.name, inputs, outputs, program)
    return _entry(code, dtype)


def bind_product(
    name: str, programs: Sequence[Program], product: SparseProduct, results: Sequence[Array]
) -> tuple[CudaFunction, ...]:
    """Functions of arrays on the GPU: programs with one output each, and the sparse product of these.

    Numbers between them lie in columns, so that neighbouring threads access neighbouring addresses.
    """
    codes = [GpuCode.of_program(name, p.inputs, p.outputs, partial(_itself, p)) for p in programs]
    between = [p.outputs[0] for p in programs]
    last = GpuCode(name, between, results, lambda _: ProductLaunches(product))
    layouts = [*[Layouts(results="columns")] * len(codes), Layouts(inputs="columns")]
    return tuple(
        CudaFunction(name, code.inputs, code.outputs, partial(_entry, code), layout)
        for code, layout in zip([*codes, last], layouts, strict=True)
    )


def _itself(program: Program) -> Program:
    return program


def _entry(code: GpuCode, dtype: np.dtype) -> Entry:
    return Entry(lambda: code, lambda: code)


def bind(routine: Routine, constants: Constants, sizes: Sizes, layout: Layout = "rows") -> CudaFunction:
    """A routine with its constants as a function of arrays on the GPU."""
    inputs, outputs = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)
    provide = partial(compile, routine, constants, sizes)
    layouts = Layouts(layout, layout, listed=routine.again is not None)
    return CudaFunction(routine.name, inputs, outputs, provide, layouts, routine.again)
