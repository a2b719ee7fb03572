"""Molecules to look at: sticks in the colours of elements, a tube through the alpha carbons in that of the chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bough.errors import OptionError
from bough.model import Model
from bough.types import FloatArray, IntArray
from bough.view.scene import Scene, scene
from bough.view.shapes import Shapes, balls, joined, rods

if TYPE_CHECKING:
    from bough.molecules import Molecule, Trajectory

ELEMENTS = {
    "H": (0.92, 0.92, 0.92), "N": (0.25, 0.4, 0.95), "O": (0.9, 0.25, 0.2), "S": (0.9, 0.78, 0.2),
    "P": (0.95, 0.55, 0.15),
}  # fmt: skip
OTHERS = (0.75, 0.35, 0.7)
CHAINS = np.array(
    [(0.27, 0.6, 0.55), (0.85, 0.55, 0.3), (0.45, 0.5, 0.75), (0.75, 0.45, 0.6), (0.55, 0.65, 0.3), (0.6, 0.5, 0.4)]
)
STICK, THIN, TUBE = 0.03, 0.015, 0.09  # nm, diameters
FAR = 0.42  # nm: alpha carbons that are farther apart are not neighbours


def page(shown: Scene | Model | Molecule | Trajectory, path: str | Path | None = None) -> Scene:
    """A scene of a model, a molecule, or a trajectory with its energy beside it; with a `path`, also a page."""
    from bough.molecules import Molecule, Trajectory

    if isinstance(shown, Molecule | Trajectory):
        found = molecule_scene(shown)
    elif isinstance(shown, Model):
        found = scene(shown)
    elif isinstance(shown, Scene):
        found = shown
    else:
        raise OptionError(f"page shows a model, a molecule, a trajectory or a scene, got {type(shown).__name__}")
    if path is not None:
        found.save_html(path)
    return found


def molecule_scene(shown: Molecule | Trajectory) -> Scene:
    """Atoms, bonds and chains of a molecule; bonds that turn are drawn on the group that carries them."""
    from bough.molecules import Molecule

    molecule = shown if isinstance(shown, Molecule) else shown.molecule
    model, atoms = molecule.model, molecule.atoms
    colour = _colours(molecule)
    body, at = molecule.points.body, molecule.points.p
    parts = _sticks(molecule, body, at, colour) + _tubes(molecule, body, at)
    center = balls(body, at, np.where(atoms.element == "H", 2 * THIN, 1.5 * STICK), colour)
    bare = scene(model, pieces=[], title=model.name)
    facts = {
        "chains": f"{len(set(atoms.chain.tolist())):,}", "residues": f"{len(atoms.chain):,}",
        "atoms": f"{len(atoms):,}", "degrees of freedom": f"{model.nv:,}",
        "mass": f"{atoms.masses.sum():,.0f} Da", "units": "nm, Da, ps, kJ/mol",
    }  # fmt: skip
    found = replace(bare, shapes=joined([center, *parts]), facts=facts, notes=molecule.notes)
    if isinstance(shown, Molecule):
        return found
    tracks = {"energy, kJ/mol": shown.energies, **shown.tracks}
    return found.playing(shown.time, shown.frames, tracks, unit=shown.unit)


def _colours(molecule: Molecule) -> FloatArray:
    """(atoms, 3): carbon in the colour of its chain, others in that of the element."""
    atoms = molecule.atoms
    _, chain = np.unique(atoms.chain, return_inverse=True)
    own = CHAINS[chain[atoms.residue] % len(CHAINS)]
    table = np.array([ELEMENTS.get(str(e), OTHERS) for e in atoms.element])
    return np.where((atoms.element == "C")[:, None], own, table)


def _seat(molecule: Molecule, carrier: IntArray, atom: IntArray) -> FloatArray:
    """(k, 3) where atoms of the structure read are in the frames of other atoms' bodies."""
    x = molecule.atoms.positions
    T = molecule.body_placements
    body = molecule.points.body[carrier]
    local = np.einsum("kji,kj->ki", T[body, :3, :3], x[atom] - T[body, :3, 3])
    return np.where(body[:, None] >= 0, local, x[atom])


def _sticks(molecule: Molecule, body: IntArray, at: FloatArray, colour: FloatArray) -> list[Shapes]:
    """Half a rod in the colour of each atom of a bond; both lie on the atom's own group: the bond is its axis."""
    atoms = molecule.atoms
    bonds, parts = molecule.groups.kept, []
    for a, b in (bonds.T, bonds.T[::-1]):
        light = (atoms.element[a] == "H") | (atoms.element[b] == "H")
        far = _seat(molecule, a, b)
        parts.append(rods(body[a], at[a], (at[a] + far) / 2, np.where(light, THIN, STICK), colour[a]))
    return parts


def _tubes(molecule: Molecule, body: IntArray, at: FloatArray) -> list[Shapes]:
    """From each alpha carbon to the next: both lie in the plane of the peptide bond, on the group of the carbon C."""
    atoms, chain = molecule.atoms, molecule.atoms.chain
    alpha = {int(atoms.residue[k]): int(k) for k in np.flatnonzero(atoms.name == "CA") if atoms.element[k] == "C"}
    carbonyl = {int(atoms.residue[k]): int(k) for k in np.flatnonzero(atoms.name == "C")}
    rows = [
        (carbonyl[r], alpha[r], alpha[r + 1]) for r in alpha
        if r + 1 in alpha and r in carbonyl and chain[r] == chain[r + 1]
        and np.linalg.norm(atoms.positions[alpha[r]] - atoms.positions[alpha[r + 1]]) < FAR
    ]  # fmt: skip
    if not rows:
        return []
    c, start, end = np.array(rows, np.int64).T
    _, number = np.unique(chain, return_inverse=True)
    colour = CHAINS[number[atoms.residue[c]] % len(CHAINS)]
    return [rods(body[c], _seat(molecule, c, start), _seat(molecule, c, end), np.full(len(c), TUBE), colour)]
