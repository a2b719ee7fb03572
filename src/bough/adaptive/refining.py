"""Refinement on demand: a bounded solution continued beyond what its error asks for."""

from __future__ import annotations

import math
import time

from bough.adaptive.engines import NO_LIMIT
from bough.adaptive.passes import MET
from bough.adaptive.solver import Solver
from bough.adaptive.stats import Cost
from bough.errors import SettingError


def refine(solver: Solver, budget: int | None, microseconds: float | None) -> float:
    """See `QuasiStatics.refine`."""
    if solver.method not in ("adaptive", "auto"):
        raise SettingError(f"refine continues an adaptive solution, but the method is {solver.method!r}")
    if budget is not None and not (budget >= 0 and budget % 1 == 0):
        raise SettingError(f"refine: budget is a whole number of clusters, not negative, got {budget!r}")
    if not (microseconds is None or 0.0 <= microseconds < math.inf):
        raise SettingError(f"refine: microseconds must be finite and not negative, got {microseconds!r}")
    if solver.region is not None:
        if microseconds is not None:
            raise SettingError('refine takes a time with culled="zero" only: give a budget of clusters')
        solver.examine()
        if not (solver.is_plain or solver.is_exact):
            solver.changes.solution, solver.cost = False, Cost("adaptive")
            return solver.region.refine(budget)
        solver.solve()
        return 0.0
    if not solver.changes.solution and solver.is_plain:
        solver.inputs.shared.qdd[:] = 0.0
    solver.switch.enter()
    tree = solver.ready_tree()
    if solver.distrusts:
        solver.changes.solution = True
        solver.solve()
        return 0.0
    solver.changes.solution, solver.cost = False, Cost("adaptive")
    if microseconds is None:
        tree.refine(None, NO_LIMIT if budget is None else int(budget))
    else:
        end = time.perf_counter() + 1e-6 * microseconds
        while time.perf_counter() < end and tree.refine(None, 8) != MET:
            pass
    return tree.bound(solver.error)
