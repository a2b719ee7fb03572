"""Restraints on atoms: distances, dihedrals, positions and planes, their energy and forces in compiled code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.kernel import loop_kernel
from bough.compile.run.direct import compiled
from bough.compile.scalar import atan
from bough.errors import SettingError, ShapeError
from bough.molecules.atoms import Atoms
from bough.molecules.dihedrals import check_angle
from bough.spatial import add3, cross, dot3, get3, put3, scale3, sub3
from bough.types import FloatArray, IntArray, Rows, Scalar, Vector

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

STIFFNESS = 1000.0  # kJ/mol/nm^2
LINEAR = 0.1  # nm of violation from which a distance pulls with a constant force
Ends = str | int | Sequence[str | int]


class Restraint(NamedTuple):
    """One restraint, as it was stated; `distance`, `dihedral`, `position` and `plane` make them."""

    kind: str  # "distance", "dihedral", "position" or "plane"
    atoms: tuple[Any, ...]  # names or places; of a distance, pairs of them
    low: float
    high: float
    stiffness: float
    linear: float = math.inf
    target: FloatArray | None = None  # (k, 3)


def distance(
    a: Ends,
    b: Ends,
    *,
    lower: float = 0.0,
    upper: float = math.inf,
    stiffness: float = STIFFNESS,
    linear: float = LINEAR,
) -> Restraint:
    """Keep the distance of two atoms between `lower` and `upper` (nm).

    With several atoms at an end, the restraint is ambiguous: d = (sum over all pairs of r^-6)^(-1/6). Outside, the
    energy is stiffness / 2 (d - bound)^2, and grows linearly beyond a violation of `linear`.
    """
    _check_bounds("distance", lower, upper, stiffness)
    if not linear > 0.0:
        raise SettingError(f"distance: linear must be positive, got {linear}")
    one, other = ([x] if isinstance(x, str | int) else list(x) for x in (a, b))
    pairs = tuple((i, j) for i in one for j in other)
    if not pairs:
        raise SettingError("distance: both ends need an atom")
    return Restraint("distance", pairs, lower, upper, stiffness, linear)


def dihedral(
    atoms: str | Sequence[str | int], angle: float, *, width: float = 0.0, stiffness: float = STIFFNESS
) -> Restraint:
    """Keep a dihedral within `width` of `angle` (rad): named as "A/57/phi", or four atoms."""
    _check_bounds("dihedral", 0.0, width, stiffness)
    named = (atoms,) if isinstance(atoms, str) else tuple(atoms)
    if len(set(named)) not in (1, 4) or len(named) != len(set(named)):
        raise SettingError(f"dihedral: expected a name or four different atoms, got {named!r}")
    check_angle("dihedral", angle)
    if width > math.pi:
        raise SettingError(f"dihedral: expected a width in rad, up to pi, got {width:g}")
    return Restraint("dihedral", named, float(angle), float(width), stiffness)


def position(
    atoms: str | int | Iterable[str | int], target: npt.ArrayLike, *, width: float = 0.0, stiffness: float = STIFFNESS
) -> Restraint:
    """Keep atoms within `width` of targets (k, 3) in nm; atoms may be a word: "all", "heavy", or a name, "CA"."""
    _check_bounds("position", 0.0, width, stiffness)
    named = (atoms,) if isinstance(atoms, str | int) else tuple(atoms)
    return Restraint("position", named, 0.0, width, stiffness, target=np.atleast_2d(np.asarray(target, float)))


def plane(atoms: Sequence[str | int], *, stiffness: float = STIFFNESS) -> Restraint:
    """Keep four or more atoms in one plane, whichever fits them best."""
    _check_bounds("plane", 0.0, 0.0, stiffness)
    if isinstance(atoms, str) or len(set(atoms)) < 4:
        raise SettingError("plane: expected four different atoms at least")
    return Restraint("plane", tuple(atoms), 0.0, 0.0, stiffness)


def _check_bounds(what: str, low: float, high: float, stiffness: float) -> None:
    if not (0.0 <= low <= high and 0.0 <= stiffness < math.inf):
        raise SettingError(
            f"{what}: bounds must be 0 <= lower <= upper and stiffness not negative, got {low}, {high}, {stiffness}"
        )


class Distances(NamedTuple):
    """Distance restraints as the kernel reads them: those of pairs first[k] to first[k + 1]."""

    pair: IntArray  # (pairs, 2)
    first: IntArray  # (k + 1,)
    bound: FloatArray  # (k, 4) lower, upper, stiffness, linear
    value: FloatArray  # (k,) the effective distances found


class Turns(NamedTuple):
    """Dihedral restraints."""

    atom: IntArray  # (k, 4)
    bound: FloatArray  # (k, 3) angle, width, stiffness
    value: FloatArray  # (k,)


class Places(NamedTuple):
    """Position restraints."""

    atom: IntArray  # (k,)
    target: FloatArray  # (k, 3)
    bound: FloatArray  # (k, 2) width, stiffness


class Planes(NamedTuple):
    """Plane restraints on atoms first[k] to first[k + 1]."""

    atom: IntArray  # (atoms,)
    first: IntArray  # (k + 1,)
    stiffness: FloatArray  # (k,)


@explained
class RestraintEnergy:
    """The energy of restraints on the atoms of a molecule: x (atoms, 3) -> (energy, forces)."""

    def __init__(self, molecule: Molecule, restraints: Iterable[Restraint]) -> None:
        atoms = molecule.atoms
        listed = [restraints] if isinstance(restraints, Restraint) else list(restraints)
        for each in listed:
            if not isinstance(each, Restraint):
                raise SettingError(f"restraints are made by distance, dihedral, position and plane, got {each!r}")
        by = {kind: [r for r in listed if r.kind == kind] for kind in ("distance", "dihedral", "position", "plane")}
        pairs = [[(atoms.place(a), atoms.place(b)) for a, b in r.atoms] for r in by["distance"]]
        for a in (a for own in pairs for a, b in own if a == b):
            raise SettingError(f"distance: {atoms.key(a)} stands at both ends")
        bounds = [(r.low, min(r.high, 1e30), r.stiffness, min(r.linear, 1e30)) for r in by["distance"]]
        self.distances = Distances(
            np.array([p for own in pairs for p in own], np.int64).reshape(-1, 2),
            np.cumsum([0, *map(len, pairs)]), np.array(bounds).reshape(-1, 4), np.zeros(len(pairs)),
        )  # fmt: skip
        quads = [
            [atoms.place(a) for a in (r.atoms if len(r.atoms) == 4 else molecule.dihedrals[r.atoms[0]].atoms)]
            for r in by["dihedral"]
        ]
        turns = [(r.low, r.high, r.stiffness) for r in by["dihedral"]]
        self.turns = Turns(
            np.array(quads, np.int64).reshape(-1, 4), np.array(turns).reshape(-1, 3), np.zeros(len(quads))
        )
        chosen = [_targets(atoms, r) for r in by["position"]]
        self.places = Places(
            np.concatenate([np.zeros(0, np.int64), *(a for a, _ in chosen)]),
            np.concatenate([np.zeros((0, 3)), *(x for _, x in chosen)]),
            np.array(
                [(r.high, r.stiffness) for r, (a, _) in zip(by["position"], chosen, strict=True) for _ in a]
            ).reshape(-1, 2),
        )  # fmt: skip
        flat = [[atoms.place(a) for a in r.atoms] for r in by["plane"]]
        self.planes = Planes(
            np.array([a for own in flat for a in own], np.int64), np.cumsum([0, *map(len, flat)]),
            np.array([r.stiffness for r in by["plane"]], float),
        )  # fmt: skip

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Energy (kJ/mol) and forces (atoms, 3) at x (atoms, 3)."""
        F = np.zeros_like(x)
        return self.add(x, F), F

    def add(self, x: FloatArray, F: FloatArray, q: FloatArray | None = None) -> float:
        """Add the forces at x, whatever q is, to F, and return the energy."""
        return float(compiled(restrain)(self.distances, self.turns, self.places, self.planes, x, F))

    def violations(self, x: FloatArray) -> FloatArray:
        """By how much each distance (nm) and then each dihedral (rad) is outside its bounds, (k,)."""
        self(np.ascontiguousarray(x, float))
        low, high = self.distances.bound[:, 0], self.distances.bound[:, 1]
        d = self.distances.value
        off = self.turns.value - self.turns.bound[:, 0]
        off = np.abs(np.remainder(off + np.pi, 2 * np.pi) - np.pi) - self.turns.bound[:, 1]
        return np.concatenate([np.maximum(np.maximum(low - d, d - high), 0.0), np.maximum(off, 0.0)])


