"""Parameters, kinematics in one call, derivatives, regressors and bridges: beside Pinocchio, and beside itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from bough.bench.compile import with_fresh_cache
from bough.bench.dynamics import BATCH, Arrangement, models
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.functions import FUNCTIONS
from bough.model import Model

MANY = 65_536  # rows of the batch that bridges are measured on
SMALL = 512  # rows where a result has many numbers: more would measure the machine's memory
Cases = dict[str, dict[str, Callable[[], Any]]]


def rows() -> list[Timing]:
    """All of it, on the last of the models: the real robot, where it is installed."""
    model = models()[-1]
    return [*single(model), *batch(model), *first_calls(model), *bridges(model)]


def single(model: Model) -> list[Timing]:
    """One call from Python, everything included."""
    import pinocchio as pin

    s, dyn, given = Arrangement(model, 2), Dynamics(model), Dynamics(model, inputs=["inertia"])
    free = Dynamics(model, inputs=["inertia"], check=False)
    q, v, tau = s.q, s.v, s.tau
    heavy = 1.01 * model.inertias
    peer, data, p = s.pin, s.data, s.pin_q
    some = [name for name in model.frame_names if name != "world"][-4:]
    together = dyn.together(
        ["mass_matrix", "bias_force", "placements", *(("jacobian", {"frame": f}) for f in some)]
        + [("bias_acceleration", {"frame": f}) for f in some]
    )
    frame = peer.nframes - 1

    def theirs() -> None:
        pin.computeAllTerms(peer, data, p, v)
        pin.framesForwardKinematics(peer, data, p)
        for _ in some:
            pin.getFrameJacobian(peer, data, frame, pin.LOCAL_WORLD_ALIGNED)
            pin.getFrameClassicalAcceleration(peer, data, frame, pin.LOCAL_WORLD_ALIGNED)

    cases: Cases = {
        "forward dynamics, inertias as inputs": {
            "bough": lambda: free.forward_dynamics(q, v, tau, inertia=heavy),
            "bough, checked": lambda: given.forward_dynamics(q, v, tau, inertia=heavy),
            "bough, as constants": lambda: dyn.forward_dynamics(q, v, tau),
            "pin.aba": lambda: pin.aba(peer, data, p, v, tau),
        },
        "all frames": {
            "bough": lambda: dyn.placements(q),
            "pin.framesForwardKinematics": lambda: pin.framesForwardKinematics(peer, data, p),
        },
        "H, C, all frames, a Jacobian of 24 rows and its drift": {
            "bough": lambda: together(q, v),
            "Pinocchio's calls": theirs,
        },
        "forward dynamics derivatives": {
            "bough": lambda: dyn.forward_dynamics_derivatives(q, v, tau),
            "pin.computeABADerivatives": lambda: pin.computeABADerivatives(peer, data, p, v, tau),
        },
        "inverse dynamics derivatives": {
            "bough": lambda: dyn.inverse_dynamics_derivatives(q, v, tau),
            "pin.computeRNEADerivatives": lambda: pin.computeRNEADerivatives(peer, data, p, v, tau),
        },
        "regressor": {
            "bough": lambda: dyn.regressor(q, v, tau),
            "bough, packed": lambda: dyn.packed_regressor(q, v, tau),
            "pin.computeJointTorqueRegressor": lambda: pin.computeJointTorqueRegressor(peer, data, p, v, tau),
        },
    }
    return [Timing("gradients and parameters, single call", model.name, x, contest(c)) for x, c in cases.items()]


def batch(model: Model) -> list[Timing]:
    """Batches on one thread into given arrays where there are some; times are per configuration."""
    import pinocchio as pin

    s, dyn, given = Arrangement(model), Dynamics(model), Dynamics(model, inputs=["inertia"])
    few, out = [x[:SMALL].copy() for x in (s.Q, s.V, s.T)], np.empty_like(s.V)
    robots = model.inertias * np.random.default_rng(0).uniform(0.9, 1.1, (BATCH, 1, 1))
    cases: dict[str, tuple[int, dict[str, Callable[[], Any]]]] = {
        "forward dynamics, another robot in each row": (
            BATCH,
            {
                "bough": lambda: given.forward_dynamics(s.Q, s.V, s.T, inertia=robots, out=out, threads=1),
                "bough, as constants": lambda: dyn.forward_dynamics(s.Q, s.V, s.T, out=out, threads=1),
                "loop over pin.aba": lambda: _loop(64, partial(pin.aba, s.pin, s.data, s.pin_q, s.v, s.tau)),
            },
        ),
        "forward dynamics derivatives": (
            SMALL,
            {
                "bough": lambda: dyn.forward_dynamics_derivatives(*few, threads=1),
                "loop over pin.computeABADerivatives": lambda: _loop(
                    64, partial(pin.computeABADerivatives, s.pin, s.data, s.pin_q, s.v, s.tau)
                ),
            },
        ),
        "regressor": (
            SMALL,
            {
                "bough": lambda: dyn.regressor(*few, threads=1),
                "bough, packed": lambda: dyn.packed_regressor(*few, threads=1),
                "loop over pin.computeJointTorqueRegressor": lambda: _loop(
                    64, partial(pin.computeJointTorqueRegressor, s.pin, s.data, s.pin_q, s.v, s.tau)
                ),
            },
        ),
    }
    found = []
    for case, (count, contestants) in cases.items():
        times = contest(contestants, burst=10e-3)
        each = times.per({name: 64 if name.startswith("loop") else count for name in times})
        found.append(Timing(f"gradients and parameters, batch of {count}", model.name, case, each))
    return found


def _loop(count: int, call: Callable[[], Any]) -> None:
    for _ in range(count):
        call()


def first_calls(model: Model) -> list[Timing]:
    """First calls of large functions, with an empty and with a filled cache."""
    found = []
    for name in ("forward_dynamics_derivatives", "inverse_dynamics_derivatives", "regressor"):
        for count, kind in ((1, "one configuration"), (64, "batch")):
            made, again = map(min, zip(*(with_fresh_cache(model, name, count) for _ in range(2)), strict=True))
            seconds = {"bough": made, "bough, from the cache": again}
            found.append(Timing("first call, in all", model.name, f"{name.replace('_', ' ')}, {kind}", seconds))
    return found


def bridges(model: Model) -> list[Timing]:
    """What other libraries' arrays cost over numpy's, and how long graphs take to hand over; those that are there."""
    found: list[Timing] = []
    rng = np.random.default_rng(0)
    Q, V, T = model.random_configuration(rng, MANY), *rng.normal(size=(2, MANY, model.nv))
    dyn = Dynamics(model)
    for group, arrays, count in (("single call", (Q[0], V[0], T[0]), 1), (f"batch of {MANY}", (Q, V, T), MANY)):
        calls: dict[str, Callable[[], Any]] = {"bough": partial(dyn.forward_dynamics, *arrays)}
        if find_spec("torch"):
            calls["bough.torch"] = _torch_call(model, arrays)
        if find_spec("jax"):
            calls["bough.jax, jit"] = _jax_call(model, arrays)
        times = contest(calls, burst=10e-3)
        found.append(Timing(f"bridges, {group}", model.name, "forward dynamics", times.per(count)))
    return [*found, *(_casadi(model) if find_spec("casadi") else [])]


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
