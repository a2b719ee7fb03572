"""Routines of a model as callables, and the choice of the cheapest among several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bough.compile.executions import CPU as CPU
from bough.compile.executions import CompiledFunction as CompiledFunction
from bough.compile.executions import Device as Device
from bough.compile.executions import bind_arrays as bind_arrays
from bough.compile.executions import device_of as device_of
from bough.compile.executions import traced, worth_tracing
from bough.compile.identity import identity
from bough.compile.routine import FindTwins, Routine
from bough.compile.run.cache import fetch
from bough.compile.run.specialised import cost
from bough.model import Model, mark_limbs


def bind(
    routine: Routine,
    model: Model,
    *constants: Any,
    general: bool = False,
    dtype: Any = np.float64,
    twins: FindTwins = mark_limbs,
    device: Device = CPU,
    fold: bool = True,
    name: str | None = None,
) -> CompiledFunction:
    """`routine` for `model` (and further groups of constants) as a function of arrays, compiled on first use.

    `twins` marks the numbers of identical limbs. On the device "cuda" arrays are on the GPU. Models whose graph is too
    large run general code. With `fold`, inertias are reduced to base parameters in traced code.
    Errors call the function `name`. With BOUGH_INTERPRET=1 in the environment nothing is compiled.
    """

    def folded() -> Sequence[Any]:
        return (model.grouped if fold else model.mechanism, *constants)

    groups = (model.mechanism, *constants)
    how: dict[str, Any] = {"general": general, "dtype": dtype, "name": name, "explain": model.explain, "device": device}
    return bind_arrays(routine, groups, model.sizes, folded=folded, twins=twins, **how)


Candidates = Mapping[str, tuple[Routine, tuple[Any, ...]]]


def cheapest(model: Model, candidates: Candidates, *, batch: bool) -> str:
    """The candidate (routine and further constants, which follow from the model) with the fewest operations.

    In a batch all operations count, in a single call those of identical limbs count once. The first if the model is
    large. The choice is cached on disk: counting takes longer than loading code.
    """
    if not all(worth_tracing(routine, model.sizes) for routine, _ in candidates.values()):
        return next(iter(candidates))
    sources = [(name, identity(routine.body), sorted(routine.zeros)) for name, (routine, _) in candidates.items()]
    what = f"cheapest {model.hash} {sources} {'in a batch' if batch else 'alone'}"
    return fetch(what, lambda: _cheapest(model, candidates, batch).encode()).decode()


def _cheapest(model: Model, candidates: Candidates, batch: bool) -> str:
    found = {}
    for name, (routine, constants) in candidates.items():
        program = traced(routine, (model.grouped, *constants), model.sizes, None if batch else mark_limbs)
        if program is None:
            return next(iter(candidates))
        found[name] = cost(program)
    return min(found, key=lambda name: found[name])
