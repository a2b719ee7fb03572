"""One mechanism: Bough beside the engines that are here, each checked to give the same before it is timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bough.app.bench.engines import ENGINES, agreed
from bough.app.bench.engines.mujoco import MujocoEngine
from bough.app.bench.engines.pinocchio import pinocchio_twin
from bough.app.bench.states import (
    Compared,
    PeerState,
    check,
    end_effectors,
    installed,
    random_state,
    random_states,
)
from bough.app.bench.timing import Call, Contestant, Timing, contest
from bough.compile.settings import on_threads
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError
from bough.model import Model
from bough.opspace import ConstrainedDynamics, OperationalSpace, position
from bough.sparsity import ltdl
from bough.sparsity.pattern import Float
from bough.types import FloatArray

BATCH, SOME, BATCHES = 1024, 4096, "mujoco.batch"
DT = 1e-3
THREADS = {"1 thread": 1, "all threads": os.cpu_count() or 1}
LONGEST, PROBE = 2.0, 64  # seconds of a call with a batch, and rows from which they are predicted
MOST = 2_000_000_000  # bytes of a result
STEP = "one step of 1 ms"


class Comparison(NamedTuple):
    """Timings, and why an engine does not take part."""

    rows: list[Timing]
    left_out: dict[str, str]


def compare(model: Model, seconds: float = 0.3, batches: Sequence[int] = (BATCH,)) -> Comparison:
    """Single calls and batches of the functions that everybody needs."""
    dyn, states = Dynamics(model), random_states(model)
    ends = EndEffectors(model, dyn)
    ours = [functions(dyn, s) | larger(dyn, ends, s) for s in states]
    found = [results(model, s, calls) for s, calls in zip(states, ours, strict=True)]
    why = {case: f"not measured: {x}" for r in found for case, x in r.items() if isinstance(x, BoughError)}
    peers: dict[str, dict[str, Contestant]] = {
        case: {"bough": [calls[case] for calls in ours]} for case in ours[0] if case not in why
    }
    left_out: dict[str, str] = {}
    for engine in ENGINES:
        try:
            expected = [{case: x for case, x in r.items() if case in peers and x is not None} for r in found]
            for case, peer in agreed(engine, model, states, expected).items():
                peers[case][peer.label] = peer.calls
        except (BoughError, ValueError, RuntimeError) as error:
            left_out[engine] = str(error)
    rows = [Timing("single call", model.name, case, contest(calls, seconds)) for case, calls in peers.items()]
    rows += [Timing("single call", model.name, case, {}, text) for case, text in why.items()]
    for size in batches:
        rows += batch(model, dyn, size, seconds, [e for e in ("pinocchio", "mujoco") if e not in left_out])
    return Comparison(rows, left_out)


# Single calls


class EndEffectors:
    """The positions of at most four ends of limbs, three rows each, in their own axes."""

    def __init__(self, model: Model, dyn: Dynamics) -> None:
        tasks = [position(model.frame_names[k], "local", name=f"end {k}") for k in end_effectors(model)]
        self.space = OperationalSpace(model, tasks, dynamics=dyn)
        self.constrained = ConstrainedDynamics(self.space)

    def full(self, q: FloatArray, v: FloatArray, threads: int | None = None) -> Any:
        with on_threads(threads):
            return self.space.full(q, v)


def functions(dyn: Dynamics, s: PeerState) -> dict[str, Call]:
    """Bough's calls at a state, written as users write them: after the first call, methods are compiled functions."""
    H, factor, frame = dyn.packed_mass_matrix(s.q), dyn.factorize(s.q), dyn.model.frame_names[s.frame]
    q, v, tau, forces, tree = s.q, s.v, s.tau, s.forces, dyn.model.dof_tree
    return {
        Compared.FORWARD: lambda: dyn.forward_dynamics(q, v, tau),
        Compared.PUSHED: lambda: dyn.forward_dynamics(q, v, tau, forces),
        Compared.INVERSE: lambda: dyn.inverse_dynamics(q, v, tau),
        Compared.MASS: lambda: dyn.mass_matrix(q),
        Compared.FACTOR: lambda: ltdl(H, tree),
        Compared.SOLVE: lambda: factor.solve(tau),
        Compared.MASS_INVERSE: lambda: dyn.inverse_mass_matrix(q),
        Compared.FRAMES: lambda: dyn.placements(q),
        Compared.JACOBIAN: lambda: dyn.jacobian(q, frame),
    }


def larger(dyn: Dynamics, ends: EndEffectors, s: PeerState) -> dict[str, Call]:
    """Functions with larger results: derivatives, the regressor, and the operational space of the end effectors."""
    q, v, tau, at_rest = s.q, s.v, s.tau, 0 * s.v
    return {
        Compared.FORWARD_BY: lambda: dyn.forward_dynamics_derivatives(q, v, tau),
        Compared.INVERSE_BY: lambda: dyn.inverse_dynamics_derivatives(q, v, tau),
        Compared.REGRESSOR: lambda: dyn.regressor(q, v, tau),
        Compared.LAMBDA: lambda: ends.space.inverse_inertia(q),
        Compared.PASS: lambda: ends.full(q, v),
        Compared.CONSTRAINED: lambda: ends.constrained(q, at_rest, tau),  # where all kinds of acceleration are one
    }


