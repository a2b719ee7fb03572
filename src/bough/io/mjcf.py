"""MJCF into a description: compiled by the `mujoco` package, so that defaults, includes and angles are its business."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.errors import FileFormatError, MissingExtraError
from bough.io.description import BodySaid, Description, FrameSaid, Place
from bough.io.xml import Document
from bough.model import EYE, WORLD
from bough.types import FloatArray

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco.mjtJoint
TYPES = {FREE: "floating", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}


def read(document: Document) -> Description:
    """Bodies in MuJoCo's order; q and v have MuJoCo's layout up to quaternions and free bases (see `bough.convert`).

    A body with several joints, or one whose joint does not sit at its origin, becomes a chain of massless bodies
    called "body/joint", to the last of which it is welded.
    """
    model = _compile(document)
    names = _Names(model)
    bodies: list[BodySaid] = []
    for b in range(1, model.nbody):
        bodies += _body(model, b, names)
    frames = []
    taken = {body["name"] for body in bodies}
    for s in range(model.nsite):
        name = names.site(s, taken)
        place = (_rotation(model.site_quat[s]), model.site_pos[s].copy())
        frames.append(FrameSaid(name, names.body(model.site_bodyid[s]), place))
    return Description(names.model, bodies, frames, _notes(model), model.opt.gravity.tolist())


def _compile(document: Document) -> Any:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("reading MJCF needs the package mujoco: install bough[mujoco]") from None
    try:
        if document.path is None:
            return mujoco.MjModel.from_xml_string(document.data.decode())
        return mujoco.MjModel.from_xml_path(str(document.path))
    except ValueError as error:
        raise FileFormatError(f"{document.name} is refused by MuJoCo: {' '.join(str(error).split())}") from None


class _Names:
    """Names out of MuJoCo's tables; what has none is called by its kind and number."""

    def __init__(self, model: Any) -> None:
        self._m = model
        self._bytes: bytes = model.names
        self.model = self._at(0) or "mujoco"

    def _at(self, start: int) -> str:
        return self._bytes[start : self._bytes.index(b"\0", start)].decode()

    def body(self, b: int) -> str:
        return WORLD if b == 0 else self._at(int(self._m.name_bodyadr[b])) or f"body{b}"

    def joint(self, j: int) -> str:
        return self._at(int(self._m.name_jntadr[j])) or f"joint{j}"

    def site(self, s: int, taken: set[str]) -> str:
        """Sites may be called like bodies in MuJoCo; here the second of a name gets a prefix."""
        name = self._at(int(self._m.name_siteadr[s])) or f"site{s}"
        name = f"site/{name}" if name in taken else name
        taken.add(name)
        return name


def _body(m: Any, b: int, names: _Names) -> list[BodySaid]:
    """One body as a chain: a massless body for each joint, then the body itself, welded where it sits."""
    name, parent = names.body(b), names.body(m.body_parentid[b])
    place = (_rotation(m.body_quat[b]), m.body_pos[b].copy())
    first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
    chain: list[BodySaid] = []
    anchor = np.zeros(3)
    for j in range(first, first + count):
        joint = _joint(m, j, names, place, anchor)
        chain.append({**joint, "name": f"{name}/{names.joint(j)}", "parent": parent})
        parent, place, anchor = chain[-1]["name"], (EYE, np.zeros(3)), m.jnt_pos[j].copy()
    if count and not anchor.any():
        chain[-1] |= {"name": name, **_inertia(m, b)}
    else:
        place = (place[0], place[1] - anchor)
        chain.append({"name": name, "parent": parent, "joint": "fixed", "placement": place, **_inertia(m, b)})
    return chain


def _joint(m: Any, j: int, names: _Names, place: Place, anchor: FloatArray) -> BodySaid:
    """A joint at its anchor, turned or moved back so that its q is MuJoCo's; a free joint starts from the world."""
    kind, axis, dof = int(m.jnt_type[j]), m.jnt_axis[j].copy(), int(m.jnt_dofadr[j])
    reference = float(m.qpos0[m.jnt_qposadr[j]])
    R, p = place[0], place[1] + place[0] @ (m.jnt_pos[j] - anchor)
    if kind == FREE:
        R, p = EYE, np.zeros(3)
    elif kind == SLIDE:
        p = p - R @ (reference * axis)
    elif kind == HINGE and reference != 0.0:
        half = -reference / 2
        R = R @ _rotation(np.array([np.cos(half), *(np.sin(half) * axis)]))
    limited = bool(m.jnt_limited[j]) and kind in (SLIDE, HINGE)
    lower, upper = m.jnt_range[j].tolist() if limited else (None, None)
    return {
        "joint": TYPES[kind], "joint_name": names.joint(j), "placement": (R, p), "axis": axis,
        "armature": float(m.dof_armature[dof]), "damping": float(m.dof_damping[dof]), "lower": lower, "upper": upper,
    }  # fmt: skip


def _inertia(m: Any, b: int) -> BodySaid:
    R = _rotation(m.body_iquat[b])
    J = R @ np.diag(m.body_inertia[b]) @ R.T
    return {"mass": float(m.body_mass[b]), "com": m.body_ipos[b].copy(), "inertia": (J + J.T) / 2}


def _rotation(quaternion: FloatArray) -> FloatArray:
    """From w x y z, of any length."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _notes(m: Any) -> list[str]:
    """What MuJoCo models and this library does not."""
    dropped = {
        "equality constraints": m.neq,
        "tendons": m.ntendon,
        "actuators": m.nu,
        "flexible bodies": m.nflex,
        "contact pairs": m.npair,
        "mocap bodies (held still)": m.nmocap,
        "spring stiffnesses": np.count_nonzero(m.jnt_stiffness),
        "dry frictions": np.count_nonzero(m.dof_frictionloss),
        "gravity compensations": np.count_nonzero(m.body_gravcomp),
    }
    return [f"dropped {count} {what}" for what, count in dropped.items() if count]
