"""Trajectories, and their files: atoms to PDB and mmCIF, all frames to DCD."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.errors import ModelError, OptionError, TooLargeError
from bough.molecules.atoms import Atoms, gemmi_module
from bough.record import check_folder, replacing
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

FORMATS = (".pdb", ".cif", ".mmcif", ".dcd")
MOST_IN_PDB = 99_999  # atoms that have a number of their own there


def write(path: str | Path, atoms: Atoms, frames: FloatArray, interval: float = 1.0) -> Path:
    """Write positions (frames, atoms, 3) in nm; a DCD has all of them `interval` ps apart, the others a model each."""
    path = Path(path)
    check_file(path, atoms)
    with replacing(path) as file:
        if path.suffix == ".dcd":
            file.write(dcd(frames, interval))
        else:
            file.write(text(atoms, frames, path.suffix).encode())
    return path


def check_file(path: Path, atoms: Atoms) -> None:
    """Refuse a file that cannot be written, or whose format cannot hold the atoms."""
    if path.suffix not in FORMATS:
        raise OptionError(f"{path.name}: a structure is written as {', '.join(FORMATS)}, got {path.suffix!r}")
    for r, (chain, number) in enumerate(zip(atoms.chain.tolist(), atoms.number.tolist(), strict=True)):
        if not re.fullmatch(r"-?\d+[A-Za-z]?", number) or re.search(r"\s", chain):
            raise ModelError(
                f"residue {atoms.residue_key(r)!r} cannot be written: expected a number such as 57 or 57A, and a chain "
                "without spaces"
            )
    widths = ((atoms.chain, 1), (atoms.kind, 3), (atoms.name, 4))
    is_wide = any(max(map(len, words), default=0) > most for words, most in widths)
    if path.suffix == ".pdb" and (len(atoms) > MOST_IN_PDB or is_wide):
        raise TooLargeError(
            "PDB files have at most 99,999 atoms, and names of one letter for chains, three for residues and four for "
            "atoms: write .cif instead"
        )
    check_folder(path)


def text(atoms: Atoms, frames: FloatArray, suffix: str = ".pdb") -> str:
    """A PDB or mmCIF file."""
    if suffix == ".pdb" and not (-99.9999 <= frames.min() and frames.max() <= 999.9999):
        raise TooLargeError("PDB files have positions from -99.9999 to 999.9999 nm: write .cif instead")
    structure = _structure(atoms, frames)
    if suffix == ".pdb":
        return str(structure.make_pdb_string(gemmi_module().PdbWriteOptions(cryst1_record=False)))
    return str(structure.make_mmcif_document().as_string())


def _structure(atoms: Atoms, frames: FloatArray) -> Any:
    gemmi = gemmi_module()
    structure = gemmi.Structure()
    structure.name = "bough"
    for number, x in enumerate(10.0 * frames, 1):
        model = gemmi.Model(number)
        chain = None
        for r in range(len(atoms.chain)):
            if chain is None or atoms.chain[r] != atoms.chain[r - 1]:
                if chain is not None:
                    model.add_chain(chain)
                chain = gemmi.Chain(_chain(atoms, r))
            residue = gemmi.Residue()
            residue.name, residue.seqid = str(atoms.kind[r]), _number(atoms, r)
            residue.het_flag = "H" if atoms.hetero[r] else "A"
            for k in range(int(atoms.first[r]), int(atoms.first[r + 1])):
                atom = gemmi.Atom()
                atom.name, atom.element = str(atoms.name[k]), gemmi.Element(str(atoms.element[k]))
                atom.pos, atom.b_iso = gemmi.Position(*x[k]), float(atoms.b_factor[k])
                residue.add_atom(atom)
            chain.add_residue(residue)
        model.add_chain(chain)
        structure.add_model(model)
    structure.setup_entities()
    structure.assign_serial_numbers()
    structure.connections.extend(_connections(atoms))
    return structure


def _connections(atoms: Atoms) -> list[Any]:
    """Bonds between residues but those along chains, which readers know."""
    gemmi, found = gemmi_module(), list[Any]()
    for a, b in atoms.bonds.tolist():
        r, s = int(atoms.residue[a]), int(atoms.residue[b])
        names = {str(atoms.name[a]), str(atoms.name[b])}
        in_chain = abs(r - s) == 1 and atoms.chain[r] == atoms.chain[s] and not (atoms.hetero[r] or atoms.hetero[s])
        if r == s or (in_chain and names in ({"C", "N"}, {"O3'", "P"})):
            continue
        link = gemmi.Connection()
        link.name, link.asu = f"bond{len(found) + 1}", gemmi.Asu.Same
        link.type = gemmi.ConnectionType.Disulf if names == {"SG"} else gemmi.ConnectionType.Covale
        link.partner1, link.partner2 = (
            gemmi.AtomAddress(_chain(atoms, k), _number(atoms, k), str(atoms.kind[k]), str(atoms.name[atom]), "\0")
            for k, atom in ((r, a), (s, b))
        )
        found.append(link)
    return found


def _chain(atoms: Atoms, residue: int) -> str:
    """The name of a chain in files, which may be blank."""
    return "" if atoms.chain[residue] == "_" else str(atoms.chain[residue])


def _number(atoms: Atoms, residue: int) -> Any:
    """The number of a residue with its insertion code; of a word, gemmi's SeqId reads codes as small letters."""
    number, code = re.findall(r"[-\d]+|[A-Za-z ]", f"{atoms.number[residue]} ")[:2]
    return gemmi_module().SeqId(int(number), code)


