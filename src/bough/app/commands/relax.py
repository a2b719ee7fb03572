"""`bough relax`: a structure to a minimum of its energy, in torsion space."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bough.app.shell import Json, report, working, wrote
from bough.app.source import molecule_of

FORCE_FIELD = ["amber14-all.xml", "implicit/gbn2.xml"]
Structure = Annotated[str, typer.Argument(help="A PDB or mmCIF file, or peptide:SEQUENCE.", metavar="STRUCTURE")]
ForceField = Annotated[
    list[str], typer.Option(metavar="XML", help="A force field of OpenMM, or none: soft spheres. May be repeated.")
]
Restraints = Annotated[Path | None, typer.Option(help="Distances and dihedrals, a .tbl file of CNS or Xplor.")]


def relax(
    structure: Structure,
    force_field: ForceField = FORCE_FIELD,
    restraints: Restraints = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the last frame as .pdb or .cif, or all frames as .dcd.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Write one page with the motion and the energy.")] = None,
    rotatable: Annotated[str, typer.Option(help="Which bonds turn: all, backbone, sidechains, or names.")] = "all",
    fixed: Annotated[str, typer.Option(help="Chains or residues that do not move: B,A/301,solvent.")] = "",
    omit: Annotated[str, typer.Option(help="Chains or residues to omit, written like those of --fixed.")] = "solvent",
    ph: Annotated[float, typer.Option("--ph", help="The pH at which missing hydrogens are added.")] = 7.0,
    calls: Annotated[int, typer.Option(min=1, help="Maximum number of energy evaluations.")] = 1000,
    json: Json = False,
) -> None:
    """Relax a structure in torsion space.

    Bond lengths and angles stay as they are.
    """
    from bough import molecules
    from bough.molecules.tables import read_table
    from bough.molecules.writing import check_file
    from bough.record import check_folder

    if page is not None:
        check_folder(page)
    alone = force_field == ["none"]
    words = {name: [word for word in text.split(",") if word] for name, text in (("fixed", fixed), ("omit", omit))}
    with working("reading the structure"):
        molecule = molecule_of(structure, ph=None if alone else ph, rotatable=rotatable.split(","), **words)
    if output is not None:
        check_file(output, molecule.atoms)
    energy = molecules.Repulsion(molecule) if alone else molecules.OpenMM(*force_field)
    held = read_table(restraints, molecule.atoms) if restraints else []
    with working("relaxing"):
        found = molecule.minimize(energy, restraints=held, calls=calls)
    written = [path for path in (output, page) if path is not None]
    if output is not None:
        found.write(output)
    if page is not None:
        from bough.view import page as write_page

        write_page(found, page)
    moved = molecules.rmsd(molecule.atoms.positions, found.positions)
    facts = {
        "molecule": molecule.model.name, "atoms": len(molecule.atoms), "dofs": molecule.model.nv,
        "start": found.energies[0], "energy": found.energy, "calls": found.calls, "reason": found.reason,
        "rmsd": moved, "notes": molecule.notes, "files": written,
    }  # fmt: skip
    report(
        json, facts, *(f"note: {note}" for note in molecule.notes),
        f"{molecule.model.name}: {len(molecule.atoms):,} atoms, {molecule.model.nv:,} degrees of freedom",
        f"energy {found.energies[0]:.6g} -> {found.energy:.6g} kJ/mol in {found.calls} calls: {found.reason}",
        f"moved by {moved:.3g} nm (RMSD)", *wrote(*written),
    )  # fmt: skip
