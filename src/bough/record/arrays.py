"""Named arrays in one .npz file, with a digest: a damaged file gives one `RecordingError`."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import RecordingError, short
from bough.record.files import replacing

DIGEST = "digest"


def write_arrays(path: str | Path, arrays: Mapping[str, npt.ArrayLike]) -> Path:
    """Write arrays (no objects) by name; what was at `path` stays until all is written."""
    path, known = Path(path), {name: np.asarray(array) for name, array in arrays.items()}
    if DIGEST in known:
        raise RecordingError(f"no array may be called {DIGEST!r}: the file keeps its own under that name")
    named: dict[str, Any] = known | {DIGEST: np.array(digest(known))}
    with replacing(path) as file:
        np.savez_compressed(file, **named)
    return path


def read_arrays(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Read a file of `write_arrays`; one without a digest is not checked."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise RecordingError(f"there is no file {str(path)!r}") from None
    # a flipped bit may turn any length, type or method in the file into nonsense
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, NotImplementedError, RuntimeError,
            SyntaxError, MemoryError, OverflowError, zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        why = f": {error}" if zipfile.is_zipfile(path) else ""  # numpy's own words are about other formats
        raise RecordingError(f"{str(path)!r} is damaged or no .npz file{why}") from None
    expected = arrays.pop(DIGEST, None)
    if expected is not None and str(expected) != digest(arrays):
        raise RecordingError(f"{str(path)!r} is damaged: its digest does not match its content")
    return arrays


def check_samples(path: str | Path, arrays: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> None:
    """Refuse arrays that are no real numbers, or not one entry for each of the first: times, or the first state.

    Names that are not there are skipped.
    """
    there = [name for name in names if name in arrays]
    for name in there:
        x, first = arrays[name], arrays[there[0]]
        if x.dtype.kind not in "biuf":
            raise RecordingError(f"{short(str(path))!r}: {name!r} must be real numbers, got dtype {x.dtype}")
        if x.ndim == 0 or len(x) != len(first) or not len(x):
            expected = f"as many entries as {there[0]!r}, {first.shape}" if name != there[0] else "an entry a sample"
            raise RecordingError(f"{short(str(path))!r}: {name!r} must have {expected}, got shape {x.shape}")
    if "time" in there and arrays["time"].ndim != 1:
        raise RecordingError(f"{short(str(path))!r}: 'time' must have one axis, got shape {arrays['time'].shape}")


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """SHA-256 of names, types, shapes and content."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()
