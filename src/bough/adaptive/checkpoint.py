"""Checkpoints that lose nothing: one npz file with a digest, good for the model it was made for and no other."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.adaptive.closure import Closure
from bough.adaptive.engines import Noise
from bough.adaptive.measures import ErrorMeasure
from bough.adaptive.passes import CERTIFICATE
from bough.errors import CheckpointError
from bough.model import Model

VERSION = 1
# What the assembly tree remembers beyond the configuration
MEMORY = ("metric", "last_move", "oldest")


def save(sim: Any, path: str | Path) -> None:
    """Write the whole state of a `QuasiStatics`."""
    arrays = {"q": sim._shared.q, "tau": sim._shared.tau, "clock": sim._clock, "gravity": sim.gravity}
    arrays |= sim._forces.state()
    facts: dict[str, Any] = {
        "model": sim.model.hash, "steps": sim.steps, "time": sim.time, "method": sim.method, "refresh": sim.refresh,
        "rule": sim.error.rule, "eps": sim.error.eps, "measure": sim.error.name, "following": sim._forces.following,
    }  # fmt: skip
    if sim._tree is not None:
        arrays |= {name: getattr(sim._tree.state, name) for name in MEMORY}
        facts |= {"noise": list(sim._tree.noise), "certificate": float(sim._tree.front.value[CERTIFICATE])}
    if sim._loops is not None:
        facts["closures"] = [[c.a, c.b, c.joint] for c in sim._loops.closures]
    write_checkpoint(path, arrays, facts)


def restore(make: Any, model: Model, path: str | Path) -> Any:
    """The simulation that `save` wrote, made anew by `make` (the class)."""
    arrays, facts = read_checkpoint(path)
    if facts["model"] != model.hash:
        raise CheckpointError(f"the checkpoint {str(path)!r} was made for another model than {model.name!r}")
    error = ErrorMeasure(facts["rule"], facts["eps"], facts["measure"])
    closures = [Closure(*c) for c in facts.get("closures", [])]
    catch_up = bool(arrays["clock"][2])
    sim = make(model, error, facts["method"], catch_up=catch_up, closures=closures, refresh=facts["refresh"])
    sim.steps, sim.time, sim.gravity = facts["steps"], facts["time"], arrays["gravity"]
    sim._shared.q[:], sim._shared.tau[:], sim._clock[:] = arrays["q"], arrays["tau"], arrays["clock"]
    sim._forces.restore(arrays, facts["following"])
    if "metric" in arrays:
        tree = sim._assemble()
        for name in MEMORY:
            getattr(tree.state, name)[:] = arrays[name]
        tree.noise, tree.front.value[CERTIFICATE] = Noise(*facts["noise"]), facts["certificate"]
    return sim


def write_checkpoint(path: str | Path, arrays: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> None:
    """Arrays and plain facts into one file, with a digest of both."""
    text = json.dumps(facts | {"version": VERSION}, sort_keys=True)
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays, facts=np.array(text), digest=np.array(_digest(arrays, text)))  # type: ignore[arg-type]


def read_checkpoint(path: str | Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """What `write_checkpoint` wrote; a damaged file is refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text, digest = str(arrays.pop("facts")), str(arrays.pop("digest"))
        facts = json.loads(text)
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint at {str(path)!r}") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CheckpointError(f"the checkpoint {str(path)!r} is damaged or none: {error}") from None
    if digest != _digest(arrays, text):
        raise CheckpointError(f"the checkpoint {str(path)!r} is damaged: its digest does not match its content")
    if facts["version"] != VERSION:
        raise CheckpointError(f"the checkpoint {str(path)!r} has format {facts['version']}, expected {VERSION}")
    return arrays, facts


def _digest(arrays: dict[str, npt.NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        a = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {a.dtype.str} {a.shape}".encode())
        digest.update(a.tobytes())
    return digest.hexdigest()
