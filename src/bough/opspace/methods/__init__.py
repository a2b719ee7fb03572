"""The methods for Lambda^-1 by name: each one's routine, and the constants it needs for a task set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bough.compile.executions import BoundFunction, bind_arrays
from bough.compile.routine import Routine
from bough.errors import TaskError
from bough.model import mark_limbs, parents_of_dofs
from bough.opspace.methods.blocks import block_sizes
from bough.opspace.methods.chang_khatib import CHANG_KHATIB, chang_khatib_program
from bough.opspace.methods.dense import DENSE, full_pattern
from bough.opspace.methods.efpa import EFPA, meetings
from bough.opspace.methods.ltdl import LTDL
from bough.opspace.methods.ltl import LTL
from bough.opspace.methods.pv import PV
from bough.opspace.methods.pvr import PVR, stream_sizes, streams
from bough.opspace.methods.rjk import RJK, rjk_program
from bough.opspace.sweeps.sparse import DofTree
from bough.opspace.taskset import TaskSet


class Prepared(NamedTuple):
    """A routine with its constants (the mechanism first) and the sizes of its arrays."""

    routine: Routine
    constants: tuple[tuple[Any, ...], ...]
    sizes: dict[str, int]

    def traced(self, tasks: TaskSet) -> Prepared:
        """The same with inertias in the form that traced code is made from."""
        return self._replace(constants=(tasks.traced_mechanism, *self.constants[1:]))

    def bind(self, tasks: TaskSet, general: bool = False) -> BoundFunction:
        """The routine as a function of arrays, compiled on first use."""
        return bind_arrays(*self, general=general, folded=lambda: self.traced(tasks).constants, twins=mark_limbs)


def dof_tree(tasks: TaskSet) -> DofTree:
    m = tasks.model.mechanism
    return DofTree(parents_of_dofs(m), m.rows)


def _dense(tasks: TaskSet) -> Prepared:
    nv = tasks.model.nv
    full, chain = full_pattern(tasks.size, nv)
    constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, full, chain)
    sizes = tasks.sizes | {"full": len(full.dof), "triangle": nv * (nv + 1) // 2}
    return Prepared(DENSE, constants, sizes)


def _sparse(routine: Routine) -> Callable[[TaskSet], Prepared]:
    def prepare(tasks: TaskSet) -> Prepared:
        constants = (tasks.model.mechanism, tasks.with_placements, tasks.pattern, dof_tree(tasks))
        return Prepared(routine, constants, tasks.sizes)

    return prepare


def _rjk(tasks: TaskSet) -> Prepared:
    program = rjk_program(tasks)
    return Prepared(RJK, (tasks.model.mechanism, tasks.seeds, program), tasks.sizes | block_sizes(program))


def _chang_khatib(tasks: TaskSet) -> Prepared:
    program = chang_khatib_program(tasks)
    return Prepared(CHANG_KHATIB, (tasks.model.mechanism, tasks.seeds, program), tasks.sizes | block_sizes(program))


def _efpa(tasks: TaskSet) -> Prepared:
    return Prepared(EFPA, (tasks.model.mechanism, tasks.seeds, tasks.slots, meetings(tasks)), tasks.sizes)


def _pv(tasks: TaskSet) -> Prepared:
    return Prepared(PV, (tasks.model.mechanism, tasks.seeds, tasks.slots, tasks.pattern), tasks.sizes)


def _pvr(tasks: TaskSet) -> Prepared:
    program = streams(tasks)
    return Prepared(PVR, (tasks.model.mechanism, tasks.seeds, program), tasks.sizes | stream_sizes(program))


METHODS: dict[str, Callable[[TaskSet], Prepared]] = {
    "dense": _dense,
    "ltl": _sparse(LTL),
    "ltdl": _sparse(LTDL),
    "rjk": _rjk,
    "chang_khatib": _chang_khatib,
    "efpa": _efpa,
    "pv": _pv,
    "pvr": _pvr,
}


def prepare(method: str, tasks: TaskSet) -> Prepared:
    """The routine of a method with its constants; a method that cannot serve this model is refused."""
    if method not in METHODS:
        raise TaskError(f"there is no method {method!r} for Lambda^-1; expected one of {', '.join(METHODS)} or 'auto'")
    if tasks.model.couplings and method != "dense":
        raise TaskError(
            f"method {method!r} needs a tree, and mimic joints tie branches of {tasks.model.name!r} together: "
            f"use 'dense', or build the model with mimic='independent'"
        )
    return METHODS[method](tasks)
