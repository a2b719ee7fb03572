"""One mechanism: Bough beside the engines that are here, each checked to give the same before it is timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bough.app.bench import larger
from bough.app.bench.engines import ENGINES, PeerState, agreed, expected, random_state
from bough.app.bench.engines.common import Compared, check, installed, ours
from bough.app.bench.engines.mujoco import start
from bough.app.bench.peers import mujoco_twin, pinocchio_twin
from bough.app.bench.timing import Timing, contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError
from bough.model import Model
from bough.sparsity.pattern import Float

BATCH, SOME, BATCHES = 1024, 4096, "mujoco.batch"
DT = 1e-3
THREADS = {"1 thread": 1, "all threads": os.cpu_count() or 1}
LONGEST, PROBE = 2.0, 64  # seconds of a call with a batch, and rows from which they are foreseen
MOST = 2_000_000_000  # bytes of a result
SOLVED = "H, C, LTDL and solve"
Calls = dict[str, Callable[[], Any]]


class OwnComparison(NamedTuple):
    """Timings, and why an engine does not take part."""

    rows: list[Timing]
    left_out: dict[str, str]


def compare(model: Model, seconds: float = 0.3, batches: Sequence[int] = (BATCH,)) -> OwnComparison:
    """Single calls and batches of the functions that everybody needs."""
    dyn, state = Dynamics(model), random_state(model)
    functions = ours(model, dyn, state)
    wanted = expected(functions, model, state)
    left_out: dict[str, str] = {}
    peers: dict[str, Calls] = {case: {"bough": run} for case, run in functions.items()}
    for engine in ENGINES:
        try:
            for case, call in agreed(engine, model, state, wanted).items():
                peers[case][call.label] = call.run
        except (BoughError, ValueError, RuntimeError) as error:
            left_out[engine] = str(error)
    rows = [Timing("single call", model.name, case, contest(calls, seconds)) for case, calls in peers.items()]
    rows += larger.single(model, dyn, seconds, "pinocchio" not in left_out)
    for size in batches:
        rows += batch(model, dyn, size, seconds, [e for e in ("pinocchio", "mujoco") if e not in left_out])
    return OwnComparison(rows, left_out)


# Batches


class Rows(NamedTuple):
    """Arrays of a batch, in one precision, and where results go."""

    q: Float
    v: Float
    tau: Float
    forces: Float
    out: Float | None = None  # where there is one result


def batch(model: Model, dyn: Dynamics, size: int, seconds: float, engines: Sequence[str]) -> list[Timing]:
    """Per configuration: one thread and all, float64 and float32; a function that is not run says why."""
    rng, s, group = np.random.default_rng(1), random_state(model), f"batch of {size}"
    Q, (V, T) = model.random_configuration(rng, size), rng.normal(size=(2, size, model.nv))
    Q[0], V[0], T[0] = s.q, s.v, s.tau
    given = Rows(Q, V, T, rng.normal(size=(size, len(model.body_names), 6)))
    found = []
    more = larger.functions(dyn, larger.Tips(model, dyn))
    cases = batched(dyn, model.frame_names[s.frame]) | {case: partial(_larger, run) for case, run in more.items()}
    for case, run in cases.items():
        few, why = too_much(run, given, size)
        if why:
            found.append(Timing(group, model.name, case, {}, f"not measured: {why}"))
            continue
        out = np.zeros((size, *few.shape[1:])) if isinstance(few, np.ndarray) else None
        double = given._replace(out=out)
        single = Rows(*(x.astype(np.float32) for x in given[:4]))
        single = single._replace(out=out if out is None else out.astype(np.float32))
        calls: Calls = {
            "bough": partial(run, double, threads=1),
            "bough float32": partial(run, single, threads=1),
            "bough, all threads": partial(run, double),
            "bough float32, all threads": partial(run, single),
        }
        taking_part = [e for e in engines if (e, case) in PEERS]
        why = f"it keeps {size:,} whole states" if size > SOME else "" if installed(BATCHES) else "it is not installed"
        note = f"without {BATCHES}: {why}" if why and "mujoco" in taking_part else ""
        for engine in taking_part:
            calls |= {} if engine == "mujoco" and note else PEERS[engine, case](model, s, double)
        try:
            found.append(Timing(group, model.name, case, contest(calls, seconds, burst=5e-3).per(size), note))
        except BoughError as error:  # of a row that is singular
            found.append(Timing(group, model.name, case, {}, f"not measured: {error}"))
    return found


def too_much(run: Callable[..., Any], given: Rows, size: int) -> tuple[Any, str]:
    """The results of two rows, and why all of them are too many, if they are."""
    try:
        few = run(Rows(*(x[:2] for x in given[:4])))
    except BoughError as error:
        return None, str(error)
    nbytes = sum(x.nbytes for x in (few if isinstance(few, tuple) else (few,))) / 2 * size
    if nbytes > MOST:
        return few, f"the result takes {nbytes / 1e9:.1f} GB"
    some = Rows(*(x[:PROBE] for x in given[:4]))
    seconds = min(_clocked(run, some) for _ in range(2)) / min(PROBE, size) * size
    return few, f"a call takes {seconds:.1f} s" if seconds > LONGEST else ""


def _larger(run: Callable[..., Any], b: Rows, **k: Any) -> Any:
    """A function of q, v and tau, into new arrays."""
    return run(b.q, b.v, b.tau, **k)


def _clocked(run: Callable[..., Any], rows: Rows) -> float:
    began = perf_counter()
    run(rows)
    return perf_counter() - began


def batched(dyn: Dynamics, frame: str) -> dict[str, Callable[..., Any]]:
    """Bough's functions of many configurations, into given arrays where there is one result."""
    dt = {kind: np.array([DT], kind) for kind in (np.float64, np.float32)}
    return {
        Compared.FORWARD: lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, out=b.out, **k),
        Compared.PUSHED: lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, b.forces, out=b.out, **k),
        Compared.INVERSE: lambda b, **k: dyn.inverse_dynamics(b.q, b.v, b.tau, out=b.out, **k),
        "packed mass matrix": lambda b, **k: dyn.packed_mass_matrix(b.q, out=b.out, **k),
        SOLVED: lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, method="crba", out=b.out, **k),
        Compared.MASS_INVERSE: lambda b, **k: dyn.inverse_mass_matrix(b.q, out=b.out, **k),
        Compared.FRAMES: lambda b, **k: dyn.placements(b.q, out=b.out, **k),
        Compared.JACOBIAN: lambda b, **k: dyn.jacobian(b.q, frame, out=b.out, **k),
        "one step of 1 ms": lambda b, **k: dyn.semi_implicit_step(b.q, b.v, b.tau, dt[b.q.dtype.type], **k),
    }


