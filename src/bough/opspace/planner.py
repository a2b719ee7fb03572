"""The planner: what every method for Lambda^-1 would cost on this tree and task set, and which one to take.

The cost of a method is a pure function of tree and tasks. It is counted exactly on the method's graph; for models whose
graphs would be too large it is estimated from the sizes of the sweeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from bough import _display as display
from bough.compile.executions import LARGEST_GRAPH
from bough.compile.graph.expr import GraphTooLargeError
from bough.compile.graph.program import OperationCount
from bough.compile.identity import identity
from bough.compile.routine import operations
from bough.compile.run.cache import fetch
from bough.errors import unknown_option
from bough.opspace.methods import METHODS, Prepared, dof_tree, prepare
from bough.opspace.methods.method import by_factor
from bough.opspace.sweeps.factored import FACTORED
from bough.opspace.taskset import WIDE_RANGE, TaskSet

Extra: TypeAlias = Literal["factor", "jbar", "nullspace"]
CANDIDATES = tuple(name for name, method in METHODS.items() if method.may_be_chosen)
EXTRAS: tuple[str, ...] = get_args(Extra)


@dataclass(frozen=True)
class MethodPlan:
    """The methods with their costs, cheapest first, the choice and the reason. Printing it gives a table."""

    choice: str
    reason: str
    total: dict[str, int]
    exact: bool
    counts: dict[str, OperationCount] = field(default_factory=dict)

    def __str__(self) -> str:
        title = "operations, counted on the graph" if self.exact else "operations, estimated"
        lines = [f"{'method':<14}{title}"]
        for name, total in sorted(self.total.items(), key=lambda item: item[1]):
            detail = f"   {self.counts[name]}" if name in self.counts else ""
            mark = " <-" if name == self.choice else ""
            lines.append(f"{name:<14}{total:>10}{detail}{mark}")
        return "\n".join([*lines, f"{self.choice}: {self.reason}"])

    def _repr_html_(self) -> str:
        """For notebooks: a table of the methods, cheapest first."""
        totals = sorted(self.total.items(), key=lambda item: item[1])
        rows = [(name + " (chosen)" * (name == self.choice), f"{n:,}", self.counts.get(name, "")) for name, n in totals]
        shown = display.table(rows, ("method", "operations" if self.exact else "operations, estimated", "in detail"))
        return f"{shown}<p>{escape(self.choice)}: {escape(self.reason)}</p>"


def make_plan(
    tasks: TaskSet, also: Iterable[str] = (), dtype: npt.DTypeLike = np.float64, every: bool = False
) -> MethodPlan:
    """The cheapest method if `also` is computed too: "factor" (H and its factor), "jbar" or "nullspace".

    With `every`, methods that cannot be the cheapest are counted too.
    """
    also = tuple(also)
    for extra in also:
        if extra not in EXTRAS:
            raise unknown_option(f"the planner knows no {extra!r}", extra, EXTRAS)
    if tasks.model.couplings:
        count = counted(prepare("dense", tasks), tasks)
        known = {} if count is None else {"dense": count}
        total = {"dense": price(count) if count else 0}
        return MethodPlan(
            "dense", "mimic joints tie branches together, so that H is no tree's", total, bool(known), known
        )
    prepared = {name: prepare(name, tasks) for name in (METHODS if every else CANDIDATES)}
    counts = _counts(prepared, tasks)
    total = (
        {n: price(c) for n, c in counts.items()}
        if counts
        else {n: METHODS[n].estimate(tasks, p) for n, p in prepared.items()}
    )
    factor = _factor_cost(tasks, counts) if also else 0
    total = {name: x if METHODS[name].by_factor or not also else x + factor for name, x in total.items()}
    stable = _wants_recursions(tasks, dtype)
    allowed = [n for n in CANDIDATES if not (stable and METHODS[n].by_factor)]
    choice = min(allowed, key=lambda name: total[name])
    reason = "fewest operations" + (f", {' and '.join(also)} included" if also else "")
    if stable:
        reason += f" among the recursions: {stable}"
    return MethodPlan(choice, reason, total, bool(counts), counts)


def choose(tasks: TaskSet, also: Iterable[str], dtype: npt.DTypeLike) -> str:
    """The choice of `make_plan`, kept on disk: counting takes longer than loading code."""
    if tasks.model.couplings:  # there is no choice
        return make_plan(tasks, also, dtype).choice
    sources = [identity(prepare(name, tasks).routine.body) for name in CANDIDATES]
    what = f"method {tasks.hash} {sorted(also)} {np.dtype(dtype).str} {sources}"
    return fetch(what, lambda: make_plan(tasks, also, dtype).choice.encode()).decode()


def plan_constrained(routes: dict[str, Prepared], tasks: TaskSet, dtype: npt.DTypeLike = np.float64) -> MethodPlan:
    """The cheaper way to constrained dynamics: "pv", which eliminates rows in sweeps, or the sparse "factor"."""
    counts = _counts(routes, tasks)
    total = {name: price(count) for name, count in counts.items()}
    stable = _wants_recursions(tasks, dtype)
    if stable or not counts:
        return MethodPlan("pv", stable or "the graph is too large to be counted", total, bool(counts), counts)
    return MethodPlan(min(total, key=lambda name: total[name]), "fewest operations", total, True, counts)


def choose_constrained(routes: dict[str, Prepared], tasks: TaskSet, dtype: npt.DTypeLike) -> str:
    """The choice of `plan_constrained`, kept on disk."""
    sources = [identity(prepared.routine.body) for prepared in routes.values()]
    what = f"constrained {tasks.hash} {np.dtype(dtype).str} {sources}"
    return fetch(what, lambda: plan_constrained(routes, tasks, dtype).choice.encode()).decode()


def price(count: OperationCount) -> int:
    """The cost of a method for comparison: one for each operation, square roots included; all need the same sines."""
    return count.total + count.sqrt


def counted(prepared: Prepared, tasks: TaskSet) -> OperationCount | None:
    """The exact count of a method, or None if its graph is too large."""
    try:
        return operations(prepared.program(tasks, limit=4 * LARGEST_GRAPH))
    except GraphTooLargeError:
        return None


def _counts(prepared: dict[str, Prepared], tasks: TaskSet) -> dict[str, OperationCount]:
    """Exact counts of all methods, or none if the model is too large for them."""
    if tasks.sizes["dofs"] > 500 or tasks.sizes["slots"] > 5000:
        return {}
    found: dict[str, OperationCount] = {}
    for name, p in prepared.items():
        count = counted(p, tasks)
        if count is None:
            return {}
        found[name] = count
    return found


def _factor_cost(tasks: TaskSet, counts: dict[str, OperationCount]) -> int:
    """The cost of packed J, the factor and Y_D for a method that does not factorize H."""
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
    prepared = Prepared(FACTORED, constants, tasks.sizes)
    count = counted(prepared, tasks) if counts else None
    return count.total if count else by_factor(tasks, prepared)


def _wants_recursions(tasks: TaskSet, dtype: npt.DTypeLike) -> str:
    """Why the factor of H would lose too many digits; empty if it would not."""
    if np.dtype(dtype) == np.float32:
        return "in single precision a factor of H loses digits that they keep"
    if tasks.mass_range > WIDE_RANGE:
        return f"the masses of bodies differ by a factor of {tasks.mass_range:.0e}"
    return ""
