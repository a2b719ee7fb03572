"""The content of a file, as arguments for a `Builder`: readers make it, `load` builds it, the doctor examines it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, TypedDict

from bough.types import FloatArray

Place: TypeAlias = tuple[FloatArray, FloatArray]  # (R, p)


class BodyArguments(TypedDict, total=False):
    """Arguments of `Builder.add_body`: what a file says of a body and of the joint it hangs on."""

    name: str
    parent: str
    joint: str
    joint_name: str
    placement: Place | None
    axis: FloatArray
    mass: float
    com: FloatArray
    inertia: FloatArray
    armature: float
    damping: float | list[float]
    friction: float | list[float]
    stiffness: float
    rest: float
    actuated: bool | list[bool]
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    mimic: tuple[str, float, float] | None


class FrameArguments(NamedTuple):
    """Arguments of `Builder.add_frame`."""

    name: str
    body: str
    placement: Place


class ClosureArguments(NamedTuple):
    """A closure of a file: two frames, joined as in `bough.model.LoopClosure`.

    Other kinds ("joint", "tendon", "flex") have no frames: models do not know them, and `load` refuses.
    """

    kind: str
    name: str
    first: str = ""
    second: str = ""
    at_first: Place | None = None
    at_second: Place | None = None
    length: float | None = None


class Description(NamedTuple):
    """Bodies (parents first), frames, and notes of what was dropped."""

    name: str
    bodies: list[BodyArguments]
    frames: list[FrameArguments]
    notes: list[str]
    gravity: Sequence[float] | None = None
    closures: Sequence[ClosureArguments] = ()
    root: BodyArguments | None = None  # a root link called "world": no body unless it floats


def joint_name(body: BodyArguments) -> str:
    return body.get("joint_name", body["name"])
