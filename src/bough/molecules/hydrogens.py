"""Hydrogens of ideal geometry: on one atom with known neighbours, and those that a structure lacks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from bough.errors import ModelError, SettingError, short, some_of
from bough.molecules.atoms import Atoms
from bough.molecules.dihedrals import SAME, VARIANTS
from bough.molecules.force_field import atoms_of, openmm_modules, topology
from bough.molecules.groups import SATURATED, STANDARD
from bough.types import BoolArray, FloatArray, IntArray

# rad and nm: as in the force fields of amber
TETRAHEDRAL, PLANAR, AT_SULPHUR, WATER_ANGLE = np.radians([109.47, 120.0, 96.0, 104.52])
LENGTH = {"C": 0.109, "N": 0.101, "O": 0.096, "S": 0.134}
C_OXT = 0.125  # nm


def hydrogens_on(
    x: FloatArray, element: str, bonded: list[FloatArray], beyond: list[FloatArray], count: int, flat: bool
) -> list[FloatArray]:
    """Positions of hydrogens on an atom at x: opposite to two or three bonds, beside two, or staggered about one.

    `bonded` are atoms on it, that towards the main chain first, and `beyond` those on the first of these, in whose
    plane `flat` ones lie. Seen from the main chain, hydrogens follow each other clockwise (Markley et al. 1998).
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
    """(atoms, 3) with these hydrogens (atoms,) at ideal places, in the order of their names."""
    x, on = atoms.positions.copy(), defaultdict[int, list[int]](list)
    for h in np.flatnonzero(chosen).tolist():
        for parent in atoms.neighbours[h][:1]:
            on[parent].append(h)
    for parent, own in on.items():
        element = str(atoms.element[parent])
        others = [k for k in atoms.neighbours[parent] if not chosen[k]]
        others.sort(key=lambda k: (atoms.element[k] == "H", k))
        own.sort(key=lambda h: str(atoms.name[h]))
        if not others and len(own) == 2:
            x[own] = _on_water(x[parent], x[own[0]])
        if not 0 < len(others) <= 4 - len(own) or element not in LENGTH:
            continue
        if atoms.kind[atoms.residue[parent]] == "PRO" and atoms.name[parent] == "CD":
            others.reverse()  # from the main chain, the ring reaches CD by CG
        beyond = sorted(set(atoms.neighbours[others[0]]) - {parent}, key=lambda k: (atoms.element[k] == "H", k))
        flat = element == "N" and len(own) == 2 and len(beyond) == 2
        x[own] = hydrogens_on(x[parent], element, list(x[others]), list(x[beyond]), len(own), flat)
    return x


def _on_water(oxygen: FloatArray, towards: FloatArray) -> list[FloatArray]:
    """Both hydrogens of water, the first in this direction."""
    first = oxygen + LENGTH["O"] * (towards - oxygen) / np.linalg.norm(towards - oxygen)
    return [first, placed(first + [0.01, 0.02, 0.03], first, oxygen, LENGTH["O"], WATER_ANGLE, 0.0)]


def with_hydrogens(atoms: Atoms, pH: float, notes: list[str]) -> Atoms:
    """The same structure with the hydrogens that it lacks at this pH, and with OXT where chains end without it.

    OpenMM's Modeller counts the hydrogens on each atom, whatever their names are. It places them roughly, and in
    torsion space bonds and angles stay as they are, so ideal geometry places them here.
    """
    if not np.isfinite(pH):
        raise SettingError(f"hydrogens: the pH must be finite, got {pH}")
    atoms = _with_last_oxygens(atoms, notes)
    found, place = _completed(atoms, pH)
    added = place < 0
    if added.any():
        notes.append(f"{added.sum()} hydrogens were added, as at pH {pH:g}")
    carbon, hydrogen = (np.isin(np.arange(len(atoms.chain)), found.residue[found.element == e]) for e in "CH")
    bare = [f"{atoms.residue_key(k)} ({atoms.kind[k]})" for k in np.flatnonzero(carbon & ~hydrogen).tolist()]
    if bare:
        notes.append(f"{len(bare)} residues get no hydrogens, as OpenMM does not know theirs: {some_of(bare)}")
    mean = np.bincount(atoms.residue, atoms.b_factor, len(atoms.chain)) / np.diff(atoms.first)
    full = replace(
        found, name=np.where(added, found.name, atoms.name[place]), kind=atoms.kind, hetero=atoms.hetero,
        positions=np.where(added[:, None], found.positions, atoms.positions[place]), chain=atoms.chain,
        b_factor=np.where(added, mean[found.residue], atoms.b_factor[place]),
    )  # fmt: skip
    return replace(full, positions=with_ideal_hydrogens(full, added))


