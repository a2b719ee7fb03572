"""q, v, accelerations, joint forces and matrices to and from the layout that another engine has of the same robot.

Every engine orders joints and writes some of them in its own way, and may free joints that mimic others here. With

    v_there = G(q) v,   a_there = G a + G' v,   v = P v_there,   P G = 1,

forces and matrices follow: tau = G' tau_there, H = G' H_there G, J = J_there G. G is constant but where an engine
writes a velocity in other axes (floating, spherical and planar joints): maps then need q, always in the layout here.
Where an engine frees joints that mimic others here, G has more rows than columns and P reads the leaders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.run.arrays import real_array
from bough.errors import ModelError, NonFiniteError, ShapeError
from bough.joints import JOINTS, PRIMITIVES, ForeignLayout
from bough.model import Coupling, Joint, Model
from bough.spatial import quaternion_rotate
from bough.types import FloatArray

SAME = ForeignLayout(lambda q: q, lambda q: q, 0, ())


class Foreign(NamedTuple):
    """A joint of another engine: its kind there, and its places in q and v."""

    name: str
    kind: str
    q: slice
    v: slice


@dataclass(frozen=True)
class Pair:
    """A joint there and the joint here that it moves with: x_there = ratio x + offset of a mimic joint."""

    there: Foreign
    own: Joint
    tie: Coupling | None = None
    rule: ForeignLayout = SAME
    mount: FloatArray | None = None  # (6, 6) velocities there of a floating joint whose frame is placed otherwise

    @property
    def turns(self) -> bool:
        """Whether the velocity there is in other axes."""
        return any(self.rule.rotated)

    def block(self, q: FloatArray | None, v: FloatArray | None = None) -> FloatArray:
        """Its part of G (..., there, here); with v, of the rate of G along it."""
        n = self.own.v.stop - self.own.v.start
        if self.mount is not None or not self.rule.axes:
            found = np.eye(n) if self.mount is None else self.mount
            return (found if v is None else 0.0 * found) * (1.0 if self.tie is None else self.tie.ratio)
        primitive = PRIMITIVES[JOINTS[self.own.type][0]]
        if not self.turns:
            turn = np.eye(3)
        elif q is None or primitive.orientation is None:
            raise ShapeError(f"the velocity of joint {self.own.name!r} is in other axes there: give q")
        else:
            x = primitive.orientation(q[..., self.own.q])
            turn = np.stack([quaternion_rotate(x, e) for e in np.eye(3)], -1)
        rate = np.zeros_like(turn)
        if v is not None and self.turns:
            whole = np.zeros((*v.shape[:-1], 6))
            whole[..., primitive.axes] = v[..., self.own.v]
            rate = turn @ _cross_matrix(whole[..., :3])
        D = np.zeros((*turn.shape[:-2], 6, 6))
        for part, turned in ((slice(3, 6), self.rule.rotated[0]), (slice(0, 3), self.rule.rotated[1])):
            fixed = np.eye(3) if v is None else np.zeros((3, 3))
            D[..., part, part] = (turn if v is None else rate) if turned else fixed
        return D[..., self.rule.axes, :][..., primitive.axes]


class LayoutMap:
    """Maps between a model and the layout of the same robot in another engine; arrays are (n,) or (batch, n).

    Results are new arrays. `q` is needed where G depends on it, and in the layout of the model.
    """

    def __init__(
        self,
        model: Model,
        engine: str,
        sizes: tuple[int, int],
        pairs: Sequence[Pair],
        tolerance: float,
        fixed: Sequence[tuple[Foreign, float]] = (),
    ) -> None:
        self.model, self.engine, self.pairs, self.tolerance, self.fixed = model, engine, tuple(pairs), tolerance, fixed
        self.nq, self.nv = sizes
        plain = [p for p in pairs if p.rule is SAME and p.mount is None]
        self._special = [p for p in pairs if not (p.rule is SAME and p.mount is None)]
        # joints with one layout, by the places of their coordinates, with ratio and offset
        self._q = _places(plain, "q")
        self._v = _places(plain, "v")

    def __repr__(self) -> str:
        same = self.nq == self.model.nq and not self._special and np.array_equal(self.G, np.eye(self.nv, self.model.nv))
        sizes = f"nq {self.model.nq} -> {self.nq}, nv {self.model.nv} -> {self.nv}"
        how = "all equal" if same else "another order or layout"
        return f"LayoutMap({self.model.name!r} in {self.engine}: {sizes}, {how})"

    @cached_property
    def G(self) -> FloatArray:
        """v_there = G v, (nv_there, nv), where it does not depend on q."""
        return self.matrix()

    @cached_property
    def P(self) -> FloatArray:
        """v = P v_there, (nv, nv_there), where it does not depend on q."""
        return self.inverse()

    def matrix(self, q: npt.ArrayLike | None = None) -> FloatArray:
        """G at q, (nv_there, nv)."""
        x = None if q is None else checked(q, self.model.nq, "q")
        out = np.zeros((*(() if x is None else x.shape[:-1]), self.nv, self.model.nv))
        for p in self.pairs:
            out[..., p.there.v, p.own.v] = p.block(x)
        return out

    def inverse(self, q: npt.ArrayLike | None = None) -> FloatArray:
        """P at q, (nv, nv_there): the inverse of G, or what reads the leaders."""
        x = None if q is None else checked(q, self.model.nq, "q")
        out = np.zeros((*(() if x is None else x.shape[:-1]), self.model.nv, self.nv))
        for p in self.pairs:
            if p.tie is None:
                out[..., p.own.v, p.there.v] = np.linalg.inv(p.block(x))
        return out

    # Vectors

    def to_q(self, q: npt.ArrayLike) -> FloatArray:
        """Our q as theirs."""
        x = checked(q, self.model.nq, "q")
        out = np.empty((*x.shape[:-1], self.nq))
        at = self._q
        out[..., at.there] = at.ratio * x[..., at.own] + at.offset
        for p in self._special:
            part = x[..., p.own.q] if p.tie is None else p.tie.ratio * x[..., p.own.q] + p.tie.offset
            out[..., p.there.q] = p.rule.to(part)
        for joint, value in self.fixed:
            out[..., joint.q] = value
        return out

    def from_q(self, q_there: npt.ArrayLike) -> FloatArray:
        """Their q as ours; the angle of (cos, sin) lies within half a turn of zero."""
        x = checked(q_there, self.nq, f"q of {self.engine}")
        out = np.empty((*x.shape[:-1], self.model.nq))
        at = self._q.leaders
        out[..., at.own] = x[..., at.there]
        for p in self._special:
            if p.tie is None:
                try:
                    out[..., p.own.q] = p.rule.back(x[..., p.there.q])
                except NonFiniteError as error:
                    raise NonFiniteError(f"joint {p.there.name!r}: {error}") from None
        self._compare(self.to_q(out), x, "q")
        return out

    def to_v(self, v: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Our v as theirs; of a constant G, accelerations too."""
        y = checked(v, self.model.nv, "v")
        return self._to_rates(y, self._matching(q, y, "v"))

    def from_v(self, v_there: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Their v as ours; of a constant G, accelerations too."""
        y = checked(v_there, self.nv, f"v of {self.engine}")
        x = self._matching(q, y, "v")
        out = self._from_rates(y, x)
        self._compare(self._to_rates(out, x), y, "v")
        return out

    def to_a(self, a: npt.ArrayLike, v: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
        """Our acceleration as theirs, G a + G' v."""
        z, y, x = checked(a, self.model.nv, "a"), checked(v, self.model.nv, "v"), checked(q, self.model.nq, "q")
        return self._to_rates(z, self._matching(x, z, "a")) + self._drift(x, self._matching(y, z, "a", "v"))

    def from_a(self, a_there: npt.ArrayLike, v: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
        """Their acceleration as ours; v and q are ours."""
        z, y, x = (
            checked(a_there, self.nv, f"a of {self.engine}"),
            checked(v, self.model.nv, "v"),
            checked(q, self.model.nq, "q"),
        )
        return self._from_rates(z - self._drift(x, self._matching(y, z, "a", "v")), self._matching(x, z, "a"))

    def to_tau(self, tau: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Our joint forces as theirs; joints that mimic others here, or are fixed here, carry none."""
        y, at = checked(tau, self.model.nv, "tau"), self._v.leaders
        out, x = np.zeros((*y.shape[:-1], self.nv)), self._matching(q, y, "tau")
        out[..., at.there] = y[..., at.own]
        for p in self._special:
            if p.tie is None:
                out[..., p.there.v] = _times(np.swapaxes(np.linalg.inv(p.block(x)), -1, -2), y[..., p.own.v])
        return out

    def from_tau(self, tau_there: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Their joint forces as ours: tau = G' tau_there, leaders carry what their followers do."""
        y, at = checked(tau_there, self.nv, f"tau of {self.engine}"), self._v
        out, x = np.zeros((*y.shape[:-1], self.model.nv)), self._matching(q, y, "tau")
        np.add.at(out.T, at.own, (at.ratio * y[..., at.there]).T)
        for p in self._special:
            out[..., p.own.v] += _times(np.swapaxes(p.block(x), -1, -2), y[..., p.there.v])
        return out

    def _to_rates(self, y: FloatArray, q: FloatArray | None) -> FloatArray:
        out, at = np.zeros((*y.shape[:-1], self.nv)), self._v
        out[..., at.there] = at.ratio * y[..., at.own]
        for p in self._special:
            out[..., p.there.v] = _times(p.block(q), y[..., p.own.v])
        return out

    def _from_rates(self, y: FloatArray, q: FloatArray | None) -> FloatArray:
        out, at = np.empty((*y.shape[:-1], self.model.nv)), self._v.leaders
        out[..., at.own] = y[..., at.there]
        for p in self._special:
            if p.tie is None:
                out[..., p.own.v] = _times(np.linalg.inv(p.block(q)), y[..., p.there.v])
        return out

    def _drift(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """G' v."""
        out = np.zeros((*v.shape[:-1], self.nv))
        for p in self._special:
            if p.turns:
                out[..., p.there.v] = _times(p.block(q, v), v[..., p.own.v])
        return out

    # Matrices

    def to_matrix(self, H: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """A mass matrix (nv, nv) as theirs."""
        freed = next((p for p in self.pairs if p.tie is not None), None)
        if freed is not None:
            raise ModelError(
                f"joint {freed.there.name!r} is free in {self.engine}'s model and follows {freed.own.name!r} here, "
                f"so that its row of H is not known: build that model with mimic joints (mimic=True of Pinocchio)"
            )
        P = self.inverse(q)
        return P.T @ _symmetric(H, self.model.nv) @ P

    def from_matrix(self, H_there: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Their mass matrix, both triangles filled, as ours: H = G' H_there G."""
        G = self.matrix(q)
        return G.T @ _symmetric(H_there, self.nv) @ G

    def from_jacobian(self, J_there: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """Their Jacobian (rows, nv_there) as ours: J = J_there G."""
        return checked(J_there, self.nv, f"J of {self.engine}") @ self.matrix(q)

    def to_jacobian(self, J: npt.ArrayLike, q: npt.ArrayLike | None = None) -> FloatArray:
        """A Jacobian (rows, nv) as theirs, of motions in which followers follow: J_there = J P."""
        return checked(J, self.model.nv, "J") @ self.inverse(q)

    def from_derivatives(
        self,
        by: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        tau_there: npt.ArrayLike,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The derivatives (nv, nv) of tau = inverse_dynamics(q, v, a) by q, v and a, from theirs of `tau_there`.

        q varies along velocities, here and there. q, v and a are ours, and one state.
        """
        x, y, z = checked(q, self.model.nq, "q"), checked(v, self.model.nv, "v"), checked(a, self.model.nv, "a")
        D = np.concatenate([checked(d, self.nv, f"a derivative of {self.engine}") for d in by], axis=1)
        n, G, force = self.model.nv, self.matrix(x), checked(tau_there, self.nv, "tau_there")
        T: Any = np.kron(np.eye(3), G)  # how q, v and a there change with those here
        turned = np.zeros((n, n))
        for p in self._special:
            if p.turns:
                self._turn(p, (x, y, z, force), T, turned)
        found = G.T @ D @ T
        found[:, :n] += turned
        return found[:, :n], found[:, n : 2 * n], found[:, 2 * n :]

    def _turn(self, p: Pair, at: tuple[FloatArray, ...], T: FloatArray, turned: FloatArray) -> None:
        """The contribution of a rotated part X = R x, X' = R (x' + w x x) of v and a to T, and of R' f to d/dq."""
        q, v, a, force = at
        n, k, axes = self.model.nv, self.nv, np.array(PRIMITIVES[JOINTS[p.own.type][0]].axes)
        own, there = np.arange(n)[p.own.v], np.arange(k)[p.there.v]
        spins = axes < 3
        about, by = axes[spins], own[spins]
        x, y = np.zeros((2, 6))
        x[axes], y[axes] = v[p.own.v], a[p.own.v]
        block, w = p.block(q), x[:3]
        for part, flag in ((slice(3, 6), p.rule.rotated[0]), (slice(0, 3), p.rule.rotated[1])):
            if not flag:
                continue
            mine = (part.start <= axes) & (axes < part.stop)
            own_axes, B, f = axes[mine] - part.start, np.zeros((len(there), 3)), np.zeros(3)
            B[:, own_axes], f[own_axes] = block[:, mine], (block.T @ force[there])[mine]
            bent = (B @ _cross_matrix(x[part]))[:, about]
            T[np.ix_(k + there, by)] -= bent
            T[np.ix_(2 * k + there, by)] -= (B @ _cross_matrix(y[part] + np.cross(w, x[part])))[:, about]
            T[np.ix_(2 * k + there, n + by)] -= bent
            T[np.ix_(2 * k + there, n + own[mine])] += (B @ _cross_matrix(w))[:, own_axes]
            turned[np.ix_(own[mine], by)] += _cross_matrix(f)[np.ix_(own_axes, about)]

    def _matching(self, q: Any, y: FloatArray, name: str, other: str = "q") -> Any:
        """q (or v) as an array with the batch of y, or None."""
        if q is None:
            return None
        x = checked(q, self.model.nq, "q") if other == "q" else q
        if x.shape[:-1] != y.shape[:-1]:
            raise ShapeError(f"{name} has shape {y.shape}, {other} has {x.shape}: expected equal batches")
        return x

    def _compare(self, expected: FloatArray, actual: FloatArray, what: str) -> None:
        """Refuse coordinates of followers and fixed joints that are not where the model has them."""
        off = np.abs(expected - actual) > self.tolerance * (1.0 + np.abs(actual))
        for p in self.pairs:
            if p.tie is not None and off[..., getattr(p.there, what)].any():
                law = f"{p.tie.ratio:g} {p.tie.leader} + {p.tie.offset:g}"
                raise ModelError(
                    f"{what} of {self.engine} moves {p.there.name!r} apart from its leader: here it is {law}"
                )
        for joint, value in self.fixed:
            if off[..., getattr(joint, what)].any():
                raise ModelError(f"{what} of {self.engine} moves {joint.name!r}, which is fixed at {value:g} here")


class _Places(NamedTuple):
    """Coordinates with one layout: x_there = ratio x + offset."""

    there: Any
    own: Any
    ratio: FloatArray
    offset: FloatArray
    leads: Any

    @property
    def leaders(self) -> _Places:
        """Those that follow nothing."""
        return _Places(*(x[self.leads] for x in self))


def _places(pairs: Sequence[Pair], what: str) -> _Places:
    rows = [
        (a, b, *((p.tie.ratio, p.tie.offset, False) if p.tie else (1.0, 0.0, True)))
        for p in pairs
        for a, b in zip(_range(getattr(p.there, what)), _range(getattr(p.own, what)), strict=True)
    ]
    there, own, ratio, offset, leads = zip(*rows, strict=True) if rows else ((),) * 5
    return _Places(np.array(there, int), np.array(own, int), np.array(ratio), np.array(offset), np.array(leads, bool))


def _range(part: slice) -> range:
    return range(part.start, part.stop)


def _times(A: Any, x: FloatArray) -> FloatArray:
    return np.asarray((A @ x[..., None])[..., 0])


def _cross_matrix(x: FloatArray) -> FloatArray:
    """(..., 3, 3): the matrix of y -> x x y."""
    return np.swapaxes(np.cross(x[..., None, :], np.eye(3)), -1, -2)


def checked(x: Any, n: int, name: str) -> FloatArray:
    """A copy of an array (n,) or (batch, n) of finite numbers."""
    array = np.array(real_array(name, x), float)
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise ShapeError(f"{name} has shape {array.shape}: expected ({n},) or (batch, {n})")
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{name} is not finite")
    return array


def _symmetric(H: npt.ArrayLike, n: int) -> FloatArray:
    array = checked(H, n, "H")
    if array.shape != (n, n):
        raise ShapeError(f"H has shape {array.shape}: expected ({n}, {n})")
    if np.abs(array - array.T).max(initial=0) > 1e-8 * np.abs(array).max(initial=0):
        raise ShapeError("H is not symmetric: fill both triangles")
    return array


def rule_of(joint: Joint, engine: str) -> ForeignLayout:
    """The layout of a joint in an engine, if its file says that."""
    chain = JOINTS[joint.type]
    return PRIMITIVES[chain[0]].layouts.get(engine, SAME) if len(chain) == 1 else SAME


__all__ = ["SAME", "Foreign", "LayoutMap", "Pair", "checked", "rule_of"]
