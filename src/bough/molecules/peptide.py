"""Peptides of ideal geometry from a sequence, with hydrogens (Parsons et al. 2005 place atom after atom)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError, unknown_option
from bough.molecules.atoms import Atoms
from bough.molecules.dihedrals import check_angle
from bough.molecules.hydrogens import C_OXT, away, placed, with_ideal_hydrogens
from bough.molecules.reading import with_bonds
from bough.types import FloatArray

CODES = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL"
LETTERS = dict(zip("ARNDCQEGHILKMFPSTWYV", CODES.split(), strict=True))
CAPS = ("ACE", "NME")
# nm and rad: Engh & Huber 1991
N_CA, CA_C, C_N, C_O = 0.1458, 0.1525, 0.1329, 0.1231
AT_N, AT_CA, AT_C, AT_O = np.radians([121.7, 111.0, 116.2, 120.1])


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
    names, residue, places, parents = list[str](), list[int](), list[FloatArray](), dict[int, int]()
    for r, (kind, x) in enumerate(zip(kinds, chain, strict=True)):
        heavy = _heavy_atoms(kind, x, r, kinds, chain)
        start = len(names)
        names += heavy
        places += heavy.values()
        for atom, hydrogens in _hydrogens(kind, r).items():
            for name in hydrogens:
                parents[len(names)] = start + [*heavy].index(atom)
                names.append(name)
                places.append(heavy[atom])
        residue += [r] * (len(names) - start)
    n, count = len(names), len(kinds)
    bare = Atoms(
        np.array(names), np.array([name[0] for name in names]), np.array(residue, np.int64), np.array(places),
        np.zeros((0, 2), np.int64), np.full(count, "A"), np.array([str(r + 1) for r in range(count)]), np.array(kinds),
        np.zeros(count, bool), np.zeros(n),
    )  # fmt: skip
    is_hydrogen = bare.element == "H"
    bonds = np.flatnonzero(~is_hydrogen)[with_bonds(bare.kept(~is_hydrogen), [], []).bonds]
    both = np.array(sorted([*map(tuple, bonds.tolist()), *((k, h) for h, k in parents.items())]), np.int64).reshape(
        -1, 2
    )
    full = replace(bare, bonds=both)
    return replace(full, positions=with_ideal_hydrogens(full, is_hydrogen))


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


def _heavy_atoms(
    kind: str, x: dict[str, FloatArray], r: int, kinds: list[str], chain: list[dict[str, FloatArray]]
) -> dict[str, FloatArray]:
    """The atoms of a residue but hydrogens: those of the backbone, the side chain, and O."""
    found, last = dict(x), r + 1 == len(kinds)
    for name, a, b, c, length, angle, turn in _residues()[kind].side:
        found[name] = placed(found[a], found[b], found[c], length, angle, turn)
    if kind != "NME":
        other = found["CH3"] if kind == "ACE" else x["CA"]
        following = chain[r + 1]["N"] if not last else placed(x["N"], other, x["C"], C_OXT, AT_C, np.pi / 3)
        found["O"] = x["C"] + C_O * away(x["C"], [other, following])
        if last:
            found["OXT"] = following
    return found


def _hydrogens(kind: str, r: int) -> dict[str, list[str]]:
    """The hydrogens on each atom of a residue."""
    found = dict(_residues()[kind].hydrogens)
    if kind != "ACE":
        on_n = ["H1", "H2", "H3"] if r == 0 else ["H"]
        found["N"] = on_n[: 2 if r == 0 else 0] if kind == "PRO" else on_n
    return found
