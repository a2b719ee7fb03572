"""`bough cache warm`: general code, operational-space and adaptive code, and the own code of a model, compiled ahead.

Functions of a frame, forces by name, derivatives, tasks of one operational space and GPU code wait for their first use.
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

Jobs = list[Callable[[], object]]


def warm(model: Model | None, console: Console | None) -> int:
    """Compile what is not yet on disk; returns the number of jobs. Progress is shown on a console."""
    jobs = functions(Dynamics(zoo.humanoid(), general=True), np.float64) + operational_space() + adaptive()
    if model is not None:
        jobs += functions(Dynamics(model), np.float64) + functions(Dynamics(model), np.float32)
    for job in track(jobs, "compiling", console=console, disable=console is None):
        job()
    if console is not None:
        own = "; all functions of the model but those of a frame, in float64 and float32" * (model is not None)
        console.print(f"compiled: general code, operational space for all tasks, adaptive quasi-statics{own}")
    return len(jobs)


def functions(dynamics: Dynamics, dtype: type) -> Jobs:
    """All functions that are not of a frame, for one configuration and for a batch."""
    model = dynamics.model
    jobs: Jobs = []
    arrays: dict[str, FloatArray] = {"q": model.neutral.astype(dtype), "dt": np.full(1, 1e-3, dtype)}
    for name, row in FUNCTIONS.items():
        serves = any(m.mimic or not model.couplings for m in row.methods.values())
        if "frame" in row.options or not serves:
            continue
        arguments = [arrays.get(x, np.zeros(model.nv, dtype)) for x in row.arguments]
        jobs.append(partial(getattr(dynamics, name), *arguments))
        if name != "factorize":  # of one configuration only
            jobs.append(partial(getattr(dynamics, name), *[np.tile(x, (2, 1)) for x in arguments]))
    return jobs


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

    return [*(partial(space.function(name).call, q) for name in METHODS), state, partial(space.weighted, q, v)]


def adaptive() -> Jobs:
    """Steps of adaptive quasi-statics by each method."""
    from bough.adaptive import QuasiStatics, relative_joint

    def step(method: str) -> None:
        error = relative_joint(1e-3)
        simulation = QuasiStatics(zoo.chain(20), error=error, method=method, culled="zero", catch_up=False)
        simulation.step(1e-3)
        simulation.accelerations()

    return [partial(step, method) for method in ("adaptive", "dca", "aba")]
