"""`Trajectory`: configurations of a molecule one after another, with their energies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bough.molecules.writing import write
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.molecules.molecule import Molecule


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What minimising, annealing, sampling or pulling went through; the last configuration is the result."""

    molecule: Molecule
    frames: FloatArray  # (frames, nq)
    energies: FloatArray  # (frames,) potential energy in kJ/mol
    time: FloatArray  # (frames,) ps; of a search, calls of the energy
    unit: str = "ps"
    converged: bool = True
    reason: str = ""  # why a search ended
    calls: int = 0  # of the energy
    v: FloatArray | None = None  # (nv,) velocities at the end of dynamics
    tracks: dict[str, FloatArray] = field(default_factory=dict)  # (frames,) each: what else is worth a plot

    def __repr__(self) -> str:
        return (
            f"Trajectory({self.molecule.model.name!r}, {len(self.frames)} frames, last energy {self.energy:.6g} kJ/mol)"
        )

    @property
    def q(self) -> FloatArray:
        """(nq,) the last configuration."""
        return self.frames[-1]

    @property
    def energy(self) -> float:
        """kJ/mol, of the last configuration."""
        return float(self.energies[-1])

    @property
    def positions(self) -> FloatArray:
        """(atoms, 3) nm, of the last configuration."""
        return self.molecule.positions(self.q)

    def write(self, path: str | Path) -> Path:
        """Write the last configuration (.pdb, .cif, .mmcif), or all of them (.dcd)."""
        if Path(path).suffix == ".dcd":
            interval = float(np.diff(self.time).mean()) if len(self.time) > 1 else 1.0
            return write(path, self.molecule.atoms, self.molecule.positions(self.frames), interval)
        return write(path, self.molecule.atoms, self.positions[None])
