"""Where the rows of a sweep come from: arrays, or states drawn by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bough.compile.routine import resolve
from bough.compile.run.arrays import is_count, real_array
from bough.dynamics.parameters import SHAPES
from bough.errors import OptionError, ShapeError
from bough.model import Model
from bough.types import FloatArray


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Arrays (rows, ...) by name: q, v, tau, qdd and, for parameter sets, inertia, gravity, armature, placement."""

    arrays: Mapping[str, FloatArray]

    def __post_init__(self) -> None:
        arrays = {}
        for name, array in self.arrays.items():
            arrays[str(name)] = np.ascontiguousarray(real_array(f"rows of a sweep: {name!r}", array), float)
        if not arrays:
            raise ShapeError("rows of a sweep: at least one array is needed")
        counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
        if len({*counts.values()}) > 1 or not min(counts.values()):
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise ShapeError(f"arrays of a sweep have one row for each state, and as many of each; got {listed}")
        object.__setattr__(self, "arrays", arrays)

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(next(iter(self.arrays.values())))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Quantities of the model with a value for each row."""
        return tuple(name for name in SHAPES if name in self.arrays)

    def take(self, model: Model, names: Sequence[str], start: int, stop: int) -> dict[str, FloatArray]:
        """Rows start to stop of these arrays, and of all parameters."""
        missing = [name for name in names if name not in self.arrays]
        if missing:
            raise OptionError(f"the rows of this sweep have no {missing[0]!r}; they have {', '.join(self.arrays)}")
        for name in (*names, *self.parameters):
            shape, found = shape_of(model, name), self.arrays[name].shape[1:]
            if shape is not None and shape != found:
                raise ShapeError(f"{name} of {model.name!r} has rows of shape {shape}, got {found}")
        return {name: self.arrays[name][start:stop] for name in (*names, *self.parameters)}

    def describe(self) -> dict[str, Any]:
        """Their identity."""
        found = hashlib.sha256()
        for name in sorted(self.arrays):
            found.update(f"{name} {self.arrays[name].shape}".encode())
            found.update(self.arrays[name].tobytes())
        return {"given": sorted(self.arrays), "digest": found.hexdigest()}


@dataclass(frozen=True)
class DrawnRows:
    """`count` random states: configurations drawn evenly, other arrays normal with deviation `scale`.

    With `spread` s, the inertia of each body is multiplied by a number between 1 - s and 1 + s, another in each row.
    A row is drawn from the seed and its number alone, so that it is the same in every chunk that holds it.
    """

    count: int
    seed: int = 0
    scale: float = 1.0
    spread: float = 0.0

    def __post_init__(self) -> None:
        if not (is_count(self.count) and is_count(self.seed, least=0)):
            raise OptionError(f"a sweep draws one row or more, with a seed from zero; got {self.count}, {self.seed}")
        if not (0.0 <= self.scale < np.inf and 0.0 <= self.spread < 1.0):
            raise OptionError(f"a scale is from zero and a spread from zero below one; got {self.scale}, {self.spread}")

    @property
    def parameters(self) -> tuple[str, ...]:
        """Quantities of the model that are drawn by row."""
        return ("inertia",) if self.spread else ()

    def take(self, model: Model, names: Sequence[str], start: int, stop: int) -> dict[str, FloatArray]:
        """Rows start to stop: drawn in blocks, each with a stream of its own."""
        unknown = [name for name in names if name not in STREAMS]
        if unknown:
            raise OptionError(f"{unknown[0]!r} cannot be drawn: give it in a file of rows")
        size = rows_at_a_time(model)
        blocks = range(start // size, -(-stop // size))
        cut = slice(start - blocks.start * size, stop - blocks.start * size)
        found = {}
        for name in (*names, *self.parameters):
            drawn = [self._block(model, name, number, size) for number in blocks]
            found[name] = (drawn[0] if len(drawn) == 1 else np.concatenate(drawn))[cut]
        return found

    def _block(self, model: Model, name: str, number: int, size: int) -> FloatArray:
        """One block of an array, from a stream of its own: what is drawn does not depend on what else is."""
        rng = np.random.default_rng([self.seed, number, STREAMS.index(name)])
        if name == "q":
            return model.random_configuration(rng, size)
        if name == "inertia":
            factors = rng.uniform(1.0 - self.spread, 1.0 + self.spread, (size, len(model.body_names), 1))
            return model.inertias * factors
        x = rng.standard_normal((size, model.nv))
        x *= self.scale
        return x

    def describe(self) -> dict[str, Any]:
        """Their identity; `streams` changes when other rows are drawn from the same seed."""
        return {"drawn": self.count, "seed": self.seed, "scale": self.scale, "spread": self.spread, "streams": 2}


def rows_at_a_time(model: Model) -> int:
    """Rows that are drawn from one stream, computed and written together: about 2^18 numbers an array, 16,384 at most.

    So threads meet seldom at the lock of the interpreter, and arrays stay in the caches.
    """
    return 1 << max(0, min(14, 18 - model.nv.bit_length()))


STREAMS = ("q", "v", "qdd", "tau", "inertia")
Rows = ArrayRows | DrawnRows


def shape_of(model: Model, name: str) -> tuple[int, ...] | None:
    """The shape of a row of the array of this name; None if it is unknown."""
    words = {"q": "nq", "v": "nv", "qdd": "nv", "tau": "nv", **SHAPES}.get(name)
    return None if words is None else resolve(words, model.sizes)
