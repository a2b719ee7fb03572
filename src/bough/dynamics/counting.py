"""Exact operation counts of any function on any model, from the graph that its kernel leaves; nothing is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bough.compile.graph.program import OperationCount, Program
from bough.compile.routine import Routine, operations, trace
from bough.dynamics import center_of_mass, energy, momentum
from bough.dynamics.aba import ABA
from bough.dynamics.crba import CRBA, MASS_MATRIX
from bough.dynamics.forward import FACTORIZE, FORWARD_CRBA, pattern
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.jacobian import JACOBIAN
from bough.dynamics.kinematics import FORWARD_KINEMATICS, PLACEMENT, VELOCITY, frame_of
from bough.dynamics.rnea import BIAS, GRAVITY, RNEA
from bough.errors import UnknownNameError
from bough.model import Model

FUNCTIONS: dict[str, Routine] = {
    "forward_dynamics": ABA.without("f_ext"),
    "inverse_dynamics": RNEA.without("f_ext"),
    "bias_force": BIAS.without("f_ext"),
    "gravity": GRAVITY,
    "mass_matrix": MASS_MATRIX,
    "packed_mass_matrix": CRBA,
    "factorize": FACTORIZE,
    "inverse_mass_matrix": INVERSE_MASS_MATRIX,
    "forward_kinematics": FORWARD_KINEMATICS,
    "center_of_mass": center_of_mass.CENTER_OF_MASS,
    "kinetic_energy": energy.KINETIC_ENERGY,
    "potential_energy": energy.POTENTIAL_ENERGY,
    "momentum": momentum.MOMENTUM,
}
FRAME_FUNCTIONS: dict[str, Routine] = {"jacobian": JACOBIAN, "placement": PLACEMENT, "velocity": VELOCITY}


def program(
    model: Model, function: str, *, method: str | None = None, frame: str | None = None, reference: str = "local"
) -> Program:
    """The straight-line program of a function of `Dynamics` on one model, before any rewriting.

    `method` chooses between "aba" and "crba" for forward_dynamics; functions of a frame need `frame`.
    """
    if function in FRAME_FUNCTIONS:
        if frame is None:
            raise UnknownNameError(f"{function} is a function of a frame: name one with frame=...")
        constants: tuple[Any, ...] = (model.grouped, frame_of(model, frame, reference))
        return trace(FRAME_FUNCTIONS[function], constants, model.sizes)
    if function not in FUNCTIONS:
        raise UnknownNameError(f"unknown function {function!r}; known: {', '.join((*FUNCTIONS, *FRAME_FUNCTIONS))}")
    routine = FUNCTIONS[function]
    if method not in (None, "auto", "aba", "crba") or (method is not None and function != "forward_dynamics"):
        raise UnknownNameError(f"{function} has no method {method!r}")
    if method == "crba" or (model.couplings and function == "forward_dynamics"):
        routine = FORWARD_CRBA.without("f_ext")
    patterned = routine.body in (FORWARD_CRBA.body, FACTORIZE.body)
    constants = (model.grouped, pattern(model.dof_tree)) if patterned else (model.grouped,)
    return trace(routine, constants, model.sizes)


def count(
    model: Model, function: str, *, method: str | None = None, tasks: Sequence[Any] = (), frame: str | None = None
) -> OperationCount:
    """Operations of a function of `Dynamics`, everything from q included: mul, add, div, sqrt, sincos.

    With `tasks`, of a function of `OperationalSpace` by one of its methods.
    """
    if tasks:
        from importlib import import_module

        return import_module("bough.opspace").count(model, function, method, tasks)
    return operations(program(model, function, method=method, frame=frame))
