"""The methods for Lambda^-1, one file each: a routine, how it is prepared for tasks, and what the planner must know.

A new method is its file, which ends with its `METHOD`, and one row in the table below. The order of the table decides
between methods that cost the same.

Belongs here: ways to Lambda^-1, and sweeps that only they need. Does not belong here: which one to take (`planner`).
"""

from __future__ import annotations

from bough.errors import TaskError, unknown_option
from bough.opspace.methods.chang_khatib import METHOD as CHANG_KHATIB
from bough.opspace.methods.dense import METHOD as DENSE
from bough.opspace.methods.efpa import METHOD as EFPA
from bough.opspace.methods.ltdl import METHOD as LTDL
from bough.opspace.methods.ltl import METHOD as LTL
from bough.opspace.methods.method import InverseMethod, Prepared, dof_tree
from bough.opspace.methods.pv import METHOD as PV
from bough.opspace.methods.pvr import METHOD as PVR
from bough.opspace.methods.rjk import METHOD as RJK
from bough.opspace.taskset import TaskSet

__all__ = ["METHODS", "InverseMethod", "Prepared", "dof_tree", "prepare"]

METHODS: dict[str, InverseMethod] = {
    method.name: method for method in (PV, PVR, LTDL, LTL, EFPA, CHANG_KHATIB, RJK, DENSE)
}


def prepare(name: str, tasks: TaskSet) -> Prepared:
    """The routine of a method with its constants; a method that cannot serve this model is refused."""
    if name not in METHODS:
        raise unknown_option(f"there is no method {name!r} for Lambda^-1", name, [*METHODS, "auto"])
    if tasks.model.couplings and METHODS[name].needs_tree:
        raise TaskError(
            f"method {name!r} needs a tree, and mimic joints tie branches of {tasks.model.name!r} together: "
            f"use 'dense', or build the model with mimic='independent'"
        )
    return METHODS[name].prepare(tasks)
