"""Measured motions from files: arrays q, v, qdd and tau of one robot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from bough.app.shell import note
from bough.errors import OptionError, RecordingError, required, short
from bough.model import Model
from bough.record import check_samples, read_arrays

NAMES = ("q", "v", "qdd", "tau")


def measurements(path: Path, model: Model) -> tuple[Any, ...]:
    """q, v, qdd and tau (samples, ...); an acceleration that is not there is taken from velocities and times."""
    arrays = _columns(path) if path.suffix in (".csv", ".parquet") else read_arrays(path)
    for name in ("q", "v", "tau"):
        if name not in arrays:
            raise RecordingError(
                f"{short(str(path))!r} has no {name!r}; it has {', '.join(sorted(arrays)) or 'nothing'}"
            )
    check_samples(path, arrays, ("q", "v", "tau", "qdd", "time"))
    if "qdd" not in arrays:
        arrays["qdd"] = _slopes(path, arrays)
        note("qdd is not in the file: taken from differences of v")
    for name in NAMES:
        size = model.nq if name == "q" else model.nv
        if arrays[name].ndim != 2 or arrays[name].shape[1] != size:
            raise RecordingError(
                f"{short(str(path))!r}: {name} of {model.name!r} is (samples, {size}), got {arrays[name].shape}"
            )
    return tuple(np.ascontiguousarray(arrays[name], float) for name in NAMES)


def _slopes(path: Path, arrays: dict[str, Any]) -> Any:
    if "time" not in arrays or len(arrays["time"]) < 3 or len(arrays["time"]) != len(arrays["v"]):
        raise RecordingError(f"{short(str(path))!r} has no 'qdd', and no 'time' by which to take it from v")
    return np.gradient(arrays["v"], arrays["time"], axis=0)


def _columns(path: Path) -> dict[str, Any]:
    """Columns q0, q1, ... as arrays; others as they are."""
    table = _csv(path) if path.suffix == ".csv" else _parquet(path)
    found: dict[str, Any] = {}
    for name in NAMES:
        own = sorted((c for c in table if re.fullmatch(rf"{name}\d+", c)), key=lambda c: int(c[len(name) :]))
        if own:
            found[name] = np.stack([table[c] for c in own], axis=-1)
    return found | ({"time": table["time"]} if "time" in table else {})


def _csv(path: Path) -> dict[str, Any]:
    try:
        with open(path) as file:
            names = [word.strip().strip('"') for word in file.readline().split(",")]
            rows = np.loadtxt(file, delimiter=",", ndmin=2)
    except FileNotFoundError:
        raise RecordingError(f"there is no file {short(str(path))!r}") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise RecordingError(f"{short(str(path))!r} is no table of numbers with a line of names: {error}") from None
    if rows.shape[1] != len(names):
        raise RecordingError(f"{short(str(path))!r} has {len(names)} names for {rows.shape[1]} columns")
    return dict(zip(names, rows.T, strict=True))


def _parquet(path: Path) -> dict[str, Any]:
    parquet = required("pyarrow.parquet", "tables", "reading Parquet")
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise RecordingError(f"there is no file {short(str(path))!r}") from None
    except (OSError, ValueError, NotImplementedError) as error:
        raise RecordingError(f"{short(str(path))!r} is damaged or no Parquet file: {error}") from None
    if "state" in table.column_names and len(set(table["state"].to_pylist())) > 1:
        raise OptionError(f"{short(str(path))!r} has the motions of many states: give one")
    return {name: table[name].to_numpy() for name in table.column_names}
