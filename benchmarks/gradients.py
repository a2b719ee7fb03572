"""Parameters, kinematics in one call, derivatives, regressors and bridges: beside Pinocchio, and beside itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.absent import Requirements, installed
from benchmarks.batches import MOST
from benchmarks.compile import first_calls
from benchmarks.dynamics import BATCH, G1, models
from benchmarks.opspace import both_precisions
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench import compare
from bough.app.bench.engines import ENGINES, Peer, agreed
from bough.app.bench.engines.pinocchio import PinocchioEngine
from bough.app.bench.states import Compared, PeerState, random_states
from bough.app.bench.timing import Call, Contestant, contest
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.functions import FUNCTIONS
from bough.model import Model

MANY = 65_536  # rows of the batch that bridges are measured on
SMALL = 512  # rows where a result has many numbers: more would measure the machine's memory
LARGE = ("forward_dynamics_derivatives", "inverse_dynamics_derivatives", "regressor")  # functions
NEAR = 64  # rows whose results stay near the core
REQUIRED = Requirements((G1,), ("torch", "jax", "casadi"))
Cases = dict[str, dict[str, Contestant]]


def rows() -> list[Timing]:
    """All of it on the last of the models, the real robot where it is installed; regressors of an arm and both."""
    model = models()[-1]
    found = [*single(model), *batch(model)]
    for other in (zoo.arm(7), *models()):
        found += regressors(other)
    first = [row for name in LARGE for row in first_calls(model, name)]
    return [*found, *large_batches(model), *first, *bridges(model)]


def pinocchio(model: Model, dyn: Dynamics, states: Sequence[PeerState], *cases: str) -> dict[str, Peer]:
    """Pinocchio's functions at all states, checked to give the same."""
    ours = compare.functions(dyn, compare.ends_of(model, dyn))
    _, found, _ = compare.single(dyn, {case: ours[case] for case in cases}, states)
    return agreed(ENGINES["pinocchio"], model, states, [{case: x[case] for case in cases} for x in found])


def single(model: Model) -> list[Timing]:
    """One call from Python, everything included."""
    dyn, states = Dynamics(model), random_states(model)
    dynamics, frames = Compared.FORWARD, Compared.FRAMES
    forward_by, inverse_by = Compared.FORWARD_BY, Compared.INVERSE_BY
    peers = pinocchio(model, dyn, states, dynamics, frames, Compared.JACOBIAN, forward_by, inverse_by)
    given, free = (Dynamics(model, inputs=["inertia"], check=check) for check in (None, False))
    heavy = 1.01 * model.inertias
    some = [name for name in model.frame_names if name != "world"][-4:]

    def turns(function: Callable[[PeerState], Any]) -> list[Call]:
        return [partial(function, s) for s in states]

    def together(frames: list[str], *more: Any) -> list[Call]:
        J, drift = ([(name, {"frame": f}) for f in frames] for name in ("jacobian", "bias_acceleration"))
        function = dyn.fused(["mass_matrix", "bias_force", "placements", *J, *drift, *more])
        return [partial(function, s.q, s.v) for s in states]

    theirs, center = all_terms(model, states, len(some)), ("center_of_mass_jacobian", "centroidal_momentum_drift")
    cases: Cases = {
        "forward dynamics, inertias as inputs": {
            "bough": turns(lambda s: free.forward_dynamics(s.q, s.v, s.tau, inertia=heavy)),
            "bough, checked": turns(lambda s: given.forward_dynamics(s.q, s.v, s.tau, inertia=heavy)),
            "bough, as constants": turns(lambda s: dyn.forward_dynamics(s.q, s.v, s.tau)),
            "pin.aba": peers[dynamics].calls,
        },
        frames: {"bough": turns(lambda s: dyn.placements(s.q)), peers[frames].label: peers[frames].calls},
        "H, C, all frames, a Jacobian of 21 rows (three frames, the centre of mass) and its drift": {
            "bough": together(some[1:], *center),
            "Pinocchio's calls": theirs,
        },
        "H, C, all frames, a Jacobian of 24 rows and its drift": {"bough": together(some), "Pinocchio's calls": theirs},
        forward_by: {
            "bough": turns(lambda s: dyn.forward_dynamics_derivatives(s.q, s.v, s.tau)),
            peers[forward_by].label: peers[forward_by].calls,
        },
        inverse_by: {
            "bough": turns(lambda s: dyn.inverse_dynamics_derivatives(s.q, s.v, s.tau)),
            peers[inverse_by].label: peers[inverse_by].calls,
        },
    }
    return [Timing("gradients and parameters, single call", model.name, case, contest(c)) for case, c in cases.items()]


