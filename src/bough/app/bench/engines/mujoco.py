"""MuJoCo's functions on a model, with everything that is not tree dynamics switched off."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall
from bough.app.bench.states import Compared, PeerState, bodies, origins, required, velocity_map
from bough.joints import BALL, FREE, SLIDE, TURN
from bough.model import Model
from bough.types import FloatArray

KINDS = {TURN: "revolute", SLIDE: "prismatic", BALL: "spherical", FREE: "floating"}


def mujoco_twin(model: Model) -> Any:
    """An mjModel of the same mechanism."""
    mujoco = required("mujoco", "bench")
    spec, kinds, flags = mujoco.MjSpec(), mujoco.mjtJoint, mujoco.mjtDisableBit
    spec.option.gravity = model.mechanism.gravity
    for flag in (flags.mjDSBL_CONTACT, flags.mjDSBL_CONSTRAINT, flags.mjDSBL_LIMIT, flags.mjDSBL_SENSOR):
        spec.option.disableflags |= int(flag)
    spec.compiler.balanceinertia = True
    types = {TURN: kinds.mjJNT_HINGE, SLIDE: kinds.mjJNT_SLIDE, BALL: kinds.mjJNT_BALL, FREE: kinds.mjJNT_FREE}
    made: list[Any] = []
    for b in bodies(model, "MuJoCo", KINDS):
        quaternion, J = np.empty(4), b.inertia
        mujoco.mju_mat2Quat(quaternion, b.R.ravel())
        above = spec.worldbody if b.parent < 0 else made[b.parent]
        body = above.add_body(name=f"body {b.number}", pos=b.p, quat=quaternion)
        body.add_joint(name=f"joint {b.number}", type=types[b.kind], axis=[0, 0, 1], armature=b.armature)
        body.explicitinertial, body.mass, body.ipos = True, b.mass, b.center
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        made.append(body)
    return spec.compile()


class MujocoEngine:
    """A model in MuJoCo. Every state has an mjData of its own, which costs nothing to fill: no call keeps results."""

    def __init__(self, model: Model) -> None:
        self.mujoco = required("mujoco", "bench")
        self.model, self.twin = model, mujoco_twin(model)
        ends = [*(int(k) for k in self.twin.jnt_dofadr), self.twin.nv]
        self.places = [list(range(a, b)) for a, b in pairwise(ends)]

    def data(self, s: PeerState) -> Any:
        """An mjData in this state; quaternions begin with w there."""
        kinds, state, q = self.mujoco.mjtJoint, self.mujoco.MjData(self.twin), s.q[s.q_order]
        B = velocity_map(self.model, s, self.places, False)
        for j in range(self.twin.njnt):
            kind = int(self.twin.jnt_type[j])
            if kind in (int(kinds.mjJNT_FREE), int(kinds.mjJNT_BALL)):
                at = int(self.twin.jnt_qposadr[j]) + 3 * (kind == int(kinds.mjJNT_FREE))
                q[at : at + 4] = q[[at + 3, at, at + 1, at + 2]]
        state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, B.T @ s.v, B.T @ s.tau
        self.mujoco.mj_forward(self.twin, state)
        return state

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        mujoco, twin, model, B = self.mujoco, self.twin, self.model, velocity_map(self.model, s, self.places, False)
        state, pushed, still, accelerated = (self.data(s) for _ in range(4))
        pushed.xfrc_applied[1:] = self.wrenches(state, s)
        accelerated.qacc[:] = B.T @ s.tau
        body, point = int(model.frames.body[s.frame]) + 1, model.frames.p[s.frame]
        linear, angular, solved, b = *np.empty((2, 3, twin.nv)), np.empty((1, twin.nv)), (B.T @ s.tau)[None]
        make = getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb

        def mass() -> None:
            mujoco.mj_kinematics(twin, still)
            mujoco.mj_comPos(twin, still)
            make(twin, still)

        def dense() -> FloatArray:
            full = np.empty((twin.nv, twin.nv))
            for column, unit in zip(full, np.eye(twin.nv), strict=True):
                mujoco.mj_mulM(twin, still, column, unit)
            return B @ full @ B.T

        def jacobian() -> None:
            mujoco.mj_kinematics(twin, state)
            mujoco.mj_comPos(twin, state)
            at = state.xpos[body] + state.xmat[body].reshape(3, 3) @ point
            mujoco.mj_jac(twin, state, linear, angular, at, body)

        def solution() -> FloatArray:
            mujoco.mj_factorM(twin, still)
            mujoco.mj_solveM(twin, still, solved, b)
            return B @ solved[0]

        mass()
        solution()
        forward, factor = partial(mujoco.mj_forward, twin, state), partial(mujoco.mj_factorM, twin, still)
        inverse, kinematics = (partial(f, twin, x) for f, x in (
            (mujoco.mj_inverse, accelerated), (mujoco.mj_kinematics, state)))  # fmt: skip
        with_forces, solve = partial(mujoco.mj_forward, twin, pushed), partial(mujoco.mj_solveM, twin, still, solved, b)
        return {
            Compared.FORWARD: PeerCall("mj_forward", forward, lambda: B @ state.qacc),
            Compared.PUSHED: PeerCall("mj_forward", with_forces, lambda: B @ pushed.qacc),
            Compared.INVERSE: PeerCall("mj_inverse", inverse, lambda: B @ accelerated.qfrc_inverse),
            Compared.MASS: PeerCall(f"mj_kinematics, mj_comPos, {make.__name__}", mass, dense),
            Compared.FACTOR: PeerCall("mj_factorM", factor, solution),
            Compared.SOLVE: PeerCall("mj_solveM", solve, lambda: B @ solved[0]),
            Compared.FRAMES: PeerCall(
                "mj_kinematics (bodies)",
                kinematics,
                lambda: origins(model, state.xmat[1:].reshape(-1, 3, 3), state.xpos[1:]),
            ),
            Compared.JACOBIAN: PeerCall(
                "mj_kinematics, mj_comPos, mj_jac", jacobian, lambda: np.vstack([linear, angular]) @ B.T
            ),
        }

    def wrenches(self, state: Any, s: PeerState) -> FloatArray:
        """External forces as MuJoCo takes them: on each body in the world's axes, about its centre of mass."""
        found, model = np.zeros_like(state.xfrc_applied[1:]), self.model
        for name, wrench in zip(model.body_names, s.forces, strict=True):
            k = model.frame(name)
            body = int(model.frames.body[k])
            if body >= 0:
                at = state.xpos[body + 1] + state.xmat[body + 1].reshape(3, 3) @ model.frames.p[k]
                found[body, :3] += wrench[:3]
                found[body, 3:] += wrench[3:] + np.cross(at - state.xipos[body + 1], wrench[:3])
        return found
