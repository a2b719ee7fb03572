"""Energies of atoms as functions of q: their sum, its gradient in torsion space, and a minimum of it nearby."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.lbfgs import minimize_energy
from bough.errors import OptionError, ShapeError, short
from bough.molecules.repulsion import Repulsion
from bough.molecules.restraints import Restraint, RestraintEnergy, distance, plane
from bough.molecules.writing import Trajectory
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

# x (atoms, 3) in nm -> energy in kJ/mol and forces (atoms, 3)
AtomEnergy = Callable[[FloatArray], tuple[float, FloatArray]]
CLASH = 0.7  # of the sum of van der Waals radii: atoms that are closer lie in each other
EASING = 100  # calls of the repulsion alone, which take no time beside those of a force field
CAP = 100.0  # kJ/mol an atom: forces of higher energies are scaled down
MOST_FRAMES = 200  # that are kept of a search
BRIDGE = 50_000.0  # kJ/mol/nm^2: what holds a bond that the tree does not hold


class TorsionEnergy:
    """A sum of energies of atoms as a function q (nq,) -> (energy, gradient (nv,)), gradient = -J' F.

    `calls` counts evaluations.
    """

    def __init__(self, molecule: Molecule, terms: Iterable[AtomEnergy]) -> None:
        self.molecule, self.terms, self.calls = molecule, list(terms), 0
        self.last = math.nan  # the energy found last

    def forces(self, q: FloatArray) -> tuple[float, FloatArray]:
        """The energy and the forces (atoms, 3) on atoms."""
        self.calls += 1
        x = self.molecule.positions(q)
        energy, F = 0.0, np.zeros_like(x)
        for term in self.terms:
            add = getattr(term, "add", None)
            if add is not None:
                energy += add(x, F, q)
                continue
            found: object = term(x)
            if not isinstance(found, tuple | list) or len(found) != 2:
                raise ShapeError(f"an energy gave {short(repr(found))}, expected (energy, forces {F.shape})")
            own, forces = found
            if np.shape(forces) != F.shape:
                raise ShapeError(f"an energy gave forces of shape {np.shape(forces)}, expected {F.shape}")
            energy += float(own)
            F += forces
        self.last = energy
        return energy, F

    def __call__(self, q: FloatArray) -> tuple[float, FloatArray]:
        """The energy (kJ/mol) and its gradient (nv,)."""
        energy, F = self.forces(q)
        return energy, -self.molecule.generalized_forces(q, F)


def terms_of(molecule: Molecule, energy: Any, restraints: Iterable[Restraint]) -> list[AtomEnergy]:
    """Energies of atoms from an energy or a callable, and from restraints.

    An energy is None, a function of atoms, a force field that is bound to the molecule here (`OpenMM`), or several.
    Bonds that the tree does not hold, such as disulphides, are held by stiff distances.
    """
    given = [] if energy is None else list(energy) if isinstance(energy, list | tuple) else [energy]
    terms: list[AtomEnergy] = []
    for each in given:
        bind = getattr(each, "on", None)
        found = each if bind is None else bind(molecule)
        if not callable(found):
            raise OptionError(f"an energy is OpenMM(...) or a function x -> (energy, forces), got {each!r}")
        terms.append(found)
    held = [*([restraints] if isinstance(restraints, Restraint) else restraints), *bridges(molecule)]
    if held:
        terms.append(RestraintEnergy(molecule, held))
    if not terms:
        raise OptionError("there is nothing to minimise: give an energy or restraints")
    return terms


def bridges(molecule: Molecule) -> list[Restraint]:
    """Stiff distances for bonds that close loops and for the angles at their ends, and planes where these are flat."""
    x, found = molecule.atoms.positions, []
    for a, b in molecule.groups.held.tolist():
        length = float(np.linalg.norm(x[a] - x[b]))
        found.append(distance(a, b, lower=length, upper=length, stiffness=BRIDGE, linear=math.inf))
    return found + [plane(quad, stiffness=BRIDGE) for quad in molecule.groups.flat.tolist()]


def minimize(
    molecule: Molecule, terms: list[AtomEnergy], q: npt.ArrayLike | None, *, force: float, calls: int, ease: bool
) -> Trajectory:
    """See `Molecule.minimize`."""
    start = molecule.start(q)
    if ease:
        start = eased(molecule, start)
    energy, seen = TorsionEnergy(molecule, terms), list[tuple[FloatArray, float, int]]()
    capped = CAP * len(molecule.atoms) if ease else math.inf

    def watched(at: FloatArray, cap: float = math.inf) -> tuple[float, FloatArray]:
        value, gradient = energy(at)
        if not seen or value < seen[-1][1]:
            seen.append((np.array(at), value, energy.calls))
            if len(seen) > 2 * MOST_FRAMES:
                del seen[1::2]
        if value > cap:  # grows like its logarithm, with a continuous slope: minima are the same
            value, gradient = cap * (1.0 + math.log(value / cap)), cap / value * gradient
        return value, gradient

    found = minimize_energy(molecule.model, partial(watched, cap=capped), start, force=force, calls=calls)
    if found.energy > capped:  # a clash that nothing resolves: the rest has its own minimum
        found = minimize_energy(molecule.model, watched, found.q, force=force, calls=max(1, calls - energy.calls))
    rows = [*(row for row in seen if row[1] > found.energy), (found.q, found.energy, energy.calls)]
    frames, energies, when = (np.array(column, float) for column in zip(*rows, strict=True))
    return Trajectory(molecule, frames, energies, when, "calls", found.converged, found.reason, energy.calls)


def eased(molecule: Molecule, q: FloatArray) -> FloatArray:
    """q where no atoms lie in each other, near the one given; the same if none do."""
    repulsion = Repulsion(molecule, scale=CLASH)
    if repulsion(molecule.positions(q))[0] == 0.0:
        return q
    return minimize_energy(molecule.model, TorsionEnergy(molecule, [repulsion]), q, calls=EASING).q
