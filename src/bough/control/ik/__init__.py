"""Inverse kinematics: configurations in which tasks reach their targets.

Belongs here: the step as a kernel, descents of many rows, searches from many starts. Does not belong here: tasks and
their errors (`opspace`), and forces (the rest of `control`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.control.ik.problem import Key, Targets, by_name, named
from bough.control.ik.solver import InverseKinematics, Solution, Step
from bough.model import Model
from bough.opspace import Task
from bough.types import IntArray

__all__ = ["InverseKinematics", "Solution", "Step", "solve", "step", "with_status"]

OPTIONS = {"weights": None, "priorities": None, "posture": None, "manipulability": 0.0, "limits": True}


@explained
def solve(
    model: Model,
    targets: Targets,
    q0: npt.ArrayLike | None = None,
    *,
    weights: Mapping[Key, Any] | None = None,
    priorities: Mapping[Key, int] | None = None,
    posture: npt.ArrayLike | None = None,
    manipulability: float = 0.0,
    limits: bool = True,
    **search: Any,
) -> Solution:
    """Configurations in which frames or tasks are at their targets, within the limits of the joints.

    `targets` is {frame: placement (4, 4) or point (3,)} or {task: its target}, each alone or as a batch. The first
    start is `q0` (nq,) or (batch, nq), by default the neutral configuration; where it does not lead to all targets,
    others are drawn. `weights` to `manipulability` are those of `InverseKinematics`; `search` is what its
    `solve` takes: tolerance, iterations (of each start), starts, seed, threads, device. A target that cannot be reached
    is no error: `success` is False there, and q the nearest configuration found. With several priorities `success` and
    `error` have one entry for each.

    Tensors of PyTorch or CuPy on a GPU, float64, are solved there (device="cuda" says that they must be), and give
    tensors; their numbers are not checked.
    """
    solver, wanted = _solver(model, targets, weights, priorities, posture, manipulability, limits)
    return solver.solve(wanted, q0, **search)


@explained
def with_status(
    model: Model, targets: Targets, q0: npt.ArrayLike | None = None, **options: Any
) -> tuple[Solution, IntArray]:
    """The same as `solve`, and a status for each row, so that no row of a batch raises for the others.

    0: all reached; 2: a target or the start is not finite, too far, or no placement (q is NaN); 4: not all reached.
    """
    solver, wanted = _solver(model, targets, *(options.pop(name, default) for name, default in OPTIONS.items()))
    return solver.with_status(wanted, q0, **options)


@explained
def step(model: Model, targets: Targets, q: npt.ArrayLike, **options: Any) -> Step:
    """One step towards the targets, for servoing.

    `options` are `weights` to `limits` of `solve`, and what `InverseKinematics.step` takes: gain, dt, damping.
    """
    solver, wanted = _solver(model, targets, *(options.pop(name, default) for name, default in OPTIONS.items()))
    return solver.step(wanted, q, **options)


def _solver(
    model: Model, targets: Targets, weights: Any, priorities: Any, posture: Any, gain: float, limits: bool
) -> tuple[InverseKinematics, dict[str, Any]]:
    """A solver of these options, compiled once, and the targets by the names of its tasks."""
    tasks, wanted, names = named(targets)
    weighed = by_name(weights, names, "a weight")
    key = tuple((name, tuple(np.ravel(x).tolist()), np.shape(x)) for name, x in weighed.items())
    ranks = tuple(by_name(priorities, names, "a priority").items())
    objective = None if posture is None else tuple(np.ravel(posture).tolist())
    return _made(model, tasks, key, ranks, objective, gain, limits), wanted


@lru_cache(maxsize=32)
def _made(
    model: Model, tasks: tuple[Task, ...], weights: Any, ranks: Any, posture: Any, gain: float, limits: bool
) -> InverseKinematics:
    given = {name: values[0] if shape == () else np.array(values) for name, values, shape in weights}
    return InverseKinematics(
        model, tasks, weights=given, priorities=dict(ranks), posture=posture, manipulability=gain, limits=limits
    )
