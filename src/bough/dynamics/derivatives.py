"""The derivatives of forward dynamics as one compiled function: straight-line code for slopes and H^-1, loops for their
product, which has more operations than all the rest and the same few rows of H^-1 in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.emit.llvm_product import SparseProduct
from bough.compile.executions import BoundFunction, traced
from bough.compile.graph.expr import CONST
from bough.compile.graph.program import Array, Program
from bough.compile.run.specialised import specialise
from bough.dynamics.forward_by_factor import dof_rows
from bough.dynamics.forward_derivatives import FORCE_SLOPES
from bough.dynamics.given import Parameters
from bough.model import mark_limbs

LARGEST = 120_000  # nodes of a graph that are worth compiling
Matrix = npt.NDArray[Any]


def forward_derivatives(parameters: Parameters) -> BoundFunction | None:
    """(q, v, tau) -> [dqdd/dq, dqdd/dv]' (2 nv, nv) and H^-1 (nv, nv); None if the model is too large to be traced."""
    model = parameters.model
    routine, constants, twins = parameters.prepared(FORCE_SLOPES, (dof_rows(model.dof_tree),), mark_limbs)
    groups = (model.grouped if parameters.folds else model.mechanism, *constants)
    program = traced(routine, groups, model.sizes, twins, LARGEST)
    if program is None:
        return None
    entries, product = sparse_columns(program, model.nv)
    return specialise("forward_dynamics_derivatives", entries, explain=model.explain, product=product)


def sparse_columns(program: Program, n: int) -> tuple[Program, SparseProduct]:
    """The program with its matrices but for the last as the entries that are not zero, in the order of a product."""
    columns = [c for matrix in program.roots[:-1] for c in np.array(matrix).reshape(n, n).T.tolist()]
    product = SparseProduct(tuple(_not_zero(program, column) for column in columns), n)
    roots = tuple(columns[c][r] for group in product.groups for r in group.rows for c in group.columns)
    outputs = (Array("entries", (len(roots),)), program.outputs[-1])
    return replace(program, outputs=outputs, roots=(roots, program.roots[-1])), product


def _not_zero(program: Program, column: Sequence[int]) -> tuple[int, ...]:
    graph = program.graph
    return tuple(k for k, i in enumerate(column) if graph.op[i] != CONST or graph.value[i] != 0.0)
