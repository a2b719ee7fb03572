"""The derivatives of forward dynamics as one compiled function.

Slopes and the factor of H are straight-line code. Columns, which have most operations and few patterns, are
solved in loops.

One configuration takes a product with H^-1, whose rows are vectors. A batch is vectorised over configurations: columns
are solved by the factor, without what the tree makes zero. With too many patterns of columns, the rows of a batch are
computed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bough.compile.emit.llvm_columns import ResultRow, RowPrograms
from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.executions import BoundFunction, CompiledFunction, bind_product_on_gpu, traced
from bough.compile.graph.expr import CONST
from bough.compile.graph.program import Array, Program
from bough.compile.routine import Routine, operations, trace
from bough.compile.run.entry import Entry, NativeCode
from bough.compile.run.specialised import native_code
from bough.dynamics.forward_by_factor import DofRows, dof_rows
from bough.dynamics.forward_derivatives import FORCE_SLOPES, GATHER_COLUMN, SLOPES_AT, SPREAD_COLUMN, Support
from bough.dynamics.parameters import Parameters

LARGEST = 120_000  # most nodes of a graph to compile
MOST_OPERATIONS = 20_000  # of all kinds of columns together
FEW = 2  # entries that a column of a kind may lack
Rows = tuple[int, ...]


def forward_derivatives(parameters: Parameters) -> BoundFunction | None:
    """(q, v, tau) -> dqdd/dq', dqdd/dv' and H^-1, (nv, nv) each; None if the model is too large to be traced."""
    model, n = parameters.model, parameters.model.nv
    t = dof_rows(model.dof_tree)
    routine, found = parameters.constants(FORCE_SLOPES, (model.mechanism, t), lambda: model.grouped)
    program = traced(routine, found.for_tracing(), model.sizes, found.twins, LARGEST)
    if program is None:
        return None
    results = result_arrays(n)
    entries, product = sparse_columns(program, n)

    @cache
    def columns() -> tuple[Program, RowPrograms] | None:
        return solved_columns(program, t, results)

    def batch(dtype: np.dtype) -> NativeCode:
        found = columns()
        return native_code(found[0], dtype, after=found[1]) if found else native_code(entries, dtype, after=product)

    def provide(dtype: np.dtype) -> Entry:
        return Entry(lambda: native_code(entries, dtype, 1, product), lambda: batch(dtype))

    return BoundFunction("forward_dynamics_derivatives", program.inputs, results, provide, explain=model.explain)


def forward_derivatives_on_gpu(
    parameters: Parameters, inverse: tuple[Routine, tuple[Any, ...]]
) -> tuple[CompiledFunction, ...] | None:
    """Three functions: slopes of (q, v, qdd), the lower triangle of H^-1 at q, and the derivatives, of these two.

    `inverse` is a routine for H^-1, and its constants. Several kernels need fewer registers each, and half of the
    time of one.
    """
    model, n = parameters.model, parameters.model.nv
    programs = []
    for routine, constants in ((SLOPES_AT, ()), inverse):
        routine, found = parameters.constants(routine, (model.mechanism, *constants), lambda: model.grouped)
        program = traced(routine, found.for_tracing(), model.sizes, found.twins, LARGEST)
        if program is None:
            return None
        programs.append(program)
    slopes, Z = programs
    columns, product = slope_columns(slopes, n)
    entries = tuple(columns[c][r] for group in product.groups for r in group.rows for c in group.columns)
    lower = tuple(Z.roots[0][r * n + c] for r in range(n) for c in range(r + 1))
    halves = (_with_output(slopes, "entries", entries), _with_output(Z, "lower", lower))
    return bind_product_on_gpu("forward_dynamics_derivatives", halves, product, result_arrays(n))


def _with_output(program: Program, name: str, roots: Rows) -> Program:
    return replace(program, outputs=(Array(name, (len(roots),)),), roots=(roots,))


def result_arrays(n: int) -> tuple[Array, ...]:
    return tuple(Array(name, (n, n)) for name in ("dqdd_dq", "dqdd_dv", "dqdd_dtau"))


def sparse_columns(program: Program, n: int) -> tuple[Program, SparseProduct]:
    """The program with its slopes as the entries that are not zero, in the order of a product with H^-1."""
    columns, product = slope_columns(program, n)
    roots = tuple(columns[c][r] for group in product.groups for r in group.rows for c in group.columns)
    outputs = (Array("entries", (len(roots),)), program.outputs[2])
    return replace(program, outputs=outputs, roots=(roots, program.roots[2])), product


def slope_columns(program: Program, n: int) -> tuple[list[list[int]], SparseProduct]:
    """The columns of the first two outputs, and their product with H^-1."""
    columns = [c for matrix in program.roots[:2] for c in np.array(matrix).reshape(n, n).T.tolist()]
    return columns, SparseProduct(tuple(_not_zero(program, column) for column in columns), n, arrays=2)


def solved_columns(program: Program, t: DofRows, results: tuple[Array, ...]) -> tuple[Program, RowPrograms] | None:
    """The program with the operands of its columns, and how each is solved; None if there are too many kinds."""
    n, zero = len(t.parent), program.graph.const(0.0)
    columns = [np.array(matrix).reshape(n, n).T for matrix in program.roots[:2]]
    kinds = _kinds({_not_zero(program, column) for matrix in columns for column in matrix.tolist()}, t)
    M, E = program.roots[3:]
    entries: list[int] = []
    rows: list[ResultRow] = []
    programs: dict[tuple[Routine, Rows], Program] = {}

    def number(routine: Routine, support: Rows) -> int:
        if (routine, support) not in programs:
            s = Support(np.array(support, np.int64), np.zeros(1))
            sizes = {"nv": n, "coupled": len(M), "entries": len(support)}
            programs[routine, support] = trace(routine, (t, s), sizes)
        return list(programs).index((routine, support))

    for result, matrix in enumerate(columns):
        for c, column in enumerate(matrix.tolist()):
            kind = kinds[_not_zero(program, column)]
            made = number(GATHER_COLUMN, kind), number(SPREAD_COLUMN, kind)
            rows.append(ResultRow(made, len(entries), result, c))
            entries += [column[t.order[i]] for i in kind]
    for j, path in enumerate(_paths(t.parent.tolist())):
        rows.append(ResultRow((number(SPREAD_COLUMN, path),), len(entries), 2, int(t.order[j])))
        own = E[t.rows[j] : t.rows[j + 1]]
        entries += [*own, *[zero] * (len(path) - len(own))]
    if sum(operations(p).total for p in programs.values()) > MOST_OPERATIONS:
        return None
    ends = set((t.rows[1:] - 1).tolist())  # the diagonal of M holds D: invert it
    factor = tuple(E[k] if k in ends else x for k, x in enumerate(M))
    outputs = (Array("entries", (len(entries),)), Array("factor", (len(factor),)))
    whole = replace(program, outputs=outputs, roots=(tuple(entries), factor))
    return whole, RowPrograms(tuple(programs.values()), tuple(rows), results)


def _kinds(patterns: set[Rows], t: DofRows) -> dict[Rows, Rows]:
    """For each pattern in the order of v the DoF, depth-first, of the column that replaces it: with those above them,
    and with few more where another pattern has them."""
    found: dict[Rows, Rows] = {}
    for pattern in sorted(patterns, key=lambda p: (-len(p), p)):
        closed = {int(t.rank[r]) for r in pattern}
        for i in sorted(closed, reverse=True):
            while (i := int(t.parent[i])) >= 0:
                closed.add(i)
        near = (x for x in found.values() if closed and closed <= {*x} and len(x) <= len(closed) + FEW)
        found[pattern] = next(near, tuple(sorted(closed)))
    return found


def _paths(parent: Sequence[int]) -> list[Rows]:
    """For each DoF the path from the root to the end of its run: the DoF after it up to a branch or a leaf."""
    children: list[list[int]] = [[] for _ in parent]
    for i, up in enumerate(parent):
        if up >= 0:
            children[up].append(i)
    found: list[Rows] = []
    for i in range(len(parent)):
        path = [i]
        while len(children[path[-1]]) == 1:
            path.append(children[path[-1]][0])
        while parent[path[0]] >= 0:
            path.insert(0, parent[path[0]])
        found.append(tuple(path))
    return found


def _not_zero(program: Program, column: Sequence[int]) -> Rows:
    graph = program.graph
    return tuple(k for k, i in enumerate(column) if graph.op[i] != CONST or graph.value[i] != 0.0)
