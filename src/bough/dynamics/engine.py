"""Routines of a model as callables, and the choice of the cheapest among several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bough.compile.bind import BoundFunction as BoundFunction
from bough.compile.bind import bind_arrays as bind_arrays
from bough.compile.bind import small_program, worth_tracing
from bough.compile.cache import fetch
from bough.compile.kernel import source_hash
from bough.compile.routine import Routine, operations
from bough.limbs import mark_limbs
from bough.model import Model


def bind(
    routine: Routine, model: Model, *constants: Any, general: bool = False, dtype: Any = np.float64
) -> BoundFunction:
    """`routine` for `model` (and further groups of constants) as a function of arrays, compiled on first use.

    Models whose graph is too large are served by the general code. With BOUGH_INTERPRET=1 in the environment nothing
    is compiled.
    """

    def lean() -> Sequence[Any]:
        return (model.grouped, *constants)

    groups = (model.mechanism, *constants)
    return bind_arrays(routine, groups, model.sizes, general=general, dtype=dtype, lean=lean, twins=mark_limbs)


Candidates = Mapping[str, tuple[Routine, tuple[Any, ...]]]


def cheapest(model: Model, candidates: Candidates) -> str:
    """The candidate (routine and further constants, which follow from the model) with the fewest operations.

    The first if the model is large. The choice is kept on disk: counting takes longer than loading code.
    """
    if not all(worth_tracing(routine, model.sizes) for routine, _ in candidates.values()):
        return next(iter(candidates))
    sources = [(name, source_hash(routine.body)) for name, (routine, _) in candidates.items()]
    return fetch(f"cheapest {model.hash} {sources}", lambda: _fewest(model, candidates).encode()).decode()


def _fewest(model: Model, candidates: Candidates) -> str:
    cost = {}
    for name, (routine, constants) in candidates.items():
        program = small_program(routine, (model.grouped, *constants), model.sizes)
        if program is None:
            return next(iter(candidates))
        cost[name] = operations(program).total
    return min(cost, key=lambda name: cost[name])
