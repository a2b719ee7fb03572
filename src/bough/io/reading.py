"""From a description to a model, as the options of `load` ask: weld, float, build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from bough.errors import ModelError, short
from bough.io.description import BodySaid, Description
from bough.io.weld import Weld, welded
from bough.joints import JOINTS
from bough.model import GRAVITY, WORLD, Builder, Mimic, Model

ROOT_JOINT = "root_joint"
Equality = Literal["honour", "drop"]


class LoadOptions(TypedDict, total=False):
    """The options of `load`, for signatures."""

    floating_base: bool
    mimic: Mimic
    gravity: Sequence[float] | None
    weld: Weld
    equality: Equality
    check: bool


@dataclass(frozen=True)
class Options:
    """The options of `load`."""

    floating_base: bool = False
    mimic: Mimic = "honour"
    gravity: Sequence[float] | None = None
    weld: Weld = ()
    equality: Equality = "honour"
    check: bool = False


def prepare(description: Description, options: Options) -> Description:
    """The mechanism that the options ask for."""
    found = welded(description, options.weld, followers=options.mimic != "independent")
    return floated(found) if options.floating_base else found


def build(description: Description, options: Options) -> Model:
    """The model; harmless nonsense is let through unless `check` is set, as other readers do (see `doctor`)."""
    given = description.gravity if options.gravity is None else options.gravity
    builder = Builder(description.name, GRAVITY if given is None else given, check=options.check)
    for body in description.bodies:
        builder.add_body(**body)
    for frame in description.frames:
        builder.add_frame(*frame)
    for note in description.notes:
        builder.note(note)
    return builder.build(options.mimic)


def floated(description: Description) -> Description:
    """The same mechanism with the root link free to move, on a joint called root_joint.

    A root link called "world" is the world itself, and the link welded to it floats; if it carries something else, the
    link itself floats, under another name.
    """
    roots = [b for b in description.bodies if b["parent"] == WORLD]
    if len(roots) == 1 and roots[0]["joint"] == "fixed":
        return _replaced(description, roots[0], _free(roots[0]))
    if description.root is not None:
        return _world_floated(description)
    carried = ", ".join(f"{short(b['name'])!r} on a {b['joint']} joint" for b in roots[:5])
    more = f" and {len(roots) - 5} more" if len(roots) > 5 else ""
    already = [b["name"] for b in roots if JOINTS[b["joint"]] == ("free",)]
    hint = "; it floats already: leave floating_base out" if already else ""
    raise ModelError(
        f"{description.name!r} cannot be given a floating base: expected one body welded to the world, which here "
        f"carries {carried}{more}{hint}"
    )


def _free(body: BodySaid) -> BodySaid:
    return {**body, "joint": "floating", "joint_name": ROOT_JOINT, "placement": None}


def _replaced(description: Description, old: BodySaid, new: BodySaid) -> Description:
    return description._replace(bodies=[new if b is old else b for b in description.bodies])


def _world_floated(description: Description) -> Description:
    """A root link called "world" that floats: its name belongs to the world, so it gets another."""
    assert description.root is not None
    name, taken = f"{WORLD}_link", {b["name"] for b in description.bodies}
    while name in taken:
        name += "_"
    root: BodySaid = {**description.root, "name": name, "parent": WORLD}
    bodies: list[BodySaid] = [{**b, "parent": name} if b["parent"] == WORLD else b for b in description.bodies]
    notes = [*description.notes, f"the root link {WORLD!r} floats, and is called {name!r}"]
    return description._replace(bodies=[_free(root), *bodies], notes=notes)
