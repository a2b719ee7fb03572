"""Executions: from a routine and its constants to a function of arrays.

An execution is a module of `run` that has a function `compile(routine, constants, sizes, dtype) -> Entry`. A new one is
two files: what writes the text, in `emit`, and what runs it, in `run`. `choose` decides which one serves a call. For
arrays on a GPU `run.cuda` has functions of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from bough.compile.emit.cuda import Layout
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.function import CompiledFunction as CompiledFunction
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Constants, FindTwins, Groups, Routine, Sizes
from bough.compile.run.arrays import Explain
from bough.compile.run.call import BoundFunction as BoundFunction
from bough.compile.run.entry import Entry
from bough.compile.run.specialised import LARGEST_GRAPH as LARGEST_GRAPH
from bough.compile.run.specialised import serves
from bough.compile.run.specialised import traced as traced
from bough.compile.run.specialised import worth_tracing as worth_tracing
from bough.compile.settings import interpreted
from bough.errors import ModelError, TooLargeError, unknown_option


class Execution(Protocol):
    """A way to run routines."""

    def compile(self, routine: Routine, constants: Constants, sizes: Sizes, dtype: np.dtype) -> Entry:
        """Code for one configuration and for many."""


class Device(NamedTuple):
    """A device: "cpu", or "cuda" on arrays (batch, n) "rows" or (n, batch) "columns"."""

    name: str
    layout: Layout = "rows"

    @property
    def is_gpu(self) -> bool:
        return self.name != "cpu"

    @property
    def execution(self) -> str:
        """Of what is compiled for one model."""
        return "cuda" if self.is_gpu else "specialised"

    def refuse_gpu(self, why: str) -> None:
        """Refuse a feature that only the CPU has."""
        if self.is_gpu:
            raise ModelError(why)


CPU, GPU = Device("cpu"), Device("cuda")


def device_of(name: str | None, layout: str) -> Device:
    """The device of that name; anything unknown is refused."""
    if name not in (None, "cpu", "cuda"):
        raise unknown_option(f"there is no device {name!r}", name, ("cpu", "cuda"))
    layouts = ("rows", "columns") if name == "cuda" else ("rows",)
    if layout not in layouts:
        raise unknown_option(f"there is no layout {layout!r} on {name or 'cpu'}", layout, layouts)
    return Device(name or "cpu", cast(Layout, layout))


def choose(wanted: str, routine: Routine, constants: Constants, sizes: Sizes) -> Execution:
    """The execution that serves a call: the preferred one, unless compilation is off or the graph is too large."""
    if interpreted():
        wanted = "interpreted"
    elif wanted == "specialised" and not serves(routine, constants, sizes):
        wanted = "general"
    if wanted == "general" and routine.only_traced:
        raise TooLargeError(f"{routine.name} takes too many operations to be compiled, and has no general code")
    return cast(Execution, import_module(f"bough.compile.run.{wanted}"))


def bind_arrays(
    routine: Routine,
    groups: Groups,
    sizes: Sizes,
    *,
    execution: str | None = None,
    general: bool = False,
    dtype: npt.DTypeLike = np.float64,
    folded: Callable[[], Groups] | None = None,
    twins: FindTwins | None = None,
    name: str | None = None,
    explain: Explain | None = None,
    device: Device = CPU,
) -> CompiledFunction:
    """`routine` with `groups` of constants as a function of arrays, compiled on first use.

    It is traced and compiled for these constants (or for those of `folded`), or run by general code if that is
    preferred or the graph is too large. `twins` finds identical parts of the constants, over which single calls are
    vectorised. Errors call the function `name`; `explain` gets the inputs of a row without a finite result and may say
    why. With BOUGH_INTERPRET=1 nothing is compiled. On the device "cuda" it is a
    function of arrays on the GPU, always traced, with the same calls.
    """
    constants = Constants(groups, folded, twins)
    if device.is_gpu:
        from bough.compile.run.cuda import bind as bind_on_gpu  # and its dependencies

        return bind_on_gpu(replace(routine, name=name or routine.name), constants, sizes, device.layout)
    execution = execution or ("general" if general else device.execution)
    return bind_on_cpu(routine, constants, sizes, execution, name, dtype, explain)


def bind_product_on_gpu(
    name: str, programs: Sequence[Program], product: SparseProduct, results: Sequence[Array]
) -> tuple[CompiledFunction, ...]:
    """Programs with one output each, and a sparse product of these, as functions of arrays on the GPU."""
    from bough.compile.run.cuda import bind_product  # and its dependencies

    return bind_product(name, programs, product, results)


def bind_on_cpu(
    routine: Routine,
    constants: Constants,
    sizes: Sizes,
    execution: str = "specialised",
    name: str | None = None,
    dtype: npt.DTypeLike = np.float64,
    explain: Explain | None = None,
) -> BoundFunction:
    """The same on the CPU, by the preferred execution if it serves."""

    def provide(dtype: np.dtype) -> Entry:
        return choose(execution, routine, constants, sizes).compile(routine, constants, sizes, dtype)

    inputs, outputs = routine.arrays(routine.arguments, sizes), routine.arrays(routine.outputs, sizes)
    return BoundFunction(name or routine.name, inputs, outputs, provide, dtype, explain)
