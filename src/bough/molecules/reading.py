"""PDB and mmCIF files to `Atoms`, through gemmi; what is not taken as the file has it is named in notes.

gemmi (7 MB) reads both formats, alternative locations, insertion codes and links between residues. It has no dictionary
of residues, so bonds inside a residue follow from distances, which serves ligands, too.
"""

from __future__ import annotations

import gzip
import itertools
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bough.errors import FileFormatError, short, some_of
from bough.molecules.atoms import WATER, Atoms, gemmi_module
from bough.molecules.dihedrals import SAME, SIDE_CHAINS, pdb_name
from bough.molecules.groups import STANDARD
from bough.types import FloatArray

SHORTEST = 0.05  # nm, under any bond: atoms that are closer lie on each other
SLACK = 0.04  # nm by which a bond may exceed the sum of covalent radii
LINK = 0.20  # nm, the longest bond along a chain
DISULPHIDE = 0.25  # nm
CONTACT = 0.16  # nm, under it atoms of different residues are bonded or clash
LONGEST = 0.35  # nm, over any covalent bond
BIOLOGICAL = ("C", "H", "N", "O", "P", "S")  # elements of amino acids, nucleotides and water
ORGANIC = {"B", "BR", "C", "CL", "F", "H", "I", "N", "O", "P", "S", "SE"}  # elements of amino acids, odd ones included
HALOGENS = {"F", "CL", "BR", "I"}
IONS = {"SOD": "NA", "POT": "K", "CAL": "CA", "CES": "CS", "LIT": "LI", "RUB": "RB", "CLA": "CL"}  # CHARMM's names
METALS = {"LI", "NA", "K", "MG", "CA", "MN", "FE", "CO", "NI", "CU", "ZN", "CD", "HG", "SR", "BA", "CS", "RB", "AL"}


def read_atoms(path: str | Path, notes: list[str]) -> Atoms:
    """The first model of a PDB or mmCIF file (also .gz), with the conformer that is present most."""
    gemmi, path = gemmi_module(), existing_file(path)
    try:
        structure = gemmi.read_structure(str(path))
        structure.setup_entities()
    except IndexError:  # of a file without data blocks
        structure = ()
    except (RuntimeError, ValueError) as error:
        said = short(" ".join(str(error).split()), 200)
        raise FileFormatError(f"{short(str(path), 300)} is no PDB or mmCIF file: {said}") from None
    if len(structure) == 0 or structure[0].count_atom_sites() == 0:
        raise FileFormatError(f"{short(str(path), 300)} has no atoms; expected PDB or mmCIF")
    if structure.input_format == gemmi.CoorFormat.Pdb and (lines := _check_columns(path)):
        structure = gemmi.read_pdb_string(b"".join(lines))
        structure.setup_entities()
        notes.append("names of residues have four letters: the first three are read")
    if len(structure) > 1:
        notes.append(f"{len(structure)} models: the first one is read")
    try:
        return _atoms(structure, notes)
    except FileFormatError as error:
        raise FileFormatError(f"{short(str(path), 300)}: {error}") from None


