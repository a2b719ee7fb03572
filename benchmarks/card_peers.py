"""Forward dynamics of other libraries on the same card: MJX, MuJoCo Warp and frax, where they are installed.

Each is given the same states as ours and must find the same accelerations before it is timed, at a small and a large
batch; the better stands beside ours. Products of matrices in JAX are asked for in full single precision: by default a
card rounds them to ten bits, with which some find no acceleration at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks.absent import robot_file
from benchmarks.dynamics import G1
from bough import zoo
from bough.app.bench.engines.mujoco import mujoco_twin
from bough.app.bench.timing import Timing
from bough.convert import to_mujoco
from bough.dynamics import Dynamics
from bough.errors import NumericalError
from bough.io import load
from bough.model import Model

BATCHES = (32_768, 262_144)
GROUP = "on a card, other libraries, per configuration"
ROWS = 1024  # different ones
EQUAL = 1e-3  # of the largest acceleration of a row, in the median: all of them compute in single precision
Run = Callable[[], Any]


class States(NamedTuple):
    """The same states for all, in MuJoCo's layout, and the accelerations that we find; no force acts on the base."""

    q: Any
    v: Any
    tau: Any
    a: Any

    def repeated(self, batch: int) -> States:
        return States(*(np.tile(x, (batch // ROWS, 1)).astype(np.float32) for x in self))


def rows(own: Mapping[str, float]) -> list[Timing]:
    """One row for each library; `own` are our seconds for one configuration, by the name of the model."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found = []
    for measured in (mjx, mujoco_warp, frax):
        try:
            found.append(measured(own))
        except ImportError:
            continue
        except NumericalError as error:
            print(error)  # and no row
    return found


def g1() -> Model:
    """G1, where its file is; else it is as if there were no peer."""
    path = robot_file(G1)
    if path is None:
        raise ImportError(G1)
    return load(path, floating_base=True)


def states(model: Model) -> States:
    rng = np.random.default_rng(1)
    q = model.random_configuration(rng, ROWS)
    v, tau = rng.normal(size=(2, ROWS, model.nv))
    tau[:, :6] = 0.0
    a = Dynamics(model, device="cuda").forward_dynamics(q, v, tau)
    q, v, a = to_mujoco(model, q, v, a)
    return States(q, v, tau, a)


def _jax() -> Any:
    jax: Any = import_module("jax")
    jax.config.update("jax_default_matmul_precision", "highest")
    return jax


def mjx(own: Mapping[str, float]) -> Timing:
    """MuJoCo's forward pass in JAX, of the same humanoid."""
    jax = _jax()
    library: Any = import_module("mujoco.mjx")
    model = zoo.humanoid()
    on_card, known = library.put_model(mujoco_twin(model)), states(model)

    def state(q: Any, v: Any, tau: Any) -> Any:
        return library.make_data(on_card).replace(qpos=q, qvel=v, qfrc_applied=tau)

    forward = jax.jit(jax.vmap(lambda d: library.forward(on_card, d).qacc))

    def run(data: Any) -> Any:
        return forward(data).block_until_ready()

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            given = known.repeated(batch)
            data = jax.vmap(state)(*map(jax.numpy.asarray, given[:3]))
            yield batch, partial(run, data)

    return _row("mjx.forward", model, known, runs(), own)


def mujoco_warp(own: Mapping[str, float]) -> Timing:
    """MuJoCo's forward pass in Warp, from a CUDA graph."""
    warp: Any = import_module("warp")
    library: Any = import_module("mujoco_warp")
    model = zoo.humanoid()
    twin, known = mujoco_twin(model), states(model)
    on_card = library.put_model(twin)

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            given, data = known.repeated(batch), library.make_data(twin, nworld=batch)
            for array, x in zip((data.qpos, data.qvel, data.qfrc_applied), given[:3], strict=True):
                array.assign(x)
            library.forward(on_card, data)
            with warp.ScopedCapture() as capture:
                library.forward(on_card, data)

            def launched(graph: Any = capture.graph, data: Any = data) -> Any:
                warp.capture_launch(graph)
                warp.synchronize()
                return data.qacc

            yield batch, launched

    return _row("mujoco_warp.forward", model, known, runs(), own)


def frax(own: Mapping[str, float]) -> Timing:
    """frax's forward dynamics of G1, whose layout is MuJoCo's."""
    jax = _jax()
    robot: Any = import_module("frax").load_g1()
    model = g1()
    known = states(model)
    forward = jax.jit(jax.vmap(lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)))

    def run(*given: Any) -> Any:
        return forward(*given).block_until_ready()

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            given = [jax.numpy.asarray(x) for x in known.repeated(batch)[:3]]
            yield batch, partial(run, *given)

    return _row("frax forward_dynamics", model, known, runs(), own)


def _row(name: str, model: Model, known: States, runs: Iterator[tuple[int, Run]], own: Mapping[str, float]) -> Timing:
    """The best of its batches beside ours; those that it has no memory for are left out, and said."""
    each: dict[int, float] = {}
    gap = 0.0
    while True:
        try:
            batch, run = next(runs)
            gap = max(gap, _gap(name, np.asarray(_host(run()))[:ROWS], known))
            each[batch] = _seconds(run) / batch
        except StopIteration:
            break
        except (MemoryError, RuntimeError) as error:
            if not each:
                raise
            print(f"{name}: {error}"[:300])
            break
    best = min(each, key=lambda batch: each[batch])
    rates = ", ".join(f"{1e-6 / t:.1f} M/s of {batch:,}" for batch, t in each.items())
    seconds = ({"bough": own[model.name]} if model.name in own else {}) | {name: each[best]}
    return Timing(GROUP, model.name, "forward dynamics, float32", seconds, f"{rates}; same results to {gap:.0e}")


def _host(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x


def _gap(name: str, found: Any, known: States) -> float:
    """How far they are from ours, beside the largest of the row, in the median of rows."""
    gap = float(np.median(np.abs(found - known.a).max(axis=1) / np.abs(known.a).max(axis=1)))
    if not gap < EQUAL:
        raise NumericalError(f"{name} finds other accelerations than we do, by {gap:.1e} of the largest")
    return gap


def _seconds(run: Run) -> float:
    run()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
