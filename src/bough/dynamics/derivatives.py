"""Derivatives of inverse and forward dynamics, by differentiating the graph of the kernel (see `compile.autodiff`).

Derivatives with respect to q are taken in the tangent space: column k is the rate of change as the configuration
moves with the unit velocity k, so that q of quaternion joints has nv columns like all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.executions import traced
from bough.compile.graph import autodiff
from bough.compile.graph.expr import Expr
from bough.compile.graph.program import Array, Program
from bough.compile.routine import FindTwins, Groups, Routine, literal
from bough.compile.run.specialised import LARGEST_DERIVATIVE, specialise
from bough.dynamics.engine import CPU, Device, cuda_program
from bough.dynamics.given import Parameters
from bough.dynamics.rnea import RNEA
from bough.errors import TooLargeError
from bough.joints import configuration_rate
from bough.model import Model, mark_limbs, twin_limbs


def tangent_jacobian(model: Model, routine: Routine, parameters: Parameters | None = None) -> Program:
    """The program of d(output)/d(q, v, ...) of a routine with one output and inputs q, then vectors of length nv.

    Quantities of the model that are `parameters` become further inputs, by which nothing is differentiated.
    """
    # marked limbs make a graph a little larger: without marks it may still fit
    attempts = (mark_limbs, None) if twin_limbs(model.mechanism) else (None,)
    given = parameters or Parameters(model)
    jacobian = next((j for j in (_jacobian(given, routine, twins) for twins in attempts) if j), None)
    if jacobian is None:
        raise TooLargeError(
            f"the derivatives of {routine.name} of {model.name!r} take too many operations; "
            f"at most {LARGEST_DERIVATIVE:,} are compiled"
        )
    graph, rows = jacobian.graph, jacobian.outputs[0].shape[0]
    q = np.array([graph.input(0, k) for k in range(model.nq)], object)
    N = np.full((model.nq, model.nv), 0.0, object)
    configuration_rate(literal(model.mechanism), q, N)
    by_q = np.array([Expr(graph, r) for r in jacobian.roots[0]], object).reshape(rows, model.nq)
    by_tangent = tuple(graph.operand(_dot(row, column)) for row in by_q for column in N.T)
    outputs = (Array(jacobian.outputs[0].name, (rows, model.nv)), *jacobian.outputs[1:])
    return replace(jacobian, outputs=outputs, roots=(by_tangent, *jacobian.roots[1:]))


def _jacobian(given: Parameters, routine: Routine, twins: FindTwins | None) -> Program | None:
    """The derivatives of the only output with respect to all inputs; None if they are too many operations."""
    model, count = given.model, len(routine.arguments)
    prepared, constants, marks = given.prepared(routine, (), twins or _no_marks)
    groups = (model.grouped if given.folds else model.mechanism, *constants)
    program = traced(prepared, groups, model.sizes, marks, LARGEST_DERIVATIVE)
    jacobian = autodiff.jacobian(program, 0, range(count)) if program else None
    return jacobian if jacobian and len(jacobian.graph) <= LARGEST_DERIVATIVE else None


def _no_marks(_: Groups) -> None:
    """Limbs are not marked."""


def _dot(row: npt.NDArray[Any], column: npt.NDArray[Any]) -> Any:
    total: Any = 0.0
    for a, b in zip(row, column, strict=True):
        if isinstance(b, Expr) or b != 0.0:
            total = total + a * b
    return total


def inverse_dynamics_derivatives(parameters: Parameters, device: Device = CPU) -> Callable[..., Any]:
    """A compiled function (q, v, qdd) -> dtau/dq, dtau/dv, dtau/dqdd, all (nv, nv); parameters are keywords."""
    program = tangent_jacobian(parameters.model, RNEA.without("f_ext"), parameters)
    name = "inverse_dynamics_derivatives"
    found: Any
    if device.name == "cuda":
        found = cuda_program(name, program, device.layout)
    else:
        found = specialise(name, program, explain=parameters.model.explain)
    return parameters.given_to(found).call


def force_slopes(parameters: Parameters, device: Device = CPU) -> Callable[..., Any]:
    """A compiled function (q, v, qdd) -> -[dtau/dq, dtau/dv] (nv, 2 nv): one matrix, ready to be multiplied by H^-1."""
    program = tangent_jacobian(parameters.model, RNEA.without("f_ext"), parameters)
    graph, nv = program.graph, parameters.model.nv
    by_q, by_v = (np.array(roots).reshape(nv, nv) for roots in program.roots[:2])
    negated = tuple(graph.neg(int(i)) for i in np.concatenate([by_q, by_v], axis=1).ravel())
    both = replace(program, outputs=(Array("slopes", (nv, 2 * nv)),), roots=(negated,))
    name = "forward_dynamics_derivatives"
    found: Any
    if device.name == "cuda":
        found = cuda_program(name, both, device.layout)
    else:
        found = specialise(name, both, explain=parameters.model.explain)
    return parameters.given_to(found).call
