"""One state for all engines, what Bough finds there, and the comparison before anything is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from bough import errors
from bough.dynamics.dynamics import Dynamics
from bough.errors import NumericalError
from bough.joints import FREE
from bough.model import Model
from bough.sparsity import Factor
from bough.types import FloatArray, IntArray

EQUAL = 1e-7  # of the largest number of a result


class Compared:
    """What engines are compared by."""

    FORWARD, INVERSE = "forward dynamics", "inverse dynamics"
    MASS, MASS_INVERSE = "mass matrix", "inverse mass matrix"
    PUSHED, FACTOR, SOLVE = "forward dynamics, external forces", "LTDL of H", "solve with the factor"
    FRAMES, JACOBIAN = "all frames", "Jacobian of one frame"


class PeerCall(NamedTuple):
    """One function of an engine: what it is called there, how it is run, and its result in Bough's order and axes."""

    label: str
    run: Callable[[], Any]
    result: Callable[[], Any]


class PeerState(NamedTuple):
    """A random state, the base at rest so that velocities mean the same in all engines."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    forces: FloatArray  # (bodies, 6) as `Dynamics` takes them
    q_order: IntArray  # joint by joint, depth-first: as the twins have it
    v_order: IntArray
    frame: int  # whose Jacobian is asked for


def random_state(model: Model, seed: int = 0) -> PeerState:
    m, rng = model.mechanism, np.random.default_rng(seed)
    q, (v, tau) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    forces = rng.normal(size=(len(model.body_names), 6))
    q_order: list[int] = []
    v_order: list[int] = []
    for i in range(len(m.parent)):
        own = sorted(int(k) for k in m.v_index[m.dof[i] : m.dof[i + 1]])
        v_order += own
        size = {6: 7, 3: 4}.get(len(own), len(own))
        q_order += range(int(m.q_index[i]), int(m.q_index[i]) + size)
        if m.kind[i] == FREE:
            v[own] = tau[own] = 0.0
    frame = int(np.flatnonzero(np.asarray(model.frames.body) >= 0)[-1])
    return PeerState(q, v, tau, forces, np.array(q_order), np.array(v_order), frame)


def ours(model: Model, dyn: Dynamics, s: PeerState) -> dict[str, Callable[[], Any]]:
    """Bough's functions by what they compute."""
    name, H, factor = model.frame_names[s.frame], dyn.packed_mass_matrix(s.q), dyn.factorize(s.q)
    from bough.sparsity import ltdl

    return {
        Compared.FORWARD: lambda: dyn.forward_dynamics(s.q, s.v, s.tau),
        Compared.PUSHED: lambda: dyn.forward_dynamics(s.q, s.v, s.tau, s.forces),
        Compared.INVERSE: lambda: dyn.inverse_dynamics(s.q, s.v, s.tau),
        Compared.MASS: lambda: dyn.mass_matrix(s.q),
        Compared.FACTOR: lambda: ltdl(H, model.dof_tree),
        Compared.SOLVE: lambda: factor.solve(s.tau),
        Compared.MASS_INVERSE: lambda: dyn.inverse_mass_matrix(s.q),
        Compared.FRAMES: lambda: dyn.placements(s.q),
        Compared.JACOBIAN: lambda: dyn.jacobian(s.q, name),
    }


def expected(functions: Mapping[str, Callable[[], Any]], model: Model, s: PeerState) -> dict[str, FloatArray]:
    """What engines must find: of a factor its solution, of frames the origins of those that move."""
    found = {case: run() for case, run in functions.items()}
    factor: Factor = found[Compared.FACTOR]
    found[Compared.FACTOR] = factor.solve(s.tau)
    found[Compared.FRAMES] = found[Compared.FRAMES][np.asarray(model.frames.body) >= 0, :3, 3]
    return found


def agreed(engine: str, model: Model, s: PeerState, wanted: Mapping[str, FloatArray]) -> dict[str, PeerCall]:
    """The calls of an engine, each of which was found to give what Bough gives."""
    calls: dict[str, PeerCall] = import_module(f"bough.app.bench.engines.{engine}").calls(model, s)
    for case in [case for case in calls if case in wanted]:
        calls[case].run()
        check(f"{calls[case].label} on {model.name}", calls[case].result(), wanted[case])
    return {case: call for case, call in calls.items() if case in wanted}


def check(name: str, found: Any, wanted: FloatArray, within: float = EQUAL) -> float:
    """Refuse to time what gives other results; how far apart they are, of the largest number."""
    gap = np.abs(np.asarray(found) - wanted).max(initial=0.0) / (np.abs(wanted).max(initial=0.0) or 1.0)
    if not gap < within:
        raise NumericalError(f"{name} differs by {gap:.1e} of the largest number: it reads this model otherwise")
    return float(gap)


def required(module: str, extra: str) -> Any:
    """An engine's module, or how to get it."""
    return errors.required(module, extra, "this comparison")


def origins(model: Model, R: Any, p: Any) -> FloatArray:
    """Origins of the frames that move, from rotations (n, 3, 3) and origins (n, 3) of the bodies."""
    body = np.asarray(model.frames.body)
    moving = np.flatnonzero(body >= 0)
    at = body[moving]
    return np.asarray(p)[at] + np.einsum("nij,nj->ni", np.asarray(R)[at], np.asarray(model.frames.p)[moving])


def installed(module: str) -> bool:
    """Whether it can be imported, its package included."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
