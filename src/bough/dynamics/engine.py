"""From a routine and a model to a callable: general (Numba) or specialised (traced, compiled for this model)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.compile.call import CompiledFunction
from bough.compile.general import generalise
from bough.compile.routine import Routine, trace
from bough.compile.specialise import specialise
from bough.model import Model

# Past this many operations a graph costs more to compile than it gains.
LARGEST_GRAPH = 60_000


def bind(
    routine: Routine, model: Model, *constants: Any, general: bool = False, dtype: Any = np.float64
) -> CompiledFunction:
    """`routine` for `model` (and further groups of constants) as a function of arrays."""
    groups = (model.mechanism, *constants)
    if general:
        return generalise(routine, groups, model.sizes, dtype)
    return specialise(routine.name, trace(routine, groups, model.sizes), dtype)
