"""Minimising in torsion space: clashes are eased first, then the energy falls to a minimum nearby."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bough.adaptive.lbfgs import minimize_energy
from bough.molecules.energy import AtomEnergy, TorsionEnergy
from bough.molecules.repulsion import Repulsion
from bough.molecules.trajectory import Trajectory
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

CLASH = 0.7  # of the sum of van der Waals radii: atoms that are closer lie in each other
EASING = 100  # calls of the repulsion alone, which take no time beside those of a force field
CAP = 100.0  # kJ/mol an atom: forces of higher energies are scaled down
MOST_FRAMES = 200  # that are kept of a search


def minimize(
    molecule: Molecule, terms: list[AtomEnergy], q: npt.ArrayLike | None, *, force: float, calls: int, ease: bool
) -> Trajectory:
    """See `Molecule.minimize`."""
    start = molecule.start(q)
    if ease:
        start = eased(molecule, start)
    energy, seen = TorsionEnergy(molecule, terms), Visited()
    cap = CAP * len(molecule.atoms) if ease else math.inf

    def watched(at: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = energy(at)
        seen.add(at, value, energy.calls)
        if value > cap:  # grows like its logarithm, with a continuous slope: minima are the same
            value, gradient = cap * (1.0 + math.log(value / cap)), cap / value * gradient
        return value, gradient

    found = minimize_energy(molecule.model, watched, start, force=force, calls=calls)
    last = found.energy if found.energy <= cap else cap * math.exp(found.energy / cap - 1.0)
    frames, energies, when = seen.until(found.q, last, found.calls)
    return Trajectory(molecule, frames, energies, when, "calls", found.converged, found.reason, found.calls)


def eased(molecule: Molecule, q: FloatArray) -> FloatArray:
    """q where no atoms lie in each other, near the one given; the same if none do."""
    repulsion = Repulsion(molecule, scale=CLASH)
    if repulsion(molecule.positions(q))[0] == 0.0:
        return q
    return minimize_energy(molecule.model, TorsionEnergy(molecule, [repulsion]), q, calls=EASING).q


class Visited:
    """Configurations of a search that were the best so far."""

    def __init__(self) -> None:
        self._frames: list[tuple[FloatArray, float, int]] = []

    def add(self, q: FloatArray, energy: float, call: int) -> None:
        """Keep q if its energy is the lowest; every second is dropped where there are too many."""
        if not self._frames or energy < self._frames[-1][1]:
            self._frames.append((np.array(q), energy, call))
            if len(self._frames) > 2 * MOST_FRAMES:
                del self._frames[1::2]

    def until(self, q: FloatArray, energy: float, call: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Configurations, energies and calls, up to this last one."""
        frames = [frame for frame in self._frames if frame[1] > energy] + [(q, energy, call)]
        return tuple(np.array(column, float) for column in zip(*frames, strict=True))  # type: ignore[return-value]
