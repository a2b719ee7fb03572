"""Pulling atoms by springs, adaptively: joints that matter little are locked (Redon & Lin 2005).

Adaptive simulation has no closures that keep a distance, so other springs hold the bonds that close loops.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.adaptive import QuasiStatics
from bough.adaptive.restraints import Restraints
from bough.arguments import explained
from bough.errors import SettingError, ShapeError
from bough.model import Model
from bough.molecules.writing import Trajectory
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule


BALL = 0.033  # nm, root mean square along an axis
STIFFER = 100.0  # springs that hold bonds, beside those that pull


def with_balls(model: Model) -> Model:
    """The model with atoms as balls: the assembly tree needs bodies that resist every turn, as points do not.

    Quasi-statics ends where forces vanish, whatever the inertias are.
    """
    inertias = np.array(model.inertias)
    inertias[:, [4, 6, 9]] += 2.0 * BALL**2 * inertias[:, :1]
    return replace(model.with_inertias(inertias), closures=())


@explained
class Pull:
    """Springs (kJ/mol/nm^2) from atoms to targets (k, 3); each step of pseudo-time h (ps^2) gives way to them.

    `simulation` is the `QuasiStatics`, and `springs` its restraints, whose `targets` may be moved between steps.
    """

    def __init__(self, molecule: Molecule, atoms: Any, to: npt.ArrayLike, error: Any, stiffness: float) -> None:
        chosen = molecule.atoms.select(atoms)
        target = np.atleast_2d(np.asarray(to, float))
        if target.shape != (len(chosen), 3):
            raise ShapeError(f"pull: expected targets ({len(chosen)}, 3), got {target.shape}")
        group = molecule.groups.group[chosen]
        if (group < 0).any():
            raise SettingError(f"pull: {molecule.atoms.key(int(chosen[group < 0][0]))} is fixed")
        method = "auto" if error is None else "adaptive"
        self.molecule, self.simulation = molecule, QuasiStatics(with_balls(molecule.model), error, method)
        bodies, points = self._on_bodies(chosen)
        self.springs = self.simulation.restraints(bodies, target, stiffness, points=points)
        self.bonds = self._hold_bonds(STIFFER * stiffness)

    def _on_bodies(self, atoms: IntArray) -> tuple[list[str | int], FloatArray]:
        """The bodies of atoms, and their places there."""
        group = self.molecule.groups.group[atoms]
        bodies: list[str | int] = [self.molecule.bodies[g] for g in group.tolist()]
        return bodies, self.molecule.atoms.positions[atoms] - self.molecule.origins[group]

    def _hold_bonds(self, stiffness: float) -> list[Restraints]:
        """Springs that keep the distances at bonds beside the tree, between groups that move, and to fixed atoms."""
        x, group, found = self.molecule.atoms.positions, self.molecule.groups.group, []
        a, b = self.molecule.groups.held.T
        a, b = np.where(group[a] < 0, b, a), np.where(group[a] < 0, a, b)
        length = np.linalg.norm(x[a] - x[b], axis=1)
        for mine, is_fixed in (
            ((group[a] != group[b]) & (group[b] >= 0), False),
            ((group[a] >= 0) & (group[b] < 0), True),
        ):
            if mine.any():
                bodies, points = self._on_bodies(a[mine])
                others, ends = (None, None) if is_fixed else self._on_bodies(b[mine])
                targets = x[b[mine]] if is_fixed else None
                found.append(
                    self.simulation.restraints(
                        bodies, targets, stiffness, points=points, others=others, other_points=ends, length=length[mine]
                    )
                )
        return found

    def load(self, simulation: Any) -> float:
        """Set the forces of all springs, and return their energy."""
        springs = [self.springs, *self.bonds]
        for each in springs:
            each(simulation)
        return sum(each.energy for each in springs)

    def run(self, steps: int, h: float, every: int = 1) -> Trajectory:
        """So many steps; a frame after each `every` of them."""
        if steps < 1 or every < 1:
            raise SettingError(f"steps and every must be 1 at least, got {steps} and {every}")
        sim, rows, load = self.simulation, [], self.load if self.bonds else self.springs
        self.springs(sim)
        rows.append((0.0, sim.configuration, self.springs.energy, 0.0))
        for done in range(0, steps, every):
            sim.run(min(every, steps - done), h=h, load=load)
            rows.append((sim.pseudo_time, sim.configuration, self.springs.energy, float(sim.stats.active)))
        time, frames, energies, active = (np.array(column) for column in zip(*rows, strict=True))
        return Trajectory(self.molecule, frames, energies, time, "ps^2", tracks={"active joints": active})
