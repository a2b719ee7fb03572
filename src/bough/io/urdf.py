"""URDF into a description, read with yourdfpy. Geometry is never looked at: dynamics needs no meshes."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from bough.errors import FileFormatError, MissingExtraError
from bough.io.description import Description
from bough.io.xml import Document
from bough.model import WORLD

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
IGNORED = {"visual", "collision", "material"}  # no concern of dynamics: dropped without a word
KEPT = {
    "robot": {"link", "joint"},
    "link": {"inertial"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
}
# Attributes that hold numbers, how many, and which of them must be there
NUMBERS = {
    "origin": ({"xyz": 3, "rpy": 3}, ()),
    "axis": ({"xyz": 3}, ("xyz",)),
    "mass": ({"value": 1}, ("value",)),
    "inertia": (dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1), ("ixx", "iyy", "izz")),
    "limit": (dict.fromkeys(("lower", "upper", "velocity", "effort"), 1), ()),
    "dynamics": ({"damping": 1, "friction": 1}, ()),
    "mimic": ({"multiplier": 1, "offset": 1}, ("joint",)),
}


def read(document: Document) -> Description:
    """Bodies in depth-first file order: a link, then each of its child joints' subtrees in the order of the file."""
    notes: list[str] = []
    _check(document.root, document.name)
    robot = _parse(_dynamics_only(document.root, notes), document.name)
    root, joints = _tree(robot, document.name)
    links = {link.name: link for link in robot.links}
    bodies = [] if root == WORLD else [{"name": root, "parent": WORLD, "joint": "fixed"} | _inertia(links[root])]
    for joint in joints:
        body = {"name": joint.child, "parent": joint.parent, "joint": joint.type, "joint_name": joint.name}
        bodies.append(body | _motion(joint, notes) | _inertia(links[joint.child]))
    return Description(robot.name, bodies, [], notes)


def _check(root: Element, where: str) -> None:
    """Names, references and numbers, so that errors name the link or joint."""
    if not root.findall("link"):
        raise FileFormatError(f"{where} has no <link>; is it a URDF file?")
    for tag in ("link", "joint"):
        names = [element.get("name", "") for element in root.findall(tag)]
        for name, times in Counter(names).items():
            if not name:
                raise FileFormatError(f"{where}: a <{tag}> has no name")
            if times > 1:
                raise FileFormatError(f"{where}: {times} <{tag}> elements are called {name!r}")
    for element in [*root.findall("link"), *root.findall("joint")]:
        _check_numbers(element, f"{where}: {element.tag} {element.get('name')!r}")
    for joint in root.findall("joint"):
        name, kind = f"{where}: joint {joint.get('name')!r}", joint.get("type")
        if kind not in TYPES:
            raise FileFormatError(f"{name} has the unknown type {kind!r}; known types: {', '.join(TYPES)}")
        for end in ("parent", "child"):
            found = joint.find(end)
            if found is None or not found.get("link"):
                raise FileFormatError(f"{name} names no {end} link")


def _check_numbers(element: Element, where: str) -> None:
    for part in element.iter():
        counts, needed = NUMBERS.get(part.tag, ({}, ()))
        for attribute in needed:
            if attribute not in part.attrib:
                raise FileFormatError(f"{where}: <{part.tag}> has no attribute {attribute!r}")
        for attribute in counts.keys() & part.attrib.keys():
            words = part.attrib[attribute].split()
            try:
                values = [float(word) for word in words]
            except ValueError:
                values = []
            if len(values) != counts[attribute] or not np.isfinite(values).all():
                wanted = "a finite number" if counts[attribute] == 1 else "three finite numbers"
                got = part.attrib[attribute]
                raise FileFormatError(f"{where}: <{part.tag}> has {attribute}={got!r}; expected {wanted}")


