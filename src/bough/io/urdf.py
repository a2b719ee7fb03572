"""URDF into a description, with the standard library. Geometry is not read: dynamics needs no meshes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from bough.errors import FileFormatError, short, some_of
from bough.io.description import BodyArguments, ClosureArguments, Description, Place
from bough.io.xml import Document
from bough.joints import JOINTS, PRIMITIVES
from bough.model import CLOSURE_KINDS, WORLD
from bough.model.bodies import EYE, LARGEST
from bough.spatial import rpy_matrix
from bough.types import FloatArray

NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
EXPECTED = {1: "a number", 3: "three numbers"}


def scalar(element: Element | None, attribute: str, default: float, where: str, *, largest: float = LARGEST) -> float:
    """A number of an element, or the default where element or attribute are missing."""
    return _numbers(element, attribute, (default,), where, largest)[0]


def vector(element: Element | None, attribute: str, default: tuple[float, float, float], where: str) -> FloatArray:
    return np.array(_numbers(element, attribute, default, where, LARGEST))


def needed(element: Element, attributes: tuple[str, ...], where: str) -> None:
    for attribute in attributes:
        if attribute not in element.attrib:
            raise FileFormatError(f"{where}: <{element.tag}> has no attribute {attribute!r}")


def _numbers(
    element: Element | None, attribute: str, default: tuple[float, ...], where: str, largest: float
) -> tuple[float, ...]:
    text = None if element is None else element.get(attribute)
    if element is None or text is None:
        return default
    words = text.split()[:10]
    values = tuple(float(word) for word in words if NUMBER.fullmatch(word))
    if len(values) != len(words) or len(values) != len(default) or not all(map(math.isfinite, values)):
        got = f"{attribute}={short(text)!r}"
        raise FileFormatError(f"{where}: <{element.tag}> has {got}; expected {EXPECTED[len(default)]}, finite")
    if max(map(abs, values)) > largest:
        got = f"{attribute}={short(text)!r}"
        raise FileFormatError(f"{where}: <{element.tag}> has {got}; expected at most {largest:g} in SI units")
    return values


IGNORED = {"visual", "collision", "material"}  # no concern of dynamics: dropped without a word
KEPT = {
    "robot": {"link", "joint", "constraint"},
    "constraint": {"link1", "link2"},
    "link": {"inertial"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"},
    "inertial": {"origin", "mass", "inertia"},
}
XACRO = "xacro:"
EXPAND = "if you trust it, `pip install xacrodoc` and load what `xacrodoc FILE -o robot.urdf` writes"
FURTHER_LIMITS = ("acceleration", "deceleration", "jerk")  # of URDF 1.2, which nothing here uses


class _Joint(NamedTuple):
    name: str
    type: str
    parent: str
    child: str
    element: Element


def read(document: Document) -> Description:
    """Bodies in depth-first file order: a link, then each of its child joints' subtrees in the order of the file."""
    where = document.name
    if any(element.tag.startswith(XACRO) for element in document.root.iter()):
        raise FileFormatError(f"{where} is a xacro file, which runs code when it is expanded: {EXPAND}")
    links = _named(document.root, "link", where)
    if not links:
        raise FileFormatError(f"{where} has no <link>; is it a URDF file?")
    notes = _dropped(document.root)
    found = [_joint(name, element, where) for name, element in _named(document.root, "joint", where).items()]
    root, joints = _tree(links, found, where)
    bodies: list[BodyArguments] = []
    own = link_inertia(root, links[root], where)
    if root != WORLD:
        bodies.append({"name": root, "parent": WORLD, "joint": "fixed", **own})
    for joint in joints:
        motion = _motion(joint, f"{where}: joint {joint.name!r}", notes)
        bodies.append({**motion, **link_inertia(joint.child, links[joint.child], where)})
    closures = [_closure(name, element, where) for name, element in _named(document.root, "constraint", where).items()]
    said = own if root == WORLD else None
    return Description(document.root.get("name") or "robot", bodies, [], notes, closures=closures, root=said)