def all_terms(model: Model, states: Sequence[PeerState], frames: int) -> list[Call]:
    """Pinocchio's calls for H, C, all frames, and the Jacobians and drifts of so many of them."""
    import pinocchio as pin

    x = PinocchioEngine(model)
    frame, aligned = x.twin.nframes - 1, pin.LOCAL_WORLD_ALIGNED

    def run(q: Any, v: Any) -> None:
        pin.computeAllTerms(x.twin, x.data, q, v)
        pin.framesForwardKinematics(x.twin, x.data, q)
        for _ in range(frames):
            pin.getFrameJacobian(x.twin, x.data, frame, aligned)
            pin.getFrameClassicalAcceleration(x.twin, x.data, frame, aligned)

    return [partial(run, s.q[x.layout.q], s.v[x.layout.v]) for s in states]


def regressors(model: Model) -> list[Timing]:
    """One call and batches, all of Y and the rows that are not zero; beside them the time to fill as many numbers."""
    dyn, states = Dynamics(model), random_states(model)
    peer = pinocchio(model, dyn, states, Compared.REGRESSOR)[Compared.REGRESSOR]
    times = contest(
        {
            "bough": [lambda s=s: dyn.regressor(s.q, s.v, s.tau) for s in states],  # type: ignore[misc]
            "bough, packed": [lambda s=s: dyn.packed_regressor(s.q, s.v, s.tau) for s in states],  # type: ignore[misc]
            peer.label: peer.calls,
        }
    )
    found = [Timing("regressor, single call", model.name, "regressor", times)]
    rng = np.random.default_rng(1)
    for count in (NEAR, SMALL):
        few = [model.random_configuration(rng, count), *rng.normal(size=(2, count, model.nv))]
        halved = [y.astype(np.float32) for y in few]
        Y, packed, small = dyn.regressor(*few), dyn.packed_regressor(*few), dyn.packed_regressor(*halved)
        calls: dict[str, Callable[[], Any]] = {
            "bough": partial(dyn.regressor, *few, out=Y, threads=1),
            "bough, packed": partial(dyn.packed_regressor, *few, out=packed, threads=1),
            "bough, packed, float32": partial(dyn.packed_regressor, *halved, out=small, threads=1),
        }
        times = contest(calls, burst=10e-3).per(count)
        note = _filling(Y, count) + "; packed, " + _filling(packed, count)
        found.append(Timing(f"regressor, batch of {count}", model.name, "regressor", times, note))
    return found


def _filling(y: Any, count: int) -> str:
    """What it takes to write as many numbers, and nothing else, per configuration."""
    seconds = contest({"fill": partial(np.empty(y.shape, y.dtype).fill, 1.0)}, 0.2).per(count)["fill"]
    return f"filling as many numbers takes {1e6 * seconds:.2g} us"


def batch(model: Model) -> list[Timing]:
    """Batches on one thread into given arrays; times are per configuration."""
    dyn, given, rng = Dynamics(model), Dynamics(model, inputs=["inertia"]), np.random.default_rng(1)
    peers = pinocchio(model, dyn, random_states(model), Compared.FORWARD, Compared.FORWARD_BY)
    Q, V, T = model.random_configuration(rng, BATCH), *rng.normal(size=(2, BATCH, model.nv))
    out = np.empty_like(V)
    robots = model.inertias * rng.uniform(0.9, 1.1, (BATCH, 1, 1))
    cases: list[tuple[str, int, dict[str, Callable[[], Any]]]] = [
        (
            "forward dynamics, another robot in each row",
            BATCH,
            {
                "bough": lambda: given.forward_dynamics(Q, V, T, inertia=robots, out=out, threads=1),
                "bough, as constants": lambda: dyn.forward_dynamics(Q, V, T, out=out, threads=1),
                "loop over pin.aba": partial(_loop, 32, peers[Compared.FORWARD].calls),
            },
        )
    ]
    for count in (NEAR, SMALL):
        few = [y[:count].copy() for y in (Q, V, T)]
        room = dyn.forward_dynamics_derivatives(*few)
        halved = [y.astype(np.float32) for y in few]
        small = dyn.forward_dynamics_derivatives(*halved)
        calls: dict[str, Callable[[], Any]] = {
            "bough": partial(dyn.forward_dynamics_derivatives, *few, out=room, threads=1),
            "bough, new arrays": partial(dyn.forward_dynamics_derivatives, *few, threads=1),
            "bough, float32": partial(dyn.forward_dynamics_derivatives, *halved, out=small, threads=1),
            "loop over pin.computeABADerivatives": partial(_loop, 32, peers[Compared.FORWARD_BY].calls),
        }
        cases.append(("forward dynamics derivatives", count, calls))
    found = []
    for case, count, contestants in cases:
        times = contest(contestants, burst=10e-3)
        each = times.per({name: 64 if name.startswith("loop") else count for name in times})
        note = _filling(np.empty((count, 3, model.nv, model.nv)), count) if "derivatives" in case else ""
        found.append(Timing(f"gradients and parameters, batch of {count}", model.name, case, each, note))
    return found


