"""q, v and accelerations to and from the layouts of MuJoCo and Drake. Joints keep the order of `model.joint_names`.

| joint | Bough (as Pinocchio) | MuJoCo | Drake |
| --- | --- | --- | --- |
| floating q | x y z, qx qy qz qw | x y z, qw qx qy qz | qw qx qy qz, x y z |
| floating v | linear, angular; body axes | linear in world axes, angular in body axes | angular, linear; world axes |
| spherical q | qx qy qz qw | qw qx qy qz | roll pitch yaw (its BallRpyJoint) |
| spherical v | angular in body axes | angular in body axes | angular in the parent's axes |
| planar q | x y angle | the same (two slides and a hinge) | the same |
| planar v | linear in body axes, rate | linear in the parent's axes, rate | linear in the parent's axes, rate |

The file of each joint says so (`joints.Abroad`); all others are the same everywhere. An acceleration is the derivative
of v as each engine defines it, so that linear parts in other axes differ by angular times linear velocity:
accelerations need v. "World" is the frame the joint hangs on. Arrays are (n,) or (batch, n); results are new arrays.
Models with mimic joints are refused: their followers have a q of their own in other engines, at places that the model
does not know.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, NonFiniteError, ShapeError
from bough.joints import PRIMITIVES, Abroad, Primitive
from bough.model import Model
from bough.spatial import quaternion_rotate
from bough.types import FloatArray

Pair = tuple[FloatArray, FloatArray]
Triple = tuple[FloatArray, FloatArray, FloatArray]
SHOWN = 5  # joints that a message names


@overload
def to_mujoco(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def to_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def to_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def to_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike | None = None, a: npt.ArrayLike | None = None) -> Any:
    """qpos, and qvel and qacc if v and a are given, in MuJoCo's layout."""
    return _convert("mujoco", model, True, (q, v, a))


@overload
def from_mujoco(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def from_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def from_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def from_mujoco(model: Model, q: npt.ArrayLike, v: npt.ArrayLike | None = None, a: npt.ArrayLike | None = None) -> Any:
    """q, and v and a if qvel and qacc are given, from MuJoCo's layout."""
    return _convert("mujoco", model, False, (q, v, a))


@overload
def to_drake(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def to_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def to_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def to_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike | None = None, a: npt.ArrayLike | None = None) -> Any:
    """q, and v and its derivative if given, in Drake's layout; a spherical joint has three q there."""
    return _convert("drake", model, True, (q, v, a))


@overload
def from_drake(model: Model, q: npt.ArrayLike) -> FloatArray: ...
@overload
def from_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike) -> Pair: ...
@overload
def from_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Triple: ...
def from_drake(model: Model, q: npt.ArrayLike, v: npt.ArrayLike | None = None, a: npt.ArrayLike | None = None) -> Any:
    """q, and v and its derivative if given, from Drake's layout."""
    return _convert("drake", model, False, (q, v, a))


def _rules(engine: str) -> dict[int, Primitive]:
    """The primitives that an engine writes otherwise, by their numbers in the mechanism."""
    return {primitive.kind: primitive for primitive in PRIMITIVES.values() if engine in primitive.abroad}


def _convert(engine: str, model: Model, to: bool, given: tuple[Any, Any, Any]) -> Any:
    if model.couplings:
        names = ", ".join(repr(c.follower) for c in model.couplings[:SHOWN])
        hint = 'load it with mimic="independent", or use convert.to_pinocchio, which knows their names'
        raise ModelError(f"{model.name!r} has mimic joints ({names}), which have no place in its q: {hint}")
    m, known = model.mechanism, _rules(engine)
    special = {int(i): known[int(m.kind[i])] for i in np.flatnonzero(np.isin(m.kind, list(known)))}
    theirs = _Places(model, special, {i: joint.abroad[engine].nq for i, joint in special.items()})
    ours = _Places(model, special, {i: joint.nq for i, joint in special.items()})
    outside, inside = (theirs, ours) if to else (ours, theirs)
    q = checked(given[0], inside.nq, "q")
    rates = [checked(x, model.nv, name) for x, name in zip(given[1:], "va", strict=True) if x is not None]
    if given[1] is None and given[2] is not None:
        raise ShapeError("accelerations are converted together with velocities: give v")
    for x, name in zip(rates, "va", strict=False):
        if x.shape[:-1] != q.shape[:-1]:
            raise ShapeError(f"{name} has shape {x.shape}, q has {q.shape}: expected equal batches")
    new_q = np.empty((*q.shape[:-1], outside.nq))
    new_q[..., outside.plain] = q[..., inside.plain]
    new_rates = [x.copy() for x in rates]
    for i, joint in special.items():
        part, v = q[..., inside.at[i]], m.v_index[m.dof[i] : m.dof[i + 1]]
        new_part = joint.abroad[engine].to(part) if to else joint.abroad[engine].back(part)
        new_q[..., outside.at[i]] = new_part
        turned = _turn_rates(joint, joint.abroad[engine], part if to else new_part, [x[..., v] for x in rates], to)
        for x, block in zip(new_rates, turned, strict=True):
            x[..., v] = block
    return (new_q, *new_rates) if new_rates else new_q


class _Places:
    """Where the q of every joint sits in a layout in which special joints have these widths."""

    def __init__(self, model: Model, special: dict[int, Primitive], widths: dict[int, int]) -> None:
        self.at: dict[int, slice] = {}
        starts = {int(model.mechanism.q_index[i]): i for i in special}
        plain, own, place = [], 0, 0
        while own < model.nq:
            i = starts.get(own)
            if i is None:
                plain.append(place)
                own, place = own + 1, place + 1
                continue
            self.at[i] = slice(place, place + widths[i])
            own, place = own + special[i].nq, place + widths[i]
        self.plain, self.nq = np.array(plain, np.int64), place


def checked(x: Any, n: int, name: str) -> FloatArray:
    """A copy of an array (n,) or (batch, n) of finite numbers."""
    array = np.array(x, float)
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise ShapeError(f"{name} has shape {array.shape}: expected ({n},) or (batch, {n})")
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{name} is not finite")
    return array


# Velocities and accelerations


def _turn_rates(joint: Primitive, there: Abroad, q: FloatArray, rates: list[FloatArray], to: bool) -> list[FloatArray]:
    """The joint's part of v and of its derivative; `q` is the joint's configuration in our layout."""
    if not rates:
        return []
    assert joint.orientation is not None
    turn = _Turn(joint.orientation(q), to)
    given, wanted = (joint.axes, there.axes) if to else (there.axes, joint.axes)
    linear, angular = zip(*(_split(given, x) for x in rates), strict=True)
    body_angular = turn.back(angular[0]) if there.turned[1] and not to else angular[0]
    new = [list(linear), list(angular)]
    for part, (values, turned) in enumerate(zip((linear, angular), there.turned, strict=True)):
        if turned:
            new[part] = turn.rates(values, body_angular)
    return [np.concatenate([w, l], -1)[..., wanted] for l, w in zip(*new, strict=True)]


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


def _split(axes: tuple[int, ...], x: FloatArray) -> Pair:
    """Linear and angular parts as three-vectors."""
    whole = np.zeros((*x.shape[:-1], 6))
    whole[..., axes] = x
    return whole[..., 3:], whole[..., :3]
