"""Molecules in torsion space: structures to trees of rigid groups, atoms as arrays, energies, relaxing and sampling.

Belongs here: reading and writing structures, rigid groups and names of dihedrals, restraints and repulsion between
atoms, force fields of OpenMM, and what is done with them in torsion space. Does not belong here: the mechanics of the
tree (`dynamics`), the minimiser and adaptive simulation (`adaptive`), and pictures (`view`).

Units: nm, Da, ps, kJ/mol; angles in rad.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from bough.arguments import explain_package
from bough.errors import short
from bough.molecules.atoms import Atoms, rmsd
from bough.molecules.dihedrals import Dihedral
from bough.molecules.fixman import LogDeterminant
from bough.molecules.force_field import OpenMM, atoms_of
from bough.molecules.hydrogens import with_hydrogens
from bough.molecules.molecule import Molecule
from bough.molecules.peptide import peptide_atoms
from bough.molecules.pulling import Pull
from bough.molecules.reading import long_bonds, read_atoms
from bough.molecules.repulsion import Repulsion
from bough.molecules.restraints import Restraint, RestraintEnergy, dihedral, distance, plane, position
from bough.molecules.tables import read_table
from bough.molecules.writing import Trajectory

__all__ = [
    "Atoms",
    "Dihedral",
    "LogDeterminant",
    "Molecule",
    "OpenMM",
    "Pull",
    "Repulsion",
    "Restraint",
    "RestraintEnergy",
    "Trajectory",
    "dihedral",
    "distance",
    "from_file",
    "from_openmm",
    "peptide",
    "plane",
    "position",
    "read_table",
    "rmsd",
]


def from_file(
    path: str | Path,
    *,
    rotatable: str | Iterable[str] = "all",
    fixed: Iterable[str] = (),
    omit: Iterable[str] = (),
    add_hydrogens: float | None = None,
) -> Molecule:
    """Read a PDB or mmCIF file (also .gz).

    Parameters
    ----------
    rotatable : which bonds turn: "all" (but peptide bonds), "heavy" (not those that turn hydrogens only), "backbone",
        "sidechains", "rings" (of single bonds: the pucker of proline), or names of dihedrals, such as "phi", "chi1",
        "omega" or "A/57/phi"; several in a list.
    fixed : chains ("B"), residues ("A/301") or "solvent" (water and ions) that stay where they are.
    omit : the same words: what is not read.
    add_hydrogens : a pH; OpenMM adds the hydrogens that atoms lack. OXT is added, too, where chains end without it.
    """
    notes: list[str] = []
    atoms = read_atoms(path, notes).without(omit, notes)
    if add_hydrogens is not None:
        atoms = with_hydrogens(atoms, add_hydrogens, notes)
    return Molecule(atoms, name=Path(path).name.split(".")[0], rotatable=rotatable, fixed=fixed, notes=notes)


def from_openmm(
    topology: Any,
    positions: Any,
    *,
    rotatable: str | Iterable[str] = "all",
    fixed: Iterable[str] = (),
    omit: Iterable[str] = (),
) -> Molecule:
    """The atoms of a Topology of OpenMM, at positions (atoms, 3) with a unit or in nm."""
    notes: list[str] = []
    atoms = atoms_of(topology, positions).without(omit, notes)
    return Molecule(atoms, rotatable=rotatable, fixed=fixed, notes=[*notes, *long_bonds(atoms)])


def peptide(
    sequence: str | Sequence[str],
    *,
    phi: npt.ArrayLike = -2.1,
    psi: npt.ArrayLike = 2.4,
    rotatable: str | Iterable[str] = "all",
) -> Molecule:
    """A peptide of ideal geometry with hydrogens, as at pH 7.

    Parameters
    ----------
    sequence : letters, "NLYIQWLKDGGPSSGRPPPS", or names, ["ACE", "ALA", "NME"].
    phi, psi : rad, one for all residues or one each; prolines have their own phi.
    """
    name = short(sequence if isinstance(sequence, str) else "-".join(sequence))
    return Molecule(peptide_atoms(sequence, phi, psi), name=name, rotatable=rotatable)


explain_package(__name__)
