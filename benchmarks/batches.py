"""Batches: Bough in both precisions, on one thread and on all, beside the batches of Pinocchio and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.absent import installed
from benchmarks.timing import Timing
from bough.app.bench.compare import Function, ends_of, functions
from bough.app.bench.engines.mujoco import MujocoEngine
from bough.app.bench.engines.pinocchio import pinocchio_model
from bough.app.bench.states import DT, Compared, PeerState, check, layout, random_state, random_states
from bough.app.bench.timing import Call, Contestant, contest
from bough.compile.settings import on_threads, threads_of_environment
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, TooLargeError
from bough.model import Model

SOME, BATCHES = 4096, "mujoco.batch"
THREADS = {"1 thread": 1, "all threads": threads_of_environment()}
LONGEST, PROBE = 2.0, 64  # seconds of a call with a batch, and rows from which they are predicted
MOST = 2_000_000_000  # bytes of a result


def functions_of(model: Model, dyn: Dynamics) -> dict[str, Function]:
    """Those of single calls, with H in its packed form."""
    ours = {case: function for case, function in functions(dyn, ends_of(model, dyn)).items() if case != Compared.MASS}
    return ours | {
        "packed mass matrix": Function(dyn, "packed_mass_matrix", "q"),
        "H, C, LTDL and solve": Function(dyn, "forward_dynamics", "q v tau", options={"method": "crba"}),
    }


def batch(model: Model, dyn: Dynamics, size: int, seconds: float, engines: Sequence[str]) -> list[Timing]:
    """Per configuration: one thread and all, float64 and float32; a function that is not run says why."""
    s, double, group = random_state(model), random_state(model, 1, size), f"batch of {size}"
    double.q[0], double.v[0], double.tau[0] = s.q, s.v, s.tau
    single = double._replace(**{name: x.astype(np.float32) for name, x in double._asdict().items()})
    found = []
    for case, function in functions_of(model, dyn).items():
        taking_part = [e for e in engines if (e, case) in PEERS]
        why = f"it keeps {size:,} whole states" if size > SOME else "" if installed(BATCHES) else "it is not installed"
        note = f"without {BATCHES}: {why}" if why and "mujoco" in taking_part else ""
        calls: dict[str, Contestant] = {}
        try:
            out = result_array(function, double, size)
            for ending, threads in (("", 1), (", all threads", None)):
                for name, rows in (("bough", double), ("bough float32", single)):
                    options = {} if out is None else {"out": out.astype(rows.q.dtype)}
                    calls[name + ending] = partial(threaded, threads, function.at(rows, **options))
            for engine in taking_part:
                calls |= {} if engine == "mujoco" and note else PEERS[engine, case](model, s, double)
            found.append(Timing(group, model.name, case, contest(calls, seconds, burst=5e-3).per(size), note))
        except BoughError as error:  # too large, or of a row that is singular
            found.append(Timing(group, model.name, case, {}, f"not measured: {error}"))
    return found


def threaded(threads: int | None, run: Call) -> Any:
    with on_threads(threads):
        return run()


def result_array(function: Function, rows: PeerState, size: int) -> Any:
    """An array for one result, None where there are several; results and calls that are too large are refused."""
    few: Any = function.at(rows.first(2))()
    nbytes = sum(x.nbytes for x in (few if isinstance(few, tuple) else (few,))) / 2 * size
    if nbytes > MOST:
        raise TooLargeError(f"the result takes {nbytes / 1e9:.1f} GB")
    some, seconds = function.at(rows.first(PROBE)), float("inf")
    for _ in range(2):
        began = perf_counter()
        some()
        seconds = min(seconds, (perf_counter() - began) / min(PROBE, size) * size)
    if seconds > LONGEST:
        raise TooLargeError(f"a call takes {seconds:.1f} s")
    return np.zeros((size, *few.shape[1:])) if isinstance(few, np.ndarray) else None


def pinocchio_batch(name: str, ours: str, model: Model, s: PeerState, b: PeerState) -> dict[str, Call]:
    """`pin.<name>` on one thread and on all, checked to give the results of `ours`."""
    import pinocchio as pin

    order, calls = layout(model), dict[str, Call]()
    given = [np.asfortranarray(x.T) for x in (b.q[:, order.q], b.v[:, order.v], b.tau[:, order.v], 0 * b.v)]
    for label, count in THREADS.items():
        run = partial(getattr(pin, name), count, pin.ModelPool(pinocchio_model(model), count), *given)
        given[3][:] = 0.0
        run()
        check(f"pin.{name}", given[3][:, 0], getattr(Dynamics(model), ours)(s.q, s.v, s.tau)[order.v])
        calls[f"pin.{name}, {label}"] = run
    return calls


def mujoco_batch(name: str, model: Model, s: PeerState, b: PeerState) -> dict[str, Call]:
    """`mujoco.batch` on one thread and on all; its rows are some random states in turn. Steps go on from there."""
    from mujoco.batch import Batch

    engine, states = MujocoEngine(model), random_states(model, 16)
    engine.twin.opt.timestep = DT
    data, rows = [engine.data(x) for x in states], np.arange(len(b.q)) % len(states)
    calls: dict[str, Call] = {}
    for label, threads in THREADS.items():
        peer = Batch(engine.twin, len(b.q), threads)
        for array in ("qpos", "qvel", "qfrc_applied"):
            getattr(peer, array)[:] = np.array([getattr(d, array) for d in data])[rows]
        found = peer.qacc  # what is not read before is not brought back
        peer.forward()
        check("mujoco.batch", found, np.array([d.qacc for d in data])[rows])
        calls[f"mujoco.batch {name}, {label}"] = getattr(peer, name)
    return calls


PEERS: dict[tuple[str, str], Callable[[Model, PeerState, PeerState], dict[str, Call]]] = {
    ("pinocchio", Compared.FORWARD): partial(pinocchio_batch, "abaInParallel", "forward_dynamics"),
    ("pinocchio", Compared.INVERSE): partial(pinocchio_batch, "rneaInParallel", "inverse_dynamics"),
    ("mujoco", Compared.FORWARD): partial(mujoco_batch, "forward"),
    ("mujoco", Compared.STEP): partial(mujoco_batch, "step"),
}