def _targets(atoms: Atoms, restraint: Restraint) -> tuple[IntArray, FloatArray]:
    named = restraint.atoms
    chosen = atoms.select(named[0] if len(named) == 1 else named)
    assert restraint.target is not None
    if restraint.target.shape != (len(chosen), 3) or not np.isfinite(restraint.target).all():
        raise ShapeError(
            f"position: expected {len(chosen)} finite targets ({len(chosen)}, 3), got {restraint.target.shape}"
        )
    return chosen, restraint.target


# Kernels: each adds its forces to F and returns its energy


@loop_kernel
def restrain(d: Distances, t: Turns, p: Places, s: Planes, x: Rows, F: Rows) -> Scalar:
    """All restraints."""
    energy = 0.0
    for k in range(len(d.value)):
        energy += hold_distance(d, k, x, F)
    for k in range(len(t.value)):
        energy += hold_dihedral(t, k, x, F)
    for k in range(len(p.atom)):
        energy += hold_position(p, k, x, F)
    for k in range(len(s.stiffness)):
        energy += hold_plane(s, k, x, F)
    return energy


@loop_kernel
def add_force(F: Rows, i: int, f: Vector) -> None:
    put3(F, i, add3(get3(F, i), f))


@loop_kernel
def hold_distance(d: Distances, k: int, x: Rows, F: Rows) -> Scalar:
    """d = S^(-1/6), S = sum of r^-6; dd/dx_i = d r^-8 / S (x_i - x_j) summed over the pairs of i."""
    first, last = d.first[k], d.first[k + 1]
    if last - first > 1:
        return hold_ambiguous(d, k, x, F)
    i, j = d.pair[first, 0], d.pair[first, 1]
    gap = sub3(get3(x, i), get3(x, j))
    value = math.sqrt(max(dot3(gap, gap), 1e-12))
    d.value[k] = value
    if value <= d.bound[k, 1] and value >= d.bound[k, 0]:
        return 0.0
    energy, slope = violation(d, k, value)
    f = scale3(-slope / value, gap)
    add_force(F, i, f)
    add_force(F, j, scale3(-1.0, f))
    return energy


