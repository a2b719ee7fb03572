"""Quantities of a model that differ from row to row of many motions: one array for each, a row for each motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.dynamics.given import Parameters
from bough.dynamics.parameters import check_inputs
from bough.errors import ShapeError, UnknownNameError
from bough.model import Model
from bough.types import FloatArray


class RowParameters:
    """`values` by name, (batch, ...), in the order in which functions take them; the model's own where not given."""

    def __init__(self, model: Model, inputs: Sequence[str], given: Mapping[str, npt.ArrayLike], batch: int) -> None:
        self.quantities = Parameters(model, check_inputs(model, inputs))
        self._check_names(given)
        self.values: dict[str, FloatArray] = {}
        for name, own in self.quantities.own.items():
            self.values[name] = np.array(np.broadcast_to(own, (batch, *own.shape)), float)
            if name in given:
                self.assign(slice(None), {name: given[name]})

    def assign(self, rows: Any, given: Mapping[str, npt.ArrayLike]) -> None:
        """New values of some rows: one for all of them, or one for each."""
        self._check_names(given)
        for name, value in given.items():
            own, found = self.quantities.own[name], np.asarray(value, float)
            count = len(self.values[name][rows])
            if found.shape not in (own.shape, (count, *own.shape)) or not np.isfinite(found).all():
                raise ShapeError(
                    f"{name} must be finite and have shape {own.shape} or {(count, *own.shape)}, got {found.shape}"
                )
            self.quantities.examine(name, found, check=True)
            self.values[name][rows] = found

    def _check_names(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in self.quantities.inputs:
                known = ", ".join(self.quantities.inputs) or "none"
                raise UnknownNameError(f"{name!r} is not among the inputs ({known}): name it in inputs=")
