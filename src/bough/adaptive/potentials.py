"""The potentials of a simulation's joints: the model's springs and damping, and what a user sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.adaptive.compiled import compiled
from bough.adaptive.tree.layout import Shared
from bough.adaptive.tree.springs import (
    BARRIER,
    COSINE,
    GIVEN,
    HARMONIC,
    Springs,
    spring_all,
    spring_energy,
    spring_some,
)
from bough.arguments import explained
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
from bough.joints import LAST_SCREW, Mechanism
from bough.model import Model
from bough.types import FloatArray, IntArray

# Potentials of single joints: springs, torsion series, limits as barriers, functions of a user's own.


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


class GivenTerms(NamedTuple):
    """A function of the user's own on some joints."""

    function: Function
    term: IntArray  # (k,) its terms
    place: IntArray  # (k,) places of its joints among those that were named
    q: IntArray  # (k,) where its joints are in q


class Potentials:
    """Terms on degrees of freedom of a model; `springs` is what the kernels read."""

    def __init__(self, model: Model, shared: Shared) -> None:
        self.model, self.shared = model, shared
        m, n = model.mechanism, len(model.mechanism.axis)
        self._armature = np.array(m.armature)
        seen = self._armature.view()
        seen.flags.writeable = False
        self.mechanism: Mechanism = m._replace(armature=seen)  # with the armatures that the engines see
        self.damping = model.damping[m.v_index]
        self._damped = bool(self.damping.any())
        self._set: dict[int, tuple[Potential, ...]] = {}  # by freedom, in the mechanism's order
        self._rows: dict[int, list[tuple[int, FloatArray]]] = {}
        self._functions: list[tuple[Function, IntArray, IntArray]] = []  # with freedoms, and places among those named
        self._h, self.given = np.zeros(1), np.zeros(n)
        self.place = np.empty(model.nv, np.int64)  # of a freedom in the mechanism's order, by that in v
        self.place[m.v_index] = np.arange(n)
        self._rotor, self._x = np.array(m.armature), np.zeros(model.nv)
        self.functions: list[GivenTerms] = []
        self.springs = self._compose()

    # What is set

    @property
    def none(self) -> bool:
        """Whether joints are free of potentials."""
        return len(self.springs.kind) == 0

    @property
    def depends_on_h(self) -> bool:
        """Whether the equations of a step depend on its size."""
        return self._damped or not self.none

    def _own(self) -> tuple[IntArray, FloatArray]:
        """Freedoms with a spring of the model, and (k, 4) values."""
        m, model = self.model.mechanism, self.model
        at = np.flatnonzero(model.stiffness[m.v_index])
        values = np.zeros((len(at), 4))
        values[:, 0], values[:, 1] = model.stiffness[m.v_index[at]], model.rest[m.v_index[at]]
        return at, values

    def _compose(self) -> Springs:
        """All terms in the order of freedoms: the model's springs, then those that were set."""
        dofs, values = self._own()
        freedoms, kinds, rows = [dofs], [np.full(len(dofs), HARMONIC)], [values]
        for k, terms in self._rows.items():
            for kind, row in terms:
                freedoms.append(np.array([k]))
                kinds.append(np.array([kind]))
                rows.append(row[None])
        owner = [np.full(sum(map(len, freedoms)), -1)]
        places = [np.full(len(owner[0]), -1)]
        for number, (_, at, place) in enumerate(self._functions):
            places.append(place)
            freedoms.append(at)
            kinds.append(np.full(len(at), GIVEN))
            rows.append(np.full((len(at), 4), math.nan))
            owner.append(np.full(len(at), number))
        dof = np.concatenate(freedoms).astype(np.int64)
        order = np.argsort(dof, kind="stable")
        n, sorted_dof, of = len(self.given), dof[order], np.concatenate(owner)[order]
        named = np.concatenate(places)[order]
        begin, end = (np.searchsorted(sorted_dof, np.arange(n), side=side) for side in ("left", "right"))
        self.functions = []
        for number, (f, _, _) in enumerate(self._functions):
            term = np.flatnonzero(of == number)
            self.functions.append(GivenTerms(f, term, named[term], self._in_q(sorted_dof[term])))
        return Springs(
            begin, end, np.concatenate(kinds).astype(np.int64)[order], np.concatenate(rows)[order], self.given,
            self._rotor, self.shared.tau, self._armature, np.array(self.model.neutral), self._x, self._h,
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
        at = self.freedoms(joints)
        unknown: list[Any] = [p for p in potentials if not (isinstance(p, Potential) or callable(p))]
        if unknown:
            raise OptionError(f"a potential is harmonic, dihedral, barrier or a function, got {unknown[0]!r}")
        known = [p for p in potentials if isinstance(p, Potential)]
        rows = [(p, p.rows(len(at))) for p in known]
        kept = self._set, self._rows, self._functions, self.springs, self.functions
        here = set(at.tolist())
        self._set = {k: v for k, v in self._set.items() if k not in here}
        self._rows = {k: v for k, v in self._rows.items() if k not in here}
        left = [(f, a, b, ~np.isin(a, at)) for f, a, b in self._functions]
        self._functions = [(f, a[other], b[other]) for f, a, b, other in left if other.any()]
        for j, k in enumerate(at.tolist()):
            if known:
                self._set[k] = tuple(known)
                self._rows[k] = [(p.kind, row[j].copy()) for p, table in rows for row in table]
        self._functions += [(p, at, np.arange(len(at))) for p in potentials if not isinstance(p, Potential)]
        self.springs = self._compose()
        try:
            self.evaluate()
        except BaseException:
            self._set, self._rows, self._functions, self.springs, self.functions = kept
            raise
        self.refresh()

    # What follows

    def set_step(self, h: float) -> bool:
        """Steps of this size follow; returns whether equations change by that."""
        if h == self._h[0] or not self.depends_on_h:
            return False
        longest = min((p.max_h for given in self._set.values() for p in given), default=math.inf)
        if h > longest:
            raise SettingError(f"a step of h = {h:g} s^2 is too long for a potential with max_h = {longest:g}")
        self._h[0] = h
        self._rotor[:] = self.model.mechanism.armature + math.sqrt(0.5 * h) * self.damping
        self.refresh()
        return True

    def refresh(self) -> None:
        """Torques and armatures from q, all of them."""
        self.evaluate()
        self.shared.tau[:] = self.given
        self._armature[:] = self._rotor
        if not self.none:
            compiled(spring_all)(self.mechanism, self.springs, self.shared.q)

    def give(self, dofs: IntArray, torques: FloatArray) -> None:
        """Other torques of the user's at some freedoms."""
        self.given[dofs] = torques
        self.shared.tau[dofs] = torques
        if not self.none:
            joints = np.searchsorted(self.mechanism.dof, dofs, side="right") - 1
            compiled(spring_some)(self.mechanism, self.springs, self.shared.q, joints)

    def evaluate(self) -> None:
        """Ask the user's functions where joints have moved since they were asked last."""
        values, found = self.springs.value, []
        for f in self.functions:
            x = self.shared.q[f.q]
            which = np.flatnonzero(~(values[f.term, 3] == x))
            if len(which):
                found.append((f.term[which], evaluated(f.function, x[which], f.place[which]), x[which]))
        for term, answer, x in found:
            values[term, :3], values[term, 3] = answer, x

    def energy(self) -> float:
        """The sum of all potentials at q, J."""
        self.evaluate()
        return 0.0 if self.none else float(compiled(spring_energy)(self.mechanism, self.springs, self.shared.q))

    def of_freedoms(self, dofs: IntArray) -> Springs:
        """A copy for some freedoms only, as a contracted tree sees them."""
        s = self.springs
        return s._replace(
            **{name: getattr(s, name)[dofs] for name in ("begin", "end", "given", "rotor", "tau", "armature")}
        )

    def state(self) -> dict[str, FloatArray]:
        """What was set, as arrays."""
        if self._functions:
            raise CheckpointError("a potential that is a Python function cannot be written to a checkpoint")
        rows = [(k, kind, *row) for k, terms in self._rows.items() for kind, row in terms]
        longest = [(k, min(p.max_h for p in given)) for k, given in self._set.items()]
        return {
            "potential_rows": np.array(rows).reshape(-1, 6), "potential_h": np.append(self._h, 0.0),
            "potential_longest": np.array(longest).reshape(-1, 2),
        }  # fmt: skip

    def restore(self, arrays: dict[str, FloatArray]) -> None:
        """What `state` gave; torques are in `given`."""
        self._rows = {}
        for k, kind, *row in arrays["potential_rows"].tolist():
            self._rows.setdefault(int(k), []).append((int(kind), np.array(row)))
        self._set = {int(k): (Potential(HARMONIC, (), h),) for k, h in arrays["potential_longest"].tolist()}
        self.springs = self._compose()
        self._h[0] = 0.0
        self.refresh()
        if arrays["potential_h"][0] > 0.0:
            self.set_step(float(arrays["potential_h"][0]))
