"""PDB and mmCIF files to `Atoms`, through gemmi; what is not taken as the file has it is named in notes.

gemmi (7 MB) reads both formats, alternative locations, insertion codes and links between residues. It has no dictionary
of residues, so bonds inside a residue follow from distances, which serves ligands, too.
"""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from bough.errors import FileFormatError, short
from bough.molecules.atoms import Atoms, gemmi_module
from bough.molecules.dihedrals import SAME, SIDE_CHAINS
from bough.types import FloatArray, IntArray

SLACK = 0.04  # nm by which a bond may exceed the sum of covalent radii
LINK = 0.20  # nm, the longest bond along a chain
DISULPHIDE = 0.25  # nm
METALS = {"LI", "NA", "K", "MG", "CA", "MN", "FE", "CO", "NI", "CU", "ZN", "CD", "HG", "SR", "BA", "CS", "RB", "AL"}


def read_atoms(path: str | Path, notes: list[str]) -> Atoms:
    """The first model of a PDB or mmCIF file (also .gz), with the conformer that is present most."""
    gemmi, path = gemmi_module(), existing_file(path)
    try:
        structure = gemmi.read_structure(str(path))
    except (RuntimeError, ValueError, IndexError) as error:
        raise FileFormatError(f"{short(str(path), 300)} is no PDB or mmCIF file: {short(str(error), 200)}") from None
    structure.setup_entities()
    if len(structure) == 0 or structure[0].count_atom_sites() == 0:
        raise FileFormatError(f"{short(str(path), 300)} has no atoms; expected PDB or mmCIF")
    if structure.input_format == gemmi.CoorFormat.Pdb:
        _check_columns(path)
    if len(structure) > 1:
        notes.append(f"{len(structure)} models: the first one is read")
    return _atoms(structure, notes)


