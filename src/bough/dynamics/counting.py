"""Exact operation counts of any function on any model, from the graph that its kernel leaves; nothing is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bough.arguments import explained
from bough.compile.graph.program import OperationCount
from bough.compile.routine import operations
from bough.dynamics.functions import program
from bough.model import Model
from bough.types import Reference


@explained
def count(
    model: Model,
    function: str,
    *,
    method: str | None = None,
    frame: str | None = None,
    reference: Reference | None = None,
    tasks: Sequence[Any] = (),
    inputs: Sequence[str] = (),
) -> OperationCount:
    """Operations of a function of `Dynamics`, everything from q included: mul, add, div, sqrt, sincos.

    Options are those of the function, with the same defaults; `method` is "aba" or "crba" for forward_dynamics. With
    `tasks`, the function is "inverse_inertia" of `OperationalSpace`, by one of its methods. `inputs` names
    quantities of the model that are inputs, as in `Dynamics`.
    """
    if tasks:
        from importlib import import_module

        return import_module("bough.opspace").count(model, function, method, tasks)
    options = {"method": method, "frame": frame, "reference": reference}
    return operations(
        program(model, function, inputs=inputs, **{name: x for name, x in options.items() if x is not None})
    )
