"""MuJoCo's functions on a model, with everything that is not tree dynamics switched off."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bough.app.bench.engines import PeerCall, bodies, origins, velocity_map
from bough.app.bench.states import Compared, PeerState, layout, wrenches
from bough.errors import required
from bough.joints import BALL, FREE, SLIDE, TURN
from bough.model import Model
from bough.types import FloatArray


def mujoco_model(model: Model) -> Any:
    """An mjModel of the same mechanism."""
    mujoco = required("mujoco", "bench", "this comparison")
    spec, kinds, flags = mujoco.MjSpec(), mujoco.mjtJoint, mujoco.mjtDisableBit
    spec.option.gravity = model.mechanism.gravity
    for flag in (flags.mjDSBL_CONTACT, flags.mjDSBL_CONSTRAINT, flags.mjDSBL_LIMIT, flags.mjDSBL_SENSOR):
        spec.option.disableflags |= int(flag)
    spec.compiler.balanceinertia = True
    types = {TURN: kinds.mjJNT_HINGE, SLIDE: kinds.mjJNT_SLIDE, FREE: kinds.mjJNT_FREE, BALL: kinds.mjJNT_BALL}
    made: list[Any] = []
    for b in bodies(model, "MuJoCo", types):
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
        self.mujoco, self.model, self.twin = required("mujoco", "bench", "this comparison"), model, mujoco_model(model)
        self.layout = layout(model)

    def velocities(self, s: PeerState) -> FloatArray:
        """B with v = B v_mujoco: linear ones of floating bases are in the world's axes."""
        return velocity_map(self.model, s, self.layout.v, True, False)

    def data(self, s: PeerState) -> Any:
        """An mjData in this state; quaternions begin with w there."""
        state, q, B = self.mujoco.MjData(self.twin), s.q[self.layout.q], self.velocities(s)
        for kind, at in zip(self.twin.jnt_type, self.twin.jnt_qposadr, strict=True):
            if kind < 2:  # free and ball joints
                first = at + 3 * (kind == 0)
                q[first : first + 4] = np.roll(q[first : first + 4], 1)
        state.qpos[:], state.qvel[:], state.qfrc_applied[:] = q, B.T @ s.v, B.T @ s.tau
        self.mujoco.mj_forward(self.twin, state)
        return state

    def calls(self, s: PeerState) -> dict[str, PeerCall]:
        mujoco, twin, model, frame = self.mujoco, self.twin, self.model, self.layout.frame
        tau = self.velocities(s).T @ s.tau
        state, pushed, still, accelerated = (self.data(s) for _ in range(4))
        outer = wrenches(model, s)
        pushed.xfrc_applied[1:] = outer
        pushed.xfrc_applied[1:, 3:] -= np.cross(state.xipos[1:], outer[:, :3])  # moments about centres of mass
        accelerated.qacc[:] = tau
        body, point = int(model.frames.body[frame]) + 1, model.frames.p[frame]
        linear, angular, solved = *np.empty((2, 3, twin.nv)), np.empty((1, twin.nv))
        make = getattr(mujoco, "mj_makeM", None) or mujoco.mj_crb
        factor = partial(mujoco.mj_factorM, twin, still)
        solve = partial(mujoco.mj_solveM, twin, still, solved, tau[None])

        def mass() -> None:
            mujoco.mj_kinematics(twin, still)
            mujoco.mj_comPos(twin, still)
            make(twin, still)

        def dense() -> FloatArray:
            full = np.empty((twin.nv, twin.nv))
            for column, unit in zip(full, np.eye(twin.nv), strict=True):
                mujoco.mj_mulM(twin, still, column, unit)
            return full

        def jacobian() -> None:
            mujoco.mj_kinematics(twin, state)
            mujoco.mj_comPos(twin, state)
            at = state.xpos[body] + state.xmat[body].reshape(3, 3) @ point
            mujoco.mj_jac(twin, state, linear, angular, at, body)

        def places() -> FloatArray:
            return origins(model, state.xmat[1:].reshape(-1, 3, 3), state.xpos[1:])

        mass()
        factor()
        forward, kinematics = (partial(f, twin, state) for f in (mujoco.mj_forward, mujoco.mj_kinematics))
        with_forces, inverse = partial(mujoco.mj_forward, twin, pushed), partial(mujoco.mj_inverse, twin, accelerated)
        return {
            Compared.FORWARD: PeerCall("mj_forward", forward, lambda: state.qacc),
            Compared.PUSHED: PeerCall("mj_forward", with_forces, lambda: pushed.qacc),
            Compared.INVERSE: PeerCall("mj_inverse", inverse, lambda: accelerated.qfrc_inverse),
            Compared.MASS: PeerCall(f"mj_kinematics, mj_comPos, {make.__name__}", mass, dense),
            Compared.FACTOR: PeerCall("mj_factorM", factor, lambda: solve() or solved[0]),
            Compared.SOLVE: PeerCall("mj_solveM", solve, lambda: solved[0]),
            Compared.FRAMES: PeerCall("mj_kinematics (bodies)", kinematics, places),
            Compared.JACOBIAN: PeerCall("mj_kinematics, mj_comPos, mj_jac", jacobian,
                                        lambda: np.vstack([linear, angular])),
        }  # fmt: skip
