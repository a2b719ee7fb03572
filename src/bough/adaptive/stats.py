"""Reports of a simulation: costs and quality, samples of a run, and a forecast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import SettingError
from bough.record import replacing, write_arrays, write_table
from bough.types import FloatArray


@dataclass(frozen=True)
class Cost:
    """Cost of the last steps, or of the present solution: per step."""

    method: str  # "adaptive", "dca" or "aba"
    joints: float = math.nan  # joint accelerations computed
    full: float = 0.0  # nodes redone in full
    linear: float = 0.0  # nodes redone for their forces only


@dataclass(frozen=True)
class Stats:
    """Cost and quality of the last steps and of the present solution."""

    method: str  # "adaptive", "dca" or "aba": how the last step was taken
    steps: int
    time: float  # sum of dt, s; what converges is the pseudo-time
    joints: float  # joint accelerations computed: of the present solution, or per step of the last call
    full_nodes: float  # nodes redone in full, per step of the last call
    linear_nodes: float  # nodes redone for forces only, per step of the last call
    # Error bound of the present solution, or of the last step, in the measure's terms; NaN where the rule has none.
    # It is sqrt(16/15) times that of the paper, as total accelerations may be off by one part in 16, plus rounding.
    bound: float
    acceleration: float  # norm of all joint accelerations, weighted; NaN where it is not known
    certificate: float  # sum over steps of the joint motion that inactive clusters omitted, at most
    noise_floor: float  # smallest eps with a meaning; NaN before it is measured
    seconds: float  # per step of the last call
    memory: int  # bytes held
    pseudo_time: float = 0.0  # sum of h = dt^2 / 2, s^2
    cuts: int = 0  # parts beyond the first of all steps that were cut because a joint would turn too far
    opening: float = 0.0  # how far the loops are open now, m or rad
    active: int = 0  # joints that move in the present solution, or in the last step
    power: float = math.nan  # qdd' M qdd = tau' qdd of it, the rate of descent; NaN where inactive joints are not rigid
    complexity: float = math.nan  # of the motion: joints computed / all joints (Redon & Lin 2005, section 6.4)

    @property
    def sample(self) -> dict[str, Any]:
        """The part that a recording keeps."""
        return {name: getattr(self, name) for name in ("steps", "time", "joints", "bound", "seconds")}


@dataclass(frozen=True)
class MotionStats:
    """Cost and quality of the last steps of a motion."""

    method: str  # "adaptive" or "full": how the last step was taken
    steps: int
    time: float  # s
    active: int  # joints that move by themselves
    acceleration_error: float  # sqrt(Delta / M) when the region was chosen, m/s^2: rms by mass of what locking changes
    energy_lost: float  # J, taken by locking joints that moved
    energy: float  # J, kinetic and potential
    kinetic_energy: float  # J
    momentum: FloatArray  # (6,) [linear, angular] about the world's origin
    memory: int  # bytes held
    cuts: int = 0  # parts beyond the first of all steps that were cut, because a joint would turn too far

    @property
    def sample(self) -> dict[str, Any]:
        """The part that a recording keeps."""
        names = ("steps", "time", "active", "acceleration_error", "energy_lost", "energy", "momentum")
        return {name: getattr(self, name) for name in names}


# Samples of a run, kept and written as npz or Parquet.


class Recorder:
    """Positions of some bodies, and what each sample cost, every few steps of `run(..., record=...)` of both faces.

    With a `path` it is also written as it grows, as `save` does. The file is whole at any time: a run that is killed
    has lost at most its last sample or, of many, a tenth of them.
    """

    def __init__(
        self,
        bodies: Sequence[str | int] = (),
        every: int = 1,
        configuration: bool = False,
        path: str | Path | None = None,
        source: str = "",
    ) -> None:
        if every < 1:
            raise SettingError(f"every must be at least 1 step, got {every}")
        self.bodies, self.every, self.keeps_q = list(bodies), every, configuration
        self.samples: list[dict[str, Any]] = []
        self.path, self.source = None if path is None else _checked(path), source
        self._written = 0  # samples in the file

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
        if self.path is not None and len(self.samples) >= 1.1 * self._written + 1:
            self.save(self.path, self.source)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All samples, by name: step, time, positions (samples, bodies, 3), q, and what `stats` has: joints, bound and
        seconds, or of a motion active, acceleration_error, energy_lost, energy and momentum."""
        names = self.samples[0] if self.samples else ()
        return {name: np.array([row[name] for row in self.samples]) for name in names}

    def save(self, path: str | Path, source: str = "") -> None:
        """Write .npz or .parquet, by the ending of the name; a file that is there is replaced as a whole.

        `source` says how the model was made or where it was read, for those who play the recording.
        """
        path, arrays, bodies = _checked(path), self.arrays(), [str(b) for b in self.bodies]
        if path.suffix == ".npz":
            origin = {"source": np.array(source)} if source else {}
            write_arrays(path, arrays | {"bodies": np.array(bodies)} | origin)
        else:
            _write_parquet(path, arrays, bodies, source)
        self._written = len(self.samples)


