"""Adenylate kinase, an enzyme that closes over what it works on: a linkage of torsions from measured coordinates."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from bough.errors import unknown_option
from bough.model import Model
from bough.types import FloatArray
from bough.zoo.elastic import HINGE, frames_along
from bough.zoo.geometry import Geometry, Naming, from_second_moments, hung, model_of

FORMS = ("open", "closed")
MASS = {"C": 12.011, "N": 14.007, "O": 15.999, "S": 32.06, "H": 1.008}  # u
BALL = 0.033  # nm, of the mean square along an axis: three hydrogens about a carbon
RING = "CA:1,CB:2,CG:2,CD:2"  # of proline, which does not turn about its bond N-CA
AROMATIC = "CA-CB:2 CB-CG,CD1:1,CD2:1,CE1:1,CE2:1,CZ"
# A word for each bond about which a side chain turns: its atoms, then what turns with the second; hydrogens by number.
SIDE = {
    "ALA": "CA-CB:3",
    "ARG": "CA-CB:2 CB-CG:2 CG-CD:2 CD-NE:1,CZ,NH1:2,NH2:2",
    "ASN": "CA-CB:2 CB-CG,OD1,ND2:2",
    "ASP": "CA-CB:2 CB-CG,OD1,OD2",
    "CYS": "CA-CB:2 CB-SG:1",
    "GLN": "CA-CB:2 CB-CG:2 CG-CD,OE1,NE2:2",
    "GLU": "CA-CB:2 CB-CG:2 CG-CD,OE1,OE2",
    "GLY": "",
    "HIS": "CA-CB:2 CB-CG,ND1:1,CD2:1,CE1:1,NE2",
    "ILE": "CA-CB:1 CB-CG1:2 CB-CG2:3 CG1-CD1:3",
    "LEU": "CA-CB:2 CB-CG:1 CG-CD1:3 CG-CD2:3",
    "LYS": "CA-CB:2 CB-CG:2 CG-CD:2 CD-CE:2 CE-NZ:3",
    "MET": "CA-CB:2 CB-CG:2 CG-SD SD-CE:3",
    "PHE": f"{AROMATIC}:1",
    "PRO": "",
    "SER": "CA-CB:2 CB-OG:1",
    "THR": "CA-CB:1 CB-OG1:1 CB-CG2:3",
    "TYR": f"{AROMATIC} CZ-OH:1",
    "VAL": "CA-CB:1 CB-CG1:3 CB-CG2:3",
}


def adenylate_kinase(form: str = "open") -> Model:
    """Adenylate kinase of E. coli, "open" (PDB entry 4AKE) or "closed" (1AKE) at q = 0: 214 residues, 988 DoF.

    982 bonds turn, after a free first body: phi (not that of prolines) and psi of each residue, and all of the side
    chains, with methyl, hydroxyl and amino groups at their ends. Lengths are in nm and masses in u, so energies are in
    kJ/mol where times are in ps; gravity is off. Hydrogens are lumped with their atoms. A body is named after its
    residue and the atom at its origin, such as "GLY7.CA"; all alpha carbons are frames. Both forms lie core on core.
    """
    if form not in FORMS:
        raise unknown_option(f"adenylate_kinase: there is no form {form!r}", form, FORMS)
    kinds, place = _atoms(FORMS.index(form))
    groups, axes = _groups(kinds)
    number = {atom: k for k, group in enumerate(groups) for atom in group}
    parent = np.array([-1, *(number[a] for a, _ in axes)])
    origin = np.array([place[next(iter(group))] for group in groups])
    arm = origin[1:] - np.array([place[a] for a, _ in axes])
    turned = frames_along(arm / np.linalg.norm(arm, axis=1, keepdims=True), np.zeros(len(arm))) @ HINGE["x"]
    frame = np.concatenate([np.eye(3)[None], turned])
    inertia = np.concatenate([_inertia(*each, place) for each in zip(groups, origin, frame, strict=True)])
    named = {atom: f"{kinds[int(atom.split('.')[0]) - 1]}{atom}" for atom in place}
    bodies = tuple(named[next(iter(group))] for group in groups)
    joints = ("base", *(f"{named[a]}-{b.split('.')[1]}" for a, b in axes))
    shape = Geometry(*hung(parent, frame, origin), inertia)
    model = model_of("adenylate_kinase", parent, shape, Naming(bodies, joints, {}), floating=True)
    for atom in (f"{k}.CA" for k, kind in enumerate(kinds, 1) if kind == "PRO"):
        on = number[atom]
        model = model.with_frame(named[atom], bodies[on], (frame[on].T @ (place[atom] - origin[on])).tolist())
    return model.with_gravity((0.0, 0.0, 0.0))


def _atoms(form: int) -> tuple[list[str], dict[str, FloatArray]]:
    """Kinds of the residues, and where their atoms are, named as 7.CA (nm)."""
    text = files("bough.zoo").joinpath("adenylate_kinase.txt").read_text("utf8")
    kinds: list[str] = []
    place: dict[str, FloatArray] = {}
    for words in (line.split() for line in text.splitlines() if not line.startswith("#")):
        if len(words) == 1:
            kinds += words
        else:
            place[f"{len(kinds)}.{words[0]}"] = np.array([1e-4 * int(w) for w in words[1 + 3 * form : 4 + 3 * form]])
    return kinds, place


def _groups(kinds: list[str]) -> tuple[list[dict[str, int]], list[tuple[str, str]]]:
    """Atoms that move as one, with the hydrogens on each, and the bond about which each group but the first turns."""
    groups, axes, last = [{"1.N": 3}], [], 0
    for k, kind in enumerate(kinds, 1):
        if kind == "PRO":
            groups[last].update(_turning(f"-{RING}", k))
        else:
            groups.append(_turning("-CA:2" if kind == "GLY" else "-CA:1", k))
            axes.append((f"{k}.N", f"{k}.CA"))
        for word in ("CA-C,O", *SIDE[kind].split()):
            groups.append(_turning(word, k))
            axes.append((f"{k}.{word.split('-')[0]}", next(iter(groups[-1]))))
            if word == "CA-C,O":
                last = len(groups) - 1
        if k < len(kinds):
            groups[last][f"{k + 1}.N"] = int(kinds[k] != "PRO")
    return groups, axes


def _turning(word: str, residue: int) -> dict[str, int]:
    """The atoms that turn about a bond: their names, and their hydrogens."""
    atoms = (part.partition(":") for part in word.split("-")[1].split(","))
    return {f"{residue}.{name}": int(hydrogens or 0) for name, _, hydrogens in atoms}


def _inertia(group: dict[str, int], origin: FloatArray, frame: FloatArray, place: dict[str, FloatArray]) -> FloatArray:
    """(1, 10) of balls where the atoms are."""
    mass = np.array([MASS[atom.split(".")[1][0]] + MASS["H"] * h for atom, h in group.items()])
    share, at = mass / mass.sum(), (np.array([place[atom] for atom in group]) - origin) @ frame
    second = np.einsum("k,ki,kj->ij", share, at, at) + BALL**2 * np.eye(3)
    return from_second_moments(mass.sum(keepdims=True), (share @ at)[None], second[None])