def pinocchio_batch(name: str, ours: str, model: Model, s: PeerState, b: Rows) -> Calls:
    """`pin.<name>` on one thread and on all, once it was found to give what `ours` gives."""
    import pinocchio as pin

    pools = {label: (count, pin.ModelPool(pinocchio_twin(model), count)) for label, count in THREADS.items()}
    runs = {label: partial(getattr(pin, name), *pool) for label, pool in pools.items()}
    given = [np.asfortranarray(x.T) for x in (b.q[:, s.q_order], b.v[:, s.v_order], b.tau[:, s.v_order], 0 * b.v)]
    for run in runs.values():
        given[3][:] = 0.0
        run(*given)
        check(f"pin.{name}", given[3][:, 0], getattr(Dynamics(model), ours)(s.q, s.v, s.tau)[s.v_order])
    return {f"pin.{name}, {label}": partial(run, *given) for label, run in runs.items()}


def mujoco_forward(model: Model, s: PeerState, b: Rows) -> Calls:
    return {f"mujoco.batch forward, {label}": peer.forward for label, peer in mujoco_batches(model, s, len(b.q))}


def mujoco_step(model: Model, s: PeerState, b: Rows) -> Calls:
    """Semi-implicit, as ours; all rows go on from where they are."""
    return {f"mujoco.batch step, {label}": peer.step for label, peer in mujoco_batches(model, s, len(b.q))}


def mujoco_batches(model: Model, s: PeerState, size: int) -> Iterator[tuple[str, Any]]:
    """As many copies of the state, on one thread and on all."""
    from mujoco.batch import Batch

    twin = mujoco_twin(model)
    twin.opt.timestep = DT
    state = start(twin, model, s)
    for label, threads in THREADS.items():
        peer = Batch(twin, size, threads)
        peer.qpos[:], peer.qvel[:], peer.qfrc_applied[:] = state.qpos, state.qvel, state.qfrc_applied
        found = peer.qacc  # what is not asked for before is not brought back
        peer.forward()
        check("mujoco.batch", found[0], state.qacc)
        yield label, peer


PEERS: dict[tuple[str, str], Callable[[Model, PeerState, Rows], Calls]] = {
    ("pinocchio", Compared.FORWARD): partial(pinocchio_batch, "abaInParallel", "forward_dynamics"),
    ("pinocchio", Compared.INVERSE): partial(pinocchio_batch, "rneaInParallel", "inverse_dynamics"),
    ("mujoco", Compared.FORWARD): mujoco_forward,
    ("mujoco", "one step of 1 ms"): mujoco_step,
}
