"""The same mechanism in other engines: twins of a model in Pinocchio and MuJoCo, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.errors import ModelError, required
from bough.joints import BALL, FREE, SLIDE, TURN, Mechanism
from bough.model import Model
from bough.spatial import inertia_matrix
from bough.view.kinematics import links


def inertia_parts(m: Mechanism, i: int) -> tuple[float, Any, Any]:
    """Mass, centre of mass and inertia (3, 3) about it, of body i in its laid frame."""
    I = m.inertia[i]
    J, h, mass = inertia_matrix(I), I[6:9], float(I[9])
    c = h / mass if mass else np.zeros(3)
    return mass, c, J - mass * (c @ c * np.eye(3) - np.outer(c, c))


def pinocchio_twin(model: Model) -> Any:
    """A pin.Model with the bodies, joints and order of v of `model`; joints in depth-first order."""
    pin = required("pinocchio", "bench", "this comparison")
    m, twin, fixed = model.mechanism, pin.Model(), links(model).fixed
    twin.gravity.linear = np.array(m.gravity)
    turn, slide, ball, free = pin.JointModelRZ, pin.JointModelPZ, pin.JointModelSpherical, pin.JointModelFreeFlyer
    kinds = {TURN: turn, SLIDE: slide, BALL: ball, FREE: free}
    for i, parent in enumerate(m.parent):
        if int(m.kind[i]) not in kinds:
            raise ModelError("only revolute, prismatic, spherical and floating joints are compared")
        placement = pin.SE3(fixed[i, :, :3], fixed[i, :, 3])
        joint = twin.addJoint(int(parent) + 1, kinds[int(m.kind[i])](), placement, f"joint {i}")
        twin.appendBodyToJoint(joint, pin.Inertia(*inertia_parts(m, i)), pin.SE3.Identity())
    twin.armature = np.array(m.armature)
    return twin


def mujoco_twin(model: Model) -> Any:
    """An mjModel of the same mechanism, with everything that is not tree dynamics switched off."""
    mujoco = required("mujoco", "bench", "this comparison")
    m, fixed = model.mechanism, links(model).fixed
    spec = mujoco.MjSpec()
    spec.option.gravity = m.gravity
    flags = mujoco.mjtDisableBit
    for flag in (flags.mjDSBL_CONTACT, flags.mjDSBL_CONSTRAINT, flags.mjDSBL_LIMIT, flags.mjDSBL_SENSOR):
        spec.option.disableflags |= int(flag)
    spec.compiler.balanceinertia = True
    kinds = mujoco.mjtJoint
    types = {TURN: kinds.mjJNT_HINGE, SLIDE: kinds.mjJNT_SLIDE, BALL: kinds.mjJNT_BALL, FREE: kinds.mjJNT_FREE}
    bodies: list[Any] = []
    for i, parent in enumerate(m.parent):
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, fixed[i, :, :3].ravel())
        above = spec.worldbody if parent < 0 else bodies[parent]
        body = above.add_body(name=f"body {i}", pos=fixed[i, :, 3], quat=quaternion)
        if int(m.kind[i]) not in types:
            raise ModelError("only revolute, prismatic, spherical and floating joints are compared")
        rotor = float(m.armature[m.dof[i]])
        body.add_joint(name=f"joint {i}", type=types[int(m.kind[i])], axis=[0, 0, 1], armature=rotor)
        mass, c, J = inertia_parts(m, i)
        body.explicitinertial, body.mass, body.ipos = True, mass, c
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        bodies.append(body)
    return spec.compile()
