"""`InverseMethod`: one way to compute Lambda^-1, and what the planner must know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.compile.executions import CompiledFunction, bind_arrays
from bough.compile.routine import Routine
from bough.dynamics.engine import CPU, Device
from bough.model import mark_limbs, parents_of_dofs
from bough.opspace.sweeps.patterns import DofTree
from bough.opspace.taskset import TaskSet


class Prepared(NamedTuple):
    """A routine with its constants (the mechanism first) and the sizes of its arrays."""

    routine: Routine
    constants: tuple[tuple[Any, ...], ...]
    sizes: dict[str, int]

    def traced(self, tasks: TaskSet) -> Prepared:
        """The same with inertias in the form that traced code is made from."""
        return self._replace(constants=(tasks.traced_mechanism, *self.constants[1:]))

    def bind(
        self,
        tasks: TaskSet,
        general: bool = False,
        dtype: npt.DTypeLike = np.float64,
        name: str | None = None,
        device: Device = CPU,
    ) -> CompiledFunction:
        """The routine as a function of arrays, compiled on first use; errors call it `name`."""

        def folded() -> tuple[tuple[Any, ...], ...]:
            return self.traced(tasks).constants

        how: dict[str, Any] = {"general": general, "dtype": dtype, "name": name, "explain": tasks.model.explain}
        return bind_arrays(*self, folded=folded, twins=mark_limbs, device=device, **how)


@dataclass(frozen=True)
class InverseMethod:
    """A way to Lambda^-1: `prepare` gives its routine for tasks, `estimate` its operations where graphs are too large.

    `by_factor`: H and its LTDL factor come with it. `may_be_chosen`: the planner considers it. `needs_tree`: it cannot
    serve mimic joints, which tie branches together.
    """

    name: str
    prepare: Callable[[TaskSet], Prepared]
    estimate: Callable[[TaskSet, Prepared], int]
    by_factor: bool = False
    may_be_chosen: bool = True
    needs_tree: bool = True


def dof_tree(tasks: TaskSet) -> DofTree:
    """The tree of degrees of freedom behind the packed factor of H."""
    m = tasks.model.mechanism
    return DofTree(parents_of_dofs(m), m.rows)
