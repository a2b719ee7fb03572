"""Energies of atoms as functions of q: their sum, and its gradient in torsion space."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.errors import OptionError, ShapeError, short
from bough.molecules.restraints import Restraint, RestraintEnergy, distance
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule

# x (atoms, 3) in nm -> energy in kJ/mol and forces (atoms, 3)
AtomEnergy = Callable[[FloatArray], tuple[float, FloatArray]]
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
    """What a user gives as an energy, and restraints, as energies of atoms.

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
    """Stiff distances for bonds that close loops, and for the angles at their ends."""
    x, found = molecule.atoms.positions, []
    for a, b in molecule.loop_distances:
        length = float(np.linalg.norm(x[a] - x[b]))
        found.append(distance(a, b, lower=length, upper=length, stiffness=BRIDGE, linear=math.inf))
    return found
