"""A URDF with other inertias: what was identified of each moving body, written into its link."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Unpack

import numpy as np

from bough.arguments import explained
from bough.errors import FileFormatError, ModelError
from bough.io import LoadOptions, load
from bough.io.urdf import link_inertia
from bough.model import Model
from bough.model.bodies import rigid
from bough.model.parameters import TO_USER, standard
from bough.model.write import put_inertial
from bough.record import replacing


@explained
def write_urdf(model: Model, source: str | Path, path: str | Path, **options: Unpack[LoadOptions]) -> Path:
    """Write the URDF at `source` to `path` with the inertias, damping and dry friction of `model`.

    `options` are those of `load` that the model was read with (`mimic`, `weld`, ...); mimic joints and welded joints
    stay in the file as they are. Bodies are found by the names of links. What is welded to a link keeps its own
    inertia; the difference of the whole body goes to the link that the joint moves.
    """
    options.setdefault("floating_base", model.joints[0].type == "floating" and model.parent[0] < 0)
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
            said = link_inertia(name, links[name], Path(source).name)
            own = rigid(said.get("mass", 0.0), said.get("com", np.zeros(3)), said.get("inertia", np.zeros((3, 3))))
            for old in links[name].findall("inertial"):
                links[name].remove(old)
            put_inertial(links[name], *standard(own[None, TO_USER] + change)[0])
    for joint in model.joints:
        if joint.name in joints and joint.v.stop - joint.v.start == 1:
            _set_dynamics(joints[joint.name], float(model.damping[joint.v][0]), float(model.friction[joint.v][0]))
    with replacing(path) as file:
        tree.write(file, encoding="utf-8", xml_declaration=True)
    return Path(path)


def _set_dynamics(joint: ET.Element, damping: float, friction: float) -> None:
    dynamics = joint.find("dynamics")
    if dynamics is None and not damping and not friction:
        return
    element = ET.SubElement(joint, "dynamics") if dynamics is None else dynamics
    element.set("damping", repr(damping))
    element.set("friction", repr(friction))
