"""What is compiled ahead: general code, adaptive code, the own code of a model, whatever will be asked of it.

Left out, because they are compiled for what is asked: functions of a frame, forces by name, derivatives, code for the
tasks of an operational space (the code that serves all tasks is compiled), code for a card.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.progress import track

from bough import zoo
from bough.dynamics import FUNCTIONS, Dynamics
from bough.model import Model
from bough.types import FloatArray

Jobs = list[tuple[str, Callable[[], object]]]

COVERED = "general code, operational space for all tasks, adaptive quasi-statics"
COVERED_OF_A_MODEL = "all functions of the model but those of a frame, in float64 and float32"


def warm(model: Model | None, console: Console | None) -> int:
    """Compile what is not yet on disk; returns how many things were looked after. Progress is shown on a console."""
    jobs = general() + operational_space() + adaptive() + (own(model) if model is not None else [])
    for _, job in track(jobs, "compiling", console=console, disable=console is None):
        job()
    if console is not None:
        console.print(f"compiled: {COVERED}" + (f"; {COVERED_OF_A_MODEL}" if model is not None else ""))
    return len(jobs)


def general() -> Jobs:
    """The code that serves every model, in float64."""
    return functions(Dynamics(zoo.humanoid(), general=True), np.float64)


def own(model: Model) -> Jobs:
    """The code of one model, in both precisions."""
    dynamics = Dynamics(model)
    return functions(dynamics, np.float64) + functions(dynamics, np.float32)


def functions(dynamics: Dynamics, dtype: type) -> Jobs:
    """All functions that are not of a frame, for one configuration and for a batch."""
    model = dynamics.model
    calls: Jobs = []
    arrays: dict[str, FloatArray] = {"q": model.neutral.astype(dtype), "dt": np.full(1, 1e-3, dtype)}
    for name, row in FUNCTIONS.items():
        serves = any(m.mimic or not model.couplings for m in row.methods.values())
        if "frame" in row.options or not serves:
            continue
        arguments = [arrays.get(x, np.zeros(model.nv, dtype)) for x in row.arguments]
        calls.append((name, partial(getattr(dynamics, name), *arguments)))
        if name != "factorize":  # of one configuration only
            rows = [np.tile(x, (2, 1)) for x in arguments]
            calls.append((f"{name} in batches", partial(getattr(dynamics, name), *rows)))
    return calls


def operational_space() -> Jobs:
    """The code that serves all tasks of every model, in float64: each method, and what follows from it."""
    from bough.opspace import OperationalSpace, pose
    from bough.opspace.methods import METHODS

    model = zoo.humanoid()
    space = OperationalSpace(model, [pose(model.body_names[-1])], general=True, singular="damp")
    q, v = model.neutral, np.zeros(model.nv)

    def state() -> None:
        found = space(q, v)
        _ = found.J, found.bias, found.drift, found.inertia, found.jbar, found.nullspace
        found.joint_forces(np.zeros(space.tasks.size), v)

    methods: Jobs = [(f"Lambda^-1 by {name}", partial(space.function(name).call, q)) for name in METHODS]
    return [*methods, ("operational space", state), ("operational space", partial(space.weighted, q, v))]


def adaptive() -> Jobs:
    """Steps of adaptive quasi-statics by each method."""
    from bough.adaptive import QuasiStatics, relative_joint

    def step(method: str) -> None:
        simulation = QuasiStatics(
            zoo.chain(20), error=relative_joint(1e-3), method=method, culled="zero", catch_up=False
        )
        simulation.step(1e-3)
        simulation.accelerations()

    return [(f"adaptive: {method}", partial(step, method)) for method in ("adaptive", "dca", "aba")]
