"""The same robot in Pinocchio, MuJoCo and Drake: which of its joints is which, and how it is written there.

| joint | Bough (as Pinocchio) | MuJoCo | Drake |
| --- | --- | --- | --- |
| floating q | x y z, qx qy qz qw | x y z, qw qx qy qz | qw qx qy qz, x y z |
| floating v | linear, angular; body axes | linear in world axes, angular in body axes | angular, linear; world axes |
| spherical q | qx qy qz qw | qw qx qy qz | roll pitch yaw (its BallRpyJoint) |
| spherical v | angular in body axes | angular in body axes | angular in the parent's axes |
| planar q | x y angle | the same (two slides and a hinge) | the same |
| planar v | linear in body axes, rate | linear in the parent's axes, rate | linear in the parent's axes, rate |

Pinocchio may write the angle of a continuous or a planar joint as (cos, sin).
The file of each joint says so (`joints.ForeignLayout`); all others are the same everywhere. An acceleration is the
derivative of v as each engine defines it. "World" is the frame the joint hangs on.

With the other engine's model joints are matched by name, in any order: `to_mujoco(model, mj_model)` gives a
`LayoutMap`. Without it, `to_mujoco(model, q, v, a)` keeps the order of `model.joint_names`, and refuses mimic joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from bough.convert.maps import SAME, Foreign, LayoutMap, Pair, checked, rule_of
from bough.errors import ModelError, NonFiniteError, ShapeError, UnknownNameError, some_of
from bough.joints import JOINTS, PRIMITIVES, ForeignLayout
from bough.model import Joint, Model, filled_names, unknown
from bough.spatial import matrix_quaternion, quaternion_rotate
from bough.types import FloatArray

TOLERANCE = 1e-9  # of followers that disagree with their leaders
# Joint types that are called otherwise there than their primitive, and chains of primitives; "" = not there
OWN_KINDS = {
    "Pinocchio": {"universal": "Universal"},
    "MuJoCo": {"helical": ""},
    "Drake": {"universal": "universal", "helical": "screw"},
}
MUJOCO = (("free", 7, 6), ("ball", 4, 3), ("slide", 1, 1), ("hinge", 1, 1))  # mujoco.mjtJoint: kind, nq, nv


def to_pinocchio(model: Model, pin_model: Any) -> LayoutMap:
    """The maps between `model` and a `pinocchio.Model` of the same robot; joints are matched by name, in any order.

    A joint that only one of the two has is refused by name. A single floating joint is matched whatever its name.
    """
    there, ties = [], {c.follower for c in model.couplings}
    for name, joint in zip(list(pin_model.names)[1:], list(pin_model.joints)[1:], strict=True):
        if joint.nv == 0 and name not in ties:
            raise ModelError(f"joint {name!r} follows another in Pinocchio's model and is free here: load it alike")
        q, v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
        there.append(Foreign(name, joint.shortname().removeprefix("JointModel"), q, v))
    pairs, _ = _matched(model, "Pinocchio", there, {})
    pairs = [_placed(p, pin_model) if p.own.type == "floating" else _with_cosine(p) for p in pairs]
    return LayoutMap(model, "Pinocchio", (int(pin_model.nq), int(pin_model.nv)), pairs, TOLERANCE)


def to_mujoco(
    model: Model, q: Any, v: Any = None, a: Any = None, *, fixed: Mapping[str, float] | None = None,
    tolerance: float = np.inf,
) -> Any:  # fmt: skip
    """The maps between `model` and a `mujoco.MjModel` of the same robot, given in the place of q: a `LayoutMap`.

    Joints are matched by name, and values of mimic joints are computed. MuJoCo's equalities are soft, so `from_q`
    and `from_v` read leaders alone; with a `tolerance` they refuse followers that are further off. `fixed` has the
    positions of joints that only MuJoCo's model has, as they are welded here.

    Or qpos (and qvel and qacc, if v and a are given) of a configuration q, for a model without mimic joints.
    """
    if hasattr(q, "njnt"):
        there = []
        for k, name in enumerate(filled_names([q.joint(k).name for k in range(q.njnt)], "joint")):
            (kind, nq, nv), at, dof = MUJOCO[int(q.jnt_type[k])], int(q.jnt_qposadr[k]), int(q.jnt_dofadr[k])
            there.append(Foreign(name, kind, slice(at, at + nq), slice(dof, dof + nv)))
        return LayoutMap(model, "MuJoCo", (q.nq, q.nv), *_matched(model, "MuJoCo", there, fixed, tolerance))
    return _in_order(model, "MuJoCo", (q, v, a), True)


def from_mujoco(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """q, and v and a if qvel and qacc are given, from MuJoCo's layout of a model without mimic joints."""
    return _in_order(model, "MuJoCo", (q, v, a), False)


