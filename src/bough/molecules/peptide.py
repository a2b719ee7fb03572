"""Peptides of ideal geometry from a sequence, with hydrogens (Parsons et al. 2005 place atom after atom)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError, unknown_option
from bough.molecules.atoms import Atoms
from bough.molecules.dihedrals import check_angle
from bough.molecules.hydrogens import away, hydrogens_on, placed
from bough.molecules.reading import with_bonds
from bough.types import FloatArray

CODES = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL"
LETTERS = dict(zip("ARNDCQEGHILKMFPSTWYV", CODES.split(), strict=True))
CAPS = ("ACE", "NME")
# nm and rad: Engh & Huber 1991
N_CA, CA_C, C_N, C_O, C_OXT = 0.1458, 0.1525, 0.1329, 0.1231, 0.1250
AT_N, AT_CA, AT_C, AT_O = np.radians([121.7, 111.0, 116.2, 120.1])
FLAT = {("ARG", "NH1"), ("ARG", "NH2"), ("ASN", "ND2"), ("GLN", "NE2")}  # hydrogens in the plane of what they are on


class _Residue(NamedTuple):
    """How the atoms of a side chain are placed, and which hydrogens atoms carry."""

    side: list[tuple[str, str, str, str, float, float, float]]
    hydrogens: dict[str, list[str]]


@cache
def _residues() -> dict[str, _Residue]:
    found: dict[str, _Residue] = {}
    text = files("bough.molecules").joinpath("residues.txt").read_text("utf8")
    for words in (line.split() for line in text.splitlines() if not line.startswith("#")):
        residue = found.setdefault(words[0], _Residue([], {}))
        if words[1] == "+":
            residue.hydrogens[words[2]] = words[3:]
        else:
            atom, a, b, c, length, angle, turn = words[1:]
            residue.side.append((atom, a, b, c, float(length), np.radians(float(angle)), np.radians(float(turn))))
    return found


def peptide_atoms(sequence: str | Sequence[str], phi: npt.ArrayLike, psi: npt.ArrayLike) -> Atoms:
    """The atoms of a peptide; see `bough.molecules.peptide`."""
    kinds = [LETTERS.get(letter, letter) for letter in sequence]
    for k, kind in enumerate(kinds):
        inside = kind in CAPS and k != (0 if kind == "ACE" else len(kinds) - 1)
        if kind not in (*LETTERS.values(), *CAPS) or inside:
            where = " inside a chain" if inside else ""
            raise unknown_option(
                f"peptide: there is no residue {kind!r}{where}", kind, [*LETTERS, *LETTERS.values(), *CAPS]
            )
    if not kinds or kinds[0] == "NME" or all(kind in CAPS for kind in kinds):
        raise ShapeError("peptide: a sequence has one residue at least, beside its caps")
    try:
        turns = [np.broadcast_to(np.asarray(x, float), len(kinds)) for x in (phi, psi)]
    except ValueError:
        raise ShapeError(f"peptide: phi and psi are numbers, or {len(kinds)} numbers each") from None
    for what, angles in zip(("phi", "psi"), turns, strict=True):
        check_angle(f"peptide: {what}", float(angles[np.abs(angles).argmax()]))
    chain = _backbone(kinds, *turns)
    names, elements, residue, places = [], [], [], []
    for r, (kind, x) in enumerate(zip(kinds, chain, strict=True)):
        for name, position in _completed(kind, x, r, kinds, chain).items():
            names.append(name)
            elements.append(name[0])
            residue.append(r)
            places.append(position)
    n, count = len(names), len(kinds)
    bare = Atoms(
        np.array(names), np.array(elements), np.array(residue, np.int64), np.array(places),
        np.zeros((0, 2), np.int64), np.full(count, "A"), np.array([str(r + 1) for r in range(count)]), np.array(kinds),
        np.zeros(count, bool), np.zeros(n),
    )  # fmt: skip
    return with_bonds(bare, [], [])


def _backbone(kinds: list[str], phi: FloatArray, psi: FloatArray) -> list[dict[str, FloatArray]]:
    """N, CA, C and O of each residue; a cap has some of them: ACE (CH3), C, O, and NME N, (C)."""
    path = [np.array([-0.05, 0.13, 0.0]), np.array([0.1, 0.1, 0.0]), np.zeros(3)]  # directions before the first atom
    found: list[dict[str, FloatArray]] = []
    for r, kind in enumerate(kinds):
        x: dict[str, FloatArray] = {}
        before = psi[r - 1] if r and kinds[r - 1] != "ACE" else np.pi
        if kind == "ACE":
            steps = [("CH3", N_CA, AT_CA, np.pi), ("C", CA_C, AT_CA, np.pi)]
        elif kind == "NME":
            steps = [("N", C_N, AT_C, before), ("C", N_CA, AT_N, np.pi)]
        else:
            turn = -1.13 if kind == "PRO" and r else phi[r]  # of the ring
            steps = [("N", C_N, AT_C, before), ("CA", N_CA, AT_N, np.pi), ("C", CA_C, AT_CA, turn)]
        for name, length, angle, dihedral in steps:
            x[name] = placed(path[-3], path[-2], path[-1], length, angle, dihedral)
            path.append(x[name])
        found.append(x)
    return found


def _completed(
    kind: str, x: dict[str, FloatArray], r: int, kinds: list[str], chain: list[dict[str, FloatArray]]
) -> dict[str, FloatArray]:
    """All atoms of a residue: N, its hydrogens, CA, side chain, hydrogens, C and O."""
    all_atoms = dict(x)
    data, last = _residues()[kind], r + 1 == len(kinds)
    for name, a, b, c, length, angle, turn in data.side:
        all_atoms[name] = placed(all_atoms[a], all_atoms[b], all_atoms[c], length, angle, turn)
    if kind != "NME":
        other = all_atoms["CH3"] if kind == "ACE" else x["CA"]
        following = chain[r + 1]["N"] if not last else placed(x["N"], other, x["C"], C_OXT, AT_C, np.pi / 3)
        all_atoms["O"] = x["C"] + C_O * away(x["C"], [other, following])
        if last:
            all_atoms["OXT"] = following
    carried = dict(data.hydrogens)
    if kind != "ACE":
        on_n = ["H1", "H2", "H3"] if r == 0 else ["H"]
        carried["N"] = on_n[: 2 if r == 0 else 0] if kind == "PRO" else on_n
    heavy = dict(all_atoms)
    for atom, names in ((atom, names) for atom, names in carried.items() if names):
        bonded = _bonded(heavy, atom)
        if atom == "N" and r:
            bonded.append(chain[r - 1]["C"])
        beyond = [
            y for name in heavy for y in _bonded(heavy, name) if heavy[name] is bonded[0] and y is not heavy[atom]
        ]
        flat = (kind, atom) in FLAT
        found = hydrogens_on(heavy[atom], atom[0], bonded, beyond, len(names), flat)
        all_atoms |= dict(zip(names, found, strict=True))
    return all_atoms


def _bonded(atoms: dict[str, FloatArray], atom: str) -> list[FloatArray]:
    """Heavy atoms bonded to one, by distance."""
    reach = 0.2 if atom.startswith("S") else 0.17
    return [
        y for name, y in atoms.items()
        if name != atom and np.linalg.norm(y - atoms[atom]) < (0.2 if name.startswith("S") else reach)
    ]  # fmt: skip
