"""Operational space as programs: for C, and for whoever else takes straight-line code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bough import __version__
from bough.compile.emit import c
from bough.compile.graph.expr import INPUT
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Program
from bough.compile.routine import trace
from bough.errors import TaskError, UnknownNameError
from bough.model import mark_limbs
from bough.opspace.methods import Prepared, dof_tree, prepare
from bough.opspace.sweeps.complete import COMPLETE
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
    "operational_space": "J, Jdot v, beta, Lambda^-1, Lambda, Jbar and N",
    "torques": "C + J' Lambda (acceleration - Jdot v) + N' tau0, with damping as in Lambda",
}


def program(space: OperationalSpace, name: str) -> Program:
    """The straight-line program of a quantity of the space, with the space's inputs, before any rewriting."""
    if name not in OFFERED:
        raise UnknownNameError(f"a space has no function {name!r} to export; expected some of {', '.join(OFFERED)}")
    tasks = space.tasks
    if not space.uses_factor and name != "inverse_inertia":
        raise TaskError(f"{name}: mimic joints tie branches together: build the model with mimic='independent'")
    constants = (tasks.with_placements, tasks.pattern, dof_tree(tasks))
    if name == "inverse_inertia":
        return traced(space, prepare(space.method, tasks))
    if name == "torques":
        return traced(space, Prepared(TASK_TORQUES, (tasks.model.mechanism, *constants), tasks.sizes))
    found = traced(space, Prepared(COMPLETE, (tasks.model.mechanism, *constants), tasks.sizes))
    return found if name == "operational_space" else _only(found, name)


def traced(space: OperationalSpace, prepared: Prepared) -> Program:
    """The program of a routine with the space's inputs."""
    mechanism, *constants = prepared.constants
    routine, more, _ = space.parameters.prepared(prepared.routine, tuple(constants), mark_limbs)
    first = space.tasks.traced_mechanism if space.parameters.folds else mechanism
    return trace(routine, (first, *more), prepared.sizes)


def _only(whole: Program, name: str) -> Program:
    """One output of a program; of the inputs it keeps q, quantities of the model, and what it depends on."""
    k = [y.name for y in whole.outputs].index(name)
    graph = whole.graph.copy()
    used = {graph.a[i] for i in graph.live(whole.roots[k]) if graph.op[i] == INPUT}
    kept = [j for j, x in enumerate(whole.inputs) if j in used or x.name not in ("damping", "v")]
    place = {old: new for new, old in enumerate(kept)}
    graph.a = [place.get(a, a) if op == INPUT else a for op, a in zip(graph.op, graph.a, strict=True)]
    inputs = tuple(whole.inputs[j] for j in kept)
    return drop_dead_code(
        replace(whole, graph=graph, inputs=inputs, outputs=(whole.outputs[k],), roots=(whole.roots[k],))
    )


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
    model, rows = space.model, f"Rows {c.quoted(', '.join(space.tasks.row_names))}."
    programs = {name: program(space, name) for name in functions}
    banner = f"Model {c.quoted(model.name)}, hash {model.hash}\nWritten by bough {__version__}"
    notes = {name: [f"{OFFERED[name]}.", rows] for name in functions}
    return c.export(programs, Path(path), model.name if prefix is None else prefix, dtype, banner, notes)
