"""What a file says, as arguments for a `Builder`: the readers write it, `load` builds it, the doctor examines it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from bough.errors import ModelError, UnknownNameError
from bough.model import GRAVITY, WORLD, Builder, Mimic, Model, unknown

ROOT_JOINT = "root_joint"


class Description(NamedTuple):
    """Bodies (arguments of `Builder.add_body`, parents first), frames (of `add_frame`) and what was left out."""

    name: str
    bodies: list[dict[str, Any]]
    frames: list[tuple[str, str, Any]]
    notes: list[str]
    gravity: Sequence[float] | None = None


def joint_name(body: dict[str, Any]) -> str:
    return str(body.get("joint_name", body["name"]))


def floated(description: Description) -> Description:
    """The same mechanism with the link that was welded to the world free to move, on a joint called root_joint."""
    roots = [b for b in description.bodies if b["parent"] == WORLD]
    welded = [b for b in roots if b["joint"] == "fixed"]
    if len(roots) != 1 or not welded:
        names = ", ".join(repr(b["name"]) for b in roots)
        raise ModelError(
            f"{description.name!r} cannot be given a floating base: expected one root link welded to the world, which "
            f"here carries {names}; a root link called 'world' is the world itself, so rename it if it should float"
        )
    free = welded[0] | {"joint": "floating", "joint_name": ROOT_JOINT, "placement": None}
    return description._replace(bodies=[free if b is welded[0] else b for b in description.bodies])


def welded(description: Description, joints: Collection[str]) -> Description:
    """The same mechanism with these joints, and those that mimic them, fixed at zero."""
    known = tuple(joint_name(b) for b in description.bodies)
    for name in joints:
        if name not in known:
            raise UnknownNameError("weld: " + unknown("joint", name, known))
    fixed, more = set(joints), set(joints)
    while more:
        followers = [b for b in description.bodies if b.get("mimic") and b["mimic"][0] in more]
        more = {joint_name(b) for b in followers} - fixed
        for body in followers:
            if joint_name(body) in more and body["mimic"][2] != 0.0:
                raise ModelError(f"weld: {joint_name(body)!r} mimics a welded joint with an offset; weld it by name")
        fixed |= more
    bodies = [b | {"joint": "fixed", "mimic": None} if joint_name(b) in fixed else b for b in description.bodies]
    return description._replace(bodies=bodies)


def build(description: Description, mimic: Mimic = "honour", gravity: Sequence[float] | None = None) -> Model:
    """The model of a description; harmless nonsense is let through, as other readers do (see `doctor`)."""
    given = description.gravity if gravity is None else gravity
    builder = Builder(description.name, GRAVITY if given is None else given, check=False)
    for body in description.bodies:
        builder.add_body(**body)
    for frame in description.frames:
        builder.add_frame(*frame)
    for note in description.notes:
        builder.note(note)
    return builder.build(mimic)
