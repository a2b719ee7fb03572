"""`InverseMethod`: one way to compute Lambda^-1, and what the planner must know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough import cost
from bough.compile.executions import CompiledFunction, bind_arrays
from bough.compile.graph.program import Program
from bough.compile.routine import Constants, FindTwins, Routine, trace
from bough.dynamics.engine import CPU, Device
from bough.dynamics.parameters import Parameters
from bough.model import mark_limbs
from bough.model.coupling import parents_of_dofs
from bough.opspace.sweeps.jacobian import DofTree
from bough.opspace.taskset import TaskSet
from bough.tree import Tree


class Prepared(NamedTuple):
    """A routine with its constants (the mechanism first) and the sizes of its arrays."""

    routine: Routine
    constants: tuple[tuple[Any, ...], ...]
    sizes: dict[str, int]

    def with_parameters(
        self, tasks: TaskSet, parameters: Parameters, twins: FindTwins = mark_limbs
    ) -> tuple[Routine, Constants]:
        """The routine and its constants with quantities of the model as further inputs."""
        return parameters.constants(self.routine, self.constants, lambda: tasks.traced_mechanism, twins)

    def program(self, tasks: TaskSet, parameters: Parameters | None = None, limit: int | None = None) -> Program:
        """The straight-line program; `GraphTooLargeError` is raised past `limit` nodes."""
        routine, constants = self.with_parameters(tasks, parameters or Parameters(tasks.model))
        return trace(routine, constants.for_tracing(), self.sizes, limit)

    def bind(
        self,
        tasks: TaskSet,
        general: bool = False,
        dtype: npt.DTypeLike = np.float64,
        name: str | None = None,
        device: Device = CPU,
        parameters: Parameters | None = None,
        derive: Callable[[Routine], Routine] | None = None,
        twins: FindTwins = mark_limbs,
    ) -> CompiledFunction:
        """The routine, or what is derived of it, as a function of arrays, compiled on first use.

        Parameters are its last inputs. Errors call it `name`.
        """
        routine, found = self.with_parameters(tasks, parameters or Parameters(tasks.model), twins)
        how: dict[str, Any] = {"general": general, "dtype": dtype, "name": name, "explain": tasks.model.explain}
        how |= {"folded": found.folded, "twins": found.twins, "device": device}
        return bind_arrays(derive(routine) if derive else routine, found.groups, self.sizes, **how)


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


# About how many operations sweeps take, for models whose graphs are too large to be counted: of one step, on average
BODY, TRANSFORM, RIGID = 190, 42, 75


def inertias(tasks: TaskSet) -> int:
    """The articulated inertias of all bodies, with which every recursion begins."""
    return BODY * len(tasks.model.mechanism.parent)


def by_factor(tasks: TaskSet, prepared: Prepared) -> int:
    """H, J, the factor and the products of the sparse methods."""
    m, p = tasks.model.mechanism, tasks.pattern
    tree, expanded = Tree(m.parent), Tree(dof_tree(tasks).parent)
    lengths = np.diff(p.of_row)
    shared = tasks.size * (tasks.size + 1) // 2 * float(lengths.mean() if len(lengths) else 0)
    kinematics = (RIGID + TRANSFORM) * len(m.parent) + TRANSFORM * tree.D1 + 11 * len(p.dof)
    return int(kinematics + cost.ltdl(expanded).total + (lengths * lengths).sum() + 2 * shared)