def _check_columns(path: Path) -> list[bytes]:
    """The lines of a PDB file whose residues have names of four letters, with the last one blank, or none.

    The format has three letters, and gemmi reads the fourth as a part of the chain's name. Atoms whose coordinates are
    no numbers, which gemmi reads as 0, and lines that no line feed ends are refused.
    """
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    lines, wide = list[bytes](), set[bytes]()
    with gzip.open(path) if packed else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            lines.append(line)
            if line.removeprefix(BOM_UTF8)[:4].upper() not in (b"ATOM", b"HETA"):
                continue
            where = f"{short(str(path), 300)}, line {number}"
            if not line.isascii() or b"\r" in line.rstrip():
                raise FileFormatError(f"{where}: expected ASCII, and lines that end in LF or CRLF")
            try:
                _ = [float(line[k : k + 8]) for k in (30, 38, 46)]
            except ValueError:
                got = line[30:54].decode()
                raise FileFormatError(f"{where}: expected three coordinates in columns 31 to 54, got {got!r}") from None
            if line[20:21] != b" ":
                wide.add(line[17:22])
                lines[-1] = line[:20] + b" " + line[21:]
    is_name = all(name[4:] == b" " or name[:4].decode() in {*SAME, *WATER} for name in wide)
    return lines if wide and is_name else []


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
    seen: dict[tuple[int, str], Any] = {}
    left: Counter[str] = Counter()
    for chain in structure[0]:
        for residue in _residues(chain, left):
            present = _conformer(residue, left)
            is_amino_acid = {"N", "CA", "C"} <= {atom.name for atom in present}
            known = [(atom, _element(residue.name, is_amino_acid, atom, left)) for atom in present]
            for atom, element in ((atom, element) for atom, element in known if element):
                first = seen.setdefault((len(residues), atom.name), atom.pos)
                if first is not atom.pos and first.dist(atom.pos) < 10.0 * SHORTEST:
                    left["atoms that lie on another of the same name are omitted"] += 1
                    continue
                serial[atom.serial] = len(rows)
                rows.append((atom.name, element, len(residues), *atom.pos.tolist(), atom.b_iso))
            if any(element for _, element in known):
                polymer = residue.entity_type == gemmi.EntityType.Polymer
                residues.append((chain.name.strip() or "_", str(residue.seqid), residue.name, not polymer))
    notes += [f"{count} {what}" for what, count in left.items() if count]
    if not rows:
        raise FileFormatError("no atom has a known element")
    names, elements, residue_of, *columns = zip(*rows, strict=True)
    x = np.ascontiguousarray(0.1 * np.array(columns[:3], float).T)
    chain_ids, numbers, kinds, hetero = zip(*residues, strict=True)
    found = Atoms(
        np.array(names), np.array(elements), np.array(residue_of, np.int64), x, np.zeros((0, 2), np.int64),
        np.array(chain_ids), np.array(numbers), np.array(kinds), np.array(hetero, bool), np.array(columns[3], float),
    )  # fmt: skip
    if len(found.places) < len(found):
        notes.append(f"{len(found) - len(found.places)} atoms share their name with another: it stands for the first")
    bonded = with_bonds(found, _declared(structure, serial), notes)
    _note_contacts(structure, serial, bonded, notes)
    return bonded


def _note_contacts(structure: Any, serial: dict[int, int], atoms: Atoms, notes: list[str]) -> None:
    """Name heavy atoms of different residues that are as near as bonds without one, which no record declares."""
    gemmi, heavy = gemmi_module(), ~np.isin(np.char.upper(atoms.element), ["H", *METALS])
    search = gemmi.ContactSearch(10.0 * CONTACT)
    search.ignore = gemmi.ContactSearch.Ignore.SameResidue
    found = []
    for near in search.find_contacts(gemmi.NeighborSearch(structure[0], gemmi.UnitCell(), 5.0).populate()):
        a, b = (serial.get(end.atom.serial, -1) for end in (near.partner1, near.partner2))
        if min(a, b) >= 0 and heavy[a] and heavy[b] and b not in atoms.neighbours[a]:
            found.append(f"{atoms.key(a)}-{atoms.key(b)}")
    if found:
        notes.append(f"{len(found)} pairs of atoms are as near as bonds, which no record declares: {some_of(found)}")


def _residues(chain: Any, left: Counter[str]) -> Iterator[Any]:
    """Residues of a chain; of several at one place (microheterogeneity), the one with the largest occupancy."""
    for _, run in itertools.groupby(chain, key=lambda residue: str(residue.seqid)):
        several = list(run)
        if len(several) > 1 and all(atom.has_altloc() for residue in several for atom in residue):
            left["residues at the place of another (microheterogeneity) are omitted"] += len(several) - 1
            several = [max(several, key=lambda residue: max(atom.occ for atom in residue))]
        yield from several


