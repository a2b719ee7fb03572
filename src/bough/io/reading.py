"""From a description to a model, as the options of `load` ask: weld, float, build."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np

from bough.errors import FileFormatError, ModelError, OptionError, short, some_of, unknown_option
from bough.io import urdf
from bough.io.description import BodyArguments, Description
from bough.io.weld import Weld, welded
from bough.io.xml import Document
from bough.joints import JOINTS
from bough.model import CLOSURE_KINDS, WORLD, Builder, Mimic, Model
from bough.model.assemble import GRAVITY

PackagePaths: TypeAlias = Sequence[str | os.PathLike[str]]


def describe(source: str | os.PathLike[str], package_paths: PackagePaths = ()) -> Description:
    """The content of a URDF or MJCF file, before anything is built."""
    document = Document(source)
    if document.root.tag == "robot":
        return urdf.read(document)
    if document.root.tag == "mujoco":
        from bough.io import mjcf

        return mjcf.read(document, package_paths)
    tag = short(document.root.tag)
    raise FileFormatError(f"{document.name} begins with <{tag}>; expected <robot> (URDF) or <mujoco> (MJCF)")


LIMITS: tuple[Literal["lower", "upper", "velocity", "effort"], ...] = ("lower", "upper", "velocity", "effort")
ROOT_JOINT = "root_joint"
Equality = Literal["honour", "drop"]


Closures: TypeAlias = str | os.PathLike[str] | Sequence[Mapping[str, Any]]
ENDS = ("frame", "other", "kind", "point", "other_point", "length", "name")


class LoadOptions(TypedDict, total=False):
    """The options of `load`, for signatures."""

    floating_base: bool
    mimic: Mimic
    gravity: Sequence[float] | None
    weld: Weld
    equality: Equality
    check: bool
    closures: Closures
    package_paths: PackagePaths


@dataclass(frozen=True)
class LoadSettings:
    """The options of `load`."""

    floating_base: bool = False
    mimic: Mimic = "honour"
    gravity: Sequence[float] | None = None
    weld: Weld = ()
    equality: Equality = "honour"
    check: bool = False
    closures: Closures = ()
    package_paths: PackagePaths = ()


def prepare(description: Description, options: LoadSettings) -> Description:
    """The mechanism that the options ask for."""
    check_options(options)
    found = kept_closures(description, options.equality)
    found = welded(found, options.weld, followers=options.mimic != "independent")
    found = floated(found) if options.floating_base else found
    if found.root and found.root.get("mass"):
        note = f"the mass of the root link {WORLD!r}, which is the world itself, has no part in the dynamics"
        found = found._replace(notes=[*found.notes, note])
    return found


def check_options(options: LoadSettings) -> None:
    if options.equality not in ("honour", "drop"):
        raise unknown_option(f"there is no equality={options.equality!r}", options.equality, ("honour", "drop"))
    if not isinstance(options.floating_base, bool):
        raise OptionError(f"floating_base is True or False, got {options.floating_base!r}")


def kept_closures(description: Description, equality: Equality) -> Description:
    """Equalities of frames become loops of the model, others are refused; or all are dropped, with notes."""
    drop = equality == "drop"
    gone = [c for c in description.closures if drop or c.kind not in CLOSURE_KINDS]
    if not gone:
        return description
    named = [f"{c.kind} {c.name!r}" + (f" of {c.first!r}" * bool(c.first)) for c in gone]
    if not drop:
        raise ModelError(
            f"{description.name!r} has equalities that no model can keep: {some_of(named)}; "
            f'load with equality="drop" to leave them out'
        )
    notes = [f"dropped the equality {one}" for one in named]
    return description._replace(closures=(), notes=[*description.notes, *notes])


def build(description: Description, options: LoadSettings) -> Model:
    """The model; harmless nonsense is let through unless `check` is set, as other readers do (see `doctor`)."""
    own = GRAVITY if description.gravity is None else description.gravity
    builder = Builder(description.name, own if options.gravity is None else options.gravity, check=options.check)
    for body in description.bodies:
        builder.add_body(**body)
    for frame in description.frames:
        builder.add_frame(*frame)
    for c in description.closures:
        kind: Any = c.kind
        at, other = c.at_first, c.at_second
        builder.add_closure(c.first, c.second, kind, point=at, other_point=other, length=c.length, name=c.name)
    for more in read_closures(options.closures):
        builder.add_closure(**more)
    for note in [*description.notes, *ignored_facts(description)]:
        builder.note(note)
    return builder.build(options.mimic)


def read_closures(given: Closures) -> list[dict[str, Any]]:
    """Arguments of `Builder.add_closure`, from a list or from a JSON file with one."""
    where, found = "closures", given
    if isinstance(given, str | os.PathLike):
        where = short(os.fspath(given))
        try:
            found = json.loads(Path(given).read_text())
        except OSError as error:
            raise FileFormatError(f"{where} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise FileFormatError(f"{where} is no JSON file: {error}") from None
    if not isinstance(found, list | tuple) or not all(isinstance(one, Mapping) for one in found):
        raise FileFormatError(f"{where}: expected a list of closures, each with some of {', '.join(ENDS)}")
    for one in found:
        odd = [key for key in one if key not in ENDS]
        if odd or "frame" not in one:
            what = f"has the unknown entry {odd[0]!r}" if odd else "names no frame"
            raise FileFormatError(f"{where}: a closure {what}; expected some of {', '.join(ENDS)}")
    return [dict(one) for one in found]


def ignored_facts(description: Description) -> list[str]:
    """Facts of joints in the file that `Dynamics` ignores."""
    moving = [body for body in description.bodies if JOINTS[body["joint"]]]
    has: dict[str, list[bool]] = {
        "damping": [bool(np.any(body.get("damping", 0.0))) for body in moving],
        "dry friction": [bool(np.any(body.get("friction", 0.0))) for body in moving],
        "the spring": [body.get("stiffness", 0.0) != 0.0 for body in moving],
        "the limits": [any(body.get(key) is not None for key in LIMITS) for body in moving],
    }
    users = {what: "simulate uses it" for what in has} | {"the limits": "simulate and control use them"}
    notes = [
        f"Dynamics ignores {what} of {n} joint{'s' if n > 1 else ''}; {users[what]}"
        for what, flags in has.items()
        if (n := sum(flags))
    ]
    if n := len(description.closures):
        loops = f"{n} closure{'s' if n > 1 else ''}"
        notes.append(
            f"Dynamics ignores {loops}; ConstrainedDynamics and simulate keep loops closed (without compliance)"
        )
    return notes


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
    carried = some_of([f"{short(b['name'])!r} on a {b['joint']} joint" for b in roots])
    already = [b["name"] for b in roots if JOINTS[b["joint"]] == ("free",)]
    hint = "; it floats already: leave floating_base out" if already else ""
    raise ModelError(
        f"{description.name!r} cannot be given a floating base: expected one body welded to the world, which here "
        f"carries {carried}{hint}"
    )


def _free(body: BodyArguments) -> BodyArguments:
    return {**body, "joint": "floating", "joint_name": ROOT_JOINT, "placement": None}


def _replaced(description: Description, old: BodyArguments, new: BodyArguments) -> Description:
    return description._replace(bodies=[new if b is old else b for b in description.bodies])


def _world_floated(description: Description) -> Description:
    """A root link called "world" that floats: its name belongs to the world, so it gets another."""
    assert description.root is not None
    name, taken = f"{WORLD}_link", {b["name"] for b in description.bodies}
    while name in taken:
        name += "_"
    root: BodyArguments = {**description.root, "name": name, "parent": WORLD}
    bodies: list[BodyArguments] = [{**b, "parent": name} if b["parent"] == WORLD else b for b in description.bodies]
    notes = [*description.notes, f"the root link {WORLD!r} floats, and is called {name!r}"]
    return description._replace(bodies=[_free(root), *bodies], notes=notes, root=None)