@loop_kernel
def hold_ambiguous(d: Distances, k: int, x: Rows, F: Rows) -> Scalar:
    total = 0.0
    for j in range(d.first[k], d.first[k + 1]):
        gap = sub3(get3(x, d.pair[j, 0]), get3(x, d.pair[j, 1]))
        r2 = max(dot3(gap, gap), 1e-12)
        total += 1.0 / (r2 * r2 * r2)
    value = math.exp(-math.log(total) / 6.0)
    d.value[k] = value
    energy, slope = violation(d, k, value)
    if slope == 0.0:
        return 0.0
    for j in range(d.first[k], d.first[k + 1]):
        gap = sub3(get3(x, d.pair[j, 0]), get3(x, d.pair[j, 1]))
        r2 = max(dot3(gap, gap), 1e-12)
        f = scale3(-slope * value / (total * r2 * r2 * r2 * r2), gap)
        add_force(F, d.pair[j, 0], f)
        add_force(F, d.pair[j, 1], scale3(-1.0, f))
    return energy


@loop_kernel
def violation(d: Distances, k: int, value: Scalar) -> tuple[Scalar, Scalar]:
    """The energy of a distance outside its bounds, and its slope with respect to the distance."""
    over, sign = value - d.bound[k, 1], 1.0
    if over < 0.0:
        over, sign = d.bound[k, 0] - value, -1.0
    stiffness, linear = d.bound[k, 2], d.bound[k, 3]
    over = max(over, 0.0)
    energy = 0.5 * stiffness * over * over
    if over > linear:
        energy = stiffness * linear * (over - 0.5 * linear)
    return energy, sign * stiffness * min(over, linear)


