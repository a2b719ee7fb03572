"""q, v, joint forces and matrices to and from Pinocchio's order of the same robot. Joints are matched by name.

Both libraries lay out a joint alike, except that Pinocchio writes a continuous joint as (cos, sin) and the angle of a
planar one, too. They order joints differently: here as the file does, there children sorted by name. With

    v_pin = G v,   G (nv_pin, nv),   v = P v_pin,   P G = 1,

forces and matrices follow: tau = G' tau_pin, H = G' H_pin G, J = J_pin G. Where Pinocchio frees joints that mimic
others here, G has more rows than columns and P reads the leaders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.convert.layouts import checked
from bough.errors import ModelError, NonFiniteError, ShapeError, UnknownNameError
from bough.model import Coupling, Joint, Model, unknown
from bough.spatial import quaternion_rotate
from bough.types import FloatArray

SINGLE = ("revolute", "continuous", "prismatic", "helical")
TOLERANCE = 1e-9  # of followers that disagree with their leaders


class Mount(NamedTuple):
    """Where the frame of our floating body sits in Pinocchio's joint frame."""

    quaternion: FloatArray  # x y z w
    origin: FloatArray


@dataclass(frozen=True)
class Pair:
    """A joint of Pinocchio and the joint here that it moves with: x_pin = ratio x + offset."""

    name: str
    own: Joint
    q: slice
    v: slice
    tie: Coupling | None = None
    at: Mount | None = None

    @property
    def cosine(self) -> bool:
        """One angle is (cos, sin) in Pinocchio."""
        return self.own.type in (*SINGLE, "planar") and self.q.stop - self.q.start > self.own.q.stop - self.own.q.start


class PinocchioMap:
    """Maps between a model and a Pinocchio model of the same robot; arrays are (n,) or (batch, n), results are new."""

    def __init__(self, model: Model, nq: int, nv: int, pairs: tuple[Pair, ...]) -> None:
        self.model, self.nq, self.nv, self.pairs = model, nq, nv, pairs

    def __repr__(self) -> str:
        same = self.nq == self.model.nq and np.array_equal(self.G, np.eye(self.nv, self.model.nv))
        sizes = f"nq {self.model.nq} -> {self.nq}, nv {self.model.nv} -> {self.nv}"
        return f"PinocchioMap({self.model.name!r}: {sizes}, {'all equal' if same else 'another order or layout'})"

    @cached_property
    def G(self) -> FloatArray:
        """v_pin = G v, (nv_pin, nv)."""
        G = np.zeros((self.nv, self.model.nv))
        for pair in self.pairs:
            block = np.eye(pair.v.stop - pair.v.start) if pair.at is None else _action(pair.at)
            G[pair.v, pair.own.v] = block if pair.tie is None else pair.tie.ratio * block
        return G

    @cached_property
    def P(self) -> FloatArray:
        """v = P v_pin, (nv, nv_pin): the inverse of G, or what reads the leaders."""
        P = np.zeros((self.model.nv, self.nv))
        for pair in self.pairs:
            if pair.tie is None:
                P[pair.own.v, pair.v] = np.linalg.inv(self.G[pair.v, pair.own.v])
        return P

    def to_q(self, q: npt.ArrayLike) -> FloatArray:
        """Our q as Pinocchio's."""
        x = checked(q, self.model.nq, "q")
        found = np.empty((*x.shape[:-1], self.nq))
        for pair in self.pairs:
            found[..., pair.q] = _there(pair, x[..., pair.own.q])
        return found

    def from_q(self, q_pin: npt.ArrayLike) -> FloatArray:
        """Pinocchio's q as ours; the angle of (cos, sin) lies within half a turn of zero."""
        x = checked(q_pin, self.nq, "q of Pinocchio")
        found = np.empty((*x.shape[:-1], self.model.nq))
        for pair in self.pairs:
            if pair.tie is None:
                found[..., pair.own.q] = _back(pair, x[..., pair.q])
        expected = self.to_q(found)
        for pair in self.pairs:
            if pair.tie is not None and np.abs(expected[..., pair.q] - x[..., pair.q]).max(initial=0) > TOLERANCE:
                raise _disagreement(pair, "q")
        return found

    def to_v(self, v: npt.ArrayLike) -> FloatArray:
        """Our v, or its derivative, as Pinocchio's."""
        return checked(v, self.model.nv, "v") @ self.G.T

    def from_v(self, v_pin: npt.ArrayLike) -> FloatArray:
        """Pinocchio's v, or its derivative, as ours."""
        x = checked(v_pin, self.nv, "v of Pinocchio")
        found = x @ self.P.T
        off = np.abs(found @ self.G.T - x) > TOLERANCE * (1 + np.abs(x))
        for pair in self.pairs:
            if pair.tie is not None and off[..., pair.v].any():
                raise _disagreement(pair, "v")
        return found

    def to_tau(self, tau: npt.ArrayLike) -> FloatArray:
        """Our joint forces as Pinocchio's; joints that mimic others here carry none."""
        return checked(tau, self.model.nv, "tau") @ self.P

    def from_tau(self, tau_pin: npt.ArrayLike) -> FloatArray:
        """Pinocchio's joint forces as ours: tau = G' tau_pin, leaders carry what their followers do."""
        return checked(tau_pin, self.nv, "tau of Pinocchio") @ self.G

    def to_matrix(self, H: npt.ArrayLike) -> FloatArray:
        """A mass matrix (nv, nv) as Pinocchio's."""
        if self.nv != self.model.nv:
            freed, leader = next((pair.name, pair.own.name) for pair in self.pairs if pair.tie is not None)
            raise ModelError(
                f"joint {freed!r} is free in Pinocchio's model and follows {leader!r} here, so that its row of H "
                "is not known: build that model with mimic=True"
            )
        return self.P.T @ _symmetric(H, self.model.nv) @ self.P

    def from_matrix(self, H_pin: npt.ArrayLike) -> FloatArray:
        """Pinocchio's mass matrix, both triangles filled, as ours: H = G' H_pin G."""
        return self.G.T @ _symmetric(H_pin, self.nv) @ self.G

    def from_jacobian(self, J_pin: npt.ArrayLike) -> FloatArray:
        """Pinocchio's Jacobian (rows, nv_pin) as ours: J = J_pin G."""
        return checked(J_pin, self.nv, "J of Pinocchio") @ self.G

    def to_jacobian(self, J: npt.ArrayLike) -> FloatArray:
        """A Jacobian (rows, nv) as Pinocchio's, of motions in which followers follow: J_pin = J P."""
        return checked(J, self.model.nv, "J") @ self.P


