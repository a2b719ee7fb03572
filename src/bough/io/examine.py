"""The checks of the doctor: one body, its joint, and bodies together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from bough.errors import BoughError
from bough.io.description import BodyArguments, Description, joint_name
from bough.joints import JOINTS
from bough.model import WORLD
from bough.model.bodies import MICRON_SQUARED, TRIANGLE, finite, negative, placement, principal_moments
from bough.model.laid_frames import NEARLY_PARALLEL, PARALLEL
from bough.types import FloatArray

Severity = Literal["error", "warning", "note"]

# Beyond these a link is no robot's: radius of gyration and distance of the centre of mass, in metres
SMALL, LARGE, FAR = 1e-4, 3.0, 5.0
ALMOST = 1e-3  # an axis this close to a right angle, but not on it, was meant to be there


class Finding(NamedTuple):
    """One remark: the link (or joint) it is about, what is wrong, what to do, and how bad it is."""

    link: str
    what: str
    remedy: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.severity}: {self.link}: {self.what}; {self.remedy}"


def examine(description: Description) -> list[Finding]:
    """All that is suspicious; an error is what keeps a model from being built, as far as one body can tell."""
    return [*examine_bodies(description.bodies), *_massless(description), *_axes(description)]


def examine_bodies(bodies: Iterable[BodyArguments]) -> list[Finding]:
    """Findings in single bodies, whatever tree they form."""
    return [finding for body in bodies for finding in _body(body)]


# One body


def _body(body: BodyArguments) -> Iterator[Finding]:
    name, moves = body["name"], bool(JOINTS[body["joint"]])
    mass, com = float(body.get("mass", 0.0)), np.asarray(body.get("com", np.zeros(3)), float)
    if not np.isfinite(mass) or mass < 0.0:
        yield Finding(name, f"its mass is {mass:g} kg", "give it a positive mass", "error")
        return
    if not np.isfinite(com).all() or np.linalg.norm(com) > FAR:
        yield Finding(name, f"its centre of mass is at {com.tolist()}", "check the unit: metres", "warning")
    yield from _inertia(name, mass, np.asarray(body.get("inertia", np.zeros((3, 3))), float), moves)
    if moves:
        yield from _joint(body)


def _inertia(name: str, mass: float, J: FloatArray, moves: bool) -> Iterator[Finding]:
    try:
        low, middle, high = principal_moments(finite(J, f"body {name!r}: inertia").tolist(), name)
    except BoughError as error:
        yield Finding(name, str(error), "give six finite numbers", "error")
        return
    moments = f"principal moments {low:.3g}, {middle:.3g}, {high:.3g} kg m^2"
    tiny = high <= MICRON_SQUARED * mass
    radius = np.sqrt(max(low + middle + high, 0.0) / (2.0 * mass)) if mass > 0.0 else 0.0
    if negative(low, high, mass):
        yield Finding(name, f"its inertia is not positive: {moments}", "recompute it about its com", "warning")
    elif low + middle < high * (1.0 - TRIANGLE):
        what = f"its inertia breaks the triangle inequality: {moments}"
        yield Finding(name, what, "recompute it: no real body has these moments", "warning")
    elif mass == 0.0 and high > 0.0:
        yield Finding(name, f"it has an inertia but no mass: {moments}", "give it a mass", "warning")
    elif mass > 0.0 and tiny and moves:
        yield Finding(name, f"its {mass:g} kg have no inertia: a point mass", "give it an inertia", "warning")
    elif mass > 0.0 and not tiny and not SMALL <= radius <= LARGE:
        what = f"its inertia belongs to a body of radius {radius:.2g} m: {mass:g} kg, {moments}"
        yield Finding(name, what, "check the units: kg and metres", "warning")


def _joint(body: BodyArguments) -> Iterator[Finding]:
    """Limits, axis and mimic of a joint that moves."""
    name = joint_name(body)
    lower, upper = body.get("lower"), body.get("upper")
    if lower is not None and upper is not None and lower >= upper:
        if lower > upper:
            yield Finding(name, f"its lower limit {lower:g} exceeds its upper {upper:g}", "exchange them", "warning")
        else:
            yield Finding(name, f"both its limits are {lower:g}", "make it fixed, or give it a range", "warning")
    for key, most in (("effort", body.get("effort")), ("velocity", body.get("velocity"))):
        if most is not None and most <= 0.0:
            yield Finding(name, f"its {key} limit is {most:g}", "give it a positive limit, or none", "warning")
    if body.get("axis") is not None and JOINTS[body["joint"]] in (("turn",), ("slide",), ("planar",)):
        length = float(np.linalg.norm(body["axis"]))
        if length < 1e-9:
            yield Finding(name, "its axis is zero", "give it a direction", "error")
        elif abs(length - 1.0) > 1e-6:
            yield Finding(name, f"its axis has length {length:g}; it is normalised", "give a unit vector", "note")
    if tie := body.get("mimic"):
        leader, ratio, offset = tie
        what = f"it mimics {leader!r}: {ratio:g} times its position plus {offset:g}"
        yield Finding(name, what, 'load with mimic="independent" (a command: --free-mimics) to free it', "note")


# Bodies together


def _massless(description: Description) -> Iterator[Finding]:
    """Moving links without mass: harmless if they carry some."""
    carries: dict[str, bool] = {}
    for body in reversed(description.bodies):
        name, up = body["name"], body["parent"]
        own = float(body.get("mass", 0.0)) > 0.0 or bool(np.any(body.get("inertia", 0.0)))
        carries[name] = own or carries.get(name, False)
        carries[up] = carries[name] or carries.get(up, False)
    for body in description.bodies:
        name, joint = body["name"], joint_name(body)
        if not JOINTS[body["joint"]] or float(body.get("mass", 0.0)) > 0.0 or body.get("armature"):
            continue
        if not carries[name] and body.get("mimic"):
            yield Finding(name, f"it moves on the mimic joint {joint!r} without mass", "give it a mass", "warning")
        elif not carries[name]:
            what = f"it moves on joint {joint!r}, and neither it nor anything it carries has mass"
            yield Finding(name, what, f"give it a mass and an inertia, or load with weld=[{joint!r}]", "error")
        elif not np.any(body.get("inertia", 0.0)):
            yield Finding(name, "it has no mass of its own, but carries some", "this is legal", "note")


def _axes(description: Description) -> Iterator[Finding]:
    """Axes of neighbouring joints that are almost, but not quite, parallel: mostly a rounded pi."""
    turn: dict[str, tuple[FloatArray, FloatArray | None]] = {WORLD: (np.eye(3), None)}
    for body in description.bodies:
        R, above = turn[body["parent"]]
        try:
            R = R @ placement(body.get("placement"))[0]
        except BoughError as error:
            yield Finding(body["name"], str(error), "give a proper rotation", "error")
        turn[body["name"]] = (R, above)
        axis = np.asarray(body.get("axis", np.zeros(3)), float)
        if JOINTS[body["joint"]] not in (("turn",), ("slide",)) or not axis.any():
            continue
        axis = axis / np.linalg.norm(axis)
        turn[body["name"]] = (np.eye(3), axis)
        if above is None:
            continue
        sine, cosine = np.linalg.norm(np.cross(above, R @ axis)), abs(above @ R @ axis)
        if PARALLEL < sine < NEARLY_PARALLEL:
            what = f"its axis is {np.degrees(sine):.2g} degrees off the axis before it"
            remedy = "if they should be parallel, write pi with more digits: exact angles also compute faster"
            yield Finding(joint_name(body), what, remedy, "note")
        elif PARALLEL < cosine < ALMOST:
            what = f"its axis is {np.degrees(cosine):.2g} degrees off a right angle to the axis before it"
            remedy = "if it should be perpendicular, write pi with more digits: exact angles also compute faster"
            yield Finding(joint_name(body), what, remedy, "note")
