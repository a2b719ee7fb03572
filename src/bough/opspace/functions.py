"""The table of functions of a space: the routine behind each name, and what it is; `export_c`, bridges and derivatives
take them from here."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.compile.routine import Routine
from bough.compile.run.arrays import is_real
from bough.dynamics.functions import Function, Method
from bough.errors import OptionError, TaskError, unknown_option
from bough.opspace.methods import Prepared, dof_tree, prepare
from bough.opspace.quantities import routines
from bough.opspace.singular import check_damping
from bough.opspace.sweeps.complete import COMPLETE, MU_RHO
from bough.opspace.sweeps.torques import TASK_TORQUES

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace

OFFERED = {
    "jacobian": "J: task velocity = J v",
    "drift": "Jdot v",
    "bias": "beta = Jdot v - J H^-1 C",
    "inverse_inertia": "Lambda^-1 = J H^-1 J'",
    "inertia": "Lambda, the inverse of Lambda^-1 + damping 1",
    "jbar": "Jbar = H^-1 J' Lambda, with the damping of Lambda",
    "nullspace": "N = 1 - Jbar J, with the damping of Lambda",
    "mu_rho": "mu + rho = -Lambda beta, with the damping of Lambda",
    "operational_space": "J, Jdot v, beta, Lambda^-1, Lambda, Jbar and N",
    "torques": "C + J' Lambda (acceleration - Jdot v) + N' tau0, with damping as in Lambda",
}
HELD = {  # inputs of the whole sweep that a quantity does not depend on
    "bias": ("damping",),
    "inertia": ("v",),
    "jbar": ("v",),
    "nullspace": ("v",),
}
DAMPED = ("inertia", "jbar", "nullspace", "mu_rho", "operational_space", "torques")  # what Lambda is in
WHOLE = {"operational_space": COMPLETE, "mu_rho": MU_RHO, "torques": TASK_TORQUES}


def prepared(space: OperationalSpace, name: str) -> Prepared:
    """The routine of this name for the tasks of a space; an unknown one is refused with the nearest."""
    if name not in OFFERED:
        raise unknown_option(f"a space has no function {name!r}", name, OFFERED)
    tasks = space.tasks
    if name == "inverse_inertia":
        return prepare(space.method, tasks)
    if name in ("jacobian", "drift"):
        routine, more = routines(tasks)[name]
        (shape,) = routine.outputs.values()
        return Prepared(replace(routine, name=name, outputs={name: shape}), (tasks.model.mechanism, *more), tasks.sizes)
    if not space.uses_factor:
        raise TaskError(f"{name}: mimic joints tie branches together: build the model with mimic='independent'")
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
    return Prepared(WHOLE.get(name) or _only(name), constants, tasks.sizes)


def row(space: OperationalSpace, name: str) -> Function:
    """A row of the table as `Dynamics` has them; damping is no argument there."""
    routine, (_, *constants), _ = prepared(space, name)
    taken = routine.without("damping") if name in DAMPED else routine
    return Function(name, OFFERED[name], {name: Method(taken, lambda *_: tuple(constants))})


def damping_of(space: OperationalSpace, name: str, given: Any) -> float:
    """What is added to the diagonal of Lambda^-1: what torques are `given`, or what the space has."""
    if name == "torques":
        none = is_real(given) and given == 0.0
        return space.usual_damping if given is None else 0.0 if none else check_damping(given)
    if given is not None:
        raise OptionError(f"{name} takes no damping of its own: the space has some with singular='damp', damping=...")
    return space.damping if space.singular == "damp" else 0.0


def held(routine: Routine, name: str, value: float) -> Routine:
    """The same routine with one input (1,) held at a value: no argument any more."""
    place = [*routine.inputs].index(name) - len(routine.inputs) - len(routine.outputs) - 1

    def body(*arguments: Any) -> None:
        given = list(arguments)
        given[place] = np.full(1, value, object)
        routine.body(*given)

    return replace(routine, body=body, zeros=routine.zeros | {name}, only_traced=True)


@cache
def _only(name: str) -> Routine:
    """One quantity of the whole sweep; the others are scratch."""
    others = {x: shape for x, shape in COMPLETE.outputs.items() if x != name}

    def body(*arguments: Any) -> None:
        *given, found, w = arguments
        COMPLETE.body(*given, *(found if x == name else getattr(w, x) for x in COMPLETE.outputs), w)

    whole = replace(COMPLETE, name=name, body=body, only_traced=True, work={**COMPLETE.work, **others})
    return replace(whole, outputs={name: COMPLETE.outputs[name]}).without(*HELD[name])