def to_drake(
    model: Model, q: Any, v: Any = None, a: Any = None, *, fixed: Mapping[str, float] | None = None,
    tolerance: float = np.inf,
) -> Any:  # fmt: skip
    """The maps between `model` and a `MultibodyPlant` of the same robot, given in the place of q, as `to_mujoco` does.

    Or q (and v and its derivative, if given) in Drake's layout; a spherical joint has three q there.
    """
    if hasattr(q, "GetJointIndices"):
        joints = [q.get_joint(index) for index in q.GetJointIndices()]
        there = [
            Foreign(
                joint.name(), joint.type_name(),
                slice(joint.position_start(), joint.position_start() + joint.num_positions()),
                slice(joint.velocity_start(), joint.velocity_start() + joint.num_velocities()),
            )
            for joint in joints
            if joint.num_velocities()
        ]  # fmt: skip
        sizes = q.num_positions(), q.num_velocities()
        return LayoutMap(model, "Drake", sizes, *_matched(model, "Drake", there, fixed, tolerance))
    return _in_order(model, "Drake", (q, v, a), True)


def from_drake(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """q, and v and its derivative if given, from Drake's layout of a model without mimic joints."""
    return _in_order(model, "Drake", (q, v, a), False)


@lru_cache(16)
def _ordered(model: Model, engine: str) -> LayoutMap:
    """The map to a model whose joints have the same order."""
    if model.couplings:
        names = some_of([repr(c.follower) for c in model.couplings])
        hint = f'give the model of {engine} too, which knows their names, or load with mimic="independent"'
        raise ModelError(f"{model.name!r} has mimic joints ({names}), which have no place in its q: {hint}")
    _require_floating_from_world(model, engine)
    pairs, place = [], 0
    for joint in model.joints:
        rule = rule_of(joint, engine.lower())
        width = joint.q.stop - joint.q.start if rule is SAME else rule.nq
        pairs.append(Pair(Foreign(joint.name, joint.type, slice(place, place + width), joint.v), joint, None, rule))
        place += width
    return LayoutMap(model, engine, (place, model.nv), pairs, np.inf)


def _in_order(model: Model, engine: str, given: tuple[Any, Any, Any], to: bool) -> Any:
    """q, v and a by that map."""
    maps = _ordered(model, engine)
    q, v, a = given
    if v is None and a is not None:
        raise ShapeError("accelerations are converted together with velocities: give v")
    if to:
        q = checked(q, model.nq, "q")
        found = [maps.to_q(q)]
        if v is not None:
            found.append(maps.to_v(v, q))
        if a is not None:
            found.append(maps.to_a(a, v, q))
    else:
        q = maps.from_q(checked(q, maps.nq, "q"))
        found = [q]
        if v is not None:
            found.append(maps.from_v(v, q))
        if a is not None:
            found.append(maps.from_a(a, found[1], q))
    return tuple(found) if v is not None else found[0]


def _matched(
    model: Model, engine: str, there: Iterable[Foreign], fixed: Mapping[str, float] | None, *more: float
) -> tuple[Any, ...]:
    """The pairs of joints, and those that are fixed here; a joint that only one of the two has is refused by name."""
    _require_floating_from_world(model, engine)
    ties, pairs, still = {c.follower: c for c in model.couplings}, [], []
    joints = list(there)
    floats = [j for j in joints if j.v.stop - j.v.start == 6]
    ours = [joint.name for joint in model.joints if joint.type == "floating"] if len(floats) == 1 else []
    renamed = {floats[0].name: ours[0]} if len(ours) == 1 else {}
    for joint in joints:
        tie = ties.get(joint.name)
        if joint.name in (fixed or {}):
            still.append((joint, float((fixed or {})[joint.name])))
        elif joint.v.stop > joint.v.start:
            own = _own(model, engine, tie.leader if tie else renamed.get(joint.name, joint.name))
            pairs.append(Pair(joint, own, tie, rule_of(own, engine.lower())))
            _require_alike(pairs[-1], engine)
    found = {p.own.name for p in pairs if p.tie is None}
    for name in model.joint_names:
        if name not in found:
            names = tuple(joint.name for joint in joints)
            raise UnknownNameError(unknown("joint", name, names).replace("the model", f"{engine}'s model"))
    return pairs, *more, still


def _own(model: Model, engine: str, name: str) -> Joint:
    try:
        return model.joint(name)
    except UnknownNameError as error:
        hint = "" if engine == "Pinocchio" else "; a joint that is welded here is named with its position in fixed="
        raise UnknownNameError(f"{error}{hint}") from None


def _require_alike(pair: Pair, engine: str) -> None:
    """The two joints are of one kind."""
    kind, chain = pair.there.kind, [PRIMITIVES[part] for part in JOINTS[pair.own.type]]
    if pair.there.v.stop - pair.there.v.start == 1 and _is_screw(pair.own) and (pair.tie or engine == "Pinocchio"):
        return  # the model there knows which; a follower may slide while its leader turns
    known = chain[0].engines.get(engine, "") if len(chain) == 1 else ""
    if kind != (OWN_KINDS[engine].get(pair.own.type, known) or None):
        raise ModelError(f"joint {pair.there.name!r} is {pair.own.type} here and {kind} in {engine}: no map is known")


def _require_floating_from_world(model: Model, engine: str) -> None:
    """The q of a floating joint is a pose in the world there, and here in the frame where the joint starts."""
    for joint, T in zip(model.joints, model.joint_placements, strict=True):
        if joint.type == "floating" and np.abs(T - np.eye(4)).max() > 1e-12:
            raise ModelError(f"floating joint {joint.name!r} does not start from the world's frame, as {engine}'s do")


def _is_screw(joint: Joint) -> bool:
    """Whether it has one coordinate, about or along an axis."""
    return [PRIMITIVES[part].screw for part in JOINTS[joint.type]] == [True]


# Pinocchio


def _with_cosine(pair: Pair) -> Pair:
    """Pinocchio may write one angle as (cos, sin): that of a continuous joint, and of a planar one."""
    wide = pair.there.q.stop - pair.there.q.start > pair.own.q.stop - pair.own.q.start
    if not wide or any(PRIMITIVES[part].quaternion for part in JOINTS[pair.own.type]):
        return Pair(pair.there, pair.own, pair.tie)
    return Pair(pair.there, pair.own, pair.tie, ForeignLayout(_to_cosine, _from_cosine, 0, ()))


def _to_cosine(x: FloatArray) -> FloatArray:
    return np.concatenate([x[..., :-1], np.cos(x[..., -1:]), np.sin(x[..., -1:])], -1)


def _from_cosine(x: FloatArray) -> FloatArray:
    if not np.abs(x[..., -2:]).max(-1).all():
        raise NonFiniteError("cos and sin are both zero: they make no angle")
    return np.concatenate([x[..., :-2], np.arctan2(x[..., -1:], x[..., -2:-1])], -1)


def _placed(pair: Pair, pin_model: Any) -> Pair:
    """Pinocchio floats a root link called "world", which here is the world: then our body sits somewhere on it."""
    number = next(k for k, name in enumerate(pin_model.names) if name == pair.there.name)
    if not pin_model.jointPlacements[number].isIdentity(1e-12):
        raise ModelError(
            f"floating joint {pair.there.name!r} does not start from the world's frame in Pinocchio's model"
        )
    # a joint may have the name of its body
    bodies = (f for f in pin_model.frames if f.name == pair.own.body and f.type == type(f.type).BODY)
    frame = next(bodies).placement
    R, p = np.array(frame.rotation), np.array(frame.translation)
    x = matrix_quaternion(R)
    back = x * np.array([-1.0, -1.0, -1.0, 1.0])
    rule = ForeignLayout(lambda q: _moved(q, back, -quaternion_rotate(back, p)), lambda q: _moved(q, x, p), 7, ())
    mount = np.block([[R, -np.cross(np.eye(3), p).T @ R], [np.zeros((3, 3)), R]])
    return Pair(pair.there, pair.own, pair.tie, rule, mount)


def _moved(pose: FloatArray, quaternion: FloatArray, origin: FloatArray) -> FloatArray:
    """The pose x y z, qx qy qz qw of a frame that is placed so in the frame with this pose."""
    p, a, b = pose[..., :3], pose[..., 3:], quaternion
    vector = a[..., 3:] * b[:3] + b[3] * a[..., :3] + np.cross(a[..., :3], b[:3])
    scalar = a[..., 3:] * b[3] - (a[..., :3] * b[:3]).sum(-1, keepdims=True)
    return np.concatenate([p + quaternion_rotate(a, origin), vector, scalar], -1)
