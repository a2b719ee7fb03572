"""What a checkpoint keeps of a solver, and how a simulation is made from it."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from bough.adaptive.assembly import GivenPairs, NearBodies, rows_of
from bough.adaptive.closure import Closure
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost

Arrays = dict[str, npt.NDArray[Any]]
Facts = dict[str, Any]


def solver_state(solver: Solver) -> tuple[Arrays, Facts]:
    """What a solver remembers beyond its inputs, as arrays and plain facts."""
    arrays: Arrays = {"clock": solver.clock}
    error, exact = solver.error, solver.is_exact or solver.is_plain or solver.region is not None
    facts: Facts = {
        "method": solver.method, "h": solver.h, "measure": measure_facts(error),
        "assembly": assembly_facts(solver),
        "all_moved": solver.all_moved, "culled": solver.culled, "refined": not (solver.changes.solution or exact),
    }  # fmt: skip
    if solver.closures is not None:
        facts["closures"] = [[c.a, c.b, c.joint] for c in solver.closures.closures]
        facts["rate"] = solver.closures.rate
    if solver.tree is not None:
        kept, facts["tree"] = solver.tree.memory()
        arrays |= kept
    if solver.region is not None:
        kept, facts["region"] = solver.region.state()
        arrays |= kept
    return arrays, facts


def restore_solver(solver: Solver, arrays: Arrays, facts: Facts) -> None:
    """What `solver_state` gave; clusters that were open are opened again."""
    solver.clock[:], solver.h, solver.all_moved = arrays["clock"], facts["h"], facts["all_moved"]
    solver.remember(measure_of(facts))
    if solver.closures is not None:
        solver.closures.rate = facts["rate"]
    if "tree" in facts:
        solver.assemble().restore(arrays, facts["tree"])
    if solver.region is not None:
        solver.region.restore(arrays, facts["region"])
    if facts["refined"]:
        solver.ready_tree().refine(None, facts["tree"]["opened"])
        solver.changes.solution, solver.cost = False, Cost("adaptive")


def measure_of(facts: Facts) -> ErrorMeasure:
    """The error measure that `solver_state` noted."""
    name, eps, over, scale, metres, bodies = facts["measure"]
    return ErrorMeasure(name, eps, over, tuple(scale), metres, None if bodies is None else tuple(bodies))


def measure_facts(error: ErrorMeasure) -> list[Any]:
    """An error measure as plain facts."""
    bodies = None if error.bodies is None else list(error.bodies)
    return [error.name, error.eps, error.over, list(error.scale), error.metres, bodies]


def assembly_facts(solver: Solver) -> Any:
    """The assembly that was asked for, as plain facts."""
    shape = solver.assembly
    if isinstance(shape, str):
        return shape
    return (
        {"near": list(shape.bodies)}
        if isinstance(shape, NearBodies)
        else {"rows": rows_of(solver.assemble().plan).rows}
    )


def assembly_of(facts: Any) -> Any:
    """What `assembly_facts` gave."""
    if isinstance(facts, str):
        return facts
    return NearBodies(tuple(facts["near"])) if "near" in facts else GivenPairs(tuple((a, b) for a, b in facts["rows"]))


def options_of(arrays: Arrays, facts: Facts) -> dict[str, Any]:
    """The arguments of a simulation whose parts gave these facts."""
    solver, stepper = facts["solver"], facts["stepper"]
    return {
        "error": measure_of(solver), "method": solver["method"], "catch_up": bool(arrays["clock"][2]),
        "closures": [Closure(*c) for c in solver.get("closures", [])], "culled": solver["culled"],
        "every": solver["region"]["pace"]["every"] if "region" in solver else None,
        "assembly": assembly_of(solver["assembly"]), "max_turn": stepper["max_turn"], "refresh": stepper["refresh"],
    }  # fmt: skip
