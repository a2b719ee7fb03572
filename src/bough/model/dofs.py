"""Facts of each degree of freedom besides its inertia: limits, passive forces, and whether a motor drives it.

A mimic joint has no degree of freedom of its own: its forces act on its leader. With x_f = ratio x + offset, a rate v
of the leader is ratio v of the follower, and a force f on the follower is ratio f on the leader.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bough.errors import ModelError
from bough.joints import JOINTS, PRIMITIVES
from bough.model.assemble import frozen
from bough.model.bodies import Body, mixed
from bough.model.contents import JointLimits, Passive
from bough.model.coupling import Tie
from bough.types import BoolArray, FloatArray, IntArray

PASSIVE = ("damping", "friction", "stiffness")


def check_dofs(body: Body) -> None:
    """Damping, friction, stiffness, rest and actuated: a number, or one for each degree of freedom of the joint."""
    where = f"body {body.name!r}"
    for key in PASSIVE:
        if key in body.options and not (_numbers(body, key) >= 0.0).all():
            raise ModelError(f"{where}: {key} must not be negative, got {body.options[key]}")
    if "actuated" in body.options:
        _flags(body)
    stiffness, rest = _numbers(body, "stiffness"), _numbers(body, "rest")
    parts = [PRIMITIVES[part] for part in JOINTS[body.joint]]
    if mixed(body.joint) and stiffness.any():
        raise ModelError(
            f"{where}: a {body.joint} joint takes no stiffness, because a spring between two placements is not one "
            f"number for each degree of freedom; joints of one degree of freedom and spherical ones take it"
        )
    if any(part.quaternion for part in parts) and (stiffness != stiffness[0]).any():
        raise ModelError(f"{where}: a {body.joint} joint has one stiffness for all axes, got {stiffness.tolist()}")
    if not all(part.screw for part in parts) and rest.any():
        raise ModelError(f"{where}: a {body.joint} joint rests at its neutral configuration; rest must be 0")


def limits_of(moving: list[Body], v: IntArray, ties: dict[int, Tie]) -> JointLimits:
    """Limits of the independent joints; `v` is (n, 2), where the DoFs of each moving body start and stop.

    Positions and rates at which a mimic joint reaches its own limits are limits of its leader, unless they leave it no
    range. Its effort is not: it gets only a part of what its leader's motor exerts (see `ignored_limits`).
    """
    nv = int(v.max())
    columns = {"lower": np.full(nv, -np.inf)} | {key: np.full(nv, np.inf) for key in ("upper", "velocity", "effort")}
    for k, (body, (start, stop)) in enumerate(zip(moving, v.tolist(), strict=True)):
        if not body.options or k in ties:
            continue
        for key, column in columns.items():
            if body.options.get(key) is not None:
                column[start:stop] = body.options[key]
    for k, tie in ties.items():
        lower, upper, velocity = _through(moving[k], tie)
        x = int(v[k, 0])
        if max(columns["lower"][x], lower) < min(columns["upper"][x], upper):
            columns["lower"][x], columns["upper"][x] = max(columns["lower"][x], lower), min(columns["upper"][x], upper)
        columns["velocity"][x] = min(columns["velocity"][x], velocity)
    return JointLimits(*(frozen(columns[key]) for key in JointLimits._fields))


def ignored_limits(moving: list[Body], v: IntArray, ties: dict[int, Tie], limits: JointLimits) -> list[str]:
    """A sentence for each limit of a mimic joint that its leader's limits do not express."""
    notes = []
    for k, tie in ties.items():
        body, x = moving[k], int(v[k, 0])
        leader = moving[tie.leader].joint_name
        lower, upper, _ = _through(body, tie)
        if not (lower <= limits.lower[x] and limits.upper[x] <= upper):
            notes.append(f"dropped the limits of mimic joint {body.joint_name!r}: they leave {leader!r} no room")
    driven = [moving[k].joint_name for k in ties if math.isfinite(moving[k].options.get("effort") or math.inf)]
    if driven:
        notes.append(f"dropped the effort of mimic joints, because their leaders are driven: {', '.join(driven)}")
    return notes


