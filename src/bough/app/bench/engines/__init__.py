"""The same mechanism in other engines: one file and one class for each, with `calls(state)`.

Belongs here: a model built in another engine, and what each engine calls the functions that everybody has. Does not
belong here: which models are measured, and timing. An engine that is not installed, or cannot have the mechanism, says
so by a `BoughError`. One engine serves all states: whatever it keeps from one call meets the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from bough.app.bench.states import Compared, PeerState, check
from bough.app.bench.timing import Call, Contestant
from bough.errors import BoughError, ModelError
from bough.joints import BALL, FREE, SLIDE, TURN
from bough.model import Model
from bough.spatial import inertia_matrix, quaternion_matrix
from bough.types import FloatArray, IntArray
from bough.view.kinematics import links

# The class of each engine; those of a checkout are in `benchmarks/engines`
ENGINES = {
    "pinocchio": "bough.app.bench.engines.pinocchio:PinocchioEngine",
    "mujoco": "bough.app.bench.engines.mujoco:MujocoEngine",
}
KINDS = {TURN: "revolute", SLIDE: "prismatic", FREE: "floating", BALL: "spherical"}
VECTORS = {Compared.FORWARD, Compared.PUSHED, Compared.INVERSE, Compared.FACTOR, Compared.SOLVE, Compared.REGRESSOR,
           Compared.CONSTRAINED}  # fmt: skip
MATRICES = {Compared.MASS, Compared.MASS_INVERSE, Compared.FORWARD_BY, Compared.INVERSE_BY}


class PeerCall(NamedTuple):
    """One function of an engine at a state: its name there, the call, and its result in the engine's order and axes."""

    label: str
    run: Callable[[], Any]
    result: Callable[[], Any]


class Peer(NamedTuple):
    """One function of an engine: its name there, and its calls at all states, to be taken in turn."""

    label: str
    calls: list[Callable[[], Any]]


Expected = Sequence[Mapping[str, FloatArray]]  # for each state, by function


def agreed(engine: str, model: Model, states: Sequence[PeerState], expected: Expected) -> dict[str, Peer]:
    """The functions of an engine ("module:class"), checked to give Bough's results with the states in turn, twice."""
    module, name = engine.split(":")
    twin = getattr(import_module(module), name)(model)
    calls: list[dict[str, PeerCall]] = [twin.calls(s) for s in states]
    shared = [case for case in calls[0] if case in expected[0]]
    for case in shared:
        for own, results, s in (*zip(calls, expected, states, strict=True),) * 2:
            own[case].run()
            x, B = own[case].result(), twin.velocities(s)  # v = B v_engine
            if case in VECTORS or case in MATRICES:
                x = B @ x
            if case in MATRICES or case == Compared.JACOBIAN:
                x = x @ B.T
            check(f"{own[case].label} on {model.name}", x, results[case])
    return {case: Peer(calls[0][case].label, [own[case].run for own in calls]) for case in shared}


def contestants(
    calls: Mapping[str, Sequence[Call]],
    engines: Mapping[str, str],
    model: Model,
    states: Sequence[PeerState],
    expected: Expected,
) -> tuple[dict[str, dict[str, Contestant]], dict[str, str]]:
    """By function: Bough's calls and those of engines that agree; and why an engine does not take part."""
    found: dict[str, dict[str, Contestant]] = {case: {"bough": own} for case, own in calls.items()}
    absent: dict[str, str] = {}
    for name, engine in engines.items():
        try:
            for case, peer in agreed(engine, model, states, expected).items():
                found[case][peer.label] = peer.calls
        except (BoughError, ValueError, RuntimeError) as error:
            absent[name] = str(error)
    return found, absent


def velocity_map(model: Model, s: PeerState, order: IntArray, linear: bool, angular: bool) -> FloatArray:
    """B with v = B v_engine, for velocities in this order; those of floating bases in the world's axes, or not."""
    m, B = model.mechanism, np.eye(model.nv)[:, order]
    for i in np.flatnonzero(np.asarray(m.kind) == FREE):
        own, first = np.sort(m.v_index[m.dof[i] : m.dof[i + 1]]), int(m.q_index[i])
        R = quaternion_matrix(s.q[first + 3 : first + 7])
        for part in (own[:3],) * linear + (own[3:],) * angular:
            B[part] = R.T @ B[part]
    return B


class BodyData(NamedTuple):
    """A body as other engines take it: in the axes of its joint."""

    number: int
    parent: int
    kind: int
    R: FloatArray  # of the joint in the parent's axes
    p: FloatArray
    mass: float
    center: FloatArray
    inertia: FloatArray  # (3, 3) about the centre of mass
    armature: float


def bodies(model: Model, engine: str, kinds: Mapping[int, Any], armature: bool = True) -> Iterator[BodyData]:
    """All bodies, depth-first; joints and rotor inertias that the engine does not have are refused."""
    m, fixed = model.mechanism, links(model).fixed
    if np.any(m.armature) and not armature:
        raise ModelError(f"only mechanisms without rotor inertias are compared with {engine}")
    for i, parent in enumerate(m.parent):
        kind, I = int(m.kind[i]), m.inertia[i]
        if kind not in kinds:
            raise ModelError(f"only {', '.join(KINDS[k] for k in kinds)} joints are compared with {engine}")
        mass = float(I[9])
        c = I[6:9] / mass if mass else np.zeros(3)
        J = inertia_matrix(I) - mass * (c @ c * np.eye(3) - np.outer(c, c))
        yield BodyData(i, int(parent), kind, fixed[i, :, :3], fixed[i, :, 3], mass, c, J, float(m.armature[m.dof[i]]))


def origins(model: Model, R: Any, p: Any) -> FloatArray:
    """Origins of the frames that move, from rotations (n, 3, 3) and origins (n, 3) of the bodies."""
    body = np.asarray(model.frames.body)
    moving = np.flatnonzero(body >= 0)
    at = body[moving]
    return np.asarray(p)[at] + np.einsum("nij,nj->ni", np.asarray(R)[at], np.asarray(model.frames.p)[moving])
