"""Programs in the tests: the reference interpreter of graphs, and Jacobians by either mode of differentiation."""

from dataclasses import replace
from functools import partial

import numpy as np

from bough.compile.graph.autodiff import sensitivities, tangents
from bough.compile.graph.expr import (
    ADD,
    ATAN,
    BINARY,
    CONST,
    COS,
    DIV,
    INPUT,
    MUL,
    NEG,
    PARAMETERS,
    SIN,
    SQRT,
    STEP,
    SUB,
)  # fmt: skip
from bough.compile.graph.program import Array
from bough.compile.run.call import BoundFunction
from bough.compile.run.specialised import entry


def evaluate(program, inputs):
    """The outputs for `inputs`, computed node by node with numpy.

    Each input has the shape of its array, or (batch, *shape); each output likewise. Complex inputs
    are allowed, for derivatives by the complex step.
    """
    arrays = [np.asarray(x) for x in inputs]
    batch = next((len(x) for x, spec in zip(arrays, program.inputs, strict=True) if x.ndim > len(spec.shape)), None)
    width = 1 if batch is None else batch
    columns = []
    for x, spec in zip(arrays, program.inputs, strict=True):
        rows = np.broadcast_to(x, (width, *spec.shape)).reshape(width, spec.size)
        columns.append(rows.T)
    values = _evaluate_nodes(program, columns)
    kind = np.result_type(np.float64, *arrays)
    outputs = []
    for spec, roots in zip(program.outputs, program.roots, strict=True):
        rows = np.empty((width, spec.size), kind)
        for column, r in enumerate(roots):
            rows[:, column] = values[r]
        outputs.append(rows.reshape(spec.shape if batch is None else (batch, *spec.shape)))
    return outputs


def _evaluate_nodes(program, columns):
    graph = program.graph
    functions = {
        ADD: np.add, SUB: np.subtract, MUL: np.multiply, DIV: np.divide,
        NEG: np.negative, SQRT: np.sqrt, SIN: np.sin, COS: np.cos, ATAN: np.arctan,
        STEP: lambda x: np.where(x >= 0, 1.0, 0.0),
    }  # fmt: skip
    values = {}
    for i in graph.live(program.flat_roots()):
        op, a, b = graph.op[i], graph.a[i], graph.b[i]
        if op == CONST:
            values[i] = graph.value[i]
        elif op == INPUT:
            values[i] = program.parameters[b] if a == PARAMETERS else columns[a][b]
        else:
            values[i] = functions[op](values[a], values[b]) if op in BINARY else functions[op](values[a])
    return values


def jacobian(program, output, wrt, mode="forward"):
    """The program of d(output)/d(input) for each input number in `wrt`, in a graph of its own."""
    graph, roots, y = program.graph.copy(), program.roots[output], program.outputs[output]
    zero, one = graph.const(0.0), graph.const(1.0)
    inputs = [[graph.input(k, offset).id for offset in range(program.inputs[k].size)] for k in wrt]
    if mode == "forward":
        columns = [[tangents(graph, roots, {x: one}) for x in xs] for xs in inputs]
        table = [[column.get(r, zero) for r in roots for column in block] for block in columns]
    else:
        rows = [sensitivities(graph, [r], [one]) for r in roots]
        table = [[row.get(x, zero) for row in rows for x in xs] for xs in inputs]
    outputs = tuple(Array(f"by_{program.inputs[k].name}", y.shape + program.inputs[k].shape) for k in wrt)
    return replace(program, graph=graph, outputs=outputs, roots=tuple(map(tuple, table)))


def specialise(name, program, dtype=np.float64, lanes=None, explain=None):
    """`program` as a function of arrays; compiled on its first call for one configuration, and again for a batch."""
    return BoundFunction(name, program.inputs, program.outputs, partial(entry, program, lanes=lanes), dtype, explain)
