"""On a GPU: steps of many motions, task torques of many robots, and what the first call takes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.absent import robot_file
from benchmarks.timing import Timing
from bough import zoo
from bough.dynamics import Dynamics
from bough.io import load
from bough.model import Model
from bough.opspace import OperationalSpace, pose
from bough.simulate import Ensemble

ROBOTS = 4096  # of which task torques are asked at once
MOTIONS = (4096, 65_536, 262_144)


def rows() -> list[Timing]:
    return [*torques(), *motions(), *first_calls()]


def torques() -> Iterator[Timing]:
    """Operational-space torques, J-bar' F + N' tau0, of 4,096 robots: from a CUDA graph, and called from Python."""
    humanoid = zoo.humanoid()
    tips = [name for k, name in enumerate(humanoid.body_names) if k not in set(humanoid.parent.tolist())]
    for model, names in (panda(), (humanoid, tips[:4])):
        space = OperationalSpace(model, [pose(name) for name in names], device="cuda", singular="damp")
        size = space.tasks.size
        for dtype in ("float32", "float64"):
            given = _states(model, ROBOTS, dtype, size)

            def run(space: Any = space, given: Any = given) -> Any:
                return space.torques(*given)

            seconds = {"bough": _from_graph(run), "bough, called from Python": _called(run)}
            yield Timing("on a GPU, task torques of 4,096 robots", model.name, f"{size} rows, {dtype}", seconds)


def panda() -> tuple[Model, list[str]]:
    """The arm, with fingers that move for themselves, and its hand; an arm of seven joints where its file is not."""
    path = robot_file("panda.urdf")
    if path is None:
        arm = zoo.arm(7)
        return arm, [arm.body_names[-1]]
    return load(path, mimic="independent"), ["panda_hand"]


def motions() -> Iterator[Timing]:
    """Steps of an ensemble with servos, by each integrator."""
    model = zoo.humanoid()
    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        for batch in MOTIONS:
            q, v, *_ = _states(model, batch, "float32", 1)
            runs = Ensemble(model, q, 0 * v, dt=1e-3, integrator=integrator, servo=(100.0, 10.0))
            seconds = _called(partial(runs.step, 10)) / 10
            note = f"{1e-6 * batch / seconds:,.0f} M steps a second"
            case = f"{integrator}, float32, {batch:,} motions"
            yield Timing("on a GPU, a step of all motions with servos", model.name, case, {"bough": seconds}, note)


def first_calls() -> Iterator[Timing]:
    """The first call of a function in an empty cache, and the next process's: traced, written, compiled, loaded."""
    model = zoo.humanoid()
    kept = os.environ.get("BOUGH_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BOUGH_CACHE_DIR"] = folder
        for name in ("forward_dynamics", "inverse_dynamics", "semi_implicit_step"):
            given = _states(model, 16, "float32", 1)
            arrays = [*given[:2], given[3], *([_array(np.full(1, 1e-3), "float32")] if "step" in name else [])]
            seconds = {}
            for who in ("bough, first call", "bough, from the cache"):
                start = time.perf_counter()
                getattr(Dynamics(model, device="cuda"), name)(*arrays)
                seconds[who] = time.perf_counter() - start
            yield Timing("on a GPU, the first call", model.name, f"{name}, float32", seconds)
    if kept is None:
        del os.environ["BOUGH_CACHE_DIR"]
    else:
        os.environ["BOUGH_CACHE_DIR"] = kept


def _states(model: Model, batch: int, dtype: str, rows: int) -> list[Any]:
    """q, v, accelerations of tasks and joint forces."""
    rng = np.random.default_rng(1)
    q = model.random_configuration(rng, 1024)[np.arange(batch) % 1024]
    others = [rng.normal(size=(batch, n)) for n in (model.nv, rows, model.nv)]
    return [_array(x, dtype) for x in (q, *others)]


def _array(x: Any, dtype: str) -> Any:
    torch: Any = import_module("torch")
    return torch.asarray(x, dtype=getattr(torch, dtype), device="cuda")


def _called(run: Callable[[], Any]) -> float:
    """Seconds of one call among many, waited for at the end."""
    torch: Any = import_module("torch")
    for _ in range(3):
        run()
    times = []
    for _ in range(9):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(20):
            run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 20)
    return float(np.median(times))


def _from_graph(run: Callable[[], Any]) -> float:
    torch: Any = import_module("torch")
    for _ in range(3):
        run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            run()
    return _called(graph.replay) / 10