def read_loosely(document: Document) -> tuple[list[BodyArguments], list[str]]:
    """Links and joints of a file that is no tree, each read on its own: bodies, and why others cannot be read."""
    bodies: list[BodyArguments] = []
    errors: list[str] = []
    above = {joint.find("child"): joint for joint in document.root.findall("joint")}
    joints = {child.get("link"): joint for child, joint in above.items() if child is not None}
    for link in document.root.findall("link"):
        name = link.get("name", "")
        joint = joints.get(name)
        try:
            body: BodyArguments = {"name": name, "parent": WORLD, "joint": "fixed"}
            if joint is not None:
                found = _joint(joint.get("name", ""), joint, document.name)
                body = {**_motion(found, f"{document.name}: joint {found.name!r}", [])}
            bodies.append({**body, **link_inertia(name, link, document.name)})
        except FileFormatError as error:
            errors.append(str(error))
    return bodies, errors


def _named(root: Element, tag: str, where: str) -> dict[str, Element]:
    """The elements of one tag by their names, which must be there and differ."""
    elements = root.findall(tag)
    for name, times in Counter(element.get("name", "") for element in elements).items():
        if not name:
            raise FileFormatError(f"{where}: a <{tag}> has no name")
        if times > 1:
            raise FileFormatError(f"{where}: {times} <{tag}> elements are called {short(name)!r}")
    return {element.attrib["name"]: element for element in elements}


def _dropped(root: Element) -> list[str]:
    """Tags beyond links, joints and inertias, with the number of their occurrences."""
    dropped: Counter[str] = Counter()
    twice: list[str] = []
    for element in _parts("robot", [root], dropped):
        for part in _parts(element.tag, [element], dropped):
            if part.tag == "inertial":
                list(_parts("inertial", [part], dropped))
        tags = Counter(part.tag for part in element if part.tag in KEPT[element.tag])
        name = f"{element.tag} {element.get('name')!r}"
        twice += [f"{name}: read the first of {n} <{tag}>, dropped the others" for tag, n in tags.items() if n > 1]
    for limit in root.iterfind("joint/limit"):
        dropped.update(f"limit {word}" for word in FURTHER_LIMITS if word in limit.attrib)
    notes = [f"dropped {n} <{tag}>" for tag, n in dropped.items() if tag.split("/")[-1] not in IGNORED]
    return [*map(short, notes), *twice]


def _parts(tag: str, elements: Iterable[Element], dropped: Counter[str]) -> list[Element]:
    """The children that are read; the others are counted."""
    children = [child for element in elements for child in element]
    prefix = "" if tag == "robot" else f"{tag}/"
    dropped.update(prefix + child.tag for child in children if child.tag not in KEPT[tag])
    return [child for child in children if child.tag in KEPT[tag]]


def _closure(name: str, element: Element, where: str) -> ClosureArguments:
    """A loop: <constraint name type [length]><link1 link xyz rpy/><link2 link xyz rpy/></constraint>."""
    at, kind = f"{where}: constraint {name!r}", element.get("type")
    if kind not in CLOSURE_KINDS:
        known = ", ".join(CLOSURE_KINDS)
        raise FileFormatError(f"{at} has the unknown type {short(str(kind))!r}; known types: {known}")
    ends: list[tuple[str, Place | None]] = []
    for tag in ("link1", "link2"):
        end = element.find(tag)
        if end is None or not end.get("link"):
            raise FileFormatError(f'{at} has no <{tag} link="...">')
        rpy = vector(end, "rpy", (0.0, 0.0, 0.0), at)
        place = (rpy_matrix(rpy), vector(end, "xyz", (0.0, 0.0, 0.0), at))
        ends.append((end.attrib["link"], place if {"xyz", "rpy"} & {*end.attrib} else None))
    (first, at_first), (second, at_second) = ends
    length = scalar(element, "length", 0.0, at) if "length" in element.attrib else None
    return ClosureArguments(kind, name, first, second, at_first, at_second, length)


def _joint(name: str, element: Element, where: str) -> _Joint:
    kind = element.get("type")
    known = ["fixed", *(word for primitive in PRIMITIVES.values() for word in primitive.urdf)]
    if kind not in known:
        raise FileFormatError(
            f"{where}: joint {name!r} has the unknown type {short(str(kind))!r}; known types: {', '.join(known)}"
        )
    ends = []
    for tag in ("parent", "child"):
        end = element.find(tag)
        if end is None or not end.get("link"):
            raise FileFormatError(f"{where}: joint {name!r} names no {tag} link")
        ends.append(end.attrib["link"])
    return _Joint(name, kind, ends[0], ends[1], element)