def _completed(atoms: Atoms, pH: float) -> tuple[Atoms, IntArray]:
    """The atoms with the hydrogens that Modeller adds, and the place of each here, -1 if it was added."""
    _, app, unit = openmm_modules()
    known = _as_modeller_knows(atoms)
    state = np.array([VARIANTS.get(word, "") for word in atoms.kind.tolist()])
    bare = ~np.isin(np.arange(len(state)), atoms.residue[atoms.element == "H"])  # else hydrogens tell the state
    modeller = app.Modeller(topology(known), atoms.positions * unit.nanometer)
    try:
        modeller.addHydrogens(pH=pH, variants=[str(word) or None for word in np.where(bare, state, "")])
    except (ValueError, KeyError) as error:
        raise ModelError(f"hydrogens cannot be added: {short(str(error), 300)}") from None
    found = atoms_of(modeller.topology, modeller.positions)
    place, keys = np.full(len(found), -1), [*zip(atoms.residue.tolist(), known.name.tolist(), strict=True)][::-1]
    for k, key in enumerate(zip(found.residue.tolist(), found.name.tolist(), strict=True)):
        if keys and key == keys[-1]:  # atoms keep their order
            place[k] = len(atoms) - len(keys)
            keys.pop()
    keep = np.ones(len(found), bool)
    for k, near in enumerate(found.neighbours):
        new = [h for h in near if place[h] < 0]
        keep[new[max(0, _most_bonds(found, k, str(state[found.residue[k]])) - len(near) + len(new)) :]] = False
    return found.kept(keep), place[keep]


def _most_bonds(atoms: Atoms, atom: int, state: str) -> int:
    """Largest number of neighbours of an atom; Modeller does not know of bonds to other residues, but along chains."""
    element, residue = str(atoms.element[atom]), atoms.residue[atom]
    if element == "S" and state == "CYX":
        return 1
    is_linked = any(atoms.residue[k] != residue for k in atoms.neighbours[atom])
    is_neutral = element == "N" and (is_linked or (state == "LYN" and atoms.name[atom] == "NZ"))
    return SATURATED.get(element, 4) - is_neutral


def _as_modeller_knows(atoms: Atoms) -> Atoms:
    """The atoms with the names of the Protein Data Bank, and a chain for each stretch of residues without a gap."""
    kind = np.where(atoms.water, "HOH", [SAME.get(word, word.replace("MSE", "MET")) for word in atoms.kind.tolist()])
    of, name = kind[atoms.residue], atoms.name
    for r in np.flatnonzero(kind == "HIS").tolist():
        if not {"ND1", "NE2"} <= {*name[atoms.first[r] : atoms.first[r + 1]].tolist()}:
            raise ModelError(f"hydrogens cannot be added: {atoms.residue_key(r)} (HIS) misses atoms of its ring")
    name = np.where((of == "ILE") & (name == "CD"), "CD1", name)
    name = np.where((of == "HOH") & (atoms.element == "O"), "O", name)
    a, b = atoms.residue[atoms.bonds].T
    joined = np.isin(np.arange(len(kind)), b[b == a + 1])
    return replace(atoms, kind=kind, name=name, chain=np.cumsum(~joined).astype(str))


def _with_last_oxygens(atoms: Atoms, notes: list[str]) -> Atoms:
    """The atoms with OXT in amino acids whose C has CA and O alone: at ends of chains, and before gaps."""
    carbons = np.flatnonzero((atoms.name == "C") & np.isin(atoms.kind, [*STANDARD])[atoms.residue])
    ends = [c for c in carbons.tolist() if {*atoms.name[atoms.neighbours[c]].tolist()} == {"CA", "O"}]
    if not ends:
        return atoms
    x = [y + C_OXT * away(y, list(atoms.positions[atoms.neighbours[c]])) for c in ends for y in [atoms.positions[c]]]
    r = atoms.residue[ends]
    notes.append(
        f"OXT is added to {len(r)} residues at ends of chains: {some_of([atoms.residue_key(k) for k in r.tolist()])}"
    )
    at, place = atoms.first[r + 1], np.arange(len(atoms))
    place += np.searchsorted(at, place, side="right")
    bonds = np.concatenate([place[atoms.bonds], np.stack([place[ends], at + np.arange(len(at))], axis=1)])
    return replace(
        atoms, name=np.insert(atoms.name.astype("<U8"), at, "OXT"), element=np.insert(atoms.element, at, "O"),
        residue=np.insert(atoms.residue, at, r), positions=np.insert(atoms.positions, at, x, axis=0),
        b_factor=np.insert(atoms.b_factor, at, atoms.b_factor[ends]), bonds=bonds[np.lexsort(bonds.T[::-1])],
    )  # fmt: skip
