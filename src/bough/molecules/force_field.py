"""Force fields of OpenMM: energy and forces of all atoms in one call, and structures that are there already."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.arguments import explained
from bough.errors import MissingExtraError, ModelError, NumericalError, short, some_of, unknown_option
from bough.molecules.atoms import Atoms
from bough.types import FloatArray


@explained
class OpenMM:
    """A force field of OpenMM, such as OpenMM("amber14-all.xml", "implicit/gbn2.xml"), or a `System` made elsewhere.

    Without a file of a solvent, atoms are in vacuum. There is no cutoff unless `options` of `createSystem` say so.
    `platform` is "CPU", "CUDA", "Reference" (double precision) or another name; None is the fastest that works.
    Called with a molecule, it gives a function x (atoms, 3) -> (energy, forces (atoms, 3)) in kJ/mol and nm.
    """

    def __init__(self, *force_field: Any, platform: str | None = None, **options: Any) -> None:
        openmm, _, _ = openmm_modules()
        system = len(force_field) == 1 and isinstance(force_field[0], openmm.System)
        if not force_field or not (system or all(isinstance(file, str) for file in force_field)):
            raise ModelError(f'OpenMM needs force fields, such as "amber14-all.xml", or a System, got {force_field!r}')
        self.force_field, self.platform, self.options = force_field, platform, options

    def __repr__(self) -> str:
        return f"OpenMM({', '.join(map(repr, self.force_field))})"

    def on(self, molecule: Any) -> OpenMMEnergy:
        """The energy of a molecule."""
        atoms: Atoms = getattr(molecule, "atoms", molecule)
        _, app, _ = openmm_modules()
        if isinstance(self.force_field[0], str):
            options = {"nonbondedMethod": app.NoCutoff, **self.options}
            try:
                field = app.ForceField(*self.force_field)
            except Exception as error:
                raise ModelError(f"{self!r} is no force field: {short(str(error), 300)}") from None
            try:
                system = field.createSystem(topology(atoms), **options)
            except Exception as error:
                raise ModelError(f"{self!r} {_unknown(field, atoms, str(error))}") from None
        else:
            system = self.force_field[0]
        if system.getNumParticles() != len(atoms):
            raise ModelError(f"the System has {system.getNumParticles()} particles, the molecule {len(atoms)} atoms")
        return OpenMMEnergy(system, self.platform)


def _unknown(field: Any, atoms: Atoms, error: str) -> str:
    """Name the residues that a force field does not know, and a remedy."""
    residues = [residue.index for residue in field.getUnmatchedResidues(topology(atoms))]
    if not residues:
        return f"does not take this molecule: {short(error, 300)}"
    some = some_of([f"{atoms.residue_key(k)} ({atoms.kind[k]})" for k in residues])
    reason = short(error.partition(".  ")[2].partition(".  ")[0] or error, 200)
    add = "" if (atoms.element == "H").any() else "read it with add_hydrogens=7.0, "
    return f"does not know {some}: {reason}; {add}complete residues that miss atoms, or omit them: omit=[...]"


class OpenMMEnergy:
    """Energy and forces of one system."""

    def __init__(self, system: Any, platform: Any) -> None:
        openmm, _, unit = openmm_modules()
        names = [openmm.Platform.getPlatform(k).getName() for k in range(openmm.Platform.getNumPlatforms())]
        if platform is not None and (not isinstance(platform, str) or platform not in names):
            raise unknown_option(f"OpenMM has no platform {platform!r} here", platform, names)
        integrator = openmm.VerletIntegrator(0.001)
        chosen = () if platform is None else (openmm.Platform.getPlatformByName(platform),)
        self.context = openmm.Context(system, integrator, *chosen)
        self._energy = unit.kilojoule_per_mole
        self._force = unit.kilojoule_per_mole / unit.nanometer

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Energy (kJ/mol) and forces (atoms, 3) in kJ/mol/nm at x (atoms, 3) in nm."""
        self.context.setPositions(x)
        state = self.context.getState(getEnergy=True, getForces=True)
        energy = float(state.getPotentialEnergy().value_in_unit(self._energy))
        forces = np.asarray(state.getForces(asNumpy=True).value_in_unit(self._force), float)
        if not np.isfinite(energy):
            raise NumericalError("OpenMM's energy is not finite: atoms lie on each other; ease clashes first")
        return energy, forces


def openmm_modules() -> Any:
    """openmm, openmm.app and openmm.unit."""
    try:
        import openmm
        from openmm import app, unit
    except ImportError:
        raise MissingExtraError("force fields need OpenMM: pip install 'bough[molecules]'") from None
    return openmm, app, unit


def topology(atoms: Atoms) -> Any:
    """The atoms as a Topology of OpenMM, in the same order."""
    _, app, _ = openmm_modules()
    found = app.Topology()
    members, chain = [], None
    for r in range(len(atoms.chain)):
        if chain is None or atoms.chain[r] != atoms.chain[r - 1]:
            chain = found.addChain(str(atoms.chain[r]))
        residue = found.addResidue(str(atoms.kind[r]), chain, str(atoms.number[r]))
        for k in range(int(atoms.first[r]), int(atoms.first[r + 1])):
            element = app.Element.getBySymbol(str(atoms.element[k]).capitalize())
            members.append(found.addAtom(str(atoms.name[k]), element, residue))
    for a, b in atoms.bonds.tolist():
        found.addBond(members[a], members[b])
    return found


def atoms_of(topology: Any, positions: Any) -> Atoms:
    """A Topology of OpenMM, with positions (in nm where they have no unit), as `Atoms`."""
    _, app, unit = openmm_modules()
    if not isinstance(topology, app.Topology):
        raise ModelError(f"from_openmm: expected a Topology of OpenMM, got {type(topology).__name__}")
    x = np.array(positions.value_in_unit(unit.nanometer) if unit.is_quantity(positions) else positions, float)
    residues, listed = list(topology.residues()), list(topology.atoms())
    odd = [atom for atom in listed if atom.element is None]
    if odd:
        where = f"{odd[0].residue.name} {odd[0].residue.id}"
        raise ModelError(f"atom {odd[0].name!r} of {where} has no element: extra particles are not molecules")
    place = {residue: k for k, residue in enumerate(residues)}
    bonds = sorted((min(b[0].index, b[1].index), max(b[0].index, b[1].index)) for b in topology.bonds())
    polymer = {bond[k].residue for bond in topology.bonds() for k in (0, 1) if bond[0].residue is not bond[1].residue}
    return Atoms(
        np.array([a.name for a in listed]), np.array([a.element.symbol for a in listed]),
        np.array([place[a.residue] for a in listed], np.int64), x, np.array(bonds, np.int64).reshape(-1, 2),
        np.array([r.chain.id.strip() or "_" for r in residues]),
        np.array([f"{r.id}{(r.insertionCode or '').strip()}" for r in residues]),
        np.array([r.name for r in residues]), np.array([r not in polymer for r in residues], bool),
        np.zeros(len(listed)),
    )  # fmt: skip
