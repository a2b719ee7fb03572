"""The table of functions of a space: from a name to its routine, its constants and compiled code.

`OperationalSpace`, `export_c`, bridges and derivatives take functions from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.compile.emit import c
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Program
from bough.compile.routine import Routine
from bough.compile.run.arrays import is_real
from bough.compile.run.libraries import is_on_gpu
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import CompiledFunction, Device
from bough.dynamics.export import write_c
from bough.dynamics.functions import Function, Method, check_options
from bough.dynamics.gradients import Given, Gradients, Request
from bough.dynamics.library import Derive, Named
from bough.dynamics.parameters import SHAPES, Parameters, check_inputs
from bough.errors import OptionError, TaskError, unknown_option
from bough.opspace.methods import METHODS, Prepared, dof_tree, prepare
from bough.opspace.singular import check_damping
from bough.opspace.sweeps.bias import BIAS, DRIFT
from bough.opspace.sweeps.complete import COMPLETE, MU_RHO, TASK_TORQUES
from bough.opspace.sweeps.factored import DYNAMICS, INVERT, WEIGHTED
from bough.opspace.sweeps.jacobian import JACOBIAN
from bough.opspace.taskset import TaskSet

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace


NOTHING: Mapping[str, Any] = {}
GROUPS: dict[str, Callable[[TaskSet], Any]] = {  # constants after the mechanism, by name
    "seeds": lambda tasks: tasks.seeds,
    "placements": lambda tasks: tasks.with_placements,
    "pattern": lambda tasks: tasks.pattern,
    "tree": dof_tree,
}
SPARSE = ("placements", "pattern", "tree")


class Row(NamedTuple):
    """A function: its routine and the names of its constants. Public ones have a summary; errors call it `called`."""

    routine: Routine
    groups: tuple[str, ...] = SPARSE
    summary: str = ""
    called: str = ""  # by default as its routine

    def prepared(self, tasks: TaskSet) -> Prepared:
        constants = (tasks.model.mechanism, *(GROUPS[name](tasks) for name in self.groups))
        return Prepared(self.routine, constants, tasks.sizes)


def _only(name: str) -> Routine:
    """One quantity of the whole sweep that does not depend on v; the others are scratch."""
    others = {x: shape for x, shape in COMPLETE.outputs.items() if x != name}

    def body(*arguments: Any) -> None:
        *inputs, found, w = arguments
        COMPLETE.body(*inputs, *(found if x == name else getattr(w, x) for x in COMPLETE.outputs), w)

    whole = replace(COMPLETE, name=name, body=body, only_traced=True, work={**COMPLETE.work, **others})
    return replace(whole, outputs={name: COMPLETE.outputs[name]}).without("v")


# Functions of a space by name; "inverse_inertia" is by the space's method
FUNCTIONS = {
    "jacobian": Row(JACOBIAN, SPARSE[:2], "J: task velocity = J v"),
    "drift": Row(DRIFT, ("seeds",), "Jdot v"),
    "bias": Row(BIAS, ("seeds",), "beta = Jdot v - J H^-1 C"),
    "inverse_inertia": Row(WEIGHTED, SPARSE, "Lambda^-1 = J H^-1 J'"),
    "inertia": Row(_only("inertia"), SPARSE, "Lambda, the inverse of Lambda^-1 + damping 1"),
    "jbar": Row(_only("jbar"), SPARSE, "Jbar = H^-1 J' Lambda, with the damping of Lambda"),
    "nullspace": Row(_only("nullspace"), SPARSE, "N = 1 - Jbar J, with the damping of Lambda"),
    "mu_rho": Row(MU_RHO, SPARSE, "mu + rho = -Lambda beta, with the damping of Lambda"),
    "operational_space": Row(COMPLETE, SPARSE, "J, Jdot v, beta, Lambda^-1, Lambda, Jbar and N"),
    "torques": Row(TASK_TORQUES, SPARSE, "C + J' Lambda (acceleration - Jdot v) + N' tau0, with damping as in Lambda"),
    "invert": Row(INVERT, ()),
    "weighted": Row(WEIGHTED, called="OperationalSpace"),
    "dynamics": Row(DYNAMICS, called="OperationalSpace"),
}
PUBLIC = {name: row for name, row in FUNCTIONS.items() if row.summary}  # for C, bridges and derivatives
DAMPED = {name for name, row in PUBLIC.items() if "damping" in row.routine.inputs}  # what Lambda is in


def prepared(space: OperationalSpace, name: str) -> Prepared:
    """The public function of this name for the tasks of a space; an unknown one is refused with the nearest."""
    if name not in PUBLIC:
        raise unknown_option(f"a space has no function {name!r}", name, PUBLIC)
    if name == "inverse_inertia":
        return prepare(space.method, space.tasks)
    if name not in ("jacobian", "drift") and not space.uses_factor:
        raise TaskError(f"{name}: mimic joints tie branches together: build the model with mimic='independent'")
    return PUBLIC[name].prepared(space.tasks)


def row(space: OperationalSpace, name: str) -> Function:
    """A row of the table as `Dynamics` has them; damping is no argument there."""
    routine, (_, *constants), _ = prepared(space, name)
    taken = routine.without("damping") if name in DAMPED else routine
    return Function(name, PUBLIC[name].summary, {name: Method(taken, lambda *_: tuple(constants))})


def damping_of(space: OperationalSpace, name: str, damping: Any) -> float:
    """The damping added to the diagonal of Lambda^-1: that of a call of torques, or of the space."""
    if name == "torques":
        none = is_real(damping) and damping == 0.0
        return space.usual_damping if damping is None else 0.0 if none else check_damping(damping)
    if damping is not None:
        raise OptionError(f"{name} takes no damping of its own: the space has some with singular='damp', damping=...")
    return space.damping if space.singular == "damp" else 0.0


def with_fixed(routine: Routine, name: str, value: float) -> Routine:
    """The same routine with one input (1,) fixed at a value: no argument any more."""
    place = [*routine.inputs].index(name) - len(routine.inputs) - len(routine.outputs) - 1

    def body(*arguments: Any) -> None:
        values = list(arguments)
        values[place] = np.full(1, value, object)
        routine.body(*values)

    return replace(routine, body=body, zeros=routine.zeros | {name}, only_traced=True)


# Quantities of the model as inputs


def parameters_of(tasks: TaskSet, inputs: Sequence[str], dynamics: Dynamics | None) -> Parameters:
    """The inputs that are named, or those of `dynamics`; what tasks cannot follow is refused."""
    model = tasks.model
    known = check_inputs(model, inputs)
    if dynamics is not None and known and known != dynamics.inputs:
        theirs = ", ".join(dynamics.inputs) or "none"
        raise TaskError(f"the inputs of the space are {', '.join(known)}, and those of its dynamics {theirs}")
    found = known or (dynamics.inputs if dynamics else ())
    return Parameters(model, found, dynamics.check if dynamics else None)


def by_rows(parameters: Parameters, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values that serve all rows, and those with one for each; unknown names are refused."""
    for name in values:
        if name not in parameters.inputs:
            hint = f"; make it with inputs={(*parameters.inputs, name)}" if name in SHAPES else ""
            known = ", ".join(parameters.inputs) or "it has none"
            raise OptionError(f"{name!r} is no input of this space: {known}{hint}")
    each = {k: np.asarray(x) for k, x in values.items() if np.ndim(x) > parameters.own[k].ndim}
    return {k: x for k, x in values.items() if k not in each}, each


