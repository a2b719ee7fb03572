"""The doctor: what is wrong or suspicious in a robot description, link by link, and what to do about it."""

from __future__ import annotations

import os
from typing import Unpack

from bough.arguments import explained
from bough.errors import BoughError, short
from bough.io.description import BodyArguments, Description
from bough.io.examine import Finding, examine, examine_bodies
from bough.io.reading import LoadOptions, LoadSettings, build, describe, floated, ignored_facts, prepare
from bough.io.urdf import read_loosely
from bough.io.xml import Document
from bough.model import WORLD, Model
from bough.model.parameters import standard

SEVERITIES = ("error", "warning", "note")


@explained
def doctor(source: str | os.PathLike[str] | Model, **options: Unpack[LoadOptions]) -> list[Finding]:
    """List what is wrong or suspicious in a URDF or MJCF file, or in a model, worst first; empty if nothing is.

    Takes the options of `load`. Errors are what keeps `load` from reading the file with these options: there is one if
    and only if `load` raises. Warnings are probably mistakes; notes are facts worth knowing (what was dropped, what a
    function ignores, which joints mimic others).
    """
    if isinstance(source, Model):
        description, obstacle = _of_model(source), None
        findings = examine(description)
    else:
        try:
            description = describe(source, options.get("package_paths", ()))
        except BoughError as error:
            return [Finding(short(str(source), 200), str(error), "repair the file", "error"), *_loosely(source, error)]
        description, obstacle = _tried(description, LoadSettings(**options))
        findings = examine(description)
    if obstacle is None:
        findings = [f._replace(severity="warning") if f.severity == "error" else f for f in findings]
    elif not any(f.severity == "error" and repr(f.link) in obstacle.what for f in findings):
        findings.append(obstacle)
    facts = description.notes if isinstance(source, Model) else [*description.notes, *ignored_facts(description)]
    findings += [Finding(short(description.name), note, "for your information", "note") for note in facts]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _loosely(source: str | os.PathLike[str], obstacle: BoughError) -> list[Finding]:
    """Further errors of a URDF file that is no tree, link by link; worst first."""
    try:
        document = Document(source)
    except BoughError:
        return []
    if document.root.tag != "robot":
        return []
    bodies, errors = read_loosely(document)
    found = [Finding(short(document.name), why, "repair the file", "error") for why in errors if why != str(obstacle)]
    return sorted(found + examine_bodies(bodies), key=lambda finding: SEVERITIES.index(finding.severity))


def _tried(description: Description, options: LoadSettings) -> tuple[Description, Finding | None]:
    """The description as the options change it, and what keeps a model from being made of it."""
    remedy = "repair the file, or change the options"
    try:
        description = prepare(description, options)
        build(description, options)
        return description, None
    except BoughError as error:
        sentence = str(error)
    if not options.floating_base:
        try:
            build(floated(description), options)
            remedy = "load with floating_base=True"
        except BoughError:
            pass
    return description, Finding(short(description.name), sentence, remedy, "error")


def _of_model(model: Model) -> Description:
    """The moving bodies of a model, with all that is welded to them."""
    parents = [WORLD if up < 0 else model.body_names[up] for up in model.parent]
    bodies: list[BodyArguments] = []
    inertias = standard(model.inertias)
    for joint, parent, (mass, com, inertia) in zip(model.joints, parents, inertias, strict=True):
        v = joint.v.start
        lower, upper, velocity, effort = (float(column[v]) for column in model.limits)
        body: BodyArguments = {"name": joint.body, "parent": parent, "joint": joint.type, "joint_name": joint.name}
        body |= {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        body |= {"mass": mass, "com": com, "inertia": inertia, "armature": float(model.armature[v])}
        bodies.append(body)
    notes = [f"{c.follower!r} mimics {c.leader!r}" for c in model.couplings]
    loops = [f"{c.kind} {c.name!r} closes a loop, which Dynamics ignores" for c in model.closures]
    return Description(model.name, bodies, [], [*notes, *loops, *model.notes])
