"""Checkpoints that lose nothing: one npz file that ends in a digest of all its bytes.

A checkpoint is what the objects of a simulation give as `state()` and take back by `restore`: dictionaries of arrays,
plain facts, and further dictionaries. An array is an entry of the archive, named by its way through the dictionaries.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.tree.layout import Layout
from bough.adaptive.tree.shapes import NearBodies, NestedPairs, rows_of
from bough.errors import CheckpointError
from bough.model import Model
from bough.record import replacing

VERSION = 7
DIGEST = 64  # characters
KINDS = {"QuasiStatics": "quasi-statics", "Dynamics": "a motion"}  # of simulations

Facts = dict[str, Any]


def write_checkpoint(path: str | Path, state: Facts) -> None:
    """A state into one file. The digest is the comment of the archive, which other readers pass over."""
    arrays: dict[str, Any] = {}
    content = io.BytesIO()
    facts = _without_arrays(state | {"version": VERSION}, "", arrays)
    np.savez_compressed(content, **arrays, facts=np.array(json.dumps(facts, sort_keys=True)))
    body = content.getvalue()[:-2] + DIGEST.to_bytes(2, "little")  # an archive ends in the length of its comment
    try:
        with replacing(path) as file:
            file.write(body + _digest(body))
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be written: {error.strerror}") from error


def _without_arrays(state: Facts, way: str, arrays: dict[str, Any]) -> Facts:
    """The plain facts of a state; its arrays go into `arrays`, by name."""
    facts: Facts = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            arrays[way + name] = value
        else:
            facts[name] = _without_arrays(value, f"{way}{name}/", arrays) if isinstance(value, dict) else value
    return facts


def read_checkpoint(path: str | Path) -> Facts:
    """The state that `write_checkpoint` wrote; a damaged file is refused."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read: {error.strerror}") from None
    if content[-DIGEST:] != _digest(content[:-DIGEST]):
        raise CheckpointError(f"the checkpoint {str(path)!r} is damaged or none: its digest does not match its content")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays: dict[str, npt.NDArray[Any]] = {name: file[name] for name in file.files}
    state: Facts = json.loads(str(arrays.pop("facts")))
    if state["version"] != VERSION:
        raise CheckpointError(f"the checkpoint {str(path)!r} has format {state['version']}, expected {VERSION}")
    for name, array in arrays.items():
        *way, last = name.split("/")
        facts = state
        for part in way:
            facts = facts[part]
        facts[last] = array
    return state


def checkpoint_of(model: Model, path: str | Path, kind: str) -> Facts:
    """The checkpoint of a kind of simulation; one of another model or kind is refused."""
    state = read_checkpoint(path)
    if state["model"] != model.hash:
        raise CheckpointError(f"the checkpoint {str(path)!r} was made for another model than {model.name!r}")
    if state["kind"] != kind:
        found, expected = KINDS[state["kind"]], KINDS[kind]
        raise CheckpointError(f"the checkpoint {str(path)!r} is one of {found}: expected one of {expected}")
    return state


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def measure_of(facts: list[Any]) -> ErrorMeasure:
    """An error measure from the list of its fields."""
    name, eps, over, scale, metres, bodies = facts
    return ErrorMeasure(name, eps, over, tuple(scale), metres, None if bodies is None else tuple(bodies))


def assembly_facts(shape: Any, plan: Callable[[], Layout]) -> Any:
    """The option `assembly` as plain facts; of nested pairs, those of the tree's plan."""
    if isinstance(shape, str):
        return shape
    return {"near": list(shape.bodies)} if isinstance(shape, NearBodies) else {"rows": rows_of(plan()).rows}


def assembly_of(facts: Any) -> Any:
    """The option from what `assembly_facts` returned."""
    if isinstance(facts, str):
        return facts
    return NearBodies(tuple(facts["near"])) if "near" in facts else NestedPairs(tuple((a, b) for a, b in facts["rows"]))
