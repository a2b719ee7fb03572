"""How good the present solution is, or the last step was: bounds, norms and costs as `Stats`."""

from __future__ import annotations

import math

from bough.adaptive.passes import CERTIFICATE, JOINTS, ROOT
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Stats
from bough.adaptive.stepper import Stepper


def bound(solver: Solver, of_last_step: bool) -> float:
    """Error bound of the present solution or the last step, in the measure's terms."""
    if solver.region is not None:
        return solver.region.bound() if solver.error.over == "energy" else math.nan
    return solver.assemble().bound(solver.error, of_last_step)


def norm(solver: Solver) -> float:
    """Norm of all joint accelerations, weighted; by energy, in the mass metric."""
    if solver.region is not None and solver.error.over == "energy":
        return math.sqrt(solver.region.full) if solver.region.full >= 0.0 else math.nan
    return math.sqrt(float(solver.assemble().front.value[ROOT]))


def power(solver: Solver) -> float:
    """qdd' M qdd of the last solution, where it is one of a linkage."""
    if solver.cost.method == "aba":
        return solver.plain.power()
    return math.nan if solver.region is None or solver.is_exact else solver.region.last_power()


def stats(stepper: Stepper) -> Stats:
    """Costs and quality; see `Stats`."""
    solver = stepper.solver
    tree, cost = solver.tree, solver.cost
    joints, left, size, certificate, floor = cost.joints, 0.0, math.nan, 0.0, math.nan
    if tree is not None:
        certificate, floor = float(tree.front.value[CERTIFICATE]), tree.noise.floor(solver.error)
        if cost.method != "aba" and not solver.changes.everything:
            size = norm(solver)
            last = solver.changes.solution
            left = tree.exact_bound(solver.error) if solver.is_exact else bound(solver, last)
            joints = float(tree.front.count[JOINTS]) if math.isnan(joints) else joints
    memory = solver.plain.nbytes + (tree.nbytes if tree else sum(a.nbytes for a in solver.inputs.shared))
    active = 0 if math.isnan(joints) else round(joints)
    return Stats(
        cost.method, stepper.steps, stepper.time, joints, cost.full, cost.linear, left, size, certificate, floor,
        cost.seconds, memory, float(solver.clock[0]), stepper.parts.cuts, solver.opening(), active, power(solver),
        joints / len(solver.inputs.model.joints),
    )  # fmt: skip
