"""q, v and accelerations to and from the layouts of MuJoCo and Drake. Joints keep the order of `model.joint_names`.

| joint | Bough (as Pinocchio) | MuJoCo | Drake |
| --- | --- | --- | --- |
| floating q | x y z, qx qy qz qw | x y z, qw qx qy qz | qw qx qy qz, x y z |
| floating v | linear, angular; body axes | linear in world axes, angular in body axes | angular, linear; world axes |
| spherical q | qx qy qz qw | qw qx qy qz | roll pitch yaw (its BallRpyJoint) |
| spherical v | angular in body axes | angular in body axes | angular in the parent's axes |
| planar q | x y angle | the same (two slides and a hinge) | the same |
| planar v | linear in body axes, rate | linear in the parent's axes, rate | linear in the parent's axes, rate |

All others are the same everywhere. An acceleration is the derivative of v as each engine defines it, so that linear
parts in other axes differ by angular times linear velocity: accelerations need v. "World" is the frame the joint hangs
on. Arrays are (n,) or (batch, n); results are new arrays. Models with mimic joints are refused: their followers have a
q of their own in other engines, at places that the model does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, NonFiniteError, ShapeError
from bough.joints import BALL, FREE, PLANAR, PRIMITIVES
from bough.model import Model
from bough.spatial import quaternion_rotate

FloatArray = npt.NDArray[np.float64]
Pair = tuple[FloatArray, FloatArray]
Triple = tuple[FloatArray, FloatArray, FloatArray]
SHOWN = 5  # joints that a message names


@overload
def to_mujoco(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def to_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def to_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def to_mujoco(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """qpos, and qvel and qacc if v and a are given, in MuJoCo's layout."""
    return _convert(_MUJOCO, model, True, (q, v, a))