class Functions:
    """The compiled functions behind a space, each made when it is first used."""

    def __init__(self, tasks: TaskSet, parameters: Parameters, device: Device, how: dict[str, Any]) -> None:
        self.tasks, self.parameters, self.how = tasks, parameters, {**how, "device": device}
        self._made: dict[str, CompiledFunction] = {}

    def get(self, name: str, values: Mapping[str, Any] = NOTHING) -> CompiledFunction:
        """The one of this name, a method or a row of `FUNCTIONS`, for a call with the keywords `values`."""
        if values:
            self.parameters.declared(name, values, "OperationalSpace")
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(name)
        return found

    def _make(self, name: str) -> CompiledFunction:
        if name in METHODS:
            function, called = prepare(name, self.tasks), "inverse_inertia"
        else:
            function = FUNCTIONS[name].prepared(self.tasks)
            called = FUNCTIONS[name].called or function.routine.name
        parameters = self.parameters if "q" in function.routine.inputs else Parameters(self.tasks.model)
        bound = function.bind(self.tasks, parameters=parameters, name=called, **self.how)
        return parameters.given_to(bound)


# Straight-line programs


def program(space: OperationalSpace, name: str) -> Program:
    """The straight-line program of a public function, with the space's inputs, before any rewriting."""
    return drop_dead_code(prepared(space, name).program(space.tasks, space.parameters))


