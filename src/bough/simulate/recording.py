"""Recordings: a motion with what was done to it, its energy and momentum, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from bough import _display as display
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, RecordingError, short
from bough.model import Model
from bough.record import check_recording, check_samples, read_arrays, write_arrays, write_table
from bough.types import FloatArray

OWN = ("time", "q", "v", "tau")


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """A motion: time (T,), q (T, nq), v (T, nv), tau (T, nv); with many states (T, batch, ...).

    `tau` of a sample acts in the step after it; that of the last sample acted in the last step.
    `failed_at` (batch,) is the time at which a state's motion ended, infinite if it did not; what is recorded of it
    after that repeats its last finite state.
    """

    model: Model
    time: FloatArray
    q: FloatArray
    v: FloatArray
    tau: FloatArray
    extra: dict[str, FloatArray] = field(default_factory=dict)
    failed_at: FloatArray | None = None

    def __repr__(self) -> str:
        states = f", {self.q.shape[1]} states" if self.q.ndim == 3 else ""
        failed = 0 if self.failed_at is None else int(np.count_nonzero(np.isfinite(self.failed_at)))
        ended = f", {failed} failed" if failed else ""
        extra = f", extra: {', '.join(self.extra)}" if self.extra else ""
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else "empty"
        return f"Recording({self.model.name!r}, {span}, {len(self.time)} samples{states}{ended}{extra})"

    def _repr_html_(self) -> str:
        """For notebooks: the joints that move most, of the first state."""
        q = self.q if self.q.ndim == 2 else self.q[:, 0]
        most: list[int] = np.argsort(-np.ptp(q, axis=0))[:8].tolist() if len(q) else []
        names = {int(k): joint.name for joint in self.model.joints for k in range(joint.q.start, joint.q.stop)}
        lines = {f"{names.get(k, '')} q[{k}]": q[:, k] for k in most}
        return f"<code>{escape(repr(self))}</code><br>{display.plot(self.time, lines, 's')}"

    @property
    def ok(self) -> Any:
        """Whether the motion reached its end: a bool, or (batch,)."""
        if self.failed_at is None:
            return np.ones(self.q.shape[1:-1], bool) if self.q.ndim == 3 else True
        return ~np.isfinite(self.failed_at) if self.q.ndim == 3 else not np.isfinite(self.failed_at)

    def energy(self) -> FloatArray:
        """Kinetic energy and potential energy in gravity (T,) in joules; springs are not counted."""
        dynamics = Dynamics(self.model, general=True)
        q, v, known = self._known()
        found = np.full(known.shape, np.nan)
        found[known] = dynamics.kinetic_energy(q, v) + dynamics.potential_energy(q)
        return found

    def momentum(self) -> FloatArray:
        """[linear, angular] momentum (T, 6) about the world's origin."""
        q, v, known = self._known()
        found = np.full((*known.shape, 6), np.nan)
        found[known] = Dynamics(self.model, general=True).momentum(q, v)
        return found

    def _known(self) -> tuple[FloatArray, FloatArray, Any]:
        """States (count, ...) that are some, and where they are: what was none from the start has no energy."""
        known = np.isfinite(self.q).all(axis=-1) & np.isfinite(self.v).all(axis=-1)
        return self.q[known], self.v[known], known

    def drift(self) -> dict[str, float]:
        """Largest change of energy (J) and of momentum (N s, N m s) since the start."""
        if not len(self.time):
            return {"energy": 0.0, "momentum": 0.0}
        energy, momentum = self.energy(), self.momentum()
        return {
            "energy": float(np.abs(energy - energy[0]).max()),
            "momentum": float(np.abs(momentum - momentum[0]).max()),
        }

    def save(self, path: str | Path, source: str = "") -> Path:
        """Write .npz or .parquet (one row for each time and state); an older file stays until all is written.

        `source` says how the model was made or where it was read, for those who play the recording.
        """
        path = check_recording(path)
        if path.suffix == ".npz":
            own = {name: getattr(self, name) for name in OWN}
            ended = {} if self.failed_at is None else {"failed_at": self.failed_at}
            clash = [name for name in self.extra if name in (*OWN, "failed_at", "model", "source")]
            if clash:
                raise RecordingError(f"extra array {clash[0]!r} has the name of one that every recording has")
            origin = {"source": source} if source else {}
            name = {"model": [self.model.name, self.model.hash]}
            return write_arrays(path, own | self.extra | ended | name | origin)
        return write_table(path, self._columns(), self._facts() | ({"source": source} if source else {}))

    @classmethod
    def load(cls, path: str | Path, model: Model) -> Recording:
        """Read an .npz file that `save` wrote; another model's recording and a damaged file are refused."""
        arrays = read_arrays(path)
        missing = [name for name in (*OWN, "model") if name not in arrays]
        if missing:
            raise RecordingError(f"{str(path)!r} is no recording of a motion: it has no {missing[0]!r}")
        named = arrays.pop("model")
        if named.shape != (2,) or named.dtype.kind != "U":
            raise RecordingError(f"{str(path)!r}: 'model' must be a name and a digest, got {short(repr(named))}")
        name, digest = named.tolist()
        if digest != model.hash:
            raise ModelError(f"{path} is a recording of {name!r}, which is not the same model as {model.name!r}")
        check_samples(path, arrays, OWN)
        time, q, v, tau = (arrays.pop(name) for name in OWN)
        batch = q.shape[1:-1] if q.ndim == 3 else ()
        for name, x, size in (("q", q, model.nq), ("v", v, model.nv), ("tau", tau, model.nv)):
            if x.shape != (len(time), *batch, size):
                expected = (len(time), *batch, size)
                raise RecordingError(f"{str(path)!r}: {name} of {model.name!r} is {expected}, got {x.shape}")
        ended = arrays.pop("failed_at", None)
        if ended is not None and (ended.dtype.kind != "f" or ended.shape != batch):
            raise RecordingError(f"{str(path)!r}: 'failed_at' must be times {batch}, got {short(repr(ended))}")
        arrays.pop("source", None)
        return cls(model, time, q, v, tau, arrays, ended)

    def _columns(self) -> dict[str, Any]:
        states = self.q.shape[1] if self.q.ndim == 3 else 1
        columns: dict[str, Any] = {"time": np.repeat(self.time, states)}
        columns["state"] = np.tile(np.arange(states), len(self.time))
        for name in ("q", "v", "tau"):
            flat = getattr(self, name).reshape(len(self.time) * states, -1)
            columns |= {f"{name}{k}": flat[:, k] for k in range(flat.shape[1])}
        for name, array in self.extra.items():
            if not np.ndim(array) or len(array) != len(self.time):
                raise RecordingError(f"extra array {name!r} must have a row for each time, got shape {np.shape(array)}")
            flat = array.reshape(len(self.time), -1)
            columns |= {f"{name}{k}": np.repeat(flat[:, k], states) for k in range(flat.shape[1])}
        return columns

    def _facts(self) -> dict[str, str]:
        return {"model": self.model.name, "model_hash": self.model.hash, "dtype": str(self.q.dtype)}