def _tree(links: Iterable[str], joints: list[_Joint], where: str) -> tuple[str, list[_Joint]]:
    """The root link and the joints in depth-first file order."""
    above: dict[str, _Joint] = {}
    children: dict[str, list[_Joint]] = {name: [] for name in links}
    for joint in joints:
        for end in (joint.parent, joint.child):
            if end not in children:
                end = short(end)
                raise FileFormatError(f"{where}: joint {joint.name!r} refers to link {end!r}, which is not in the file")
        if joint.child in above:
            raise FileFormatError(
                f"{where}: link {joint.child!r} has two parents, by joints {above[joint.child].name!r} and "
                f"{joint.name!r}; a URDF is a tree, so a loop must be cut"
            )
        above[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [name for name in children if name not in above]
    if len(roots) > 1:
        raise FileFormatError(f"{where} has {len(roots)} root links, {_listed(roots)}; expected one")
    order: list[_Joint] = []
    waiting = [joint for name in roots for joint in reversed(children[name])]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting += reversed(children[joint.child])
    if len(order) < len(joints):
        seen = {joint.name for joint in order}
        cycle = [joint.name for joint in joints if joint.name not in seen]
        raise FileFormatError(f"{where}: joints {_listed(cycle)} form a loop away from the root")
    return roots[0], order


def _listed(names: list[str]) -> str:
    return some_of([repr(short(name)) for name in names])


def _motion(joint: _Joint, where: str, notes: list[str]) -> BodyArguments:
    """Placement, axis, limits, damping and mimic of a joint."""
    element = joint.element
    body: BodyArguments = {"name": joint.child, "parent": joint.parent, "joint": joint.type, "joint_name": joint.name}
    body["placement"] = _origin(element, where)
    axis, limit, dynamics, mimic = (element.find(tag) for tag in ("axis", "limit", "dynamics", "mimic"))
    if axis is not None:
        needed(axis, ("xyz",), where)
    direction = vector(axis, "xyz", (1.0, 0.0, 0.0), where)
    chain = [PRIMITIVES[part] for part in JOINTS[joint.type]]
    is_screw = any(part.screw for part in chain)
    if is_screw or any(part.takes_axis for part in chain):
        body["axis"] = direction
    lower, upper, velocity, effort = (_limit(limit, key, where) for key in ("lower", "upper", "velocity", "effort"))
    if is_screw and joint.type != "continuous":
        body["lower"], body["upper"] = lower, upper
    if is_screw:
        body["velocity"], body["effort"] = velocity, effort
    elif limit is not None and joint.type != "fixed":
        notes.append(f"dropped the limits of the {joint.type} joint {joint.name!r}")
    damping, friction = (scalar(dynamics, key, 0.0, where) for key in ("damping", "friction"))
    if joint.type != "fixed":
        body["damping"], body["friction"] = damping, friction
    if mimic is not None:
        needed(mimic, ("joint",), where)
        ratio, offset = scalar(mimic, "multiplier", 1.0, where), scalar(mimic, "offset", 0.0, where)
        if joint.type == "fixed":
            notes.append(f"dropped the mimic of the fixed joint {joint.name!r}")
        else:
            body["mimic"] = (short(mimic.attrib["joint"], 1000), ratio, offset)
    return body


def _limit(limit: Element | None, key: str, where: str) -> float | None:
    """Limits may be as large as numbers are: such files mean that there are none."""
    if limit is None or key not in limit.attrib:
        return None
    return scalar(limit, key, 0.0, where, largest=np.inf)


def link_inertia(name: str, link: Element, where: str) -> BodyArguments:
    """Mass, centre of mass, and the inertia about it turned into the axes of the link."""
    inertial, where = link.find("inertial"), f"{where}: link {name!r}"
    if inertial is None:
        return {}
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    if mass is not None:
        needed(mass, ("value",), where)
    if inertia is not None:
        needed(inertia, ("ixx", "iyy", "izz"), where)
    R, com = _origin(inertial, where)
    xx, yy, zz, xy, xz, yz = (scalar(inertia, "i" + key, 0.0, where) for key in ("xx", "yy", "zz", "xy", "xz", "yz"))
    J = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return {"mass": scalar(mass, "value", 0.0, where), "com": com, "inertia": (J + J.T) / 2}


def _origin(element: Element, where: str) -> Place:
    origin = element.find("origin")
    if origin is None:
        return EYE, np.zeros(3)
    rpy = vector(origin, "rpy", (0.0, 0.0, 0.0), where)
    return rpy_matrix(rpy) if rpy.any() else EYE, vector(origin, "xyz", (0.0, 0.0, 0.0), where)
