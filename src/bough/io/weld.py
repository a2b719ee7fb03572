"""Joints fixed where they stand: the motion of a joint at a position becomes part of its body's placement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, UnknownNameError, short
from bough.io.description import BodyArguments, Description, joint_name
from bough.joints import JOINTS, PRIMITIVES
from bough.model import unknown
from bough.model.bodies import EYE, placement
from bough.model.edit import joint_placement

Weld: TypeAlias = Collection[str] | Mapping[str, npt.ArrayLike | None]


def welded(description: Description, weld: Weld, *, followers: bool = True) -> Description:
    """The same mechanism with these joints, and (with `followers`) those that mimic them, fixed at a position."""
    joints = {joint_name(body): body for body in description.bodies}
    fixed = {name: _position(joints[name], value) for name, value in _positions(weld, joints).items()}
    more = followers and bool(fixed)
    while more:
        tied = {name: body.get("mimic") for name, body in joints.items() if name not in fixed}
        found = {name: tie for name, tie in tied.items() if tie and tie[0] in fixed and len(fixed[tie[0]]) == 1}
        for name, (leader, ratio, offset) in found.items():
            fixed[name] = _position(joints[name], ratio * fixed[leader][0] + offset)
        more = bool(found)
    bodies = [_fixed(b, fixed[joint_name(b)]) if joint_name(b) in fixed else b for b in description.bodies]
    return description._replace(bodies=bodies)


def _positions(weld: Weld, joints: Mapping[str, BodyArguments]) -> dict[str, npt.ArrayLike]:
    """Joint names with positions; without one, where q is zero (fixed joints stand there already)."""
    joints_named: object = weld
    if isinstance(joints_named, str) or not isinstance(joints_named, Collection):
        example = [short(joints_named)] if isinstance(joints_named, str) else ["elbow"]
        raise ModelError(
            f"weld is a list of joint names, or a dictionary of names and positions; got {short(repr(weld))}; "
            f"write weld={example}"
        )
    for name in joints_named:
        if not isinstance(name, str) or name not in joints:
            raise UnknownNameError("weld: " + unknown("joint", str(name), tuple(joints)))
    places = dict(weld) if isinstance(weld, Mapping) else dict.fromkeys(weld)
    kinds = {name: JOINTS[joints[name]["joint"]] for name in places}
    neutral = {name: [x for kind in found for x in PRIMITIVES[kind].neutral] for name, found in kinds.items()}
    return {name: neutral[name] if q is None else q for name, q in places.items() if q is not None or neutral[name]}


def _position(body: BodyArguments, value: npt.ArrayLike) -> list[float]:
    """The q of a joint as a list, checked."""
    name, size = joint_name(body), sum(PRIMITIVES[kind].nq for kind in JOINTS[body["joint"]])
    if size == 0:
        raise ModelError(f"weld: joint {name!r} is fixed already, so it has no position")
    try:
        q = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError):
        q = np.empty(0)
    if q.shape != (size,) or not np.isfinite(q).all():
        expected = "a finite number" if size == 1 else f"{size} finite numbers (its q)"
        raise ModelError(f"weld: the {body['joint']} joint {name!r} needs {expected}, got {short(repr(value))}")
    if body["joint"] in ("spherical", "floating") and not 1e-6 < np.linalg.norm(q[-4:]) < 1e6:
        raise ModelError(f"weld: the position of {name!r} ends in a quaternion x y z w, got {q[-4:].tolist()}")
    return q.tolist()


def _fixed(body: BodyArguments, q: list[float]) -> BodyArguments:
    """The body welded where its joint stands at q."""
    R, p = placement(body.get("placement"))
    axis = {"axis": body["axis"]} if np.any(body.get("axis", 0.0)) else {}
    turn, shift = joint_placement(body["joint"], np.array(q), **axis)
    turn = EYE if np.allclose(turn, EYE, rtol=0.0, atol=1e-15) else turn  # exact zeros make cheaper code
    kept: BodyArguments = {
        "name": body["name"],
        "parent": body["parent"],
        "joint": "fixed",
        "joint_name": joint_name(body),
    }
    for key in ("mass", "com", "inertia"):
        if key in body:
            kept[key] = body[key]
    kept["placement"] = (R @ turn, p + R @ shift)
    return kept