def _through(body: Body, tie: Tie) -> tuple[float, float, float]:
    """Where its leader is when a mimic joint reaches its lower and upper limit, and the leader's rate at its own."""
    if tie.ratio == 0.0:
        return -math.inf, math.inf, math.inf
    lower, upper, velocity = (
        default if body.options.get(key) is None else float(body.options[key])
        for key, default in (("lower", -math.inf), ("upper", math.inf), ("velocity", math.inf))
    )
    ends = sorted(((lower - tie.offset) / tie.ratio, (upper - tie.offset) / tie.ratio))
    return ends[0], ends[1], velocity / abs(tie.ratio)


def passive_of(moving: list[Body], v: IntArray, ties: dict[int, Tie]) -> Passive:
    """Passive forces, those of a mimic joint added to its leader's.

    The spring of a follower has energy k/2 (ratio x + offset - rest)^2: all springs on x are one of stiffness
    K = sum ratio^2 k that rests at x0 + sum ratio k (rest - offset - ratio x0) / K, whatever x0 is: here the leader's.
    """
    damping, friction, stiffness, rest, pull = np.zeros((5, int(v.max())))
    sprung = [k for k, body in enumerate(moving) if body.options.keys() & {*PASSIVE, "rest"}]
    for k in sorted(sprung, key=ties.__contains__):  # leaders first: followers pull at where they rest
        body, part = moving[k], slice(*v[k].tolist())
        ratio, offset = (ties[k].ratio, ties[k].offset) if k in ties else (1.0, 0.0)
        damping[part] += ratio**2 * _numbers(body, "damping")
        friction[part] += abs(ratio) * _numbers(body, "friction")
        stiffness[part] += ratio**2 * _numbers(body, "stiffness")
        if k not in ties:
            rest[part] = _numbers(body, "rest")
        pull[part] += ratio * _numbers(body, "stiffness") * (_numbers(body, "rest") - offset - ratio * rest[part])
    rest += pull / np.where(stiffness > 0.0, stiffness, 1.0)
    return Passive(*map(frozen, (damping, friction, stiffness, rest)))


def actuated_of(moving: list[Body], parents: list[int], v: IntArray, ties: dict[int, Tie]) -> BoolArray:
    """Whether a motor drives each DoF: by default all but those of a floating or spherical base.

    A motor on a mimic joint drives its leader.
    """
    driven = np.ones(int(v.max()), bool)
    for k, (body, up, (start, stop)) in enumerate(zip(moving, parents, v.tolist(), strict=True)):
        if k not in ties:
            base = up < 0 and any(PRIMITIVES[part].quaternion for part in JOINTS[body.joint])
            driven[start:stop] = _flags(body) if body.options.get("actuated") is not None else not base
    for k in ties:
        if moving[k].options.get("actuated") is not None:
            driven[v[k, 0]] |= _flags(moving[k])[0]
    driven.flags.writeable = False
    return driven


def _numbers(body: Body, key: str) -> FloatArray:
    """One finite number for each degree of freedom of the body's joint."""
    value = body.options.get(key)
    array = np.zeros(1) if value is None else _array(value, float)
    n = body.dofs
    if array is None or array.dtype.kind != "f" or not _fits(array, n) or not all(map(math.isfinite, array.ravel())):
        each = f" or {n}, one for each degree of freedom" if n > 1 else ""
        raise ModelError(f"body {body.name!r}: {key} must be a number{each}, and finite, got {value!r}")
    return np.broadcast_to(array.ravel(), (n,))


def _flags(body: Body) -> BoolArray:
    value, n = body.options["actuated"], body.dofs
    if value is None:
        return np.ones(n, bool)
    array = _array(value, None)
    if array is None or array.dtype != bool or not _fits(array, n):
        each = f" or {n} of them" if n > 1 else ""
        raise ModelError(f"body {body.name!r}: actuated must be True or False{each}, got {value!r}")
    return np.broadcast_to(array.ravel(), (n,))


def _array(value: Any, dtype: Any) -> Any:
    """None for what is no array of numbers; a word or a truth value is not a number."""
    if dtype is float and isinstance(value, str | bytes | bool):
        return None
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError):
        return None


def _fits(array: Any, n: int) -> bool:
    return array.ndim == 0 or array.shape in ((1,), (n,))