def _check_columns(path: Path) -> None:
    """Refuse atoms whose coordinates are no numbers, which gemmi reads as 0, and lines that no line feed ends."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line[:4].upper() not in (b"ATOM", b"HETA"):
                continue
            where = f"{short(str(path), 300)}, line {number}"
            if not line.isascii() or b"\r" in line.rstrip():
                raise FileFormatError(f"{where}: expected ASCII, and lines that end in LF or CRLF")
            try:
                _ = [float(line[k : k + 8]) for k in (30, 38, 46)]
            except ValueError:
                got = line[30:54].decode()
                raise FileFormatError(f"{where}: expected three coordinates in columns 31 to 54, got {got!r}") from None


def existing_file(path: str | Path) -> Path:
    """The path of a file that is there."""
    try:
        if Path(path).is_file():
            return Path(path)
    except (OSError, ValueError):
        pass
    raise FileFormatError(f"there is no file {short(str(path), 300)}")


def _atoms(structure: Any, notes: list[str]) -> Atoms:
    gemmi = gemmi_module()
    rows: list[tuple[Any, ...]] = []
    residues: list[tuple[str, str, str, bool]] = []
    serial: dict[int, int] = {}
    left: Counter[str] = Counter()
    for chain in structure[0]:
        seen: set[str] = set()
        for residue in chain:
            number = str(residue.seqid)
            if number in seen:
                left["residues that share their number with another (microheterogeneity)"] += 1
                continue
            seen.add(number)
            polymer = residue.entity_type == gemmi.EntityType.Polymer
            residues.append((chain.name.strip() or "_", number, residue.name, not polymer))
            for atom in _conformer(residue, left):
                x = atom.pos
                serial[atom.serial] = len(rows)
                name = str(atom.element.name)
                rows.append((atom.name, name, len(residues) - 1, 0.1 * x.x, 0.1 * x.y, 0.1 * x.z, atom.b_iso))
    notes += [f"{count} {what} are left out" for what, count in left.items()]
    names, elements, residue_of, *columns = zip(*rows, strict=True)
    x = np.stack([np.array(c, float) for c in columns[:3]], axis=1)
    chain_ids, numbers, kinds, hetero = zip(*residues, strict=True)
    found = Atoms(
        np.array(names), np.array([e if e != "D" else "H" for e in elements]), np.array(residue_of, np.int64), x,
        np.zeros((0, 2), np.int64), np.array(chain_ids), np.array(numbers), np.array(kinds), np.array(hetero, bool),
        np.array(columns[3], float),
    )  # fmt: skip
    links = _declared(structure, serial)
    return with_bonds(found, links, notes)


def _conformer(residue: Any, left: Counter[str]) -> list[Any]:
    """The atoms of one conformer: the alternative location with the largest occupancy, the first of equals."""
    total: dict[str, float] = {}
    for atom in residue:
        if atom.has_altloc():
            total[atom.altloc] = total.get(atom.altloc, 0.0) + atom.occ
    best = max(total, key=lambda key: total[key], default="")
    chosen: dict[str, Any] = {}
    for atom in residue:
        known = chosen.get(atom.name)
        if known is None or (atom.has_altloc() and atom.altloc == best):
            chosen[atom.name] = atom
    left["atoms in alternative locations"] += len(residue) - len(chosen)
    if not left["atoms in alternative locations"]:
        del left["atoms in alternative locations"]
    return list(chosen.values())


def _declared(structure: Any, serial: dict[int, int]) -> list[tuple[int, int]]:
    """Pairs of atoms that LINK, SSBOND, struct_conn or CONECT join."""
    gemmi = gemmi_module()
    found = []
    for connection in structure.connections:
        if connection.type in (gemmi.ConnectionType.Hydrog, gemmi.ConnectionType.MetalC):
            continue
        ends = [structure[0].find_cra(p).atom for p in (connection.partner1, connection.partner2)]
        if all(end is not None and end.serial in serial for end in ends):
            found.append((serial[ends[0].serial], serial[ends[1].serial]))
    for one, others in dict(structure.conect_map).items():
        found += [(serial[one], serial[other]) for other in others if one in serial and other in serial]
    return found


def with_bonds(atoms: Atoms, links: list[tuple[int, int]], notes: list[str]) -> Atoms:
    """The same atoms with bonds: inside residues by distance, along chains, bridges of sulphur, and these links."""
    from dataclasses import replace

    pairs = {(min(a, b), max(a, b)) for a, b in links if a != b and _may_bond(atoms, a, b)}
    for r in range(len(atoms.chain)):
        pairs |= _inside(atoms, int(atoms.first[r]), int(atoms.first[r + 1]), notes)
    pairs |= _along_chains(atoms, notes) | _bridges(atoms)
    _note_missing(atoms, notes)
    return replace(atoms, bonds=np.array(sorted(pairs), np.int64).reshape(-1, 2))


def _may_bond(atoms: Atoms, a: int, b: int) -> bool:
    """Whether a declared link is a covalent bond: no metal, and no longer than bonds are."""
    metal = {str(atoms.element[a]).upper(), str(atoms.element[b]).upper()} & METALS
    reach = atoms.covalent_radii[a] + atoms.covalent_radii[b] + 2 * SLACK
    return not metal and float(np.linalg.norm(atoms.positions[a] - atoms.positions[b])) < reach


def _inside(atoms: Atoms, start: int, stop: int, notes: list[str]) -> set[tuple[int, int]]:
    """Bonds of one residue: atoms closer than their covalent radii allow; a hydrogen has the nearest one only."""
    if stop - start < 2:
        return set()
    x, radius = atoms.positions[start:stop], atoms.covalent_radii[start:stop]
    gap = np.linalg.norm(x[:, None] - x[None], axis=-1) - radius[:, None] - radius[None]
    np.fill_diagonal(gap, np.inf)
    light = atoms.element[start:stop] == "H"
    close = (gap < SLACK) & ~light[:, None] & ~light[None]
    found = {(start + int(a), start + int(b)) for a, b in np.argwhere(np.triu(close))}
    for h in np.flatnonzero(light).tolist():
        heavy = np.where(light, np.inf, gap[h])
        nearest = int(heavy.argmin())
        if heavy[nearest] < 2 * SLACK:
            found.add((min(start + h, start + nearest), max(start + h, start + nearest)))
        else:
            notes.append(f"{atoms.key(start + h)} is near no atom of its residue: it moves on its own")
    return found


def _along_chains(atoms: Atoms, notes: list[str]) -> set[tuple[int, int]]:
    """Bonds C-N and O3'-P between neighbouring residues of a chain."""
    found = set()
    for before, after, longest in (("C", "N", LINK), ("O3'", "P", 1.1 * LINK)):
        first = {int(atoms.residue[k]): k for k in np.flatnonzero(atoms.name == before).tolist()}
        second = {int(atoms.residue[k]): k for k in np.flatnonzero(atoms.name == after).tolist()}
        for r, a in first.items():
            b = second.get(r + 1)
            if b is None or atoms.chain[r] != atoms.chain[r + 1] or atoms.hetero[r] or atoms.hetero[r + 1]:
                continue
            distance = float(np.linalg.norm(atoms.positions[a] - atoms.positions[b]))
            if distance < longest:
                found.add((min(a, b), max(a, b)))
            else:
                ends = f"{atoms.residue_key(r)} and {atoms.residue_key(r + 1)}"
                notes.append(f"the chain is broken between {ends}, {distance:.2f} nm apart: its parts move freely")
    return found


def _bridges(atoms: Atoms) -> set[tuple[int, int]]:
    """Disulphides that no record declares: SG atoms as close as a bond."""
    sulphur = np.flatnonzero((atoms.name == "SG") & np.isin(atoms.kind[atoms.residue], ("CYS", "CYX")))
    x: FloatArray = atoms.positions[sulphur]
    pairs: list[tuple[int, int]] = list(itertools.combinations(range(len(sulphur)), 2)) if len(sulphur) < 500 else []
    close = [(i, j) for i, j in pairs if np.linalg.norm(x[i] - x[j]) < DISULPHIDE]
    chosen: IntArray = sulphur[np.array(close, np.int64).reshape(-1, 2)]
    return {(a, b) for a, b in chosen.tolist()}


def _note_missing(atoms: Atoms, notes: list[str]) -> None:
    """Name residues of proteins without some of their heavy atoms."""
    odd = []
    for r in range(len(atoms.chain)):
        kind = str(atoms.kind[r])
        needed = {"N", "CA", "C", "O", *SIDE_CHAINS.get(SAME.get(kind, kind), "").split()}
        if kind in SIDE_CHAINS or kind in SAME or kind in ("ALA", "GLY"):
            missing = needed - set(atoms.name[atoms.first[r] : atoms.first[r + 1]].tolist())
            odd += [f"{atoms.residue_key(r)} ({', '.join(sorted(missing))})"] if missing else []
    if odd:
        more = f" and {len(odd) - 5} others" if len(odd) > 5 else ""
        notes.append(f"{len(odd)} residues miss atoms, which are not made up: {', '.join(odd[:5])}{more}")