def _checked(path: str | Path) -> Path:
    """Where a recording is written."""
    if Path(path).suffix not in (".npz", ".parquet"):
        raise SettingError(f"a recording is saved as .npz or .parquet, got {str(path)!r}")
    return Path(path)


def _write_parquet(path: Path, arrays: dict[str, npt.NDArray[Any]], bodies: list[str], source: str) -> None:
    """One row for each sample; positions as columns "body.x", "body.y", "body.z", q as a list."""
    positions = arrays.pop("positions", np.zeros((0, 0, 3)))
    columns: dict[str, Any] = {name: a.tolist() for name, a in arrays.items()}
    for k, body in enumerate(bodies):
        columns |= {f"{body}.{axis}": positions[:, k, i] for i, axis in enumerate("xyz")}
    write_table(path, columns, {"source": source} if source else None)


# What an error would cost: active joints and the expected gain for the present posture and load, before a run.


WIDE, ROW, LEFT, RIGHT = 560, 22, 90, 170  # of the picture, in pixels


@dataclass(frozen=True)
class Forecast:
    """One row for each eps, the largest first; made by `sim.forecast`."""

    measure: str
    joints: int  # of the linkage
    eps: tuple[float, ...]
    active: tuple[int, ...]  # joints that would be computed
    gain: tuple[float, ...]  # cost of a full step by that of an adaptive one, as the cost model has it; at least 1

    def __str__(self) -> str:
        lines = [f"{self.measure}: {self.joints:,} joints", f"{'eps':>8}  {'active':>9}  {'gain':>7}"]
        for eps, active, gain in self.rows:
            lines.append(
                f"{eps:8.1e}  {active:9,}  {f'{gain:.3g}x':>7}  {'#' * round(40 * active / self.joints)}".rstrip()
            )
        return "\n".join(lines)

    @property
    def rows(self) -> list[tuple[float, int, float]]:
        """(eps, active joints, gain) of each."""
        return list(zip(self.eps, self.active, self.gain, strict=True))

    def save(self, path: str | Path) -> None:
        """Write a picture, an .svg file: a bar for each eps, as long as the share of the joints that is active."""
        if Path(path).suffix != ".svg":
            raise SettingError(f"a forecast is saved as .svg, got {str(path)!r}")
        drawn = [f"<text x='8' y='15'>{escape(self.measure)}: active ones of {self.joints:,} joints</text>"]
        for k, (eps, active, gain) in enumerate(self.rows, 1):
            y, size = ROW * k + 4, max(1.0, (WIDE - LEFT - RIGHT) * active / self.joints)
            drawn.append(f"<text x='8' y='{y + 14}'>{eps:.1e}</text>")
            drawn.append(f"<rect x='{LEFT}' y='{y}' width='{size:.1f}' height='{ROW - 6}' fill='#2a7fba'/>")
            drawn.append(f"<text x='{LEFT + size + 6:.1f}' y='{y + 14}'>{active:,} ({gain:.3g}x)</text>")
        high = ROW * (len(self.eps) + 1) + 8
        head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDE} {high}' width='{WIDE}' height='{high}'"
        with replacing(path) as file:
            file.write(f"{head} font-family='sans-serif' font-size='12'>{''.join(drawn)}</svg>\n".encode())
