"""Protein-like linkages: a backbone with two torsions a residue, side chains of two or three; no loop over bodies."""

from __future__ import annotations

import numpy as np

from bough.model import Model
from bough.types import FloatArray, IntArray
from bough.zoo.geometry import Geometry, Screws, from_second_moments, generator, model_of, placements, sized

SIDE = 560.0 / 214.0  # joints of side chains a residue, as in adenylate kinase without its base
BOND, BEND = 0.15, np.arccos(1.0 / 3.0)  # nm, and the angle between one bond and the next
HELIX, STRAND = (-1.0, -0.8), (-2.1, 2.3)  # torsions of a residue, rad


def protein(residues: int = 214, seed: int = 0) -> Model:
    """A protein-like linkage: 4.6 joints a residue, which turn about bonds of 0.15; 214 residues have 988 joints.

    Two joints of each residue are in the backbone, joint k of which turns body k, and the others in a side chain on the
    first of them: bodies of side chains come after the backbone. It is stretched; `fold` has torsions.
    """
    sized("protein", "residues", residues, 5 * sized("protein", "residues", residues))
    rng = generator("protein", seed)
    parent, spine = _bonds(residues), 2 * residues
    n, on_spine = len(parent), np.arange(len(parent)) < 2 * residues
    leaves = ~on_spine & (parent < spine)
    zero = np.zeros(n)
    psi = np.where(leaves, 2.0 * np.pi / 3.0, 0.0)
    alpha = np.where(np.arange(n) % 2 == 0, BEND, -BEND) + rng.normal(0.0, 0.02, n)
    length = np.where(parent < 0, 0.0, BOND)
    shape = placements(Screws(psi, zero, alpha, zero, zero, length))
    mass = np.where(on_spine, rng.uniform(1.2, 2.8, n), rng.uniform(1.2, 1.6, n))
    middle = 0.5 * BOND * np.array([0.0, 0.0, 1.0]) + 0.02 * rng.normal(size=(n, 3))
    second = middle[:, :, None] * middle[:, None, :] + 0.06**2 * np.eye(3)
    return model_of("protein", parent, Geometry(*shape, from_second_moments(mass, middle, second)))


def _bonds(residues: int) -> IntArray:
    """Parents: the backbone in a row, then the side chains of one residue after the other."""
    ends = np.floor(SIDE * np.arange(1, residues + 1) + 1e-9).astype(np.int64)
    count = np.diff(ends, prepend=0)
    first = np.repeat(ends - count, count)
    place = np.arange(ends[-1])
    side = np.where(place == first, 2 * np.repeat(np.arange(residues), count), 2 * residues + place - 1)
    return np.concatenate([np.arange(-1, 2 * residues - 1), side])


def fold(residues: int = 214, seed: int = 0) -> FloatArray:
    """Torsions (n,) of a `protein` with helices and strands of 6 to 14 residues, and turns between them."""
    rng, n = generator("protein", seed, 2), len(_bonds(residues))
    kind, at = np.zeros((residues, 2)), 0
    while at < residues:
        size, shape = int(rng.integers(6, 15)), HELIX if rng.integers(2) else STRAND
        kind[at : at + size] = shape
        kind[at + size : at + size + 2] = rng.uniform(-np.pi, np.pi, 2)
        at += size + 2
    q = rng.normal(0.0, 0.6, n)
    q[: 2 * residues] = kind.ravel() + rng.normal(0.0, 0.15, 2 * residues)
    return q
