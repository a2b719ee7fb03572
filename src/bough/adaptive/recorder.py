"""Samples of a run, kept and written as npz or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import SettingError
from bough.record import write_arrays, write_table


class Recorder:
    """Positions of some bodies, and what each sample cost, every few steps of `QuasiStatics.run(..., record=...)`."""

    def __init__(self, bodies: Sequence[str | int] = (), every: int = 1, configuration: bool = False) -> None:
        if every < 1:
            raise SettingError(f"every must be at least 1 step, got {every}")
        self.bodies, self.every, self.keeps_q = list(bodies), every, configuration
        self.samples: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return f"Recorder of {len(self.bodies)} bodies every {self.every} steps: {len(self.samples)} samples"

    def take(self, sim: Any) -> None:
        """One sample of the present state."""
        found = sim.stats.sample
        row = {"step": found.pop("steps"), **found}
        row["positions"] = sim.positions(self.bodies)
        if self.keeps_q:
            row["q"] = sim.configuration
        self.samples.append(row)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All samples, by name: step, time, positions (samples, bodies, 3), q, and what `stats` has: joints, bound and
        seconds, or of a motion active, acceleration_error, energy_lost, energy and momentum."""
        names = self.samples[0] if self.samples else ()
        return {name: np.array([row[name] for row in self.samples]) for name in names}

    def save(self, path: str | Path, source: str = "") -> None:
        """Write .npz or .parquet, by the ending of the name; a file that is there is replaced as a whole.

        `source` says how the model was made or where it was read, for those who play the recording.
        """
        path, arrays, bodies = Path(path), self.arrays(), [str(b) for b in self.bodies]
        if path.suffix == ".npz":
            origin = {"source": np.array(source)} if source else {}
            write_arrays(path, arrays | {"bodies": np.array(bodies)} | origin)
        elif path.suffix == ".parquet":
            _write_parquet(path, arrays, bodies, source)
        else:
            raise SettingError(f"a recording is saved as .npz or .parquet, got {str(path)!r}")


def _write_parquet(path: Path, arrays: dict[str, npt.NDArray[Any]], bodies: list[str], source: str) -> None:
    """One row for each sample; positions as columns "body.x", "body.y", "body.z", q as a list."""
    positions = arrays.pop("positions", np.zeros((0, 0, 3)))
    columns: dict[str, Any] = {name: a.tolist() for name, a in arrays.items()}
    for k, body in enumerate(bodies):
        columns |= {f"{body}.{axis}": positions[:, k, i] for i, axis in enumerate("xyz")}
    write_table(path, columns, {"source": source} if source else None)
