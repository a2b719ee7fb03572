"""Functions that engines are compared by, the states they are called at, and the check before anything is timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from bough import errors
from bough.errors import ModelError, NumericalError
from bough.joints import FREE
from bough.model import Model
from bough.spatial import inertia_matrix, quaternion_matrix
from bough.types import FloatArray, IntArray
from bough.view.kinematics import links

EQUAL = 1e-7  # of the largest number of a result
MOST_ENDS = 4


class Compared:
    """Names of the functions."""

    FORWARD, INVERSE = "forward dynamics", "inverse dynamics"
    MASS, MASS_INVERSE = "mass matrix", "inverse mass matrix"
    PUSHED, FACTOR, SOLVE = "forward dynamics, external forces", "LTDL of H", "solve with the factor"
    FRAMES, JACOBIAN = "all frames", "Jacobian of one frame"
    FORWARD_BY, INVERSE_BY = "forward dynamics derivatives", "inverse dynamics derivatives"
    REGRESSOR, LAMBDA, PASS = "regressor", "Lambda^-1 of end effectors", "J, beta, Lambda, Jbar, N"
    CONSTRAINED = "constrained forward dynamics"


class PeerState(NamedTuple):
    """A random state, the base at rest so that velocities mean the same in all engines."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    forces: FloatArray  # (bodies, 6) as `Dynamics` takes them
    q_order: IntArray  # joint by joint, depth-first: the order of the other engines
    v_order: IntArray
    frame: int  # whose Jacobian is computed


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


def random_states(model: Model, count: int = 2) -> list[PeerState]:
    """Configurations and velocities that calls take in turn, so that none answers from what it kept; equal torques."""
    first = random_state(model)
    return [first, *(random_state(model, seed)._replace(tau=first.tau) for seed in range(1, count))]


def end_effectors(model: Model) -> list[int]:
    """The last frames of at most four bodies at the ends of limbs."""
    m, body = model.mechanism, np.asarray(model.frames.body)
    ends = sorted(set(range(len(m.parent))) - {int(i) for i in m.parent})[-MOST_ENDS:]
    return [int(np.flatnonzero(body == i)[-1]) for i in ends]


def check(name: str, found: Any, expected: FloatArray, within: float = EQUAL) -> float:
    """Refuse to time what gives other results; how far apart they are, of the largest number."""
    gap = np.abs(np.asarray(found) - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0)
    if not gap < within:
        raise NumericalError(f"{name} differs by {gap:.1e} of the largest number: it reads this model otherwise")
    return float(gap)


def required(module: str, extra: str) -> Any:
    """An engine's module, or how to get it."""
    return errors.required(module, extra, "this comparison")


def installed(module: str) -> bool:
    """Whether it can be imported, its package included."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


# The same mechanism in another engine


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


def bodies(model: Model, engine: str, kinds: dict[int, str], armature: bool = True) -> Iterator[BodyData]:
    """All bodies, depth-first; joints and rotor inertias that the engine does not have are refused."""
    m, fixed = model.mechanism, links(model).fixed
    if np.any(m.armature) and not armature:
        raise ModelError(f"only mechanisms without rotor inertias are compared with {engine}")
    for i, parent in enumerate(m.parent):
        kind, I = int(m.kind[i]), m.inertia[i]
        if kind not in kinds:
            raise ModelError(f"only {', '.join(kinds.values())} joints are compared with {engine}")
        mass = float(I[9])
        c = I[6:9] / mass if mass else np.zeros(3)
        J = inertia_matrix(I) - mass * (c @ c * np.eye(3) - np.outer(c, c))
        yield BodyData(i, int(parent), kind, fixed[i, :, :3], fixed[i, :, 3], mass, c, J, float(m.armature[m.dof[i]]))


def velocity_map(model: Model, s: PeerState, places: Sequence[Sequence[int]], world: bool) -> FloatArray:
    """B with v = B v_engine, where joint i has the velocities `places[i]` there.

    Floating bases have [angular, linear] in the world's axes there, or without `world` [linear in the world's axes,
    angular in their own].
    """
    m, B, at = model.mechanism, np.zeros((model.nv, model.nv)), 0
    for i, there in enumerate(map(np.array, places)):
        own = s.v_order[at : at + len(there)]
        at += len(there)
        if m.kind[i] != FREE:
            B[own, there] = 1.0
            continue
        first = int(m.q_index[i])
        linear, angular = (there[3:], there[:3]) if world else (there[:3], there[3:])
        R = quaternion_matrix(s.q[first + 3 : first + 7])
        B[np.ix_(own[:3], linear)] = R.T
        B[np.ix_(own[3:], angular)] = R.T if world else np.eye(3)
    return B


def origins(model: Model, R: Any, p: Any) -> FloatArray:
    """Origins of the frames that move, from rotations (n, 3, 3) and origins (n, 3) of the bodies."""
    body = np.asarray(model.frames.body)
    moving = np.flatnonzero(body >= 0)
    at = body[moving]
    return np.asarray(p)[at] + np.einsum("nij,nj->ni", np.asarray(R)[at], np.asarray(model.frames.p)[moving])
