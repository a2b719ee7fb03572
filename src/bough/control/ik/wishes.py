"""Motions that are wished besides the tasks: towards a posture, and away from singular configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bough.model import Model
from bough.types import FloatArray

Wish: TypeAlias = Callable[[FloatArray], FloatArray]  # (rows, nq) -> (rows, nv)

POSTURE_GAIN = 0.5  # of the way to the posture in a step, as far as the tasks leave it


def towards(model: Model, posture: FloatArray) -> Wish:
    """Half of the way to a posture (nq,)."""

    def wish(q: FloatArray) -> FloatArray:
        return POSTURE_GAIN * model.difference(q, posture)

    return wish
