"""Hydrogens of ideal geometry: on one atom with known neighbours, and on the atoms of a structure."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bough.molecules.atoms import Atoms
from bough.types import BoolArray, FloatArray

# rad and nm: as in the force fields of amber
TETRAHEDRAL, PLANAR, AT_SULPHUR, WATER_ANGLE = np.radians([109.47, 120.0, 96.0, 104.52])
LENGTH = {"C": 0.109, "N": 0.101, "O": 0.096, "S": 0.134}
MOST = {1: 3, 2: 2, 3: 1}  # hydrogens beside so many heavy atoms


def hydrogens_on(
    x: FloatArray, element: str, bonded: list[FloatArray], beyond: list[FloatArray], count: int, flat: bool
) -> list[FloatArray]:
    """Positions of hydrogens on an atom at x: opposite to two or three bonds, beside two, or staggered about one.

    Seen from the side of the main chain, hydrogens follow each other clockwise (Markley et al. 1998).

    Parameters
    ----------
    bonded : heavy atoms on it, that towards the main chain first.
    beyond : atoms on the first of these.
    flat : whether hydrogens lie in the plane of the atoms beyond, as in amides.
    """
    length = LENGTH[element]
    if count == 1 and len(bonded) >= 2:
        return [x + length * away(x, bonded)]
    if count == 2 and len(bonded) == 2:
        middle = away(x, bonded)
        side = np.cross(bonded[0] - x, bonded[1] - x)
        side = side / np.linalg.norm(side)
        half = TETRAHEDRAL / 2
        return [x + length * (np.cos(half) * middle + s * np.sin(half) * side) for s in (-1.0, 1.0)]
    (axis,) = bonded
    turns = [0.0, np.pi] if flat else [np.pi, -np.pi / 3, np.pi / 3]
    start = beyond[0] if beyond else axis + np.array([0.1, 0.05, 0.02])
    angle = PLANAR if flat else AT_SULPHUR if element == "S" else TETRAHEDRAL
    return [placed(start, axis, x, length, angle, turn) for turn in turns[:count]]


def away(x: FloatArray, others: list[FloatArray]) -> FloatArray:
    """The unit vector from x that points away from the others."""
    found = -sum((y - x) / np.linalg.norm(y - x) for y in others)
    return np.asarray(found / np.linalg.norm(found))


def placed(a: FloatArray, b: FloatArray, c: FloatArray, length: float, angle: float, dihedral: float) -> FloatArray:
    """The point d with |d - c| = length, the angle b-c-d and the dihedral a-b-c-d (rad)."""
    z = (c - b) / np.linalg.norm(c - b)
    n = np.cross(b - a, z)
    n = n / np.linalg.norm(n)
    m = np.cross(n, z)
    s = np.sin(angle)
    return np.asarray(c + length * (-np.cos(angle) * z + s * np.cos(dihedral) * m + s * np.sin(dihedral) * n))


def with_ideal_hydrogens(atoms: Atoms, chosen: BoolArray) -> FloatArray:
    """(atoms, 3) with these hydrogens (atoms,) at ideal places, in the order of their names.

    On an atom that has other hydrogens, too, they stay where they are.
    """
    x, on = atoms.positions.copy(), defaultdict[int, list[int]](list)
    for h in np.flatnonzero(chosen).tolist():
        for parent in atoms.neighbours[h][:1]:
            on[parent].append(h)
    for parent, own in on.items():
        element = str(atoms.element[parent])
        heavy = [k for k in atoms.neighbours[parent] if atoms.element[k] != "H"]
        if len(heavy) + len(own) < len(atoms.neighbours[parent]) or element not in LENGTH:
            continue
        own.sort(key=lambda h: str(atoms.name[h]))
        if not heavy and len(own) == 2:
            x[own] = _on_water(x[parent], x[own[0]])
        if len(own) > MOST.get(len(heavy), 0):
            continue
        if atoms.kind[atoms.residue[parent]] == "PRO" and atoms.name[parent] == "CD":
            heavy.reverse()  # from the main chain, the ring reaches CD by CG
        beyond = sorted(set(atoms.neighbours[heavy[0]]) - {parent}, key=lambda k: (atoms.element[k] == "H", k))
        flat = element == "N" and len(own) == 2 and len(beyond) == 2
        x[own] = hydrogens_on(x[parent], element, list(x[heavy]), list(x[beyond]), len(own), flat)
    return x


def _on_water(oxygen: FloatArray, towards: FloatArray) -> list[FloatArray]:
    """Both hydrogens of water, the first in this direction."""
    first = oxygen + LENGTH["O"] * (towards - oxygen) / np.linalg.norm(towards - oxygen)
    return [first, placed(first + [0.01, 0.02, 0.03], first, oxygen, LENGTH["O"], WATER_ANGLE, 0.0)]