def _conformer(residue: Any, left: Counter[str]) -> list[Any]:
    """The atoms of one conformer: the alternative location with the largest occupancy, the first of equals."""
    total: dict[str, float] = {}
    for atom in residue:
        if atom.has_altloc():
            total[atom.altloc] = total.get(atom.altloc, 0.0) + atom.occ
    if not total:
        return list(residue)
    best = max(total, key=lambda key: total[key])
    chosen: dict[str, str] = {_site(atom): atom.altloc for atom in residue if not atom.has_altloc()}
    for atom in sorted(residue, key=lambda atom: atom.altloc != best):
        chosen.setdefault(_site(atom), atom.altloc)
    kept = [atom for atom in residue if atom.altloc == chosen[_site(atom)]]
    left["atoms in alternative locations are omitted"] += len(residue) - len(kept)
    return kept


def _site(atom: Any) -> str:
    """The name of an atom; that of deuterium is that of hydrogen."""
    return f"H{atom.name[1:]}" if atom.element.name == "D" else str(atom.name)


def _element(residue: str, is_amino_acid: bool, atom: Any, left: Counter[str]) -> str:
    """The element of an atom, "" where it is unknown.

    Atoms of amino acids, nucleotides and water begin with their element, whatever the columns of a file say: without
    the column of elements, gemmi reads a CA that is not indented as calcium. Ions are called as their residue.
    """
    ion, kind = (name.upper().strip("+-0123456789") for name in (atom.name, residue))
    ion = IONS.get(ion, ion) if ion == kind else ""
    if ion in METALS | HALOGENS:
        left["elements are missing or odd: they follow from the names of the atoms"] += atom.element.name.upper() != ion
        return ion.capitalize()
    found, letter = str(atom.element.name), atom.name.lstrip("0123456789")[:1].upper()
    is_known = (residue in STANDARD and residue != "MSE") or residue in WATER
    if found == "D":
        left["atoms of deuterium are read as hydrogen"] += 1
        return "H"
    if letter in BIOLOGICAL and (is_known or found == "X" or (is_amino_acid and found.upper() not in ORGANIC)):
        left["elements are missing or odd: they follow from the names of the atoms"] += found != letter
        return letter
    if found == "X":
        left[f"atoms called {short(atom.name)!r} of unknown element are omitted"] += 1
        return ""
    return found


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
    pairs = {(min(a, b), max(a, b)) for a, b in links if a != b and _may_bond(atoms, a, b)}
    alone: list[str] = []
    on_others: list[str] = []
    for r in range(len(atoms.chain)):
        pairs |= _inside(atoms, int(atoms.first[r]), int(atoms.first[r + 1]), alone, on_others)
    if on_others:
        notes.append(
            f"{len(on_others)} atoms lie within {SHORTEST:g} nm of another of their residue, without a bond: "
            f"{some_of(on_others)}; files have positions in angstrom"
        )
    if alone:
        notes.append(
            f"{len(alone)} hydrogens are near no atom of their residue and move on their own: {some_of(alone)}"
        )
    pairs |= _along_chains(atoms, notes) | _bridges(atoms)
    _note_missing(atoms, notes)
    return replace(atoms, bonds=np.array(sorted(pairs), np.int64).reshape(-1, 2))


def long_bonds(atoms: Atoms) -> list[str]:
    """A note on bonds longer than any are: of positions in another unit, or of molecules cut by a periodic box."""
    a, b = atoms.bonds.T
    far = atoms.bonds[np.linalg.norm(atoms.positions[a] - atoms.positions[b], axis=1) > LONGEST]
    some = some_of([f"{atoms.key(a)}-{atoms.key(b)}" for a, b in far.tolist()])
    said = f"{len(far)} bonds are longer than {LONGEST} nm: {some}; positions are in nm, and molecules whole"
    return [said] if len(far) else []


def _may_bond(atoms: Atoms, a: int, b: int) -> bool:
    """Whether a declared link is a covalent bond: no metal, and no longer than bonds are."""
    metal = {str(atoms.element[a]).upper(), str(atoms.element[b]).upper()} & METALS
    reach = atoms.covalent_radii[a] + atoms.covalent_radii[b] + 2 * SLACK
    return not metal and SHORTEST < float(np.linalg.norm(atoms.positions[a] - atoms.positions[b])) < reach