def dcd(frames: FloatArray, interval: float) -> bytes:
    """A DCD file (CHARMM's variant): float32 coordinates in angstrom, column by column; times in AKMA units."""
    count, n = frames.shape[:2]

    def record(content: bytes) -> bytes:
        size = np.int32(len(content)).tobytes()
        return size + content + size

    control = np.zeros(20, "<i4")
    control[[0, 1, 2, 3, 19]] = count, 1, 1, count, 24
    control[9] = np.float32(interval / 0.04888821).view(np.int32)
    title = b"Written by bough".ljust(80)
    head = record(b"CORD" + control.tobytes()) + record(np.int32(1).tobytes() + title) + record(np.int32(n).tobytes())
    body = (record(np.ascontiguousarray(x[:, c], "<f4").tobytes()) for x in 10.0 * frames for c in range(3))
    return head + b"".join(body)


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The configurations and energies of a minimisation, annealing, sampling or pulling; the last is the result."""

    molecule: Molecule
    frames: FloatArray  # (frames, nq)
    energies: FloatArray  # (frames,) potential energy in kJ/mol
    time: FloatArray  # (frames,) ps; of a search, calls of the energy
    unit: str = "ps"
    converged: bool = True
    reason: str = ""  # why a search ended
    calls: int = 0  # of the energy
    v: FloatArray | None = None  # (nv,) velocities at the end of dynamics
    tracks: dict[str, FloatArray] = field(default_factory=dict)  # (frames,) each: what else is worth a plot

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.molecule.model.name!r}, {len(self.frames)} frames, last energy {self.energy:.6g} kJ/mol)"
        )

    @property
    def q(self) -> FloatArray:
        """(nq,) the last configuration."""
        return self.frames[-1]

    @property
    def energy(self) -> float:
        """kJ/mol, of the last configuration."""
        return float(self.energies[-1])

    @property
    def positions(self) -> FloatArray:
        """(atoms, 3) nm, of the last configuration."""
        return self.molecule.positions(self.q)

    def write(self, path: str | Path) -> Path:
        """Write the last configuration (.pdb, .cif, .mmcif), or all of them (.dcd)."""
        if Path(path).suffix == ".dcd":
            interval = float(np.diff(self.time).mean()) if len(self.time) > 1 else 1.0
            return write(path, self.molecule.atoms, self.molecule.positions(self.frames), interval)
        return write(path, self.molecule.atoms, self.positions[None])
