"""Potentials V(x) of single joints: the model's springs, torsion series, limits as barriers, functions of a user's own.

A step moves q by h qdd. With the force at its end, -V'(q + h qdd) = -V' - h V'' qdd, the accelerations are those of
(M + h V'') qdd = tau - V': stable however stiff V is. Where V is concave, V'' is omitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.compile.scalar import sincos
from bough.errors import (
    CheckpointError,
    ModelError,
    NonFiniteError,
    OptionError,
    SettingError,
    ShapeError,
    UnknownNameError,
    short,
)
from bough.joints import LAST_SCREW, Mechanism, difference_joint
from bough.model import Model
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

# f(x, which) -> V, dV/dx, d2V/dx2, (k,) each, of the joints in these places of those that were named
Function = Callable[[FloatArray, npt.NDArray[np.int64]], tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]]


@dataclass(frozen=True)
class Potential:
    """Terms of one kind; each of their values is one number, or one for each joint."""

    kind: int
    terms: tuple[tuple[Any, ...], ...]
    max_h: float = math.inf  # the longest step for which it is meant

    def rows(self, count: int) -> FloatArray:
        """(terms, joints, 4) for so many joints."""
        found = np.zeros((len(self.terms), count, 4))
        for row, values in zip(found, self.terms, strict=True):
            for k, value in enumerate(values):
                a = np.asarray(value, float)
                if a.shape not in ((), (count,)):
                    raise ShapeError(f"potential: expected one number or one for each of {count} joints, got {a.shape}")
                row[:, k] = a
        return found


def _finite(what: str, *values: Any) -> None:
    for value in values:
        a = np.asarray(value, float)
        if not np.isfinite(a).all():
            raise NonFiniteError(f"{what}: expected finite numbers, got {a[~np.isfinite(a)].flat[0]}")


@explained
def harmonic(stiffness: npt.ArrayLike, rest: npt.ArrayLike = 0.0, *, max_h: float | None = None) -> Potential:
    """k/2 (x - rest)^2, stiffness in N m or N/m. A negative one needs `max_h` (s^2): longer steps are then refused."""
    _finite("harmonic", stiffness, rest)
    if np.min(stiffness, initial=0.0) < 0.0 and max_h is None:
        raise SettingError(
            f"harmonic: a stiffness of {np.min(stiffness):g} drives the joint away, and only short steps follow that: "
            f"give max_h, the longest step h in s^2"
        )
    if max_h is not None and not max_h > 0.0:
        raise SettingError(f"harmonic: max_h must be positive, got {max_h!r}")
    return Potential(HARMONIC, ((stiffness, rest),), math.inf if max_h is None else float(max_h))


@explained
def dihedral(amplitudes: npt.ArrayLike, multiplicities: npt.ArrayLike, phases: npt.ArrayLike = 0.0) -> Potential:
    """Sum over terms of A (1 + cos(n x - phase)), as force fields of molecules have it; (terms,) each, A in N m.

    Amplitudes (terms, joints) give every joint its own.
    """
    _finite("dihedral", amplitudes, multiplicities, phases)
    n = np.atleast_1d(np.asarray(multiplicities, float))
    A, phase = np.asarray(amplitudes, float), np.broadcast_to(np.asarray(phases, float), n.shape)
    A = np.broadcast_to(A, n.shape) if A.ndim == 0 else A
    if n.ndim != 1 or len(A) != len(n):
        raise ShapeError(f"dihedral: expected as many amplitudes as multiplicities {n.shape}, got {A.shape}")
    return Potential(COSINE, tuple(zip(A, n, phase, strict=True)))


@explained
def barrier(lower: npt.ArrayLike, upper: npt.ArrayLike, strength: float, gap: float | None = None) -> Potential:
    """-strength log of the distances to both limits, in N m or J; within `gap` of a limit and beyond, a parabola.

    The gap is a hundredth of the range unless it is given: a joint that is pressed against a limit by a force f passes
    it by about gap (f gap / strength - 2), if that is positive.
    """
    low, high = np.broadcast_arrays(np.asarray(lower, float), np.asarray(upper, float))
    _finite("barrier", low, high, strength)
    if not (high > low).all():
        raise SettingError("barrier: the lower limit must be below the upper one")
    width = 0.01 * (high - low) if gap is None else np.broadcast_to(np.asarray(gap, float), low.shape)
    if not (strength > 0.0 and (width > 0.0).all() and (width < 0.5 * (high - low)).all()):
        raise SettingError(f"barrier: strength is positive, gap less than half the range, got {strength!r}, {gap!r}")
    return Potential(BARRIER, ((low, high, strength, width),))


def evaluated(function: Function, x: FloatArray, which: npt.NDArray[np.int64]) -> FloatArray:
    """(k, 3) slopes, curvatures and energies of a user's function; no other shapes, no NaN."""
    found: Any = function(x, which)
    if not (isinstance(found, tuple) and len(found) == 3):
        raise ShapeError(f"potential: expected a tuple of V, V' and V'', got {type(found).__name__}")
    out = np.empty((len(x), 3))
    for column, name, value in zip((2, 0, 1), ("V", "V'", "V''"), found, strict=True):
        a = np.asarray(value)
        if a.dtype.kind not in "fiub":
            raise ShapeError(f"potential: {name} is {short(repr(value))}, expected numbers, one for each joint")
        if a.shape != x.shape and a.shape != ():
            raise ShapeError(f"potential: {name} has shape {a.shape}, expected {x.shape}, one for each joint")
        out[:, column] = a
    bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if len(bad):
        raise NonFiniteError(
            f"potential: V, V' and V'' must be finite, got {out[bad[0], [2, 0, 1]]} at x = {x[bad[0]]:g}"
        )
    return out


