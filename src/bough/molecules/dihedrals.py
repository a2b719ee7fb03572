"""Names of dihedrals of proteins and nucleic acids; other bonds that turn are named by their atoms."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bough.errors import SettingError, UnknownNameError, nearest
from bough.molecules.atoms import Atoms
from bough.types import IntArray

CHI = 5  # the most that a residue has
# The atoms of a side chain: chi1 is that of the first four, chi2 of the four from the second on
SIDE_CHAINS = {
    "ARG": "N CA CB CG CD NE CZ NH1", "ASN": "N CA CB CG OD1", "ASP": "N CA CB CG OD1", "CYS": "N CA CB SG",
    "GLN": "N CA CB CG CD OE1", "GLU": "N CA CB CG CD OE1", "HIS": "N CA CB CG ND1", "ILE": "N CA CB CG1 CD1",
    "LEU": "N CA CB CG CD1", "LYS": "N CA CB CG CD CE NZ", "MET": "N CA CB CG SD CE", "MSE": "N CA CB CG SE CE",
    "PHE": "N CA CB CG CD1", "PRO": "N CA CB CG CD", "SER": "N CA CB OG", "THR": "N CA CB OG1", "TRP": "N CA CB CG CD1",
    "TYR": "N CA CB CG CD1", "VAL": "N CA CB CG1",
}  # fmt: skip
# Names of Amber, CHARMM and GROMACS for states of residues, by the name of the residue and OpenMM's for the state
STATES = {
    "HIS HID": "HID HSD HISA HISD", "HIS HIE": "HIE HSE HISB HISE", "HIS HIP": "HIP HSP HISH", "HIS": "HIS1 HIS2",
    "CYS CYX": "CYX CYM CYS1 CYS2", "CYS": "CYN CYSH", "ASP ASH": "ASH ASPH ASPP", "GLU GLH": "GLH GLUH GLUP",
    "LYS LYN": "LYN LSN", "LYS": "LYSH", "ARG": "ARN ARGN",
}  # fmt: skip
SAME = {name: state.split()[0] for state, names in STATES.items() for name in names.split()}
VARIANTS = {name: state.split()[1] for state, names in STATES.items() if " " in state for name in names.split()}
# Atoms with + are of the next residue, with - of the one before; of several choices, the first that is there counts
NAMED = {
    "omega": ("CA C +N +CA",), "phi": ("-C N CA C",), "psi": ("N CA C +N", "N CA C OXT", "N CA C O"),
    "alpha": ("-O3' P O5' C5'",), "beta": ("P O5' C5' C4'",), "gamma": ("O5' C5' C4' C3'",),
    "delta": ("C5' C4' C3' O3'",), "epsilon": ("C4' C3' O3' +P",), "zeta": ("C3' O3' +P +O5'",),
    "chi": ("O4' C1' N9 C4", "O4' C1' N1 C2"),
}  # fmt: skip
LAST_OXYGENS = {"OT1": "O", "OT2": "OXT", "O1": "O", "O2": "OXT"}


class Dihedral(NamedTuple):
    """Four atoms, and the degree of freedom that turns the bond between the middle ones; None where it is rigid."""

    atoms: tuple[int, int, int, int]
    v: int | None


class Dihedrals(dict[str, Dihedral]):
    """Dihedrals by name; an unknown one is refused with the nearest names."""

    def __missing__(self, key: str) -> Dihedral:
        raise UnknownNameError(f"there is no dihedral {key!r}{nearest(key, self)}")


def check_angle(what: str, value: float) -> None:
    """Refuse what is no angle in rad."""
    if not abs(value) <= 2 * math.pi:
        raise SettingError(f"{what}: expected an angle in rad, from -2 pi to 2 pi, got {value:g}")


def named_dihedrals(atoms: Atoms, neighbours: list[list[int]]) -> dict[str, tuple[int, int, int, int]]:
    """Four atoms of each dihedral that has a name, by keys such as "A/57/phi"."""
    found: dict[str, tuple[int, int, int, int]] = {}
    inside = [dict[str, int]() for _ in range(len(atoms.chain))]
    for k, (r, name) in enumerate(zip(atoms.residue.tolist(), atoms.name.tolist(), strict=True)):
        inside[r].setdefault(pdb_name(str(atoms.kind[r]), name), k)
    for r, here in enumerate(inside):
        around = [inside[r - 1] if r else {}, here, inside[r + 1] if r + 1 < len(inside) else {}]
        kind = str(atoms.kind[r])
        side = SIDE_CHAINS.get(SAME.get(kind, kind), "").split()
        chis = {f"chi{k + 1}": (" ".join(side[k : k + 4]),) for k in range(len(side) - 3)}
        for name, choices in (NAMED | chis).items():
            quad = next(filter(None, (_bonded(words, around, neighbours) for words in choices)), None)
            if quad is not None:
                found.setdefault(f"{atoms.residue_key(r)}/{name}", quad)
    return found


def pdb_name(kind: str, name: str) -> str:
    """The name that the PDB has for an atom of a residue; CHARMM and GROMACS have others for some."""
    return "CD1" if (kind, name) == ("ILE", "CD") else LAST_OXYGENS.get(name, name)


def _bonded(words: str, around: list[dict[str, int]], neighbours: list[list[int]]) -> tuple[int, int, int, int] | None:
    """Four atoms if all are there, each bonded to the one before it."""
    quad = [around["-+".find(w[0]) * 2 if w[0] in "-+" else 1].get(w.lstrip("-+"), -1) for w in words.split()]
    if min(quad) < 0 or any(b not in neighbours[a] for a, b in pairwise(quad)):
        return None
    return quad[0], quad[1], quad[2], quad[3]


class _Names(dict[tuple[int, int], tuple[str, str]]):
    """Keys and kinds of bonds; a bond without a name has that of its atoms."""

    def __init__(self, atoms: Atoms) -> None:
        super().__init__()
        self.atoms = atoms

    def __missing__(self, bond: tuple[int, int]) -> tuple[str, str]:
        a, b = bond
        i, j = self.atoms.residue[a], self.atoms.residue[b]
        last = self.atoms.name[b] if i == j else self.atoms.key(b)
        return f"{self.atoms.key(a)}-{last}", ""


def bond_names(atoms: Atoms, neighbours: list[list[int]]) -> dict[tuple[int, int], tuple[str, str]]:
    """(key, kind) of bonds (a, b), a < b: ("A/57/phi", "phi"); ("A/57/CB-CG2", "") of one without a name."""
    found = _Names(atoms)
    for key, (_, a, b, _) in named_dihedrals(atoms, neighbours).items():
        found[min(a, b), max(a, b)] = key, key.rsplit("/", 1)[1]
    return found


def reference_quads(axis: IntArray, neighbours: list[list[int]], positions: np.ndarray) -> IntArray:
    """(k, 4) four atoms that measure the turn about each bond (a, b): its atoms, with the arms farthest off the axis.

    The first atom lies in the frame of a's group, the last in that of b's.
    """
    found = np.empty((len(axis), 4), np.int64)
    for k, (a, b) in enumerate(axis.tolist()):
        found[k] = _arm(positions, a, b, neighbours[a]), a, b, _arm(positions, b, a, neighbours[b])
    return found


def _arm(x: np.ndarray, a: int, b: int, neighbours: list[int]) -> int:
    others = [c for c in neighbours if c != b]
    along = (x[b] - x[a]) / np.linalg.norm(x[b] - x[a])
    return others[int(np.argmax(np.linalg.norm(np.cross(x[others] - x[a], along), axis=1)))]
