"""Molecules to look at: sticks in the colours of elements, and a ribbon along proteins in the colour of the chain."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bough.errors import OptionError
from bough.model import Model
from bough.types import FloatArray, IntArray
from bough.view.scene import Scene, scene
from bough.view.shapes import Shapes, balls, joined, rods, sized

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
WIDE, FLAT = 0.26, 0.04  # nm, of the ribbon in helices and strands
PIECES = 8  # of the ribbon between two peptide bonds
# degrees: phi and psi within so much of these
HELIX, STRAND = ((-63.0, -43.0), 35.0), ((-120.0, 135.0), 50.0)
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
    q = model.neutral if isinstance(shown, Molecule) else shown.q
    parts = _sticks(molecule, body, at, colour) + _ribbon(molecule, q)
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


def _in_bodies(T: FloatArray, body: IntArray, x: FloatArray) -> FloatArray:
    """(k, 3) where points x (k, 3) of the world are in the frames of bodies (k,) at placements T; -1 is the world."""
    local = np.einsum("kji,kj->ki", T[body, :3, :3], x - T[body, :3, 3])
    return np.where(body[:, None] >= 0, local, x)


def _sticks(molecule: Molecule, body: IntArray, at: FloatArray, colour: FloatArray) -> list[Shapes]:
    """Half a rod in the colour of each atom of a bond, on the group of that atom."""
    atoms = molecule.atoms
    bonds, parts, T = atoms.bonds, [], molecule.body_placements(molecule.model.neutral)
    for a, b in (bonds.T, bonds.T[::-1]):
        light = (atoms.element[a] == "H") | (atoms.element[b] == "H")
        far = _in_bodies(T, body[a], atoms.positions[b])
        parts.append(rods(body[a], at[a], (at[a] + far) / 2, np.where(light, THIN, STICK), colour[a]))
    return parts


def _ribbon(molecule: Molecule, q: FloatArray) -> list[Shapes]:
    """A tube from each alpha carbon to the next; in helices and strands at q, a flat ribbon.

    Each piece is on the group of the peptide bond that is nearest: tubes always join, ribbons where they are as at q.
    """
    atoms, chain = molecule.atoms, molecule.atoms.chain
    place = {name: {int(atoms.residue[k]): int(k) for k in np.flatnonzero(atoms.name == name)} for name in ("C", "O")}
    alpha = {int(atoms.residue[k]): int(k) for k in np.flatnonzero(atoms.name == "CA") if atoms.element[k] == "C"}
    rows = [
        (r, alpha[r], alpha[r + 1], place["C"][r], place["O"].get(r, place["C"][r])) for r in sorted(alpha)
        if r + 1 in alpha and r in place["C"] and chain[r] == chain[r + 1]
        and np.linalg.norm(atoms.positions[alpha[r]] - atoms.positions[alpha[r + 1]]) < FAR
    ]  # fmt: skip
    if not rows:
        return []
    residue, start, end, c, oxygen = np.array(rows, np.int64).T
    colour = CHAINS[np.unique(chain, return_inverse=True)[1][residue] % len(CHAINS)]
    body, T, x = molecule.points.body[c], molecule.body_placements(q), molecule.positions(q)
    kinds = _secondary_structure(molecule, q)
    runs = _runs(np.where(kinds[residue] == kinds[residue + 1], kinds[residue], 0), residue)
    flat = np.zeros(len(residue), bool)
    parts = []
    for a, b in runs:
        flat[a:b] = True
        middle, side = (x[start[a:b]] + x[end[a:b]]) / 2, x[oxygen[a:b]] - x[c[a:b]]
        parts.append(_band(T, body[a:b], np.stack([x[start[a]], *middle, x[end[b - 1]]]), side, colour[a]))
    first, last = (_in_bodies(T, body, x[k])[~flat] for k in (start, end))
    return [*parts, rods(body[~flat], first, last, np.full(len(first), TUBE), colour[~flat])]


def _runs(kinds: IntArray, residue: IntArray) -> list[tuple[int, int]]:
    """First and last (exclusive) places where one kind other than 0 holds for three consecutive residues at least."""
    ends = np.flatnonzero((np.diff(kinds) != 0) | (np.diff(residue) != 1)) + 1
    return [(a, b) for a, b in pairwise([0, *ends.tolist(), len(kinds)]) if b - a > 1 and kinds[a] > 0]


def _band(T: FloatArray, body: IntArray, guides: FloatArray, side: FloatArray, colour: FloatArray) -> Shapes:
    """Boxes along the cubic B-spline of guides (k + 2, 3) (Carson & Bugg 1986), on k bodies, flat along k sides."""
    for k in range(1, len(side)):
        side[k] *= np.sign(side[k] @ side[k - 1]) or 1.0
    t = np.linspace(0.0, len(guides) - 1.0, PIECES * (len(guides) - 1) + 1)
    # with a guide before the first and one after the last, so that the line begins and ends there
    offset = np.abs(t[:, None] - np.arange(-1, len(guides) + 1))
    weight = np.where(offset < 1.0, 2 / 3 - offset**2 + offset**3 / 2, np.maximum(2.0 - offset, 0.0) ** 3 / 6)
    more = [
        np.concatenate([2 * y[:1] - y[1:2], y, 2 * y[-1:] - y[-2:-1]])
        for y in (guides, side[[0, *range(len(side)), -1]])
    ]
    points, across = (weight @ y for y in more)
    way, middle, w = np.diff(points, axis=0), (points[1:] + points[:-1]) / 2, (across[1:] + across[:-1]) / 2
    length = np.linalg.norm(way, axis=1)
    z = way / length[:, None]
    w = w - z * np.sum(w * z, axis=1, keepdims=True)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    own = body[np.clip(np.rint((t[1:] + t[:-1]) / 2).astype(int) - 1, 0, len(body) - 1)]
    R = np.stack([w, np.cross(z, w), z], axis=-1)
    R = np.where(own[:, None, None] >= 0, np.swapaxes(T[own, :3, :3], 1, 2) @ R, R)
    size = np.column_stack([np.full(len(z), WIDE), np.full(len(z), FLAT), 1.15 * length])
    return Shapes("box", own, sized(R, _in_bodies(T, own, middle), size), np.tile(colour, (len(own), 1)))


def _secondary_structure(molecule: Molecule, q: FloatArray) -> IntArray:
    """(residues,) 1 in helices, 2 in strands, 0 elsewhere, by phi and psi."""
    atoms, found = molecule.atoms, np.zeros(len(molecule.atoms.chain), np.int64)
    keys = [atoms.residue_key(r) for r in range(len(found))]
    both = [
        r for r, key in enumerate(keys) if f"{key}/phi" in molecule.dihedrals and f"{key}/psi" in molecule.dihedrals
    ]
    names = [f"{keys[r]}/{word}" for r in both for word in ("phi", "psi")]
    angles = np.degrees(molecule.angles(q, names)).reshape(-1, 2)
    for kind, (center, width) in ((1, HELIX), (2, STRAND)):
        off = np.remainder(angles - center + 180.0, 360.0) - 180.0
        found[np.array(both, np.int64)[(np.abs(off) < width).all(axis=1)]] = kind
    return found