@loop_kernel
def angle_of(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), between -pi and pi."""
    if x > abs(y):
        return atan(y / x)
    if y >= abs(x) and y > 0.0:
        return 0.5 * math.pi - atan(x / y)
    if -y >= abs(x) and y < 0.0:
        return -0.5 * math.pi - atan(x / y)
    if x == 0.0:
        return 0.0
    if y >= 0.0:
        return math.pi + atan(y / x)
    return atan(y / x) - math.pi


@loop_kernel
def hold_dihedral(t: Turns, k: int, x: Rows, F: Rows) -> Scalar:
    """Forces of a torque on a dihedral (Blondel & Karplus 1996)."""
    a, b, c, e = get3(x, t.atom[k, 0]), get3(x, t.atom[k, 1]), get3(x, t.atom[k, 2]), get3(x, t.atom[k, 3])
    f, g, h = sub3(a, b), sub3(b, c), sub3(e, c)
    A, B = cross(f, g), cross(h, g)
    length, AA, BB = math.sqrt(dot3(g, g)), max(dot3(A, A), 1e-30), max(dot3(B, B), 1e-30)
    value = angle_of(dot3(cross(B, A), g) / length, dot3(A, B))
    t.value[k] = value
    off = value - t.bound[k, 0]
    off = off - 2.0 * math.pi * round(off / (2.0 * math.pi))
    over = abs(off) - t.bound[k, 1]
    if over <= 0.0:
        return 0.0
    slope = t.bound[k, 2] * over
    if off < 0.0:
        slope = -slope
    first, last = scale3(slope * length / AA, A), scale3(-slope * length / BB, B)
    middle = sub3(scale3(slope * dot3(f, g) / (AA * length), A), scale3(slope * dot3(h, g) / (BB * length), B))
    add_force(F, t.atom[k, 0], first)
    add_force(F, t.atom[k, 1], sub3(scale3(-1.0, first), middle))
    add_force(F, t.atom[k, 2], sub3(middle, last))
    add_force(F, t.atom[k, 3], last)
    return 0.5 * t.bound[k, 2] * over * over


@loop_kernel
def hold_position(p: Places, k: int, x: Rows, F: Rows) -> Scalar:
    gap = sub3(get3(x, p.atom[k]), get3(p.target, k))
    r = math.sqrt(dot3(gap, gap))
    over = r - p.bound[k, 0]
    if over <= 0.0:
        return 0.0
    add_force(F, p.atom[k], scale3(-p.bound[k, 1] * over / r, gap))
    return 0.5 * p.bound[k, 1] * over * over


@loop_kernel
def hold_plane(s: Planes, k: int, x: Rows, F: Rows) -> Scalar:
    """The plane through the centre with the normal of least spread; as it is the best, its own change adds nothing."""
    first, last = s.first[k], s.first[k + 1]
    c = (0.0, 0.0, 0.0)
    for j in range(first, last):
        c = add3(c, get3(x, s.atom[j]))
    c = scale3(1.0 / (last - first), c)
    xx, yy, zz, xy, xz, yz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(first, last):
        r = sub3(get3(x, s.atom[j]), c)
        xx, yy, zz = xx + r[0] * r[0], yy + r[1] * r[1], zz + r[2] * r[2]
        xy, xz, yz = xy + r[0] * r[1], xz + r[0] * r[2], yz + r[1] * r[2]
    n = least_axis(xx, yy, zz, xy, xz, yz)
    energy = 0.0
    for j in range(first, last):
        height = dot3(n, sub3(get3(x, s.atom[j]), c))
        energy += 0.5 * s.stiffness[k] * height * height
        add_force(F, s.atom[j], scale3(-s.stiffness[k] * height, n))
    return energy


@loop_kernel
def least_axis(xx: Scalar, yy: Scalar, zz: Scalar, xy: Scalar, xz: Scalar, yz: Scalar) -> Vector:
    """The unit eigenvector of the least eigenvalue of a symmetric matrix: powers of its adjugate single it out."""
    a, b, c = yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy
    d, e, f = xz * yz - xy * zz, xy * yz - xz * yy, xy * xz - xx * yz
    for _ in range(10):
        size = max(a + b + c, 1e-300)
        a, b, c, d, e, f = a / size, b / size, c / size, d / size, e / size, f / size
        a, b, c, d, e, f = (
            a * a + d * d + e * e, b * b + d * d + f * f, c * c + e * e + f * f,
            a * d + d * b + e * f, a * e + d * f + e * c, d * e + b * f + f * c,
        )  # fmt: skip
    n = (a, d, e)
    if b > a and b >= c:
        n = (d, b, f)
    if c > a and c > b:
        n = (e, f, c)
    return scale3(1.0 / math.sqrt(max(dot3(n, n), 1e-300)), n)
