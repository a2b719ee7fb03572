"""A URDF with other inertias: what was identified of each moving body, written into its link."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Unpack

import numpy as np

from bough.arguments import explained
from bough.errors import FileFormatError, ModelError
from bough.io import LoadOptions, load
from bough.model import Model
from bough.model.bodies import rigid
from bough.model.parameters import TO_USER, standard
from bough.record import replacing
from bough.spatial import rpy_matrix
from bough.types import FloatArray


@explained
def write_urdf(model: Model, source: str | Path, path: str | Path, **options: Unpack[LoadOptions]) -> Path:
    """Write the URDF at `source` to `path` with the inertias, damping and dry friction of `model`.

    `options` are those of `load` that the model was read with (`mimic`, `weld`, ...); mimic joints and welded joints
    stay in the file as they are. Bodies are found by the names of links. What is welded to a link keeps its own
    inertia; the difference of the whole body goes to the link that the joint moves.
    """
    options.setdefault("floating_base", _floats(model))
    original = load(source, **options)
    if original.body_names != model.body_names:
        raise ModelError(
            f"write_urdf: the bodies of {model.name!r} are not those of {Path(source).name}; expected the options of "
            "load that the model was read with, such as mimic= and weld="
        )
    tree = ET.parse(source)
    links = {link.get("name"): link for link in tree.getroot().iter("link")}
    joints = {joint.get("name"): joint for joint in tree.getroot().iter("joint")}
    for name, change in zip(model.body_names, model.inertias - original.inertias, strict=True):
        if name not in links:
            raise FileFormatError(f"write_urdf: {Path(source).name} has no link {name!r}")
        if np.abs(change).max() > 1e-12:
            _set_inertial(links[name], _own(links[name]) + change)
    for joint in model.joints:
        if joint.name in joints and joint.v.stop - joint.v.start == 1:
            _set_dynamics(joints[joint.name], float(model.damping[joint.v][0]), float(model.friction[joint.v][0]))
    with replacing(path) as file:
        tree.write(file, encoding="utf-8", xml_declaration=True)
    return Path(path)


def _floats(model: Model) -> bool:
    return model.joints[0].type == "floating" and model.parent[0] < 0


def _own(link: ET.Element) -> FloatArray:
    """Ten numbers of a link's own inertial, at the link's origin."""
    inertial = link.find("inertial")
    if inertial is None:
        return np.zeros(10)
    mass = inertial.find("mass")
    origin, tensor = inertial.find("origin"), inertial.find("inertia")
    com, rpy = (_numbers(origin, key) for key in ("xyz", "rpy"))
    J = np.zeros((3, 3))
    for i, k, key in ((0, 0, "ixx"), (0, 1, "ixy"), (0, 2, "ixz"), (1, 1, "iyy"), (1, 2, "iyz"), (2, 2, "izz")):
        J[i, k] = J[k, i] = float(tensor.get(key, "0")) if tensor is not None else 0.0
    R = rpy_matrix(rpy)
    kernel = rigid(float(mass.get("value", "0")) if mass is not None else 0.0, com, R @ J @ R.T)
    found: FloatArray = kernel[list(TO_USER)]
    return found


def _numbers(element: ET.Element | None, key: str) -> FloatArray:
    text = element.get(key) if element is not None else None
    return np.array([float(x) for x in text.split()]) if text else np.zeros(3)


def _set_inertial(link: ET.Element, numbers: FloatArray) -> None:
    """Replace the inertial of a link, about its centre of mass and in the link's axes."""
    mass, com, J = standard(numbers[None])[0]
    old = link.find("inertial")
    if old is not None:
        link.remove(old)
    new = ET.Element("inertial")
    ET.SubElement(new, "origin", xyz=" ".join(map(repr, com.tolist())), rpy="0 0 0")
    ET.SubElement(new, "mass", value=repr(mass))
    keys = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    ET.SubElement(new, "inertia", {key: repr(float(J[i, k])) for key, i, k in keys})
    link.insert(0, new)


def _set_dynamics(joint: ET.Element, damping: float, friction: float) -> None:
    dynamics = joint.find("dynamics")
    if dynamics is None and not damping and not friction:
        return
    element = ET.SubElement(joint, "dynamics") if dynamics is None else dynamics
    element.set("damping", repr(damping))
    element.set("friction", repr(friction))
