"""Operation counts for the terminal: counted on the traced functions, beside the formulas of the papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Column, Table

from bough import cost
from bough.compile.graph.expr import GraphTooLargeError
from bough.compile.graph.program import OperationCount
from bough.dynamics.export import count
from bough.dynamics.functions import FUNCTIONS, function
from bough.errors import ModelError
from bough.model import Model
from bough.record import progress_bar

if TYPE_CHECKING:
    from bough.opspace import MethodPlan

COLUMNS = ("mul", "add", "div", "sqrt", "sincos")


class CountedFunction(NamedTuple):
    """The cost of a function by a method, and that printed in a paper, if any."""

    function: str
    method: str
    counted: OperationCount | None  # None: the graph is too large
    formula: OperationCount | None
    source: str


def every(model: Model, names: Sequence[str], frame: str | None, progress: bool) -> list[CountedFunction]:
    """These functions, or all that need no frame unless one is named, by each method that serves the model."""
    rows = [function(name) for name in names] or [f for f in FUNCTIONS.values() if frame or "frame" not in f.options]
    papers, found = formulas(model), []
    with progress_bar("counting", len(rows), progress) as advance:
        for row in rows:
            for method in row.methods:
                if model.couplings and not row.methods[method].mimic:
                    continue
                operations = _count(model, row.name, method if "method" in row.options else None, frame)
                found.append(CountedFunction(row.name, method, operations, *papers.get((row.name, method), (None, ""))))
                if "method" not in row.options:
                    break
            advance(1)
    if names and not found:
        raise ModelError(f"{names[0]} does not serve {model.name!r}: it has mimic joints")
    return found


def _count(model: Model, name: str, method: str | None, frame: str | None) -> OperationCount | None:
    framed = frame if "frame" in function(name).options else None
    try:
        return count(model, name, method=method, frame=framed)
    except GraphTooLargeError:
        return None


def formulas(model: Model) -> dict[tuple[str, str], tuple[OperationCount, str]]:
    """Printed costs of functions and methods, for revolute joints and floating bases without mimic joints."""
    tree, types, roots = model.tree, model.joints.types, model.tree.children(-1)
    floating = [k for k in roots if types[k] == "floating"]
    turning = [k for k, kind in enumerate(types) if kind in ("revolute", "continuous")]
    if len(floating) + len(turning) < len(types) or model.couplings:
        return {}
    dofs = model.joints.v[:, 1] - model.joints.v[:, 0]
    crba, ltdl = cost.crba(tree, floating), cost.ltdl(tree.expanded(dofs))
    found = {
        ("inverse_dynamics", "rnea"): (cost.rnea(tree, floating), "Balafoutis, Patel & Misra 1988"),
        ("mass_matrix", "mass_matrix"): (crba, "Featherstone 2005, eq. 21"),
        ("packed_mass_matrix", "crba"): (crba, "Featherstone 2005, eq. 21"),
        ("factorize", "crba"): (crba + ltdl, "Featherstone 2005, eq. 21 and Table 1"),
        ("forward_dynamics", "crba"): (
            cost.crba_forward_dynamics(tree, dofs, floating), "Featherstone 2005, section 6",
        ),
    }  # fmt: skip
    if len(floating) == len(roots):
        found["forward_dynamics", "aba"] = (cost.aba(tree), "McMillan & Orin 1995")
    return found


def compared(costs: Sequence[CountedFunction]) -> Table:
    """Counts beside formulas."""
    shown = Table(Column("function", style="cyan", no_wrap=True), *COLUMNS, "paper", box=None)
    for row in costs:
        ours = [f"{getattr(row.counted, c):,}" for c in COLUMNS] if row.counted else ["too large", *[""] * 4]
        shown.add_row(named(row, costs), *ours, printed(row.formula))
    return shown


def named(row: CountedFunction, costs: Sequence[CountedFunction]) -> str:
    """A function, and its method if there are several."""
    several = sum(other.function == row.function for other in costs) > 1
    return f"{row.function}, {row.method}" if several else row.function


def printed(formula: OperationCount | None) -> str:
    """m, a and d as papers write them."""
    if formula is None:
        return ""
    return f"{formula.mul:,}m + {formula.add:,}a" + (f" + {formula.div:,}d" if formula.div else "")


def sources(costs: Sequence[CountedFunction]) -> list[str]:
    """Where the formulas come from."""
    return [f"{named(row, costs)}: {row.source}" for row in costs if row.source]


def planned(plan: MethodPlan) -> Table:
    """Methods for Lambda^-1, cheapest first."""
    shown = Table("method for Lambda^-1", "operations", *(COLUMNS if plan.exact else ()), "", box=None)
    for name, total in sorted(plan.total.items(), key=lambda item: item[1]):
        detail = [f"{getattr(plan.counts[name], c):,}" for c in COLUMNS] if name in plan.counts else []
        shown.add_row(name, f"{total:,}", *detail, "<- chosen" if name == plan.choice else "")
    return shown
