"""A compiled MJCF file, as a description."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bough.errors import FileFormatError, required
from bough.io.description import BodyArguments, Description, FrameArguments
from bough.io.mjcf.bodies import body_chain, rotation
from bough.io.mjcf.equality import equalities
from bough.io.mjcf.motors import motors
from bough.io.mjcf.names import Names
from bough.io.mjcf.notes import notes
from bough.io.mjcf.size import check_size_and_files
from bough.io.weld import welded
from bough.io.xml import Document
from bough.model.bodies import LARGEST


def read(document: Document, package_paths: Sequence[str | os.PathLike[str]] = ()) -> Description:
    """Bodies in MuJoCo's order; q and v have MuJoCo's layout up to quaternions and free bases (see `bough.convert`).

    A body with several joints, or one whose joint does not sit at its origin, becomes a chain of massless bodies
    called "body/joint", to the last of which it is welded.
    """
    m = compiled(document, package_paths)
    names = Names(m)
    _check_numbers(m, names, document.name)
    found = equalities(m, names)
    driven, remarks = motors(m, names)
    bodies: list[BodyArguments] = []
    for b in range(1, m.nbody):
        for body in body_chain(m, b, names):
            joint = body.get("joint_name", "")
            if joint in driven:
                body |= driven[joint]
            if joint in found.ties:
                body["mimic"] = found.ties[joint]
            bodies.append(body)
    frames = [
        FrameArguments(names.sites[s], names.bodies[m.site_bodyid[s]], (rotation(m.site_quat[s]), m.site_pos[s].copy()))
        for s in range(m.nsite)
    ]
    said = [*found.notes, *remarks, *notes(m, names)]
    description = Description(names.model, bodies, frames, said, m.opt.gravity.tolist(), closures=found.closures)
    return welded(description, found.fixed) if found.fixed else description


def _check_numbers(m: Any, names: Names, where: str) -> None:
    """Numbers are finite, and not so large that products of them overflow (limits may be)."""
    owners = {
        "body_pos body_ipos body_mass body_inertia": names.bodies,
        "jnt_pos jnt_axis jnt_stiffness": names.joints,
        "site_pos": names.sites,
        "eq_data": names.equalities,
        "dof_armature dof_damping dof_frictionloss qpos0 qpos_spring actuator_gear": [],
    }
    for field, names_of in ((field, names_of) for fields, names_of in owners.items() for field in fields.split()):
        values = getattr(m, field)
        bad = np.argwhere(~(np.abs(values) <= LARGEST))
        if len(bad):
            owner = f" of {names_of[bad[0, 0]]!r}" if names_of else ""
            value = f"{float(values[tuple(bad[0])]):g}"
            raise FileFormatError(f"{where}: {field}{owner} is {value}; expected at most {LARGEST:g} in SI units")


def compiled(document: Document, package_paths: Sequence[str | os.PathLike[str]] = ()) -> Any:
    """An mjModel. MuJoCo opens any file that is named: size and places are checked before."""
    mujoco = required("mujoco", "mujoco", "reading MJCF")
    if document.recoded:
        raise FileFormatError(f"{document.name} is not encoded in UTF-8, which MuJoCo expects; save it as UTF-8")
    check_size_and_files(document, package_paths)
    try:
        if document.path is None:
            return mujoco.MjModel.from_xml_string(document.data.decode())
        return mujoco.MjModel.from_xml_path(str(document.path))
    except (ValueError, RuntimeError, MemoryError, TypeError) as error:
        raise FileFormatError(f"{document.name} is refused by MuJoCo: {' '.join(str(error).split())}") from None
