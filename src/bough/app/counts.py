"""Operation counts of the functions that everybody needs, kept on the disk: counting takes longer than all else."""

from __future__ import annotations

import json

from rich.table import Table

from bough.compile.graph.program import OperationCount
from bough.compile.run.cache import fetch, source_digest
from bough.model import Model

SHOWN = (
    ("inverse dynamics, RNEA", "inverse_dynamics", None),
    ("mass matrix, CRBA", "mass_matrix", None),
    ("forward dynamics, ABA", "forward_dynamics", "aba"),
    ("forward dynamics, CRBA and LTDL", "forward_dynamics", "crba"),
)


def counted(model: Model) -> dict[str, OperationCount]:
    """The four functions, as far as they serve the model; from the disk if they were counted before."""
    found = fetch(f"counts of {model.hash} by {source_digest('bough')}", lambda: _count(model), machine="any")
    return {label: OperationCount(*numbers) for label, numbers in json.loads(found).items()}


def _count(model: Model) -> bytes:
    from bough.dynamics.counting import count

    served = [row for row in SHOWN if not (row[2] == "aba" and model.couplings)]
    return json.dumps({label: count(model, name, method=method).astuple() for label, name, method in served}).encode()


def table(model: Model) -> Table:
    """The same as a table, and the factorization beside a dense one."""
    tree, n = model.dof_tree, model.nv
    shown = Table("function", "mul", "add", "div", box=None)
    for label, found in counted(model).items():
        shown.add_row(label, f"{found.mul:,}", f"{found.add:,}", f"{found.div:,}")
    shown.add_row("LTDL factorization: D2, D2, D1", f"{tree.D2:,}", f"{tree.D2:,}", f"{tree.D1:,}")
    dense = n * (n * n - 1) // 6
    shown.add_row(f"the same if H were full, {n} x {n}", f"{dense:,}", f"{dense:,}", f"{n * (n - 1) // 2:,}")
    return shown
