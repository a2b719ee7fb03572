"""Functions that engines are compared by, the states they are called at, and the check before anything is timed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.dynamics.dynamics import Dynamics
from bough.errors import NumericalError
from bough.joints import FREE
from bough.model import Model
from bough.types import FloatArray, IntArray

EQUAL = 1e-7  # of the largest number of a result
MOST_ENDS = 4
DT = 1e-3  # s


class Compared:
    """Names of the functions."""

    FORWARD, INVERSE = "forward dynamics", "inverse dynamics"
    MASS, MASS_INVERSE = "mass matrix", "inverse mass matrix"
    PUSHED, FACTOR, SOLVE = "forward dynamics, external forces", "LTDL of H", "solve with the factor"
    FRAMES, JACOBIAN = "all frames", "Jacobian of one frame"
    FORWARD_BY, INVERSE_BY = "forward dynamics derivatives", "inverse dynamics derivatives"
    REGRESSOR, LAMBDA, PASS = "regressor", "Lambda^-1 of end effectors", "J, beta, Lambda, Jbar, N"
    CONSTRAINED, STEP = "constrained forward dynamics", "one step of 1 ms"


class PeerState(NamedTuple):
    """A random state, or rows of them; the base at rest, so that velocities mean the same in all engines."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    forces: FloatArray  # (bodies, 6) as `Dynamics` takes them
    rest: FloatArray  # zero velocities
    dt: FloatArray  # (1,)

    def first(self, count: int) -> PeerState:
        """The first of many rows."""
        return self._replace(**{name: x[:count] for name, x in self._asdict().items() if name != "dt"})


class Layout(NamedTuple):
    """The order of other engines, joint by joint and depth-first, and the frame whose Jacobian is computed."""

    q: IntArray
    v: IntArray
    frame: int


def layout(model: Model) -> Layout:
    m, q, v = model.mechanism, list[int](), list[int]()
    for i in range(len(m.parent)):
        own = sorted(int(k) for k in m.v_index[m.dof[i] : m.dof[i + 1]])
        v += own
        q += range(int(m.q_index[i]), int(m.q_index[i]) + {6: 7, 3: 4}.get(len(own), len(own)))
    return Layout(np.array(q), np.array(v), int(np.flatnonzero(np.asarray(model.frames.body) >= 0)[-1]))


def random_state(model: Model, seed: int = 0, batch: int | None = None) -> PeerState:
    m, rng, rows = model.mechanism, np.random.default_rng(seed), () if batch is None else (batch,)
    q, (v, tau) = model.random_configuration(rng, batch), rng.normal(size=(2, *rows, model.nv))
    for i in np.flatnonzero(np.asarray(m.kind) == FREE):
        own = m.v_index[m.dof[i] : m.dof[i + 1]]
        v[..., own] = tau[..., own] = 0.0
    return PeerState(q, v, tau, rng.normal(size=(*rows, len(model.body_names), 6)), 0 * v, np.array([DT]))


def random_states(model: Model, count: int = 2) -> list[PeerState]:
    """Configurations and velocities that calls take in turn, so that none answers from what it kept; equal torques."""
    first = random_state(model)
    return [first, *(random_state(model, seed)._replace(tau=first.tau) for seed in range(1, count))]


def end_effectors(model: Model) -> list[int]:
    """The last frames of at most four bodies at the ends of limbs."""
    m, body = model.mechanism, np.asarray(model.frames.body)
    ends = sorted(set(range(len(m.parent))) - {int(i) for i in m.parent})[-MOST_ENDS:]
    return [int(np.flatnonzero(body == i)[-1]) for i in ends]


def wrenches(model: Model, s: PeerState) -> FloatArray:
    """(bodies of the mechanism, 6): external forces and their moments about the world's origin, in its axes."""
    found, places = np.zeros((len(model.mechanism.parent), 6)), Dynamics(model, general=True).placements(s.q)
    for name, wrench in zip(model.body_names, s.forces, strict=True):
        k = model.frame(name)
        if (body := int(model.frames.body[k])) >= 0:
            found[body] += np.r_[wrench[:3], wrench[3:] + np.cross(places[k, :3, 3], wrench[:3])]
    return found


def check(name: str, found: Any, expected: FloatArray, within: float = EQUAL) -> float:
    """Refuse to time what gives other results; how far apart they are, of the largest number."""
    gap = np.abs(np.asarray(found) - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0)
    if not gap < within:
        raise NumericalError(f"{name} differs by {gap:.1e} of the largest number: it reads this model otherwise")
    return float(gap)
