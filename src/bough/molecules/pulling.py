"""Pulling atoms by springs, adaptively: joints that matter little are locked (Redon & Lin 2005)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.adaptive import QuasiStatics
from bough.arguments import explained
from bough.errors import SettingError, ShapeError
from bough.model import Model
from bough.molecules.writing import Trajectory

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule


BALL = 0.033  # nm, root mean square along an axis


def with_balls(model: Model) -> Model:
    """The model with atoms as balls: the assembly tree needs bodies that resist every turn, as points do not.

    Quasi-statics ends where forces vanish, whatever the inertias are.
    """
    inertias = np.array(model.inertias)
    inertias[:, [4, 6, 9]] += 2.0 * BALL**2 * inertias[:, :1]
    return model.with_inertias(inertias)


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
        bodies = [molecule.bodies[g] for g in group.tolist()]
        points = molecule.atoms.positions[chosen] - molecule.origins[group]
        self.springs = self.simulation.restraints(bodies, target, stiffness, points=points)

    def run(self, steps: int, h: float, every: int = 1) -> Trajectory:
        """So many steps; a frame after each `every` of them."""
        if steps < 1 or every < 1:
            raise SettingError(f"steps and every must be 1 at least, got {steps} and {every}")
        sim, rows = self.simulation, []
        self.springs(sim)
        rows.append((0.0, sim.configuration, self.springs.energy, 0.0))
        for done in range(0, steps, every):
            sim.run(min(every, steps - done), h=h, load=self.springs)
            rows.append((sim.pseudo_time, sim.configuration, self.springs.energy, float(sim.stats.active)))
        time, frames, energies, active = (np.array(column) for column in zip(*rows, strict=True))
        return Trajectory(self.molecule, frames, energies, time, "ps^2", tracks={"active joints": active})
