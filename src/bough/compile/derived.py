"""Derivatives of routines, as routines: the kernel is run on symbols, then differentiated in its own graph.

`vjp(f)` takes the inputs of f and a weight for each output, and gives the gradient of their weighted sum by each input;
`jvp(f)` takes a direction for each input and gives the rate of each output. Both are routines like all others, so that
they are traced, counted, compiled and exported like them, and have derivatives of their own: the vector product of a
Hessian is `jvp(vjp(f))`. There is no general code for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bough.compile.graph import autodiff
from bough.compile.graph.evaluate import evaluate
from bough.compile.graph.expr import FUNCTIONS, Expr, Graph
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Routine, literal, symbols
from bough.errors import unknown_option

Arrays = dict[str, Any]  # of symbols or of numbers, by name
Derive = Callable[[Arrays, Arrays, Graph], Arrays]


def vjp(routine: Routine, wrt: Sequence[str] | None = None) -> Routine:
    """(inputs, weights) -> gradients: arrays `weight_<output>` in, `by_<input>` out, for the inputs `wrt`, or all."""
    names = _chosen(routine, wrt)
    weights = {f"weight_{name}": shape for name, shape in routine.outputs.items()}

    def gradients(inputs: Arrays, outputs: Arrays, graph: Graph) -> Arrays:
        weighed = _nodes(graph, (inputs[name] for name in weights))
        found = autodiff.sensitivities(graph, _nodes(graph, outputs.values()), weighed)
        return {f"by_{name}": _read(graph, found, inputs[name]) for name in names}

    shapes = {f"by_{name}": routine.inputs[name] for name in names}
    return _derived(routine, f"vjp_{routine.name}", weights, shapes, gradients)


def jvp(routine: Routine, wrt: Sequence[str] | None = None) -> Routine:
    """(inputs, directions) -> rates: arrays `along_<input>` in, for the inputs `wrt` or all, `rate_<output>` out."""
    names = _chosen(routine, wrt)
    prefix = _fresh("along_", routine)
    directions = {prefix + name: routine.inputs[name] for name in names}

    def rates(inputs: Arrays, outputs: Arrays, graph: Graph) -> Arrays:
        moving = _nodes(graph, (inputs[name] for name in names))
        along = _nodes(graph, (inputs[name] for name in directions))
        roots = _nodes(graph, outputs.values())
        found = autodiff.tangents(graph, roots, dict(zip(moving, along, strict=True)))
        return {f"rate_{name}": _read(graph, found, y) for name, y in outputs.items()}

    shapes = {f"rate_{name}": shape for name, shape in routine.outputs.items()}
    return _derived(routine, f"jvp_{routine.name}", directions, shapes, rates)


def _derived(
    routine: Routine, name: str, added: Mapping[str, str], outputs: Mapping[str, str], derive: Derive
) -> Routine:
    """The routine that runs `routine` on symbols and stores the results of `derive` on its graph."""

    def body(*arguments: Any) -> None:
        *rest, work = arguments
        names = [*derived.inputs, *derived.outputs]
        constants, arrays = rest[: -len(names)], dict(zip(names, rest[-len(names) :], strict=True))
        inputs = {key: arrays[key] for key in derived.inputs}
        graph = next((x.graph for x in _flat(inputs.values()) if isinstance(x, Expr)), None)
        if graph is None:
            found = _on_numbers(body, constants, list(arrays.values()), len(inputs), work)
            results = dict(zip(derived.outputs, found, strict=True))
        else:
            original = {key: np.full(arrays[_alike(key, arrays)].shape, 0.0, object) for key in routine.outputs}
            routine.body(*constants, *(inputs[key] for key in routine.inputs), *original.values(), work)
            results = derive(inputs, original, graph)
        for key, value in results.items():
            arrays[key][...] = value

    inputs = {**routine.inputs, **added}
    derived = replace(routine, name=name, body=body, inputs=inputs, outputs=dict(outputs), only_traced=True)
    return derived


def _on_numbers(
    body: Callable[..., None], constants: Sequence[Any], arrays: Sequence[Any], n: int, work: Any
) -> list[Any]:
    """The results of `body` on numbers, the first n of `arrays` being inputs: traced, and then evaluated."""
    graph = Graph()
    specs = [Array(str(k), a.shape) for k, a in enumerate(arrays)]
    inputs = [symbols(graph, k, spec) for k, spec in enumerate(specs[:n])]
    results = [np.full(a.shape, 0.0, object) for a in arrays[n:]]
    scratch = type(work)(*(np.full(a.shape, 0.0, object) for a in work))
    body(*(literal(group) for group in constants), *inputs, *results, scratch)
    roots = tuple(tuple(_nodes(graph, [result])) for result in results)
    numbers = evaluate(
        Program(graph, tuple(specs[:n]), tuple(specs[n:]), roots), [_flat([a]) for a in arrays[:n]], FUNCTIONS
    )
    return [np.reshape(x, a.shape) for x, a in zip(numbers, arrays[n:], strict=True)]


def _alike(output: str, arrays: Arrays) -> str:
    """The array that has the shape of an output: its weight or its rate."""
    return f"weight_{output}" if f"weight_{output}" in arrays else f"rate_{output}"


def _chosen(routine: Routine, wrt: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(routine.arguments) if wrt is None else tuple(wrt)
    for name in names:
        if name not in routine.arguments:
            raise unknown_option(f"{routine.name} has no input {name!r}", name, routine.arguments)
    return names


def _fresh(prefix: str, routine: Routine) -> str:
    """A prefix for further inputs: a derivative of a derivative has some with the usual one already."""
    while any(name.startswith(prefix) for name in routine.inputs):
        prefix = f"further_{prefix}"
    return prefix


def _flat(arrays: Iterable[Any]) -> list[Any]:
    return [x for array in arrays for x in np.asarray(array).ravel().tolist()]


def _nodes(graph: Graph, arrays: Iterable[Any]) -> list[int]:
    return [graph.operand(x) for x in _flat(arrays)]


def _read(graph: Graph, found: Mapping[int, int], array: Any) -> Any:
    """The results for each element of an array, zero by default."""
    zero = graph.const(0.0)
    result = np.empty(array.shape, object)
    result.ravel()[:] = [Expr(graph, found.get(i, zero)) for i in _nodes(graph, [array])]
    return result
