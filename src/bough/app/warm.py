"""Everything compiled ahead: general code, adaptive code and, for a model, its own code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.progress import track

from bough import zoo
from bough.dynamics.dynamics import Dynamics
from bough.model import Model

Jobs = list[tuple[str, Callable[[], object]]]


def warm(model: Model | None, console: Console | None) -> int:
    """Compile what is not yet on disk; returns how many things were looked after. Progress is shown on a console."""
    jobs = general() + adaptive() + (functions(Dynamics(model), model) if model is not None else [])
    for _, job in track(jobs, "compiling", console=console, disable=console is None):
        job()
    return len(jobs)


def general() -> Jobs:
    """The code that serves every model."""
    model = zoo.humanoid()
    return functions(Dynamics(model, general=True), model)


def functions(dynamics: Dynamics, model: Model) -> Jobs:
    """The functions of a model, for one configuration and for a batch."""
    q, v = model.neutral, np.zeros(model.nv)
    calls: Jobs = []
    for name, arguments in (
        ("forward_dynamics", (q, v, v)),
        ("inverse_dynamics", (q, v, v)),
        ("bias_force", (q, v)),
        ("gravity", (q,)),
        ("mass_matrix", (q,)),
        ("inverse_mass_matrix", (q,)),
        ("placements", (q,)),
    ):
        function = getattr(dynamics, name)
        calls.append((name, partial(function, *arguments)))
        rows = tuple(np.tile(x, (2, 1)) for x in arguments)
        calls.append((f"{name} in batches", partial(function, *rows)))
    return calls


def adaptive() -> Jobs:
    """Steps of adaptive quasi-statics by each method."""
    from bough.adaptive import QuasiStatics, relative_joint

    def step(method: str) -> None:
        simulation = QuasiStatics(zoo.chain(20), error=relative_joint(1e-3), method=method)
        simulation.step(1e-3)
        simulation.accelerations()

    return [(f"adaptive: {method}", partial(step, method)) for method in ("adaptive", "dca", "aba")]