def _loop(count: int, calls: Sequence[Call]) -> None:
    """All states in turn, so often."""
    for _ in range(count):
        for call in calls:
            call()


def large_batches(model: Model) -> list[Timing]:
    """In both precisions, on one thread and on all, into new arrays of less than two gigabytes."""
    dyn, rng, found = Dynamics(model), np.random.default_rng(1), []
    functions: dict[str, Callable[..., Any]] = {
        "forward dynamics derivatives": dyn.forward_dynamics_derivatives,
        "inverse dynamics derivatives": dyn.inverse_dynamics_derivatives,
        "regressor": dyn.regressor,
        "regressor, packed": dyn.packed_regressor,
    }
    for size in (BATCH, MANY):
        arrays = model.random_configuration(rng, size), *rng.normal(size=(2, size, model.nv))
        for case, function in functions.items():
            one = function(*(x[0] for x in arrays))
            if size * sum(x.nbytes for x in (one if isinstance(one, tuple) else (one,))) < MOST:
                times = contest(both_precisions(function, arrays), seconds=0.3).per(size)
                found.append(Timing(f"gradients and parameters, batch of {size}", model.name, case, times))
    return found


def bridges(model: Model) -> list[Timing]:
    """What other libraries' arrays cost over numpy's, and how long graphs take to hand over; those that are there."""
    found: list[Timing] = []
    rng = np.random.default_rng(0)
    Q, V, T = model.random_configuration(rng, MANY), *rng.normal(size=(2, MANY, model.nv))
    dyn = Dynamics(model)
    one = [(Q[k], V[k], T[k]) for k in range(2)]
    for group, states, count in (("single call", one, 1), (f"batch of {MANY}", [(Q, V, T)], MANY)):
        calls: dict[str, Contestant] = {"bough": [lambda s=s: dyn.forward_dynamics(*s) for s in states]}  # type: ignore[misc]
        if installed("torch"):
            calls["bough.torch"] = [_torch_call(model, s) for s in states]
        if installed("jax"):
            calls["bough.jax, jit"] = [_jax_call(model, s) for s in states]
        times = contest(calls, burst=10e-3)
        found.append(Timing(f"bridges, {group}", model.name, "forward dynamics", times.per(count)))
    return [*found, *(_casadi(model) if installed("casadi") else [])]


def _torch_call(model: Model, arrays: Any) -> Callable[[], Any]:
    from bough.bridges import torch as bridge

    torch: Any = import_module("torch")
    return partial(bridge.forward_dynamics, model, *map(torch.from_numpy, arrays))


def _jax_call(model: Model, arrays: Any) -> Callable[[], Any]:
    from bough.bridges import jax as bridge

    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(x) for x in arrays]
    compiled = jax.jit(partial(bridge.forward_dynamics, model))
    return lambda: compiled(*given).block_until_ready()


def _casadi(model: Model) -> list[Timing]:
    from bough.bridges import casadi as bridge

    found = []
    for name, row in FUNCTIONS.items():
        options = {"frame": model.frame_names[-1]} if "frame" in row.options else {}
        start = time.perf_counter()
        bridge.function(model, name, **options)
        found.append((time.perf_counter() - start, name))
    seconds, worst = max(found)
    middle = sorted(found)[len(found) // 2][0]
    return [
        Timing("conversion to CasADi", model.name, f"the longest: {worst}", {"bough": seconds, "bough, median": middle})
    ]