@overload
def from_mujoco(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def from_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def from_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def from_mujoco(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """q, and v and a if qvel and qacc are given, from MuJoCo's layout."""
    return _convert(_MUJOCO, model, False, (q, v, a))


@overload
def to_drake(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def to_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def to_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def to_drake(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """q, and v and its derivative if given, in Drake's layout; a spherical joint has three q there."""
    return _convert(_DRAKE, model, True, (q, v, a))


@overload
def from_drake(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def from_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def from_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def from_drake(model: Model, q: Any, v: Any = None, a: Any = None) -> Any:
    """q, and v and its derivative if given, from Drake's layout."""
    return _convert(_DRAKE, model, False, (q, v, a))


class _Rule(NamedTuple):
    """How one kind of joint differs in another engine.

    `q_to` and `q_from` convert the joint's part of q. `blocks` says where the linear and the angular part of v go
    there; `turned` names those that the other engine gives in the axes of the frame the joint hangs on.
    """

    q_to: Callable[[FloatArray], FloatArray]
    q_from: Callable[[FloatArray], FloatArray]
    nq: int
    linear_first: bool
    turned: tuple[bool, bool]  # linear, angular


_Rules = dict[int, _Rule]


def _convert(rules: _Rules, model: Model, to: bool, given: tuple[Any, Any, Any]) -> Any:
    if model.couplings:
        names = ", ".join(repr(c.follower) for c in model.couplings[:SHOWN])
        raise ModelError(
            f"{model.name!r} has mimic joints ({names}), which have a place in the other engine's q and none in this "
            f'model\'s: load it with mimic="independent", or use convert.to_pinocchio, which knows their names'
        )
    m = model.mechanism
    special = [int(i) for i in np.flatnonzero(np.isin(m.kind, list(rules)))]
    own_nq = _own_nq()
    shrink = sum(own_nq[int(m.kind[i])] - rules[int(m.kind[i])].nq for i in special)
    q = _checked(given[0], model.nq if to else model.nq - shrink, "q")
    rates = [_checked(x, model.nv, name) for x, name in zip(given[1:], "va", strict=True) if x is not None]
    if given[1] is None and given[2] is not None:
        raise ShapeError("accelerations are converted together with velocities: give v")
    for x, name in zip(rates, "va", strict=False):
        if x.shape[:-1] != q.shape[:-1]:
            raise ShapeError(f"{name} has shape {x.shape}, q has {q.shape}: expected equal batches")
    theirs, ours = _Places(model, special, rules), _Places(model, special, {})
    outside, inside = (theirs, ours) if to else (ours, theirs)
    new_q = np.empty((*q.shape[:-1], outside.nq))
    new_q[..., outside.plain] = q[..., inside.plain]
    new_rates = [x.copy() for x in rates]
    for i in special:
        rule, v = rules[int(m.kind[i])], m.v_index[m.dof[i] : m.dof[i + 1]]
        part = q[..., inside.at[i]]
        new_part = (rule.q_to if to else rule.q_from)(part)
        new_q[..., outside.at[i]] = new_part
        turned = _turn_rates(int(m.kind[i]), rule, part if to else new_part, [x[..., v] for x in rates], to)
        for x, block in zip(new_rates, turned, strict=True):
            x[..., v] = block
    return (new_q, *new_rates) if new_rates else new_q


class _Places:
    """Where the q of every body sits in a layout whose special joints have the lengths of `rules`."""

    def __init__(self, model: Model, bodies: list[int], rules: _Rules) -> None:
        self.at: dict[int, slice] = {}
        m, own_nq = model.mechanism, _own_nq()
        special = {int(m.q_index[i]): i for i in bodies}
        plain, own, place = [], 0, 0
        while own < model.nq:
            i = special.get(own)
            if i is None:
                plain.append(place)
                own, place = own + 1, place + 1
                continue
            kind = int(m.kind[i])
            width = rules[kind].nq if kind in rules else own_nq[kind]
            self.at[i] = slice(place, place + width)
            own, place = own + own_nq[kind], place + width
        self.plain, self.nq = np.array(plain, np.int64), place


def _own_nq() -> dict[int, int]:
    return {primitive.kind: primitive.nq for primitive in PRIMITIVES.values()}


def _checked(x: Any, n: int, name: str) -> FloatArray:
    array = np.array(x, float)
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise ShapeError(f"{name} has shape {array.shape}: expected ({n},) or (batch, {n})")
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{name} is not finite")
    return array


# Velocities and accelerations


def _turn_rates(kind: int, rule: _Rule, q: FloatArray, rates: list[FloatArray], to: bool) -> list[FloatArray]:
    """The joint's part of v and of its derivative; `q` is the joint's configuration in our layout."""
    if not rates:
        return []
    turn = _Turn(_quaternion(kind, q), to)
    linear, angular = zip(*(_split(kind, x, rule.linear_first or to) for x in rates), strict=True)
    body_angular = turn.back(angular[0]) if rule.turned[1] and not to else angular[0]
    new = [list(linear), list(angular)]
    for part, (values, turned) in enumerate(zip((linear, angular), rule.turned, strict=True)):
        if turned:
            new[part] = turn.rates(values, body_angular)
    return [_join(kind, l, w, rule.linear_first or not to) for l, w in zip(*new, strict=True)]


class _Turn:
    """Turns vectors out of the body's axes (or into them), with their derivatives."""

    def __init__(self, quaternion: FloatArray, out: bool) -> None:
        self._q = quaternion
        self._out = out

    def back(self, x: FloatArray) -> FloatArray:
        return quaternion_rotate(self._q * np.array([-1.0, -1.0, -1.0, 1.0]), x)

    def rates(self, values: tuple[FloatArray, ...], w: FloatArray) -> list[FloatArray]:
        """R x and R (x' + w x x); or back: R' X and R' X' - w x (R' X), with w in the body's axes."""
        if self._out:
            carried = [values[0], *(x + np.cross(w, values[0]) for x in values[1:])]
            return [quaternion_rotate(self._q, x) for x in carried]
        first = self.back(values[0])
        return [first, *(self.back(x) - np.cross(w, first) for x in values[1:])]


def _split(kind: int, x: FloatArray, linear_first: bool) -> Pair:
    """Linear and angular parts as three-vectors."""
    zero = np.zeros((*x.shape[:-1], 3))
    if kind == BALL:
        return zero, x
    if kind == PLANAR:
        return np.concatenate([x[..., :2], zero[..., :1]], -1), np.concatenate([zero[..., :2], x[..., 2:]], -1)
    return (x[..., :3], x[..., 3:]) if linear_first else (x[..., 3:], x[..., :3])


def _join(kind: int, linear: FloatArray, angular: FloatArray, linear_first: bool) -> FloatArray:
    if kind == BALL:
        return angular
    if kind == PLANAR:
        return np.concatenate([linear[..., :2], angular[..., 2:]], -1)
    return np.concatenate([linear, angular] if linear_first else [angular, linear], -1)


# Configurations


def _quaternion(kind: int, q: FloatArray) -> FloatArray:
    """The unit quaternion x y z w of a joint's configuration in our layout."""
    if kind == PLANAR:
        half = q[..., 2:] / 2
        zero = np.zeros((*q.shape[:-1], 2))
        return np.concatenate([zero, np.sin(half), np.cos(half)], -1)
    x = q[..., -4:]
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if (length < 1e-12).any():
        raise NonFiniteError("a quaternion in q is zero: it cannot be normalised")
    unit: FloatArray = x / length
    return unit


def _same(q: FloatArray) -> FloatArray:
    return q


def _scalar_first(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], -1)


def _scalar_last(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., :-4], q[..., -3:], q[..., -4:-3]], -1)


def _drake_pose(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., 6:], q[..., 3:6], q[..., :3]], -1)


def _from_drake_pose(q: FloatArray) -> FloatArray:
    return np.concatenate([q[..., 4:], q[..., 1:4], q[..., :1]], -1)


def _to_rpy(q: FloatArray) -> FloatArray:
    """Roll, pitch, yaw of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    x, y, z, w = np.moveaxis(_quaternion(BALL, q), -1, 0)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], -1)


def _from_rpy(rpy: FloatArray) -> FloatArray:
    (sr, sp, sy), (cr, cp, cy) = np.moveaxis(np.sin(rpy / 2), -1, 0), np.moveaxis(np.cos(rpy / 2), -1, 0)
    xyz = (sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy)
    return np.stack([*xyz, cr * cp * cy + sr * sp * sy], -1)


_MUJOCO: _Rules = {
    FREE: _Rule(_scalar_first, _scalar_last, 7, True, (True, False)),
    BALL: _Rule(_scalar_first, _scalar_last, 4, True, (False, False)),
    PLANAR: _Rule(_same, _same, 3, True, (True, False)),
}
_DRAKE: _Rules = {
    FREE: _Rule(_drake_pose, _from_drake_pose, 7, False, (True, True)),
    BALL: _Rule(_to_rpy, _from_rpy, 3, True, (False, True)),
    PLANAR: _Rule(_same, _same, 3, True, (True, False)),
}