def to_pinocchio(model: Model, pin_model: Any) -> PinocchioMap:
    """The maps between `model` and a `pinocchio.Model` of the same robot; joints are matched by name, in any order.

    A joint that only one of the two has is refused by name. A single floating joint is matched whatever its name.
    """
    ties = {c.follower: c for c in model.couplings}
    pairs = tuple(_pairs(model, pin_model, ties))
    found = {pair.own.name for pair in pairs if pair.tie is None}
    for name in model.joint_names:
        if name not in found:
            names = tuple(pin_model.names)
            raise UnknownNameError(unknown("joint", name, names).replace("the model", "Pinocchio's model"))
    return PinocchioMap(model, int(pin_model.nq), int(pin_model.nv), pairs)


def _pairs(model: Model, pin_model: Any, ties: dict[str, Coupling]) -> Iterator[Pair]:
    joints = list(zip(list(pin_model.names)[1:], list(pin_model.joints)[1:], strict=True))
    renamed = _floating_name(model, joints)
    for name, joint in joints:
        tie = ties.get(name)
        if joint.nv == 0:
            if tie is None:
                raise ModelError(f"joint {name!r} follows another in Pinocchio's model and is free here: load it alike")
            continue
        own = model.joint(tie.leader if tie else renamed.get(name, name))
        pair = Pair(
            name, own, slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv), tie
        )
        _require_alike(pair, joint)
        yield pair if own.type != "floating" else _placed(pair, pin_model, joint)


def _floating_name(model: Model, joints: list[tuple[str, Any]]) -> dict[str, str]:
    """{Pinocchio's name: ours} of the floating joint, if each has one."""
    theirs = [name for name, joint in joints if joint.nv == 6]
    ours = [joint.name for joint in model.joints if joint.type == "floating"] if theirs else []
    return {theirs[0]: ours[0]} if len(theirs) == len(ours) == 1 else {}


