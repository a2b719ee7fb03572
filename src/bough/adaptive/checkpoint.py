"""Checkpoints that lose nothing: one npz file that ends in a digest of all its bytes."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import CheckpointError
from bough.model import Model
from bough.record import replacing

VERSION = 2
DIGEST = 64  # characters
KINDS = {"solver": "quasi-statics", "motion": "a motion"}  # by the part that only they have


def write_checkpoint(path: str | Path, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> None:
    """Arrays and plain facts into one file. The digest is the comment of the archive, which other readers pass over."""
    content = io.BytesIO()
    text = np.array(json.dumps(facts | {"version": VERSION}, sort_keys=True))
    np.savez_compressed(content, **arrays, facts=text)  # type: ignore[arg-type]
    body = content.getvalue()[:-2] + DIGEST.to_bytes(2, "little")  # an archive ends in the length of its comment
    try:
        with replacing(path) as file:
            file.write(body + _digest(body))
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be written: {error.strerror}") from error


def read_checkpoint(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """What `write_checkpoint` wrote; a damaged file is refused."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read: {error.strerror}") from None
    if content[-DIGEST:] != _digest(content[:-DIGEST]):
        raise CheckpointError(f"the checkpoint {str(path)!r} is damaged or none: its digest does not match its content")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(str(arrays.pop("facts")))
    if facts["version"] != VERSION:
        raise CheckpointError(f"the checkpoint {str(path)!r} has format {facts['version']}, expected {VERSION}")
    return arrays, facts


def checkpoint_of(model: Model, path: str | Path, part: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The checkpoint of a simulation that has such a part; one of another model or kind of simulation is refused."""
    arrays, facts = read_checkpoint(path)
    if facts["model"] != model.hash:
        raise CheckpointError(f"the checkpoint {str(path)!r} was made for another model than {model.name!r}")
    if part not in facts:
        other = next(kind for name, kind in KINDS.items() if name in facts)
        raise CheckpointError(f"the checkpoint {str(path)!r} is one of {other}: expected one of {KINDS[part]}")
    return arrays, facts


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
