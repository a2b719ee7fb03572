"""MuJoCo's functions on a twin of a model, with everything that is not tree dynamics switched off."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.app.bench.engines.common import Compared, PeerCall, PeerState, origins, required
from bough.app.bench.peers import mujoco_twin
from bough.joints import FREE
from bough.model import Model
from bough.spatial import quaternion_matrix
from bough.types import FloatArray


def calls(model: Model, s: PeerState) -> dict[str, PeerCall]:
    mujoco = required("mujoco", "bench")
    twin = mujoco_twin(model)
    back, state = base_change(model, s), start(twin, model, s)
    pushed, still = start(twin, model, s), start(twin, model, s)
    pushed.xfrc_applied[1:] = wrenches(model, state, s)
    accelerated = start(twin, model, s)
    accelerated.qacc[:] = back.T @ s.tau
    body = int(model.frames.body[s.frame]) + 1
    place, turned, solved = np.empty((3, twin.nv)), np.empty((3, twin.nv)), np.empty((1, twin.nv))
    given, make = (back.T @ s.tau)[None], getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb

    def mass() -> None:
        mujoco.mj_kinematics(twin, still)
        mujoco.mj_comPos(twin, still)
        make(twin, still)

    def dense() -> FloatArray:
        full = np.empty((twin.nv, twin.nv))
        for column, unit in zip(full, np.eye(twin.nv), strict=True):
            mujoco.mj_mulM(twin, still, column, unit)
        return back @ full @ back.T

    def jacobian() -> None:
        mujoco.mj_kinematics(twin, state)
        mujoco.mj_comPos(twin, state)
        point = state.xpos[body] + state.xmat[body].reshape(3, 3) @ model.frames.p[s.frame]
        mujoco.mj_jac(twin, state, place, turned, point, body)

    mass()
    return {
        Compared.FORWARD: PeerCall("mj_forward", lambda: mujoco.mj_forward(twin, state), lambda: back @ state.qacc),
        Compared.PUSHED: PeerCall("mj_forward", lambda: mujoco.mj_forward(twin, pushed), lambda: back @ pushed.qacc),
        Compared.INVERSE: PeerCall(
            "mj_inverse", lambda: mujoco.mj_inverse(twin, accelerated), lambda: back @ accelerated.qfrc_inverse
        ),
        Compared.MASS: PeerCall(f"mj_kinematics, mj_comPos, {make.__name__}", mass, dense),
        Compared.FACTOR: PeerCall(
            "mj_factorM", lambda: mujoco.mj_factorM(twin, still), lambda: back @ solve(mujoco, twin, still, given)
        ),
        Compared.SOLVE: PeerCall(
            "mj_solveM",
            lambda: mujoco.mj_solveM(twin, still, solved, given),
            lambda: back @ solve(mujoco, twin, still, given),
        ),
        Compared.FRAMES: PeerCall(
            "mj_kinematics (bodies)",
            lambda: mujoco.mj_kinematics(twin, state),
            lambda: origins(model, state.xmat[1:].reshape(-1, 3, 3), state.xpos[1:]),
        ),
        Compared.JACOBIAN: PeerCall(
            "mj_kinematics, mj_comPos, mj_jac", jacobian, lambda: np.vstack([place, turned]) @ back.T
        ),
    }


def solve(mujoco: Any, twin: Any, state: Any, given: FloatArray) -> FloatArray:
    mujoco.mj_factorM(twin, state)
    found = np.empty_like(given)
    mujoco.mj_solveM(twin, state, found, given)
    return found[0]


def base_change(model: Model, s: PeerState) -> FloatArray:
    """B with v = B v_mujoco, which is depth-first; floating bases have linear velocities in the world's axes there."""
    m, B = model.mechanism, np.zeros((model.nv, model.nv))
    B[s.v_order, np.arange(model.nv)] = 1.0
    at = 0
    for i in range(len(m.parent)):
        size = int(m.dof[i + 1] - m.dof[i])
        if m.kind[i] == FREE:
            linear = s.v_order[at : at + 3]
            R = quaternion_matrix(s.q[int(m.q_index[i]) + 3 : int(m.q_index[i]) + 7])
            B[linear, at : at + 3] = R.T
        at += size
    return B


def start(twin: Any, model: Model, s: PeerState) -> Any:
    """An mjData in this state; quaternions begin with w there."""
    mujoco = required("mujoco", "bench")
    state, q, back = mujoco.MjData(twin), s.q[s.q_order], base_change(model, s)
    for j in range(twin.njnt):
        kind = int(twin.jnt_type[j])
        if kind in (int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)):
            at = int(twin.jnt_qposadr[j]) + 3 * (kind == int(mujoco.mjtJoint.mjJNT_FREE))
            q[at : at + 4] = q[[at + 3, at, at + 1, at + 2]]
    state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, back.T @ s.v, back.T @ s.tau
    mujoco.mj_forward(twin, state)
    return state


def wrenches(model: Model, state: Any, s: PeerState) -> FloatArray:
    """External forces as MuJoCo takes them: on each body in the world's axes, about its centre of mass."""
    found = np.zeros_like(state.xfrc_applied[1:])
    for name, wrench in zip(model.body_names, s.forces, strict=True):
        k = model.frame(name)
        body = int(model.frames.body[k])
        if body >= 0:
            at = state.xpos[body + 1] + state.xmat[body + 1].reshape(3, 3) @ model.frames.p[k]
            found[body, :3] += wrench[:3]
            found[body, 3:] += wrench[3:] + np.cross(at - state.xipos[body + 1], wrench[:3])
    return found