class Terms(NamedTuple):
    """Terms of potentials, one a row."""

    dof: IntArray  # (T,) in the mechanism's order
    kind: IntArray  # (T,)
    value: FloatArray  # (T, 4)
    max_h: FloatArray  # (T,)
    function: IntArray  # (T,) number of the user's function that finds the values, -1 = none
    place: IntArray  # (T,) of its joint among those that were named for the function


def make_terms(dof: IntArray, kind: int, value: Any, max_h: float = math.inf, function: int = -1) -> Terms:
    """Terms of one kind, one for each DoF."""
    k = len(dof)
    whole = np.full(k, kind), np.array(np.broadcast_to(value, (k, 4)), float)
    return Terms(dof, *whole, np.full(k, max_h), np.full(k, function), np.arange(k))


def joined(tables: list[Terms]) -> Terms:
    """One table after the other."""
    return Terms._make(np.concatenate(columns) for columns in zip(*tables, strict=True))


class FunctionTerms(NamedTuple):
    """A function of the user's own on some joints."""

    function: Function
    term: IntArray  # (k,) its terms
    place: IntArray  # (k,) places of its joints among those that were named
    q: IntArray  # (k,) where its joints are in q


class Potentials:
    """Terms on degrees of freedom of a model; `springs` is what the kernels read."""

    def __init__(self, model: Model, q: FloatArray, tau: FloatArray) -> None:
        self.model, self.q, self.tau = model, q, tau  # q (nq,) and torques (n,) that engines share
        m, n = model.mechanism, len(model.mechanism.axis)
        self._armature = np.array(m.armature)
        seen = self._armature.view()
        seen.flags.writeable = False
        self.mechanism: Mechanism = m._replace(armature=seen)  # with the armatures that the engines see
        self.damping = model.damping[m.v_index]
        self._damped = bool(self.damping.any())
        stiff = np.flatnonzero(model.stiffness[m.v_index])
        own = np.zeros((len(stiff), 4))
        at, v = model.scalar_joints
        single, self._zero = np.zeros(model.nv), np.array(model.rest_configuration)
        single[v], self._zero[at] = 1.0, model.neutral[at]  # springs of other joints are turned from where they rest
        own[:, 0], own[:, 1] = model.stiffness[m.v_index[stiff]], (single * model.rest)[m.v_index[stiff]]
        self._own = make_terms(stiff, HARMONIC, own)  # springs of the model
        self._set = make_terms(stiff[:0], HARMONIC, 0.0)  # what the user has set
        self._functions: dict[int, Function] = {}  # by number
        self._h, self.given = np.zeros(1), np.zeros(n)
        self.place = np.empty(model.nv, np.int64)  # of a DoF in the mechanism's order, by that in v
        self.place[m.v_index] = np.arange(n)
        self._rotor, self._x = np.array(m.armature), np.zeros(model.nv)
        self.functions: list[FunctionTerms] = []
        self.springs = self._compose()

    # What is set

    @property
    def none(self) -> bool:
        """Whether joints are free of potentials."""
        return len(self.springs.kind) == 0

    def _compose(self) -> Springs:
        """All terms in the order of DoF: the model's springs, then those that were set."""
        self.longest = float(self._set.max_h.min(initial=math.inf))
        terms = joined([self._own, self._set])
        terms = Terms._make(column[np.argsort(terms.dof, kind="stable")] for column in terms)
        begin, end = (np.searchsorted(terms.dof, np.arange(len(self.given)), side=side) for side in ("left", "right"))
        self.functions = []
        for number, function in self._functions.items():
            at = np.flatnonzero(terms.function == number)
            self.functions.append(FunctionTerms(function, at, terms.place[at], self._in_q(terms.dof[at])))
        return Springs(
            begin, end, terms.kind, terms.value, self.given, self._rotor, self.tau, self._armature,
            np.zeros(len(self.given)), self._zero, self._x, self._h,
        )  # fmt: skip

    def _in_q(self, dofs: IntArray) -> IntArray:
        m = self.model.mechanism
        return np.asarray(m.q_index[np.searchsorted(m.dof, dofs, side="right") - 1], np.int64)

    def freedoms(self, joints: str | int | Iterable[str | int]) -> IntArray:
        """The degrees of freedom of joints with one each, by name or place in `joint_names`."""
        names = [joints] if isinstance(joints, (str, int)) else list(joints)
        m, model = self.model.mechanism, self.model
        found = []
        for name in names:
            if not isinstance(name, str) and not 0 <= int(name) < len(model.joints):
                raise UnknownNameError(f"there is no joint {name}: expected a name or 0 to {len(model.joints) - 1}")
            joint = model.joint(name) if isinstance(name, str) else model.joints[int(name)]
            k = int(self.place[joint.v.start])
            body = int(np.searchsorted(m.dof, k, side="right")) - 1
            if joint.v.stop - joint.v.start != 1 or m.kind[body] > LAST_SCREW:
                raise ModelError(f"joint {joint.name!r} is {joint.type}: a potential is a function of one coordinate")
            found.append(k)
        if len(set(found)) < len(found):
            raise SettingError("a joint is named twice")
        return np.array(found, np.int64)

    def set(self, joints: str | int | Iterable[str | int], *potentials: Any) -> None:
        """Replace what was set on these joints; when it fails, all is as it was."""
        at, functions = self.freedoms(joints), self._functions.copy()
        tables = [Terms._make(column[~np.isin(self._set.dof, at)] for column in self._set)]
        for p in potentials:
            if isinstance(p, Potential):
                tables += [make_terms(at, p.kind, row, p.max_h) for row in p.rows(len(at))]
            elif callable(p):
                number = max(functions, default=-1) + 1
                functions[number] = p
                tables.append(make_terms(at, FUNCTION, math.nan, function=number))
            else:
                raise OptionError(f"a potential is harmonic, dihedral, barrier or a function, got {p!r}")
        kept = self._set, self._functions, self.springs, self.functions, self.longest
        self._set = joined(tables)
        self._functions = {n: f for n, f in functions.items() if n in self._set.function}
        self.springs = self._compose()
        try:
            self.evaluate()
        except BaseException:
            self._set, self._functions, self.springs, self.functions, self.longest = kept
            raise
        self.refresh()

    # What follows

    def set_step(self, h: float) -> bool:
        """Steps of this size follow; returns whether equations change by that."""
        if h == self._h[0] or not (self._damped or len(self.springs.kind)):
            return False
        self.check_step(h)
        self._h[0] = h
        self._rotor[:] = self.model.mechanism.armature + math.sqrt(0.5 * h) * self.damping
        self.refresh()
        return True

    def check_step(self, h: float) -> None:
        """Refuse a step that is too long for a potential; in motion h is the square of its time."""
        if h > self.longest:
            raise SettingError(f"a step of h = {h:g} s^2 is too long for a potential with max_h = {self.longest:g}")

    def refresh(self) -> None:
        """Torques and armatures from q, all of them."""
        self.evaluate()
        self.tau[:] = self.given
        self._armature[:] = self._rotor
        if not self.none:
            compiled(spring_all)(self.mechanism, self.springs, self.q)

    def give(self, dofs: IntArray, torques: FloatArray) -> None:
        """Other torques of the user's at some DoF."""
        self.given[dofs] = torques
        self.tau[dofs] = torques
        if not self.none:
            joints = np.searchsorted(self.mechanism.dof, dofs, side="right") - 1
            compiled(spring_some)(self.mechanism, self.springs, self.q, joints)

    def evaluate(self) -> None:
        """Ask the user's functions where joints have moved since they were asked last."""
        values, found = self.springs.value, []
        for f in self.functions:
            x = self.q[f.q]
            which = np.flatnonzero(~(values[f.term, 3] == x))
            if len(which):
                found.append((f.term[which], evaluated(f.function, x[which], f.place[which]), x[which]))
        for term, answer, x in found:
            values[term, :3], values[term, 3] = answer, x

    def energy(self) -> float:
        """The sum of all potentials at q, J."""
        self.evaluate()
        return 0.0 if self.none else float(compiled(spring_energy)(self.mechanism, self.springs, self.q))

    def state(self) -> dict[str, Any]:
        """The potentials that were set, as arrays."""
        if self._functions:
            raise CheckpointError("a potential that is a Python function cannot be written to a checkpoint")
        return {"terms": self._set._asdict(), "h": float(self._h[0])}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` returned; torques are in `given`."""
        self._set, self._h[0] = Terms(**state["terms"]), 0.0
        self.springs = self._compose()
        self.refresh()
        if state["h"] > 0.0:
            self.set_step(state["h"])


# Kinds of terms, and what their four values are
HARMONIC = 0  # stiffness, rest: k/2 (x - x0)^2
COSINE = 1  # amplitude, multiplicity, phase: A (1 + cos(n x - phase))
BARRIER = 2  # lower, upper, strength, gap: -strength log of the distances to both, parabolas within the gap
FUNCTION = 3  # slope, curvature, energy, x where a function returned them


class Springs(NamedTuple):
    """Terms of potentials, by degree of freedom, and the arrays that they add to: n DoF, T terms."""

    begin: IntArray  # (n,) first term of a DoF
    end: IntArray  # (n,)
    kind: IntArray  # (T,)
    value: FloatArray  # (T, 4)
    given: FloatArray  # (n,) torques that the user set
    rotor: FloatArray  # (n,) armature of the model, and damping times half the step's dt
    tau: FloatArray  # (n,) torques in all
    armature: FloatArray  # (n,) rotor + h V''
    curve: FloatArray  # (n,) V''
    zero: FloatArray  # (nq,) where coordinates are 0
    x: FloatArray  # (nv,) where joints are: the tangent vector from there
    h: FloatArray  # (1,) pseudo-time of a step; in motion the square of its time


@loop_kernel
def _barrier(gap: Scalar, strength: Scalar, s: Scalar) -> Vector:
    """(V, dV/ds, V'') of -strength log(s / gap), continued below s = gap by the parabola that touches it."""
    if s >= gap:
        return -strength * np.log(s / gap), -strength / s, strength / (s * s)
    k = strength / (gap * gap)
    d = gap - s
    return k * d * gap + 0.5 * k * d * d, -k * (gap + d), k


@loop_kernel
def term(p: Springs, t: int, x: Scalar) -> Vector:
    """(V, V', V'') of one term at x."""
    kind = p.kind[t]
    if kind == HARMONIC:
        k, d = p.value[t, 0], x - p.value[t, 1]
        return 0.5 * k * d * d, k * d, k
    if kind == COSINE:
        A, n = p.value[t, 0], p.value[t, 1]
        s, c = sincos(n * x - p.value[t, 2])
        return A * (1.0 + c), -A * n * s, -A * n * n * c
    if kind == BARRIER:
        a = _barrier(p.value[t, 3], p.value[t, 2], x - p.value[t, 0])
        b = _barrier(p.value[t, 3], p.value[t, 2], p.value[t, 1] - x)
        return a[0] + b[0], a[1] - b[1], a[2] + b[2]
    # a function is known by its Taylor series where it was called last
    k, d = p.value[t, 1], x - p.value[t, 3]
    return p.value[t, 2] + d * (p.value[t, 0] + 0.5 * k * d), p.value[t, 0] + k * d, k


@loop_kernel
def spring(m: Mechanism, p: Springs, q: Rows, i: int) -> None:
    """Torques and armatures of joint i, where there is a potential."""
    k0, k1 = m.dof[i], m.dof[i + 1]
    if k0 < k1 and p.begin[k0] < p.end[k1 - 1]:
        difference_joint(m, i, p.zero, q, p.x)
        for k in range(k0, k1):
            slope, curvature = 0.0, 0.0
            for t in range(p.begin[k], p.end[k]):
                v = term(p, t, p.x[m.v_index[k]])
                slope += v[1]
                curvature += v[2]
            p.tau[k] = p.given[k] - slope
            p.curve[k] = max(curvature, 0.0)
            p.armature[k] = p.rotor[k] + p.h[0] * p.curve[k]


@loop_kernel
def spring_all(m: Mechanism, p: Springs, q: Rows) -> None:
    """Torques and armatures of all joints with a potential."""
    for i in range(len(m.parent)):
        spring(m, p, q, i)


@loop_kernel
def spring_some(m: Mechanism, p: Springs, q: Rows, joints: Rows) -> None:
    """The same of some joints."""
    for k in range(len(joints)):
        spring(m, p, q, joints[k])


@loop_kernel
def spring_energy(m: Mechanism, p: Springs, q: Rows) -> Scalar:
    """The sum of all potentials."""
    total = 0.0
    for i in range(len(m.parent)):
        k0, k1 = m.dof[i], m.dof[i + 1]
        if k0 < k1 and p.begin[k0] < p.end[k1 - 1]:
            difference_joint(m, i, p.zero, q, p.x)
            for k in range(k0, k1):
                for t in range(p.begin[k], p.end[k]):
                    total += term(p, t, p.x[m.v_index[k]])[0]
    return total
