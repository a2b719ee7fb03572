"""Recordings: a motion with what was done to it, its energy and momentum, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.dynamics.dynamics import Dynamics
from bough.errors import MissingExtraError, ModelError, ShapeError
from bough.model import Model

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recording:
    """A motion: time (T,), q (T, nq), v (T, nv), tau (T, nv); with many states (T, batch, ...)."""

    model: Model
    time: Array
    q: Array
    v: Array
    tau: Array
    extra: dict[str, Array] = field(default_factory=dict)

    def energy(self) -> Array:
        """Kinetic and potential energy (T,) in joules."""
        dynamics = Dynamics(self.model, general=True)
        flat = self.q.reshape(-1, self.q.shape[-1]), self.v.reshape(-1, self.v.shape[-1])
        total = dynamics.kinetic_energy(*flat) + dynamics.potential_energy(flat[0])
        return np.asarray(total).reshape(self.q.shape[:-1])

    def momentum(self) -> Array:
        """[linear, angular] momentum (T, 6) about the world's origin."""
        dynamics = Dynamics(self.model, general=True)
        flat = self.q.reshape(-1, self.q.shape[-1]), self.v.reshape(-1, self.v.shape[-1])
        return dynamics.momentum(*flat).reshape(*self.q.shape[:-1], 6)

    def drift(self) -> dict[str, float]:
        """Largest change of energy (J) and of momentum (N s, N m s) since the start."""
        energy, momentum = self.energy(), self.momentum()
        return {
            "energy": float(np.abs(energy - energy[0]).max()),
            "momentum": float(np.abs(momentum - momentum[0]).max()),
        }

    def save(self, path: str | Path) -> Path:
        """Write an .npz or a .parquet file (one row for each time and state)."""
        path = Path(path)
        if path.suffix == ".npz":
            arrays: dict[str, Any] = {"time": self.time, "q": self.q, "v": self.v, "tau": self.tau, **self.extra}
            np.savez_compressed(path, model=np.array([self.model.name, self.model.hash]), **arrays)
        elif path.suffix == ".parquet":
            _write_parquet(self, path)
        else:
            raise ShapeError(f"a recording is saved as .npz or .parquet, got {path.name!r}")
        return path

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Recording:
        """Read an .npz file that `save` wrote; another model's recording is refused."""
        with np.load(path) as data:
            name, digest = data["model"].tolist()
            if digest != model.hash:
                raise ModelError(f"{path} is a recording of {name!r}, which is not the same model as {model.name!r}")
            own = {key: data[key] for key in ("time", "q", "v", "tau")}
            extra = {key: data[key] for key in data.files if key not in own and key != "model"}
        return cls(model, **own, extra=extra)


def _write_parquet(recording: Recording, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow is needed for Parquet files: install bough[tables]") from None
    version = import_module("bough").__version__
    states = recording.q[0].size // recording.q.shape[-1]
    columns: dict[str, Any] = {"time": np.repeat(recording.time, states)}
    columns["state"] = np.tile(np.arange(states), len(recording.time))
    for name in ("q", "v", "tau"):
        flat = getattr(recording, name).reshape(len(recording.time) * states, -1)
        columns |= {f"{name}{k}": flat[:, k] for k in range(flat.shape[1])}
    for name, array in recording.extra.items():
        flat = array.reshape(len(recording.time), -1)
        columns |= {f"{name}{k}": np.repeat(flat[:, k], states) for k in range(flat.shape[1])}
    meta = {"model": recording.model.name, "model_hash": recording.model.hash, "bough": version}
    table = pyarrow.table(columns).replace_schema_metadata(meta | {"dtype": str(recording.q.dtype)})
    pyarrow.parquet.write_table(table, path)