def _require_alike(pair: Pair, joint: Any) -> None:
    """The two joints are of one kind."""
    kind = joint.shortname().removeprefix("JointModel")
    expected: dict[str, tuple[str, ...]] = {
        "floating": ("FreeFlyer",),
        "spherical": ("Spherical",),
        "planar": ("Planar",),
        "universal": ("Universal",),
    }
    alike = kind in expected[pair.own.type] if pair.own.type in expected else joint.nv == 1 and joint.nq in (1, 2)
    if not alike or (pair.own.type == "cylindrical"):
        raise ModelError(f"joint {pair.name!r} is {pair.own.type} here and {kind} in Pinocchio: no map is known")


def _placed(pair: Pair, pin_model: Any, joint: Any) -> Pair:
    """Pinocchio floats a root link called "world", which here is the world: then our body sits somewhere on it."""
    mount = pin_model.jointPlacements[joint.id]
    if not mount.isIdentity(1e-12):
        raise ModelError(f"floating joint {pair.name!r} does not start from the world's frame in Pinocchio's model")
    frame = pin_model.frames[pin_model.getFrameId(pair.own.body)]
    at = Mount(_quaternion(np.array(frame.placement.rotation)), np.array(frame.placement.translation))
    return Pair(pair.name, pair.own, pair.q, pair.v, pair.tie, at)


# One joint


def _there(pair: Pair, x: FloatArray) -> FloatArray:
    """A joint's part of q as Pinocchio's."""
    if pair.tie is not None:
        x = pair.tie.ratio * x + pair.tie.offset
    if pair.cosine:
        return np.concatenate([x[..., :-1], np.cos(x[..., -1:]), np.sin(x[..., -1:])], -1)
    return x if pair.at is None else _moved(x, _inverse(pair.at))


def _back(pair: Pair, x: FloatArray) -> FloatArray:
    if pair.cosine:
        if not np.abs(x[..., -2:]).max(-1).all():
            raise NonFiniteError(f"cos and sin of joint {pair.name!r} are both zero: they make no angle")
        return np.concatenate([x[..., :-2], np.arctan2(x[..., -1:], x[..., -2:-1])], -1)
    return x if pair.at is None else _moved(x, pair.at)


def _moved(pose: FloatArray, at: Mount) -> FloatArray:
    """The pose x y z, qx qy qz qw of a frame that is placed `at` in the frame with this pose."""
    p, x = pose[..., :3], pose[..., 3:]
    return np.concatenate([p + quaternion_rotate(x, at.origin), _product(x, at.quaternion)], -1)


def _inverse(at: Mount) -> Mount:
    back = at.quaternion * np.array([-1.0, -1.0, -1.0, 1.0])
    return Mount(back, -quaternion_rotate(back, at.origin))


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Quaternions x y z w: first b, then a."""
    vector = a[..., 3:] * b[:3] + b[3] * a[..., :3] + np.cross(a[..., :3], b[:3])
    scalar = a[..., 3:] * b[3] - (a[..., :3] * b[:3]).sum(-1, keepdims=True)
    return np.concatenate([vector, scalar], -1)


def _quaternion(R: FloatArray) -> FloatArray:
    """x y z w of a rotation matrix: the eigenvector of the largest eigenvalue of Bar-Itzhack's matrix."""
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[:3, 3] = K[3, :3] = skew
    K[3, 3] = np.trace(R)
    found: FloatArray = np.linalg.eigh(K)[1][:, -1]
    return found if found[3] >= 0 else -found


def _action(at: Mount) -> FloatArray:
    """Motions (linear, angular) of the placed frame as motions of the frame it is placed in, (6, 6)."""
    R = np.stack([quaternion_rotate(at.quaternion, e) for e in np.eye(3)], -1)
    cross = np.cross(np.eye(3), at.origin).T @ R
    return np.block([[R, -cross], [np.zeros((3, 3)), R]])


# Checks


def _symmetric(H: npt.ArrayLike, n: int) -> FloatArray:
    array = checked(H, n, "H")
    if array.shape != (n, n):
        raise ShapeError(f"H has shape {array.shape}: expected ({n}, {n})")
    if np.abs(array - array.T).max(initial=0) > 1e-8 * np.abs(array).max(initial=0):
        raise ShapeError("H is not symmetric: fill both triangles")
    return array


def _disagreement(pair: Pair, what: str) -> ModelError:
    tie = pair.tie
    assert tie is not None
    law = f"{tie.ratio:g} {tie.leader} + {tie.offset:g}"
    return ModelError(f"{what} of Pinocchio moves {pair.name!r} apart from its leader: here it is {law}")