def results(model: Model, s: PeerState, calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """What engines must find, as arrays; an error where a function has no result, None where nobody else has it."""
    found: dict[str, Any] = {}
    for case, call in calls.items():
        try:
            found[case] = COMPARABLE[case](call(), s, model) if case in COMPARABLE else call()
        except BoughError as error:
            found[case] = error
    return found


COMPARABLE: dict[str, Callable[[Any, PeerState, Model], Any]] = {
    Compared.FACTOR: lambda factor, s, model: factor.solve(s.tau),
    Compared.FRAMES: lambda x, s, model: x[np.asarray(model.frames.body) >= 0, :3, 3],
    Compared.FORWARD_BY: lambda x, s, model: np.stack(x),
    Compared.INVERSE_BY: lambda x, s, model: np.stack(x),
    Compared.REGRESSOR: lambda Y, s, model: Y @ model.inertias.ravel(),  # bodies are merged otherwise elsewhere
    Compared.PASS: lambda x, s, model: None,
    Compared.CONSTRAINED: lambda x, s, model: x.qdd,
}


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
    for case, run in (batched(dyn, model.frame_names[s.frame]) | batched_larger(dyn, EndEffectors(model, dyn))).items():
        few, why = too_much(run, given, size)
        if why:
            found.append(Timing(group, model.name, case, {}, f"not measured: {why}"))
            continue
        out = np.zeros((size, *few.shape[1:])) if isinstance(few, np.ndarray) else None
        double = given._replace(out=out)
        single = Rows(*(x.astype(np.float32) for x in given[:4]))
        single = single._replace(out=out if out is None else out.astype(np.float32))
        calls: dict[str, Contestant] = {
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
    some, seconds = Rows(*(x[:PROBE] for x in given[:4])), float("inf")
    for _ in range(2):
        began = perf_counter()
        run(some)
        seconds = min(seconds, (perf_counter() - began) / min(PROBE, size) * size)
    return few, f"a call takes {seconds:.1f} s" if seconds > LONGEST else ""


def batched(dyn: Dynamics, frame: str) -> dict[str, Callable[..., Any]]:
    """Bough's functions of many configurations, into given arrays where there is one result."""
    dt = {kind: np.array([DT], kind) for kind in (np.float64, np.float32)}
    return {
        Compared.FORWARD: lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, out=b.out, **k),
        Compared.PUSHED: lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, b.forces, out=b.out, **k),
        Compared.INVERSE: lambda b, **k: dyn.inverse_dynamics(b.q, b.v, b.tau, out=b.out, **k),
        "packed mass matrix": lambda b, **k: dyn.packed_mass_matrix(b.q, out=b.out, **k),
        "H, C, LTDL and solve": lambda b, **k: dyn.forward_dynamics(b.q, b.v, b.tau, method="crba", out=b.out, **k),
        Compared.MASS_INVERSE: lambda b, **k: dyn.inverse_mass_matrix(b.q, out=b.out, **k),
        Compared.FRAMES: lambda b, **k: dyn.placements(b.q, out=b.out, **k),
        Compared.JACOBIAN: lambda b, **k: dyn.jacobian(b.q, frame, out=b.out, **k),
        STEP: lambda b, **k: dyn.semi_implicit_step(b.q, b.v, b.tau, dt[b.q.dtype.type], **k),
    }


def batched_larger(dyn: Dynamics, ends: EndEffectors) -> dict[str, Callable[..., Any]]:
    """The same of those with larger results, into new arrays."""
    return {
        Compared.FORWARD_BY: lambda b, **k: dyn.forward_dynamics_derivatives(b.q, b.v, b.tau, **k),
        Compared.INVERSE_BY: lambda b, **k: dyn.inverse_dynamics_derivatives(b.q, b.v, b.tau, **k),
        Compared.REGRESSOR: lambda b, **k: dyn.regressor(b.q, b.v, b.tau, **k),
        Compared.LAMBDA: lambda b, **k: ends.space.inverse_inertia(b.q, **k),
        Compared.PASS: lambda b, **k: ends.full(b.q, b.v, **k),
        Compared.CONSTRAINED: lambda b, **k: ends.constrained(b.q, b.v, b.tau, **k),
    }


def pinocchio_batch(name: str, ours: str, model: Model, s: PeerState, b: Rows) -> dict[str, Call]:
    """`pin.<name>` on one thread and on all, checked to give the results of `ours`."""
    import pinocchio as pin

    pools = {label: (count, pin.ModelPool(pinocchio_twin(model), count)) for label, count in THREADS.items()}
    runs = {label: partial(getattr(pin, name), *pool) for label, pool in pools.items()}
    given = [np.asfortranarray(x.T) for x in (b.q[:, s.q_order], b.v[:, s.v_order], b.tau[:, s.v_order], 0 * b.v)]
    for run in runs.values():
        given[3][:] = 0.0
        run(*given)
        check(f"pin.{name}", given[3][:, 0], getattr(Dynamics(model), ours)(s.q, s.v, s.tau)[s.v_order])
    return {f"pin.{name}, {label}": partial(run, *given) for label, run in runs.items()}


def mujoco_batch(name: str, model: Model, s: PeerState, b: Rows) -> dict[str, Call]:
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


PEERS: dict[tuple[str, str], Callable[[Model, PeerState, Rows], dict[str, Call]]] = {
    ("pinocchio", Compared.FORWARD): partial(pinocchio_batch, "abaInParallel", "forward_dynamics"),
    ("pinocchio", Compared.INVERSE): partial(pinocchio_batch, "rneaInParallel", "inverse_dynamics"),
    ("mujoco", Compared.FORWARD): partial(mujoco_batch, "forward"),
    ("mujoco", STEP): partial(mujoco_batch, "step"),
}
