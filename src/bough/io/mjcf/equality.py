"""Equalities of MJCF: joints that follow others become mimic joints, the rest becomes closures of the description."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.io.description import ClosureArguments, Place
from bough.io.mjcf.bodies import rotation
from bough.io.mjcf.names import Names
from bough.model.bodies import EYE

CONNECT, WELD, JOINT, TENDON = range(4)  # mujoco.mjtEq; the others hold flexible bodies and distances
SITE = 6  # mujoco.mjtObj


class Equalities(NamedTuple):
    """Mimic joints (leader, ratio, offset), joints fixed at a position, closures, and notes."""

    ties: dict[str, tuple[str, float, float]]
    fixed: dict[str, float]
    closures: list[ClosureArguments]
    notes: list[str]


def equalities(m: Any, names: Names) -> Equalities:
    found = Equalities({}, {}, [], [])
    for e in range(m.neq):
        kind, name = int(m.eq_type[e]), names.equalities[e]
        if not m.eq_active0[e]:
            found.notes.append(f"dropped the equality {name!r}, which is not active")
        elif kind == JOINT:
            _tie(m, e, names, found)
        elif kind in (CONNECT, WELD):
            found.closures.append(_closure(m, e, names))
        else:
            found.closures.append(ClosureArguments(_kind(kind), name))
    return found


def _kind(kind: int) -> str:
    import mujoco

    return mujoco.mjtEq(kind).name.removeprefix("mjEQ_").lower()


def _tie(m: Any, e: int, names: Names, found: Equalities) -> None:
    """y - y0 = a0 + a1 (x - x0) + a2 (x - x0)^2 + ..., where y0 and x0 are the joints' references."""
    first, second, data = int(m.eq_obj1id[e]), int(m.eq_obj2id[e]), m.eq_data[e, :5].tolist()
    y, y0 = names.joints[first], float(m.qpos0[m.jnt_qposadr[first]])
    x, x0 = (names.joints[second], float(m.qpos0[m.jnt_qposadr[second]])) if second >= 0 else ("", 0.0)
    offset, ratio, curved = data[0], data[1], any(data[2:])
    if x and curved:
        found.closures.append(ClosureArguments("joint", names.equalities[e], y, x))
    elif x and ratio != 0.0:
        _follow(found, y, (x, ratio, y0 + offset - ratio * x0), names.equalities[e])
    elif y in found.ties or y in found.fixed:
        found.closures.append(ClosureArguments("joint", names.equalities[e], y))
    else:
        found.fixed[y] = y0 + offset
        found.notes.append(
            f"joint {y!r} is held at {y0 + offset:g} by the equality {names.equalities[e]!r}: it is welded"
        )


def _follow(found: Equalities, y: str, tie: tuple[str, float, float], name: str) -> None:
    """One joint follows one other; where it follows already, the other may follow it instead."""
    x, ratio, offset = tie
    for follower, one in ((y, tie), (x, (y, 1.0 / ratio, -offset / ratio))):
        if follower not in found.ties and follower not in found.fixed and not _depends_on(found, one[0], follower):
            found.ties[follower] = one
            return
    found.closures.append(ClosureArguments("joint", name, y, x))


def _depends_on(found: Equalities, joint: str, goal: str) -> bool:
    """Whether a joint is, or follows in the end, the goal: a tie back to it would be a circle."""
    while joint != goal and joint in found.ties:
        joint = found.ties[joint][0]
    return joint == goal


def _closure(m: Any, e: int, names: Names) -> ClosureArguments:
    """Frames on two bodies: sites, or what MuJoCo computed at the reference configuration."""
    ends, data = (int(m.eq_obj1id[e]), int(m.eq_obj2id[e])), m.eq_data[e]
    kind = "weld" if int(m.eq_type[e]) == WELD else "connect"
    if int(m.eq_objtype[e]) == SITE:
        return ClosureArguments(kind, names.equalities[e], names.sites[ends[0]], names.sites[ends[1]])
    first, second = (names.bodies[b] for b in ends)
    places: tuple[Place, Place] = ((EYE, np.array(data[:3])), (EYE, np.array(data[3:6])))
    if kind == "weld":
        places = ((rotation(data[6:10]), np.array(data[3:6])), (EYE, np.array(data[:3])))
    return ClosureArguments(kind, names.equalities[e], first, second, *places)
