"""Bodies and joints out of MuJoCo's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.io.description import BodyArguments, Place
from bough.io.mjcf.names import Names
from bough.joints import JOINTS, PRIMITIVES
from bough.model.bodies import EYE
from bough.spatial import quaternion_matrix
from bough.types import FloatArray

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco.mjtJoint
WORDS = ("free", "ball", "slide", "hinge")
_MADE_OF = {WORDS.index(p.engines["MuJoCo"]): p for p in PRIMITIVES.values() if "MuJoCo" in p.engines}
TYPES = {kind: next(name for name, chain in JOINTS.items() if chain == (p.name,)) for kind, p in _MADE_OF.items()}
DOFS = {kind: len(p.axes) for kind, p in _MADE_OF.items()}


def body_chain(m: Any, b: int, names: Names) -> list[BodyArguments]:
    """One body as a chain: a massless body for each joint, then the body itself, welded where it sits."""
    name, parent = names.bodies[b], names.bodies[m.body_parentid[b]]
    place = (rotation(m.body_quat[b]), m.body_pos[b].copy())
    first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
    chain: list[BodyArguments] = []
    anchor = np.zeros(3)
    at_origin = bool(count) and not m.jnt_pos[first + count - 1].any()
    for j in range(first, first + count):
        joint = _joint(m, j, place, anchor)
        own = name if at_origin and j == first + count - 1 else names.fresh(f"{name}/{names.joints[j]}")
        chain.append({**joint, "name": own, "joint_name": names.joints[j], "parent": parent})
        parent, place, anchor = own, (EYE, np.zeros(3)), m.jnt_pos[j].copy()
    if at_origin:
        chain[-1] |= _inertia(m, b)
    else:
        fixed: BodyArguments = {"name": name, "parent": parent, "joint": "fixed", "joint_name": names.weld(name)}
        chain.append({**fixed, "placement": (place[0], place[1] - anchor), **_inertia(m, b)})
    return chain


def _joint(m: Any, j: int, place: Place, anchor: FloatArray) -> BodyArguments:
    """A joint at its anchor, turned or moved back so that its q is MuJoCo's; a free joint starts from the world."""
    kind, axis = int(m.jnt_type[j]), m.jnt_axis[j].copy()
    reference = float(m.qpos0[m.jnt_qposadr[j]])
    R, p = place[0], place[1] + place[0] @ (m.jnt_pos[j] - anchor)
    if kind == FREE:
        R, p = EYE, np.zeros(3)
    elif kind == SLIDE:
        p = p - R @ (reference * axis)
    elif kind == HINGE and reference != 0.0:
        half = -reference / 2
        R = R @ rotation(np.array([np.cos(half), *(np.sin(half) * axis)]))
    return {"joint": TYPES[kind], "placement": (R, p), "axis": axis, **_passive(m, j, kind)}


def _passive(m: Any, j: int, kind: int) -> BodyArguments:
    """Armature, damping, friction, spring and limits; what has no place in a model is in the notes."""
    dof = int(m.jnt_dofadr[j])
    dofs = slice(dof, dof + DOFS[kind])
    said: BodyArguments = {
        "armature": float(m.dof_armature[dof]),
        "damping": m.dof_damping[dofs].tolist(),
        "friction": m.dof_frictionloss[dofs].tolist(),
    }
    if kind != FREE:
        said["stiffness"] = float(m.jnt_stiffness[j])
    if kind in (SLIDE, HINGE):
        said["rest"] = float(m.qpos_spring[m.jnt_qposadr[j]])
        if m.jnt_limited[j]:
            said["lower"], said["upper"] = m.jnt_range[j].tolist()
    return said


def _inertia(m: Any, b: int) -> BodyArguments:
    R = rotation(m.body_iquat[b])
    J = R @ np.diag(m.body_inertia[b]) @ R.T
    return {"mass": float(m.body_mass[b]), "com": m.body_ipos[b].copy(), "inertia": (J + J.T) / 2}


def rotation(quaternion: FloatArray) -> FloatArray:
    """From w x y z, of any length."""
    return quaternion_matrix(np.roll(quaternion, -1))
