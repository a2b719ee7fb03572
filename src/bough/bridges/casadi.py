"""CasADi functions of a model: the traced graph as SX, which CasADi differentiates and hands to its own solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bough.arguments import explained
from bough.bridges.calls import call_of
from bough.compile.graph.evaluate import Vectors, evaluate
from bough.compile.graph.program import Array, Program
from bough.dynamics.forward_by_factor import dof_rows
from bough.dynamics.forward_derivatives import FORCE_SLOPES, FORWARD_DERIVATIVES
from bough.dynamics.functions import traced_for
from bough.errors import required
from bough.model import Model
from bough.opspace import OperationalSpace

__all__ = ["from_program", "function"]

casadi = required("casadi", "casadi", at_least="3.6")
FUNCTIONS = {"sqrt": casadi.sqrt, "sin": casadi.sin, "cos": casadi.cos, "atan": casadi.atan, "step": lambda x: x >= 0}
VECTORS = Vectors(lambda numbers: casadi.vertcat(*numbers), casadi.vertsplit)


@explained
def function(model: Model | OperationalSpace, name: str, *, inputs: Sequence[str] | None = None, **options: Any) -> Any:
    """A function of `Dynamics` as a `casadi.Function` of the same arguments, for example "forward_dynamics".

    `options` are those of the function: method=, frame=, reference=; and inputs= as in `Dynamics`. Vectors are columns,
    matrices have their shape. Of an `OperationalSpace` in the place of the model, `name` is one of the functions that
    its `export_c` knows, "torques" for example, with the damping of the space and by default its inputs. Exact, dense
    in nothing that is sparse, and without an external library at run time.

    >>> f = bough.casadi.function(model, "inverse_dynamics")
    >>> tau = f(q, v, qdd)
    """
    if inputs is None:
        inputs = model.parameters.inputs if isinstance(model, OperationalSpace) else ()
    if name == "forward_dynamics_derivatives" and isinstance(model, Model) and not options:
        return _forward_derivatives(model, inputs)
    return from_program(name, call_of(model, name, options, inputs).program())


def _forward_derivatives(model: Model, inputs: Sequence[str]) -> Any:
    """H^-1 times the slopes of forces: most operations are in the product, which CasADi writes out itself."""
    slopes = traced_for(model, FORCE_SLOPES, (dof_rows(model.dof_tree),), inputs)
    slopes = replace(slopes, outputs=slopes.outputs[:3], roots=slopes.roots[:3])
    taken, symbols, (by_q, by_v, H_inv) = _written(slopes)
    by_q, by_v = (casadi.mtimes(H_inv, casadi.sparsify(x)) for x in (by_q, by_v))
    named = list(FORWARD_DERIVATIVES.outputs)
    results = [casadi.densify(x) for x in (by_q, by_v, H_inv)]
    return casadi.Function("forward_dynamics_derivatives", symbols, results, taken, named)


def from_program(name: str, traced: Program) -> Any:
    """Any straight-line program as a `casadi.Function` with its names."""
    taken, inputs, outputs = _written(traced)
    named = [y.name if y.name not in taken else f"{y.name}_out" for y in traced.outputs]
    identifier = "".join(c if c.isalnum() else "_" for c in name)
    return casadi.Function(identifier, inputs, outputs, taken, named)


def _written(traced: Program) -> tuple[list[str], list[Any], list[Any]]:
    """The names of the inputs of a program, its inputs as symbols, and its outputs as expressions."""
    symbols = [casadi.SX.sym(x.name, x.size) for x in traced.inputs]
    results = evaluate(traced, [casadi.vertsplit(x) if x.numel() else [] for x in symbols], FUNCTIONS, VECTORS)
    outputs = [_matrix(casadi.vertcat(*numbers), array) for numbers, array in zip(results, traced.outputs, strict=True)]
    inputs = [_matrix(x, array) for x, array in zip(symbols, traced.inputs, strict=True)]
    return [x.name for x in traced.inputs], inputs, outputs


def _matrix(numbers: Any, array: Array) -> Any:
    """Numbers, row-major, as a matrix: CasADi's own order is by columns.

    Vectors are columns; what has more than two axes is flattened to its first.
    """
    rows = array.shape[0] if array.shape else 1
    return casadi.reshape(numbers, array.size // rows if rows else 0, rows).T


def __dir__() -> list[str]:
    return sorted(__all__)
