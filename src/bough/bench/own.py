"""A model of a user: Bough beside the engines that are here, each checked to give the same before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bough.bench.peers import mujoco_twin, pinocchio_twin
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, NumericalError
from bough.joints import FREE
from bough.model import Model
from bough.types import FloatArray

BATCH = 1024
EQUAL = 1e-7  # of the largest acceleration
Calls = dict[str, Callable[[], Any]]  # by the name of the function that they compute


class OwnComparison(NamedTuple):
    """Timings, and why an engine does not take part."""

    rows: list[Timing]
    left_out: dict[str, str]


class MeasuredState(NamedTuple):
    """A random state, the base at rest, in Bough's order and joint by joint as the twins have it."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    q_order: FloatArray
    v_order: FloatArray


def compare(model: Model, seconds: float = 0.3) -> OwnComparison:
    """Single calls and batches of the functions that everybody needs."""
    dyn, state = Dynamics(model), random_state(model)
    left_out: dict[str, str] = {}
    peers: list[Calls] = []
    for name, make in {"Pinocchio": pinocchio_calls, "MuJoCo": mujoco_calls}.items():
        try:
            peers.append(make(model, state, dyn.forward_dynamics(state.q, state.v, state.tau)))
        except (BoughError, ValueError, RuntimeError) as error:
            left_out[name] = str(error)
    q, v, tau = state.q, state.v, state.tau
    ours: Calls = {
        "forward dynamics": lambda: dyn.forward_dynamics(q, v, tau),
        "inverse dynamics": lambda: dyn.inverse_dynamics(q, v, tau),
        "mass matrix": lambda: dyn.mass_matrix(q),
        "inverse mass matrix": lambda: dyn.inverse_mass_matrix(q),
    }
    rows = []
    for case, call in ours.items():
        contestants = {"bough": call}
        for peer in peers:
            contestants |= {name: f for name, f in peer.items() if CASES[name] == case}
        rows.append(Timing("single call", model.name, case, contest(contestants, seconds)))
    return OwnComparison([*rows, *batches(model, dyn, seconds)], left_out)


CASES = {
    "pin.aba": "forward dynamics", "mj_forward": "forward dynamics", "pin.rnea": "inverse dynamics",
    "pin.crba": "mass matrix", "pin.computeMinverse": "inverse mass matrix",
}  # fmt: skip


def batches(model: Model, dyn: Dynamics, seconds: float) -> list[Timing]:
    """Per configuration, on one thread and on all."""
    rng = np.random.default_rng(1)
    Q, (V, T) = model.random_configuration(rng, BATCH), rng.normal(size=(2, BATCH, model.nv))
    times = contest({
        "bough": lambda: dyn.forward_dynamics(Q, V, T, threads=1),
        "bough, all threads": lambda: dyn.forward_dynamics(Q, V, T),
    }, seconds)  # fmt: skip
    each = {name: time / BATCH for name, time in times.items()}
    return [Timing(f"batch of {BATCH}", model.name, "forward dynamics", each)]


def random_state(model: Model) -> MeasuredState:
    """At rest at the base, so that velocities are the same in all engines' frames."""
    m, rng = model.mechanism, np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    q_order: list[int] = []
    v_order: list[int] = []
    for i in range(len(m.parent)):
        own = sorted(int(k) for k in m.v_index[m.dof[i] : m.dof[i + 1]])
        v_order += own
        size = {6: 7, 3: 4}.get(len(own), len(own))
        q_order += range(int(m.q_index[i]), int(m.q_index[i]) + size)
        if m.kind[i] == FREE:
            v[own] = tau[own] = 0.0
    return MeasuredState(q, v, tau, np.array(q_order), np.array(v_order))


def pinocchio_calls(model: Model, s: MeasuredState, expected: FloatArray) -> Calls:
    """Pinocchio's functions on a twin of the model."""
    twin = pinocchio_twin(model)
    import pinocchio as pin

    data, q, v, tau = twin.createData(), s.q[s.q_order], s.v[s.v_order], s.tau[s.v_order]
    check("Pinocchio", pin.aba(twin, data, q, v, tau), expected[s.v_order])
    return {
        "pin.aba": lambda: pin.aba(twin, data, q, v, tau),
        "pin.rnea": lambda: pin.rnea(twin, data, q, v, tau),
        "pin.crba": lambda: pin.crba(twin, data, q),
        "pin.computeMinverse": lambda: pin.computeMinverse(twin, data, q),
    }


def mujoco_calls(model: Model, s: MeasuredState, expected: FloatArray) -> Calls:
    """MuJoCo's forward dynamics on a twin of the model, without contacts and constraints."""
    twin = mujoco_twin(model)
    import mujoco

    state, free, ball = mujoco.MjData(twin), int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    q, wanted = s.q[s.q_order], expected[s.v_order].copy()
    for j in range(twin.njnt):
        a, b = int(twin.jnt_qposadr[j]), int(twin.jnt_dofadr[j])
        kind = int(twin.jnt_type[j])
        if kind in (free, ball):
            at = a + 3 * (kind == free)
            q[at : at + 4] = q[[at + 3, at, at + 1, at + 2]]
        if kind == free:
            R = np.empty(9)
            mujoco.mju_quat2Mat(R, q[a + 3 : a + 7] / np.linalg.norm(q[a + 3 : a + 7]))
            wanted[b : b + 3] = R.reshape(3, 3) @ wanted[b : b + 3]
    state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, s.v[s.v_order], s.tau[s.v_order]
    mujoco.mj_forward(twin, state)
    check("MuJoCo", state.qacc, wanted)
    return {"mj_forward": lambda: mujoco.mj_forward(twin, state)}


def check(name: str, found: Any, expected: FloatArray) -> None:
    """Refuse to time what gives other results."""
    gap = np.abs(np.asarray(found) - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-300)
    if not gap < EQUAL:
        raise NumericalError(
            f"its accelerations differ by {gap:.1e} of the largest ({name} reads this model otherwise)"
        )
