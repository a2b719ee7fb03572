"""Forward dynamics of other libraries on the same GPU: MJX, MuJoCo Warp, Newton and frax, where they are installed.

Each is given the same states as ours and must find the same accelerations before it is timed, at a small and a large
batch; its better one stands beside our better one. Two batches of states are computed in turn. Products of matrices in
JAX are asked for in full single precision: by default a GPU rounds them to ten bits, with which some find no
acceleration at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks.absent import left_out, robot_file
from benchmarks.dynamics import G1
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.engines.mujoco import mujoco_model
from bough.convert import to_mujoco
from bough.dynamics import Dynamics
from bough.errors import NumericalError
from bough.io import load
from bough.model import Model

BATCHES = (32_768, 262_144)
GROUP = "on a GPU, other libraries, per configuration"
ROWS = 1024  # different ones
TURNS = 2  # batches of states, one after the other
EQUAL = 1e-3  # of the largest acceleration of a row, in the median: all of them compute in single precision
Run = Callable[[], Any]


class States(NamedTuple):
    """The same states for all, in MuJoCo's layout and ours, and our accelerations; no force acts on the base."""

    q: Any
    v: Any
    tau: Any
    a: Any
    own: tuple[Any, Any]

    def turns(self, batch: int, ours: bool = False) -> list[list[Any]]:
        """q, v and tau of `batch` rows, twice: those of the second turn begin with row 0."""
        given = (*(self.own if ours else (self.q, self.v)), self.tau)
        return [
            [np.tile(np.roll(x, by, axis=0), (batch // ROWS, 1)).astype(np.float32) for x in given] for by in (1, 0)
        ]


def rows() -> list[Timing]:
    """One row for each library and robot; a library that fails has none, and a row says why."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found = []
    for peer, model in (
        (mjx, zoo.humanoid),
        (mujoco_warp, zoo.humanoid),
        (mujoco_warp, g1),
        (newton, zoo.humanoid),
        (frax, g1),
    ):
        try:
            found.append(peer(model()))
        except ImportError:
            continue
        except Exception as error:  # of another library, in its own words
            found.append(left_out(f"{peer.__name__} on a GPU", f"{error}"[:200]))
    return found


def own(model: Model, known: States) -> float:
    """Our seconds for one configuration, at the better batch."""
    torch: Any = import_module("torch")
    dyn, best = Dynamics(model, device="cuda"), np.inf
    for batch in BATCHES:
        turns = [[torch.asarray(x, device="cuda") for x in turn] for turn in known.turns(batch, ours=True)]

        def run(turns: Any = turns) -> None:
            for q, v, tau in turns:
                dyn.forward_dynamics(q, v, tau)
            torch.cuda.synchronize()

        best = min(best, _seconds(run) / (TURNS * batch))
    return best


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
    a = Dynamics(model).forward_dynamics(q, v, tau)
    mujoco_q, mujoco_v, mujoco_a = to_mujoco(model, q, v, a)
    return States(mujoco_q, mujoco_v, tau, mujoco_a, (q, v))


def _jax() -> Any:
    jax: Any = import_module("jax")
    jax.config.update("jax_default_matmul_precision", "highest")
    return jax


def mjx(model: Model) -> Timing:
    """MuJoCo's forward pass in JAX."""
    jax = _jax()
    library: Any = import_module("mujoco.mjx")
    on_device, known = library.put_model(mujoco_model(model)), states(model)

    def state(q: Any, v: Any, tau: Any) -> Any:
        return library.make_data(on_device).replace(qpos=q, qvel=v, qfrc_applied=tau)

    forward = jax.jit(jax.vmap(lambda d: library.forward(on_device, d).qacc))

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            data = [jax.vmap(state)(*map(jax.numpy.asarray, turn)) for turn in known.turns(batch)]
            yield batch, partial(_in_turn, forward, [(turn,) for turn in data])

    return _row("mjx.forward", model, known, runs())


def _in_turn(forward: Callable[..., Any], turns: list[Any]) -> Any:
    for given in turns:
        found = forward(*given)
    return found.block_until_ready()


def mujoco_warp(model: Model) -> Timing:
    """MuJoCo's forward pass in Warp, from a CUDA graph; copying the states in takes a hundredth of it."""
    warp: Any = import_module("warp")
    library: Any = import_module("mujoco_warp")
    twin, known = mujoco_model(model), states(model)
    on_device = library.put_model(twin)

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            data = library.make_data(twin, nworld=batch)
            turns = [[warp.array(x, dtype=float) for x in turn] for turn in known.turns(batch)]

            def forward(turns: Any = turns, data: Any = data) -> None:
                for given in turns:
                    for array, x in zip((data.qpos, data.qvel, data.qfrc_applied), given, strict=True):
                        warp.copy(array, x)
                    library.forward(on_device, data)

            yield batch, partial(_launch, graph(warp, forward), data.qacc)

    return _row("mujoco_warp.forward", model, known, runs())


def graph(warp: Any, run: Run) -> Run:
    """`run`, once compiled, as a CUDA graph; as it is on a CPU."""
    run()
    if not warp.is_cuda_available():
        return run
    with warp.ScopedCapture() as capture:
        run()
    return partial(warp.capture_launch, capture.graph)


def _launch(run: Run, found: Any) -> Any:
    run()
    import_module("warp").synchronize()
    return found


def newton(model: Model) -> Timing:
    """A step of Newton's solver in reduced coordinates (CRBA, dense Cholesky, integration), without contacts.

    Its base has other velocities: joint accelerations are compared.
    """
    warp: Any = import_module("warp")
    library: Any = import_module("newton")
    known, base = states(model), model.body_names[0]
    center = model.inertias[0, 1:4] / model.inertias[0, 0]
    one = library.ModelBuilder()
    one.add_mjcf(model.to_mjcf())

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in (BATCHES[0] // 4, BATCHES[0]):
            all_of_them = library.ModelBuilder()
            all_of_them.replicate(one, batch)
            on_device = all_of_them.finalize()
            solver = library.solvers.SolverFeatherstone(on_device, angular_damping=0.0)
            turns = []
            for (_, v, tau), (own, _, _) in zip(known.turns(batch), known.turns(batch, ours=True), strict=True):
                state, control = on_device.state(), on_device.control()
                R = Dynamics(model).placement(own.astype(float), base)[:, :3, :3]
                v[:, 3:6] = np.einsum("bij,bj->bi", R, v[:, 3:6])
                v[:, :3] += np.cross(v[:, 3:6], R @ center)  # of the centre of mass, in world axes
                for array, x in ((state.joint_q, own), (state.joint_qd, v), (control.joint_f, tau)):
                    array.assign(x.ravel())
                turns.append((state, control))
            after = on_device.state()

            def step(turns: Any = turns, after: Any = after, solver: Any = solver) -> None:
                for state, control in turns:
                    solver.step(state, after, control, None, 1e-3)

            run = graph(warp, step)
            yield batch, partial(_launch, run, solver.joint_qdd.reshape((batch, model.nv)))

    return _row("newton SolverFeatherstone.step", model, known, runs(), slice(6, None))


def frax(model: Model) -> Timing:
    """frax's forward dynamics of G1, whose layout is MuJoCo's."""
    jax = _jax()
    robot: Any = import_module("frax").load_g1()
    known = states(model)
    forward = jax.jit(jax.vmap(lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)))

    def runs() -> Iterator[tuple[int, Run]]:
        for batch in BATCHES:
            turns = [[jax.numpy.asarray(x) for x in turn] for turn in known.turns(batch)]
            yield batch, partial(_in_turn, forward, turns)

    return _row("frax forward_dynamics", model, known, runs())


def _row(
    name: str, model: Model, known: States, runs: Iterator[tuple[int, Run]], compared: slice = slice(None)
) -> Timing:
    """The best of its batches beside ours; those that it has no memory for are left out, and said."""
    each: dict[int, float] = {}
    gap = 0.0
    while True:
        try:
            batch, run = next(runs)
            gap = max(gap, _gap(name, np.asarray(_host(run()))[:ROWS, compared], known.a[:, compared]))
            each[batch] = _seconds(run) / (TURNS * batch)
        except StopIteration:
            break
        except (MemoryError, RuntimeError) as error:
            if not each:
                raise
            print(f"{name}: {error}"[:300])
            break
    best = min(each, key=lambda batch: each[batch])
    rates = ", ".join(f"{1e-6 / t:.1f} M/s of {batch:,}" for batch, t in each.items())
    seconds = {"bough": own(model, known), name: each[best]}
    return Timing(GROUP, model.name, "forward dynamics, float32", seconds, f"{rates}; same results to {gap:.0e}")


def _host(x: Any) -> Any:
    return x.numpy() if hasattr(x, "numpy") else x


def _gap(name: str, found: Any, ours: Any) -> float:
    """How far they are from ours, beside the largest of the row, in the median of rows."""
    gap = float(np.median(np.abs(found - ours).max(axis=1) / np.abs(ours).max(axis=1)))
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
