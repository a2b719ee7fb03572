"""Recordings to be played: of a motion (`simulate`) or of a linkage that settles (`adaptive`), .npz or .parquet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import BoughError, ModelError, OptionError, RecordingError, short
from bough.model import Model
from bough.record import check_samples, read_arrays, table_facts
from bough.simulate import ContactPoint, Contacts, Recording
from bough.types import FloatArray
from bough.view.scene import Scene, arrows, dressed

Arrays = dict[str, npt.NDArray[Any]]


class Recorded(NamedTuple):
    """A recording, or one of its states."""

    time: FloatArray  # (T,)
    q: FloatArray  # (T, nq)
    tracks: dict[str, FloatArray]  # (T,) each
    adaptive: bool
    source: str  # how its model was made or found, as the command that recorded it had it
    digest: str  # of its model
    contact_force: FloatArray | None = None  # (T, points, 3)

    def check(self, model: Model) -> None:
        """Another model's recording is refused."""
        if (self.digest and self.digest != model.hash) or self.q.shape[1] != model.nq:
            raise ModelError(f"the recording is of another model than {model.name!r}, or of another version of it")


def read_motion(path: str | Path, state: int = 0) -> Recorded:
    """The recording in a file; of one with many states, number `state`."""
    path = Path(path)
    arrays, facts = _npz(path) if path.suffix == ".npz" else (read_columns(path, state), table_facts(path)[0])
    if "time" not in arrays or "q" not in arrays or not arrays["time"].size:
        raise RecordingError(f"{short(str(path))!r} has no times and configurations to play (record with q)")
    check_samples(path, arrays, ("time", "q", "v", "tau", "contact_force", "joints", "bound", "seconds"))
    if path.suffix == ".npz":
        arrays = of_state(arrays, state, repr(short(str(path))))
    q = arrays["q"]
    if q.ndim != 2 or len(q) != len(arrays["time"]):
        raise RecordingError(f"{short(str(path))!r} is damaged: q has shape {q.shape}")
    adaptive = "bound" in arrays and "joints" in arrays
    source, digest, force = facts.get("source", ""), facts.get("model_hash", ""), arrays.get("contact_force")
    return Recorded(arrays["time"], q, tracks(arrays), adaptive, source, digest, force)


def of_state(arrays: Arrays, state: int, what: str) -> Arrays:
    """The arrays of one of many states."""
    many = arrays["q"].shape[:2] if arrays["q"].ndim == 3 else (0, 1)
    if not 0 <= state < many[1]:
        raise RecordingError(f"{what} has no state {state}: it has {many[1]}, numbered from 0")
    return {name: a[:, state] if a.ndim >= 3 and a.shape[:2] == many else a for name, a in arrays.items()}


def tracks(arrays: Arrays) -> dict[str, FloatArray]:
    """Numbers worth a plot, in words."""
    found: dict[str, FloatArray] = {}
    for name, words in (("joints", "joints computed"), ("bound", "error bound")):
        if name in arrays:
            found[words] = arrays[name]
    if "seconds" in arrays:
        found["microseconds a step"] = 1e6 * arrays["seconds"]
    for name, words in (("v", "fastest joint, rad/s or m/s"), ("tau", "largest joint force, N m or N")):
        if name in arrays and arrays[name].ndim == 2:
            found[words] = np.abs(arrays[name]).max(axis=1, initial=0.0)
    if "contact_force" in arrays and arrays["contact_force"].ndim == 3:
        found["force of contacts, N"] = np.linalg.norm(arrays["contact_force"].sum(axis=1), axis=1)
    return {name: np.asarray(track, float) for name, track in found.items() if np.isfinite(track).any()}


def played(
    recording: Recording, contacts: Contacts | None = None, file: str | Path | None = None, state: int = 0
) -> Scene:
    """A scene that plays a motion, with the forces of the contacts it was made with, and the geometry of a file.

    Of a recording of many states it plays number `state`.
    """
    own = {"q": recording.q, "v": recording.v, "tau": recording.tau}
    own = of_state(own | recording.extra, state, "the recording")
    pushes, force = None, own.get("contact_force")
    if contacts is not None and force is not None:
        points = [ContactPoint(p) if isinstance(p, str) else ContactPoint(*p) for p in contacts.points]
        points = points * (force.shape[-2] // len(points))  # every point meets every ground
        pushes = arrows(recording.model, [p.frame for p in points], force, [p.point for p in points])
    found = dressed(recording.model, file)
    return found.playing(recording.time, own["q"], tracks(own), arrows=pushes)


def _npz(path: Path) -> tuple[Arrays, dict[str, str]]:
    arrays = read_arrays(path)
    facts = {"source": str(arrays.pop("source", ""))}
    model = arrays.pop("model", None)
    if model is not None:
        facts["model_hash"] = str(model.ravel()[-1]) if model.size else ""
    return arrays, facts


def read_columns(path: Path, state: int | None = 0) -> Arrays:
    """Arrays q, v, qdd, tau and contact_force from columns q0, q1, ... of a .csv or .parquet file, others as they are.

    Of a file with many states it is number `state`; None refuses many.
    """
    try:
        return _gathered(path, _csv(path) if path.suffix == ".csv" else _parquet(path), state)
    except BoughError:
        raise
    except (OSError, ValueError, TypeError, KeyError, IndexError, NotImplementedError) as error:
        raise RecordingError(f"{short(str(path))!r} is damaged, or no table of numbers with names: {error}") from None


def _gathered(path: Path, columns: Arrays, state: int | None) -> Arrays:
    states = columns.pop("state", np.zeros(len(next(iter(columns.values()), ()))))
    if state is None and len(np.unique(states)) > 1:
        raise OptionError(f"{short(str(path))!r} has the motions of many states: give one")
    mine = states == (state or 0)
    if not mine.any():
        raise RecordingError(f"{short(str(path))!r} has no state {state}")
    arrays: Arrays = {}
    if "q" in columns:  # one list a sample
        arrays["q"] = np.array([np.asarray(row, float) for row in columns.pop("q")])[mine]
    for name in ("q", "v", "qdd", "tau", "contact_force"):
        own = sorted((int(c[len(name) :]), c) for c in columns if re.fullmatch(name + r"\d+", c))
        if own:
            found = np.stack([columns.pop(c)[mine] for _, c in own], axis=1)
            arrays[name] = found.reshape(len(found), -1, 3) if name == "contact_force" else found
    return arrays | {name: column[mine] for name, column in columns.items() if column.dtype.kind in "fiub"}


def _parquet(path: Path) -> Arrays:
    table_facts(path)  # refuses a file that is cut short
    from pyarrow import parquet

    table = parquet.read_table(path)
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def _csv(path: Path) -> Arrays:
    with open(path) as file:
        names = [word.strip().strip('"') for word in file.readline().split(",")]
        rows = np.loadtxt(file, delimiter=",", ndmin=2)
    if rows.shape[1] != len(names):
        raise RecordingError(f"{short(str(path))!r} has {len(names)} names for {rows.shape[1]} columns")
    return dict(zip(names, rows.T, strict=True))
