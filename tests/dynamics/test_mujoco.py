"""Against MuJoCo on its joint types: hinge, slide, ball, free."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from models import interpreted, random_state, random_twin
from quantities import QUANTITIES, State

mujoco = pytest.importorskip("mujoco")

JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball", "floating": "free"}
TREES = {
    "fixed": ([-1, 0, 1, 0, 3, 3], ["revolute", "prismatic", "spherical", "revolute", "revolute", "prismatic"]),
    "floating": ([-1, 0, 1, 0, 3, 4], ["floating", "revolute", "revolute", "spherical", "prismatic", "revolute"]),
}


def in_mujoco(bodies):
    spec = mujoco.MjSpec()
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    made = {-1: spec.worldbody}
    for i, body in enumerate(bodies):
        options = body.options
        J = options["inertia"]
        made[i] = made[body.parent].add_body(
            name=f"b{i}", pos=body.p, quat=Rotation.from_matrix(body.R).as_quat(scalar_first=True),
            mass=options["mass"], ipos=options["com"], explicitinertial=True,
            fullinertia=[J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]],
        )  # fmt: skip
        kind = getattr(mujoco.mjtJoint, f"mjJNT_{JOINTS[body.joint].upper()}")
        made[i].add_joint(name=f"j{i}", type=kind, axis=options["axis"], armature=options.get("armature", 0.0))
    return spec.compile()


class Converted:
    """A state in MuJoCo's layout: quaternions w first, the linear velocity of a free joint in world axes."""

    def __init__(self, twin, q, v):
        turns, self.free = np.eye(len(v)), []
        for joint, body in zip(twin.model.joints, twin.bodies, strict=True):
            x = q[joint.q]
            if joint.type in ("spherical", "floating"):
                q = np.concatenate([q[: joint.q.stop - 4], np.roll(x[-4:], 1), q[joint.q.stop :]])
            if joint.type == "floating":
                # MuJoCo places a free body in the world, whatever the body's own pos and quat
                R = body.R @ Rotation.from_quat(x[3:]).as_matrix()
                q[joint.q] = [*(body.p + body.R @ x[:3]), *Rotation.from_matrix(R).as_quat(scalar_first=True)]
                turns[joint.v.start : joint.v.start + 3, joint.v.start : joint.v.start + 3] = R
                self.free.append(joint.v.start)
        self.q, self.v, self.turns = q, turns @ v, turns

    def acceleration(self, v, qdd):
        """The axes of a free joint's linear velocity turn with the body here, and do not there."""
        a = qdd.copy()
        for k in self.free:
            a[k : k + 3] += np.cross(v[k + 3 : k + 6], v[k : k + 3])
        return self.turns @ a


@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("name", TREES)
def test_agrees_with_mujoco(name, armature):
    twin = random_twin(2, *TREES[name], armature=armature)
    state = State(*random_state(twin.model, 4))
    theirs, there = in_mujoco(twin.bodies), Converted(twin, state.q, state.v)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = there.q, there.v
    mujoco.mj_forward(theirs, data)

    def ours(name, frame="b5"):
        return QUANTITIES[name].by(interpreted, twin.model, state, frame)

    T = there.turns  # v there = T v
    H = np.zeros((twin.model.nv, twin.model.nv))
    mujoco.mj_fullM(theirs, data, H)
    close(ours("mass_matrix"), T.T @ H @ T)
    qdd = QUANTITIES["forward_dynamics"].by(interpreted, twin.model, state._replace(tau=0 * state.v), "")
    close(there.acceleration(state.v, qdd), data.qacc)
    if name == "fixed":
        close(ours("bias_force"), data.qfrc_bias)
    jacobian = np.zeros((6, twin.model.nv))
    mujoco.mj_jacBody(theirs, data, jacobian[:3], jacobian[3:], 6)
    close(ours("jacobian local_world_aligned"), jacobian @ T)
    close(ours("placement")[:3, 3], data.xpos[6])
    close(ours("center_of_mass"), data.subtree_com[0])


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-11 * max(1.0, np.abs(expected).max()))
