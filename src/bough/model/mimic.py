"""Mimic joints: which joint each follows in the end, with what ratio and offset."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.errors import ModelError, UnknownNameError
from bough.joints import JOINTS
from bough.model.assemble import frozen
from bough.model.bodies import LARGEST, Body
from bough.model.contents import unknown
from bough.types import IntArray


class Tie(NamedTuple):
    """A mimic joint: the number of the moving body on the leading joint, ratio and offset."""

    leader: int
    ratio: float
    offset: float


def find_ties(moving: list[Body]) -> dict[int, Tie]:
    """Every mimic joint with the independent joint at the end of its chain of leaders."""
    by_joint = {b.joint_name: k for k, b in enumerate(moving)}
    first = {k: _first(b, by_joint, moving) for k, b in enumerate(moving) if b.options.get("mimic")}
    last: dict[int, Tie] = {}
    for k in first:
        _follow(k, first, last, moving)
    return {k: last[k] for k in first}


def _first(body: Body, by_joint: dict[str, int], moving: list[Body]) -> Tie:
    name, given = body.joint_name, body.options["mimic"]
    try:
        leader, ratio, offset = given
        ratio, offset = float(ratio), float(offset)
    except (TypeError, ValueError):
        raise ModelError(f"joint {name!r}: mimic is (joint, ratio, offset), got {given!r}") from None
    if not np.isfinite([ratio, offset]).all():
        raise ModelError(f"joint {name!r}: mimic ratio and offset must be finite, got {ratio} and {offset}")
    if leader not in by_joint:
        hint = unknown("moving joint", leader, tuple(by_joint))
        remedy = '(mimic="independent" frees all mimic joints)'
        raise UnknownNameError(f"joint {name!r} mimics {leader!r}: {hint} {remedy}")
    for b in (body, moving[by_joint[leader]]):
        if JOINTS[b.joint] not in (("turn",), ("slide",)):
            raise ModelError(f"joint {name!r} mimics {leader!r}: {b.joint_name!r}, {b.joint}, has not one freedom")
    return Tie(by_joint[leader], ratio, offset)


def _follow(k: int, first: dict[int, Tie], last: dict[int, Tie], moving: list[Body]) -> None:
    """x_k = ratio x_leader + offset, followed from leader to leader, for k and all that it follows."""
    way: dict[int, None] = {}
    while k in first and k not in last:
        if k in way:
            circle = ", ".join(repr(moving[j].joint_name) for j in way)
            raise ModelError(f"mimic joints follow each other in a circle: {circle}")
        way[k] = None
        k = first[k].leader
    for k in reversed(way):
        tie = first[k]
        up = last.get(tie.leader, Tie(tie.leader, 1.0, 0.0))
        last[k] = Tie(up.leader, tie.ratio * up.ratio, tie.ratio * up.offset + tie.offset)
        if not max(abs(last[k].ratio), abs(last[k].offset)) <= LARGEST:
            raise ModelError(
                f"joint {moving[k].joint_name!r} mimics {moving[up.leader].joint_name!r} with ratio {last[k].ratio:g} "
                f"and offset {last[k].offset:g}; expected at most {LARGEST:g}"
            )


def free_parents(parents: list[int], ties: dict[int, Tie]) -> IntArray:
    """The parent of each independent joint among the independent joints: the nearest one below it towards the world."""
    rank, nearest, found = 0, [-1] * (len(parents) + 1), []
    for k, up in enumerate(parents):
        if k in ties:
            nearest[k] = nearest[up]
            continue
        nearest[k], rank = rank, rank + 1
        found.append(nearest[up])
    return frozen(np.array(found, np.int64))