def export_c(
    space: OperationalSpace,
    functions: Sequence[str],
    path: str | Path,
    *,
    dtype: Any = np.float64,
    prefix: str | None = None,
) -> tuple[Path, Path]:
    """See `OperationalSpace.export_c`."""
    if isinstance(functions, str):
        raise TaskError(f"export_c takes a list of functions, got the name {functions!r}; write [{functions!r}]")
    c.real_type(dtype)
    rows = f"Rows {c.quoted(', '.join(space.tasks.row_names))}."
    programs = {name: program(space, name) for name in functions}
    notes = {name: [f"{PUBLIC[name].summary}.", rows] for name in functions}
    return write_c(space.model, programs, path, dtype, prefix, notes)


# Derivatives of the functions of a space, by q, v, accelerations, joint forces and quantities of the model.


class SpaceGradients(Gradients):
    """The derivatives of a space; Lambda is damped as in the space, and refused where it is."""

    def __init__(self, space: OperationalSpace) -> None:
        super().__init__(space.dynamics._library)
        self.space, self.parameters, self.general = space, space.parameters, space.general
        self._rows: dict[str, Function] = {}

    def row(self, name: str) -> Function:
        if name not in self._rows:
            self._rows[name] = row(self.space, name)
        return self._rows[name]

    def request(self, name: str, inputs: Sequence[Any], values: Given, named: Any) -> Request:
        space = self.space
        if name == "torques" and len(inputs) == 3:
            inputs = (*inputs, 0.0 * (inputs[1] if is_on_gpu(inputs[1]) else np.asarray(inputs[1])))
        found = super().request(name, space.inputs(*inputs), values, named)
        amount = damping_of(space, name, found.options.pop("damping", None))
        check_options(found.row, found.options)
        if name in DAMPED:
            found.options["damping"] = amount
            if amount == 0.0 and name != "torques":
                self._refuse_singular(found)
        return found

    def _refuse_singular(self, request: Request) -> None:
        space = self.space
        Lam_inv = space.inverse_inertia(request.values["q"], **{x: request.values[x] for x in self.parameters.inputs})
        if space.singular == "refuse":
            space.invert(Lam_inv)
        elif (space.rank(Lam_inv) < space.tasks.size).any():
            raise TaskError(f"{request.row.name}: the tasks are singular, and what is truncated has no derivatives")

    def closed_form(self, request: Request, chosen: Sequence[str], threads: int | None) -> Given | None:
        return None

    def derived(self, name: str, options: Given, derive: Derive, key: Any, frames: Named | None) -> CompiledFunction:
        """The routine of a space, differentiated and bound."""

        def of(routine: Routine) -> Routine:
            return derive(with_fixed(routine, "damping", options["damping"]) if options else routine)

        space = self.space
        how: dict[str, Any] = {"dtype": space.dtype or np.float64, "derive": of, "device": space.device}
        found = prepared(space, name)
        return found.bind(space.tasks, name=f"{key[0]} of {name}", parameters=self.parameters, **how)