def _inside(atoms: Atoms, start: int, stop: int, alone: list[str], on_others: list[str]) -> set[tuple[int, int]]:
    """Bonds of one residue: atoms closer than their covalent radii allow; a hydrogen has the nearest one only."""
    if stop - start < 2:
        return set()
    x, radius = atoms.positions[start:stop], atoms.covalent_radii[start:stop]
    distance = np.linalg.norm(x[:, None] - x[None], axis=-1)
    on_others += [atoms.key(start + k) for k in np.flatnonzero((distance < SHORTEST).sum(axis=1) > 1).tolist()]
    gap = np.where(distance < SHORTEST, np.inf, distance - radius[:, None] - radius[None])
    light = atoms.element[start:stop] == "H"
    close = (gap < SLACK) & ~light[:, None] & ~light[None]
    found = {(start + int(a), start + int(b)) for a, b in np.argwhere(np.triu(close))}
    for h in np.flatnonzero(light).tolist():
        heavy = np.where(light, np.inf, gap[h])
        nearest = int(heavy.argmin())
        if heavy[nearest] < 2 * SLACK:
            found.add((min(start + h, start + nearest), max(start + h, start + nearest)))
        else:
            alone.append(atoms.key(start + h))
    return found


def _along_chains(atoms: Atoms, notes: list[str]) -> set[tuple[int, int]]:
    """Bonds C-N and O3'-P between neighbouring residues of a chain."""
    found = set()
    for before, after, longest in (("C", "N", LINK), ("O3'", "P", 1.1 * LINK)):
        first = {int(atoms.residue[k]): k for k in np.flatnonzero(atoms.name == before).tolist()}
        second = {int(atoms.residue[k]): k for k in np.flatnonzero(atoms.name == after).tolist()}
        for r, a in first.items():
            b = second.get(r + 1)
            if b is None or atoms.chain[r] != atoms.chain[r + 1]:
                continue
            distance = float(np.linalg.norm(atoms.positions[a] - atoms.positions[b]))
            if SHORTEST < distance < longest:
                found.add((min(a, b), max(a, b)))
            elif not (atoms.hetero[r] or atoms.hetero[r + 1]):
                ends = f"{atoms.residue_key(r)} and {atoms.residue_key(r + 1)}"
                notes.append(f"the chain is broken between {ends}, {distance:.2f} nm apart: its parts move freely")
    return found


def _bridges(atoms: Atoms) -> set[tuple[int, int]]:
    """Disulphides that no record declares: SG atoms as close as a bond."""
    cysteines = ["CYS", *(name for name, residue in SAME.items() if residue == "CYS")]
    sulphur = np.flatnonzero((atoms.name == "SG") & np.isin(atoms.kind[atoms.residue], cysteines))
    x: FloatArray = atoms.positions[sulphur]
    found = set()
    for k, a in enumerate(sulphur.tolist()):
        distance = np.linalg.norm(x[k + 1 :] - x[k], axis=1)
        found |= {(a, int(b)) for b in sulphur[k + 1 :][(distance > SHORTEST) & (distance < DISULPHIDE)]}
    return found


def _note_missing(atoms: Atoms, notes: list[str]) -> None:
    """Name residues of proteins without some of their heavy atoms."""
    odd = []
    for r in range(len(atoms.chain)):
        kind = str(atoms.kind[r])
        needed = {"N", "CA", "C", "O", *SIDE_CHAINS.get(SAME.get(kind, kind), "").split()}
        if kind in SIDE_CHAINS or kind in SAME or kind in ("ALA", "GLY"):
            there = atoms.name[atoms.first[r] : atoms.first[r + 1]].tolist()
            missing = needed - {pdb_name(kind, name) for name in there}
            odd += [f"{atoms.residue_key(r)} ({', '.join(sorted(missing))})"] if missing else []
    if odd:
        notes.append(f"{len(odd)} residues miss atoms, which are not made up: {some_of(odd)}")
