"""Routines: a kernel together with the names and shapes of its arrays, executed interpreted or traced.

A kernel of this kind is called as `body(*constants, *inputs, *outputs, work)`. Constants are named tuples of
arrays (topology, geometry); the workspace is a named tuple of scratch arrays, so that nothing is allocated inside.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.graph.expr import PARAMETERS, Graph
from bough.compile.graph.program import Array, Mark, OperationCount, Program, count
from bough.compile.graph.twins import Parameter, Twins

Sizes = Mapping[str, int]
Groups = Sequence[tuple[Any, ...]]  # named tuples of arrays
FindTwins = Callable[[Groups], Twins | None]
Axes = Mapping[str, Mapping[int, Mark]]


@dataclass(frozen=True, eq=False)
class Constants:
    """The constants that a routine is bound to, and facts about them for tracing.

    `folded` gives equal constants that need fewer operations, and `twins` finds identical parts in them.
    """

    groups: Groups
    folded: Callable[[], Groups] | None = None
    twins: FindTwins | None = None

    def for_tracing(self) -> Groups:
        """Constants that need fewer operations, if there are any."""
        return self.folded() if self.folded else self.groups


class Again(NamedTuple):
    """Recompute rows whose `flag`, a column of an output, is not zero; a row is computed `times` times at most.

    Where the flag is positive, the output `found` replaces the input `start`, which has its shape.
    """

    flag: tuple[str, int]
    start: str
    found: str
    times: int


@dataclass(frozen=True, eq=False)
class Routine:
    """A kernel and its arrays. Shapes are words such as "bodies 6": names looked up in the sizes, or numbers."""

    name: str
    body: Callable[..., None]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    work: Mapping[str, str] = field(default_factory=dict)
    zeros: frozenset[str] = frozenset()
    only_traced: bool = False  # there is no general code for it, as for derivatives
    again: Again | None = None  # if one pass is not enough

    def without(self, *names: str, name: str | None = None) -> Routine:
        """The same routine with these inputs fixed at zero: they vanish from a traced program."""
        unknown = set(names) - set(self.inputs)
        if unknown:
            raise KeyError(f"{self.name} has no input {sorted(unknown)[0]!r}")
        zeros = self.zeros | set(names)
        return replace(self, name=name or self.name, zeros=zeros)

    @property
    def arguments(self) -> dict[str, str]:
        """The inputs that a caller supplies."""
        return {name: shape for name, shape in self.inputs.items() if name not in self.zeros}

    def arrays(self, shapes: Mapping[str, str], sizes: Sizes) -> tuple[Array, ...]:
        """Named arrays with their shapes in numbers."""
        return tuple(Array(name, resolve(shape, sizes)) for name, shape in shapes.items())


def resolve(shape: str, sizes: Sizes) -> tuple[int, ...]:
    """The numbers behind a shape such as "bodies 6"."""
    return tuple(int(word) if word.isdigit() else sizes[word] for word in shape.split())


@cache
def work_type(names: tuple[str, ...]) -> Any:
    return namedtuple("Work", names)


def scratch(routine: Routine, sizes: Sizes, dtype: npt.DTypeLike) -> Any:
    """A fresh workspace for one execution."""
    shapes = [resolve(shape, sizes) for shape in routine.work.values()]
    return work_type(tuple(routine.work))(*(np.zeros(shape, dtype) for shape in shapes))


def interpret(routine: Routine, constants: Groups, sizes: Sizes, *inputs: npt.ArrayLike) -> tuple[Any, ...]:
    """Run the kernel as plain Python on one configuration; as silent as compiled code where a number overflows."""
    given = iter(inputs)
    arrays = [
        np.zeros(resolve(shape, sizes)) if name in routine.zeros else np.asarray(next(given), dtype=float)
        for name, shape in routine.inputs.items()
    ]
    outputs = [np.zeros(resolve(shape, sizes)) for shape in routine.outputs.values()]
    with np.errstate(all="ignore"):
        routine.body(*constants, *arrays, *outputs, scratch(routine, sizes, float))
    return tuple(outputs)


def trace(
    routine: Routine, constants: Groups, sizes: Sizes, limit: int | None = None, axes: Axes | None = None
) -> Program:
    """Run the kernel on symbols and record its operations; `GraphTooLargeError` is raised past `limit` nodes.

    Constants may be parameters, and `axes` may mark the entries of inputs: see `twins`.
    """
    graph = Graph(limit)
    parameters: list[Parameter] = []
    inputs = routine.arrays(routine.arguments, sizes)
    known = {a.name: symbols(graph, k, a) for k, a in enumerate(inputs)}
    arrays = [
        known[name] if name in known else np.full(resolve(shape, sizes), 0.0, object)
        for name, shape in routine.inputs.items()
    ]
    outputs = routine.arrays(routine.outputs, sizes)
    results = [np.full(a.shape, 0.0, object) for a in outputs]
    numbers = [_with_parameters(graph, literal(group), parameters) for group in constants]
    routine.body(*numbers, *arrays, *results, scratch(routine, sizes, object))
    roots = tuple(tuple(graph.operand(x) for x in result.ravel()) for result in results)
    marks = {(PARAMETERS, k): p.mark for k, p in enumerate(parameters)}
    for k, (shape, array) in enumerate(zip(routine.arguments.values(), inputs, strict=True)):
        marks |= _input_marks(k, array, (axes or {}).get(shape.split()[0], {}))
    return Program(graph, inputs, outputs, roots, tuple(p.value for p in parameters), marks)


def literal(constants: tuple[Any, ...]) -> Any:
    """Constants as Python numbers, which fold faster than numpy's."""
    return type(constants)(*(_python(a) for a in constants))


def _python(array: npt.NDArray[Any]) -> Any:
    if array.dtype.kind == "i":
        return array.tolist() if array.ndim == 1 else array
    return array.astype(object, order="C")


def _with_parameters(graph: Graph, group: Any, found: list[Parameter]) -> Any:
    """The group with an input of the graph for each `Parameter` in it; these are appended to `found`."""

    def symbol(x: Any) -> Any:
        if type(x) is not Parameter:
            return x
        found.append(x)
        return graph.input(PARAMETERS, len(found) - 1)

    for array in group:
        if isinstance(array, np.ndarray) and array.dtype == object:
            array.ravel()[:] = [symbol(x) for x in array.ravel()]
    return group


def _input_marks(k: int, array: Array, axis: Mapping[int, Mark]) -> dict[tuple[int, int], Mark]:
    """The marks of the elements of input k, whose first axis is marked."""
    stride = math.prod(array.shape[1:])
    return {
        (k, index * stride + rest): mark._replace(place=(mark.place, rest))
        for index, mark in axis.items()
        for rest in range(stride)
    }


def symbols(graph: Graph, index: int, array: Array) -> npt.NDArray[Any]:
    """The elements of input `index` of a graph."""
    flat = np.empty(math.prod(array.shape), object)
    flat[:] = [graph.input(index, offset) for offset in range(array.size)]
    return flat.reshape(array.shape)


def operations(program: Program) -> OperationCount:
    """The operation count of the program, on its graph before any rewriting."""
    return count(program.graph, program.flat_roots())