def _dynamics_only(root: Element, notes: list[str]) -> Element:
    """A copy with what dynamics uses; the rest is counted in the notes."""
    dropped: Counter[str] = Counter()
    slim = Element("robot", name=root.get("name") or "robot")
    for element in root:
        if element.tag not in KEPT["robot"]:
            dropped[element.tag] += 1
            continue
        copy = SubElement(slim, element.tag, element.attrib)
        for part in element:
            if part.tag in KEPT[element.tag]:
                copy.append(part)
            else:
                dropped[f"{element.tag}/{part.tag}"] += 1
    for tag, times in dropped.items():
        if tag.split("/")[-1] not in IGNORED:
            notes.append(f"dropped {times} <{tag}>")
    return slim


def _parse(slim: Element, where: str) -> Any:
    try:
        import yourdfpy
    except ImportError:
        raise MissingExtraError("reading URDF needs the package yourdfpy: pip install yourdfpy") from None
    try:
        file = io.BytesIO(tostring(slim))
        return yourdfpy.URDF.load(file, build_scene_graph=False, load_meshes=False, mesh_dir="").robot
    except (yourdfpy.urdf.URDFError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{where} is no valid URDF: {error}") from None


def _tree(robot: Any, where: str) -> tuple[str, list[Any]]:
    """The root link and the joints in depth-first file order."""
    links = {link.name for link in robot.links}
    above: dict[str, Any] = {}
    children: dict[str, list[Any]] = {name: [] for name in links}
    for joint in robot.joints:
        for end in (joint.parent, joint.child):
            if end not in links:
                raise FileFormatError(f"{where}: joint {joint.name!r} refers to link {end!r}, which is not in the file")
        if joint.child in above:
            raise FileFormatError(
                f"{where}: link {joint.child!r} has two parents, by joints {above[joint.child].name!r} and "
                f"{joint.name!r}; a URDF is a tree, so a loop must be cut"
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [link.name for link in robot.links if link.name not in above]
    if len(roots) > 1:
        raise FileFormatError(f"{where} has {len(roots)} root links, {', '.join(map(repr, roots))}; expected one")
    order: list[Any] = []
    waiting = [joint for name in roots for joint in reversed(children[name])]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting += reversed(children[joint.child])
    if len(order) < len(robot.joints):
        seen = {joint.name for joint in order}
        cycle = [joint.name for joint in robot.joints if joint.name not in seen]
        raise FileFormatError(f"{where}: joints {', '.join(map(repr, cycle[:5]))} form a loop away from the root")
    return roots[0], order


def _motion(joint: Any, notes: list[str]) -> dict[str, Any]:
    """Placement, axis, limits, damping and mimic of a joint."""
    body: dict[str, Any] = {"placement": joint.origin}
    if joint.type in ("revolute", "continuous", "prismatic", "planar"):
        body["axis"] = joint.axis
    limit, dynamics = joint.limit, joint.dynamics
    if limit is not None and joint.type in ("revolute", "continuous", "prismatic"):
        keys = ("velocity", "effort") if joint.type == "continuous" else ("lower", "upper", "velocity", "effort")
        body |= {key: getattr(limit, key) for key in keys}
    if dynamics is not None and joint.type != "fixed":
        body["damping"] = float(dynamics.damping or 0.0)
        if float(dynamics.friction or 0.0) != 0.0:
            notes.append(f"dropped the dry friction {dynamics.friction} of joint {joint.name!r}")
    if joint.mimic is not None and joint.type != "fixed":
        body["mimic"] = (joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
    return body


def _inertia(link: Any) -> dict[str, Any]:
    """Mass, centre of mass, and the inertia about it turned into the axes of the link."""
    inertial = link.inertial
    if inertial is None:
        return {}
    at = np.eye(4) if inertial.origin is None else inertial.origin
    J = np.zeros((3, 3)) if inertial.inertia is None else inertial.inertia
    J = at[:3, :3] @ J @ at[:3, :3].T
    return {"mass": inertial.mass or 0.0, "com": at[:3, 3], "inertia": (J + J.T) / 2}
