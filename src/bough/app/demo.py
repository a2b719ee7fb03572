"""A tour in one screen: the tree of a humanoid, the sparsity it causes, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bough.app import show
from bough.app.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError
from bough.model import Model

SECONDS, BATCH = 0.05, 4096


def run(model: Model, picture: Path, out: Console) -> None:
    """Print the tour; the pattern goes to `picture` as well if matplotlib is installed."""
    tree = model.dof_tree
    out.rule(Text(f"The mechanism: {model.name}"))
    out.print(show.branches(model))
    out.print(show.summary(model))
    out.rule("Nonzeros of its mass matrix H")
    out.print(show.pattern(tree))
    try:
        show.save_pattern(model, picture)
        out.print(Text(f"The same as a picture: {picture}"))
    except MissingExtraError as error:
        out.print(Text(f"No picture: {error}", style="dim"))
    out.rule("What functions cost")
    out.print(show.cost_table(model))
    dynamics = Dynamics(model)
    rng = np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    out.rule("H at a random configuration")
    out.print(_corner(dynamics.mass_matrix(q)))
    _agreement(dynamics, q, v, tau, out)
    out.rule("Time per call from Python (best of many)")
    out.print(_table(timings(dynamics, q, v, tau)))


def facts(model: Model, picture: Path) -> dict[str, Any]:
    """The same numbers for machines."""
    try:
        show.save_pattern(model, picture)
        written: list[Path] = [picture]
    except MissingExtraError:
        written = []
    dynamics, rng = Dynamics(model), np.random.default_rng(0)
    q, v, tau = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    tree, dense = model.dof_tree, _ways(dynamics, q, v, tau)["dense LAPACK"]
    return {
        "model": model.name, "nv": model.nv, "density": tree.density, "D1": tree.D1, "D2": tree.D2,
        "operations": show.counted(model), "seconds": timings(dynamics, q, v, tau), "files": written,
        "off": {name: _gap(qdd, dense) for name, qdd in _ways(dynamics, q, v, tau).items()},
    }  # fmt: skip


def _corner(H: Any, most: int = 11) -> Text:
    """The last rows and columns, where branches meet; zeros as dots."""
    part = H[-most:, -most:]
    lines = ["".join("      ." if x == 0.0 else f"{x:7.3f}" for x in row) for row in part.tolist()]
    title = f"(the last {len(part)} of {len(H)} rows and columns)" if len(part) < len(H) else ""
    return Text("\n".join([*lines, title]))


def _agreement(dynamics: Dynamics, q: Any, v: Any, tau: Any, out: Console) -> None:
    out.rule("Forward dynamics three ways")
    found = _ways(dynamics, q, v, tau)
    for name, qdd in found.items():
        gap = _gap(qdd, found["dense LAPACK"])
        out.print(Text(f"{name:14} qdd[-4:] = {np.array2string(qdd[-4:], precision=5)} off by {gap:.1e}"))


def _ways(dynamics: Dynamics, q: Any, v: Any, tau: Any) -> dict[str, Any]:
    """Forward dynamics by each way."""
    dense = np.linalg.solve(dynamics.mass_matrix(q), tau - dynamics.bias_force(q, v))
    found = {"dense LAPACK": dense, "CRBA and LTDL": dynamics.forward_dynamics(q, v, tau, method="crba")}
    if not dynamics.model.couplings:
        found["ABA"] = dynamics.forward_dynamics(q, v, tau, method="aba")
    return found


def _gap(qdd: Any, dense: Any) -> float:
    return float(np.abs(qdd - dense).max() / np.abs(dense).max())


def timings(dynamics: Dynamics, q: Any, v: Any, tau: Any) -> dict[str, float]:
    """Seconds that each way takes, for one state."""
    H, b = dynamics.mass_matrix(q), tau - dynamics.bias_force(q, v)
    qs, vs, taus = (np.tile(x, (BATCH, 1)) for x in (q, v, tau))
    contestants: dict[str, tuple[Callable[[], Any], int]] = {
        "forward dynamics, chosen automatically": (lambda: dynamics.forward_dynamics(q, v, tau), 1),
        "forward dynamics, CRBA and LTDL": (lambda: dynamics.forward_dynamics(q, v, tau, method="crba"), 1),
        "forward dynamics, RNEA, CRBA and dense LAPACK": (
            lambda: np.linalg.solve(dynamics.mass_matrix(q), tau - dynamics.bias_force(q, v)), 1,
        ),
        "solving with H alone: dense LAPACK": (lambda: np.linalg.solve(H, b), 1),
        f"forward dynamics, {BATCH} at once, each": (lambda: dynamics.forward_dynamics(qs, vs, taus), BATCH),
    }  # fmt: skip
    times = contest({name: run for name, (run, _) in contestants.items()}, SECONDS)
    return times.per({name: size for name, (_, size) in contestants.items()})


def _table(found: dict[str, float]) -> Table:
    table = Table("", "us", box=None)
    for name, seconds in found.items():
        table.add_row(name, f"{1e6 * seconds:8.3f}")
    return table
