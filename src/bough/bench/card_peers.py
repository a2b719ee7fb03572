"""Forward dynamics of other libraries on the same card: MJX, MuJoCo Warp and frax, where they are installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from bough import zoo
from bough.bench.peers import mujoco_twin
from bough.bench.report import Timing

BATCH = 32_768
GROUP = "on a card, other libraries, per configuration"


def rows() -> list[Timing]:
    found = []
    for measured in (mjx, mujoco_warp, frax):
        try:
            found += list(measured())
        except ImportError:
            continue
    return found


def mjx() -> Iterator[Timing]:
    """MuJoCo's forward pass in JAX, of the same humanoid."""
    jax: Any = import_module("jax")
    library: Any = import_module("mujoco.mjx")
    model = zoo.humanoid()
    on_card = library.put_model(mujoco_twin(model))
    q = jax.numpy.asarray(model.random_configuration(np.random.default_rng(1), BATCH), jax.numpy.float32)
    data = jax.vmap(lambda q: library.make_data(on_card).replace(qpos=q))(q)
    forward = jax.jit(jax.vmap(lambda d: library.forward(on_card, d).qacc))
    step = jax.jit(jax.vmap(lambda d: library.step(on_card, d).qpos))
    for name, run in (("mjx.forward", forward), ("mjx.step", step)):
        yield _row("mjx", model.name, name, _jax_seconds(partial(run, data)))


def mujoco_warp() -> Iterator[Timing]:
    """MuJoCo's forward pass in Warp, from a CUDA graph."""
    warp: Any = import_module("warp")
    library: Any = import_module("mujoco_warp")
    model = zoo.humanoid()
    twin = mujoco_twin(model)
    on_card = library.put_model(twin)
    data = library.make_data(twin, nworld=BATCH)
    data.qpos.assign(model.random_configuration(np.random.default_rng(1), BATCH).astype(np.float32))
    for name in ("forward", "step"):
        run = getattr(library, name)
        run(on_card, data)
        with warp.ScopedCapture() as capture:
            run(on_card, data)

        def launched(graph: Any = capture.graph) -> None:
            warp.capture_launch(graph)
            warp.synchronize()

        yield _row("mujoco_warp", model.name, f"mujoco_warp.{name}", _seconds(launched))


def frax() -> Iterator[Timing]:
    """frax's forward dynamics of G1."""
    jax: Any = import_module("jax")
    robot: Any = import_module("frax").load_g1()
    rng = np.random.default_rng(1)
    q = rng.normal(size=(BATCH, robot.nq)).astype(np.float32)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    v, tau = (jax.numpy.asarray(rng.normal(size=(BATCH, robot.nv)), jax.numpy.float32) for _ in range(2))
    forward = jax.jit(jax.vmap(lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)))
    q = jax.numpy.asarray(q)
    yield _row("frax", "g1_29dof_rev_1_0", "frax forward_dynamics", _jax_seconds(lambda: forward(q, v, tau)))


def _row(peer: str, model: str, name: str, seconds: float) -> Timing:
    each = seconds / BATCH
    return Timing(GROUP, model, f"{name}, float32, batch {BATCH:,}", {peer: each}, f"{1e-6 / each:,.1f} M/s")


def _jax_seconds(run: Callable[[], Any]) -> float:
    return _seconds(lambda: run().block_until_ready())


def _seconds(run: Callable[[], Any]) -> float:
    run()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
