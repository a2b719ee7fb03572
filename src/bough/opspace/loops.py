"""The loops of a model as rows: their tasks, how far they are open, how mobile they leave it, and how to close them.

Closing is by Levenberg-Marquardt steps on the manifold, with a damping of the square of the gap: they converge
quadratically also where rows are redundant, as those of a planar loop in space are (Fan & Yuan 2005).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, NumericalError, ShapeError, TaskError
from bough.model import Model
from bough.opspace.space import OperationalSpace
from bough.opspace.tasks import RelativeTask, Task, relative
from bough.opspace.tasks.matrix import LINEAR
from bough.spatial import rotation_vector
from bough.types import FloatArray

# Singular values of J below this share of the largest count as zero.
RANK = 1e-9
HALVINGS = 30


class Mobility(NamedTuple):
    """How a mechanism can move at one configuration: `freedoms` = nv - rank, `redundant` = rows - rank."""

    freedoms: int
    rank: int
    rows: int
    redundant: int


class ClosedLoops(NamedTuple):
    """A configuration (nq,) with its loops closed: the largest gap that is left (m or rad), and steps taken."""

    q: FloatArray
    gap: float
    iterations: int
    success: bool


@explained
def closure_tasks(model: Model) -> tuple[RelativeTask, ...]:
    """A relative task for each closure of the model: three rows for a connect, six for a weld, named after it."""
    return tuple(
        relative(c.frame, c.other, matrix=LINEAR if c.kind == "connect" else None, name=f"closure({c.name})")
        for c in model.closures
    )


class Loops:
    """The closures of a model, and further rows that are held with them."""

    def __init__(self, model: Model, *, tasks: Iterable[Task] = (), dynamics: Dynamics | None = None) -> None:
        self.model, self.tasks = model, (*tasks, *closure_tasks(model))
        if not self.tasks:
            raise ModelError(f"{model.name!r} has no closures; add them with Builder.add_closure")
        self.dynamics = dynamics or Dynamics(model)

    @cached_property
    def space(self) -> OperationalSpace:
        """The operational space of the loops, one task each."""
        return OperationalSpace(self.model, self.tasks, general=self.dynamics.general, dynamics=self.dynamics)

    def gap(self, q: npt.ArrayLike) -> FloatArray:
        """How far the model's loops are open, (rows,) or (batch, rows): [linear, angular] from other to frame.

        In world axes, in the order of `model.closures`; what the rows of `closure_tasks` are the rates of.
        """
        T = np.asarray(self.dynamics.placements(q))
        parts = [T[..., :0, 0, 0]]
        for c in self.model.closures:
            A, B = T[..., self.model.frame(c.frame), :, :], T[..., self.model.frame(c.other), :, :]
            parts.append(A[..., :3, 3] - B[..., :3, 3])
            if c.kind == "weld":
                turn = (A[..., :3, :3] @ np.swapaxes(B[..., :3, :3], -1, -2)).reshape(-1, 3, 3)
                parts.append(np.array([rotation_vector(R) for R in turn]).reshape(parts[-1].shape))
        return np.concatenate(parts, axis=-1)

    def mobility(self, q: npt.ArrayLike) -> Mobility:
        """Freedoms, rank and redundant rows at q (nq,), from the singular values of J."""
        J = self.space.jacobian(q)
        if J.ndim != 2:
            raise ShapeError(f"mobility takes one configuration ({self.model.nq},), got {np.shape(q)}")
        sigma = np.linalg.svd(J, compute_uv=False)
        rank = int(np.count_nonzero(sigma > RANK * sigma.max(initial=0.0)))
        return Mobility(self.model.nv - rank, rank, len(J), len(J) - rank)


@explained
def mobility(model: Model, q: npt.ArrayLike) -> Mobility:
    """How the closures of a model leave it free to move at q (nq,): freedoms, rank, rows, redundant rows."""
    return Loops(model).mobility(q)


@explained
def close_loops(
    model: Model,
    q: npt.ArrayLike,
    *,
    hold: Iterable[str] = (),
    tolerance: float = 1e-11,
    iterations: int = 100,
    strict: bool = True,
    loops: Loops | None = None,
) -> ClosedLoops:
    """A configuration near q (nq,) in which the loops of the model are closed to `tolerance` (m and rad).

    Joints named in `hold` stay where they are. Where no such configuration is found, the loop that stays open is named;
    with strict=False the nearest one is returned, with `success` False.
    """
    found = loops or Loops(model)
    now: Any = np.array(q, float)
    if now.shape != (model.nq,):
        raise ShapeError(f"{model.name!r} takes q ({model.nq},), got {now.shape}")
    free = np.ones(model.nv, bool)
    for name in (hold,) if isinstance(hold, str) else hold:
        free[model.joint(name).v] = False
    gap, k = found.gap(now), 0
    while k < iterations and np.abs(gap).max(initial=0.0) > tolerance:
        now, gap, better = _closer(found, now, gap, free)
        k += 1
        if not better:
            break
    largest = float(np.abs(gap).max(initial=0.0))
    success = largest <= tolerance
    if strict and not success:
        raise NumericalError(_left_open(model, gap, k))
    return ClosedLoops(now, largest, k, success)


def _closer(loops: Loops, q: FloatArray, gap: FloatArray, free: npt.NDArray[np.bool_]) -> tuple[Any, FloatArray, bool]:
    """One step: the damped least-squares move, halved until it brings the frames closer."""
    J = loops.space.jacobian(q)[-len(gap) :, free]
    size = float(gap @ gap)
    damped = np.vstack([J, np.sqrt(min(size, 1.0)) * np.eye(J.shape[1])])
    move = np.zeros(len(free))
    move[free] = np.linalg.lstsq(damped, np.concatenate([-gap, np.zeros(J.shape[1])]), rcond=None)[0]
    for _ in range(HALVINGS):
        there = loops.model.integrate(q, move)
        left = loops.gap(there)
        if left @ left < size:
            return there, left, True
        move *= 0.5
    return q, gap, False


def _left_open(model: Model, gap: FloatArray, steps: int) -> str:
    worst, at = int(np.abs(gap).argmax()), 0
    for c in model.closures:
        at += c.rows
        if worst < at:
            break
    unit = "m" if c.kind == "connect" or worst < at - 3 else "rad"
    return (
        f"the loops of {model.name!r} cannot be closed from here: closure {c.name!r} stays open by "
        f"{abs(gap[worst]):.3g} {unit} after {steps} steps; start elsewhere, or hold fewer joints"
    )


def with_closures(space: OperationalSpace | Model) -> OperationalSpace:
    """The space with the rows of its model's closures, unless it has tasks of their names; or a model's closures."""
    if isinstance(space, Model):
        return Loops(space).space
    if not isinstance(space, OperationalSpace):
        raise TaskError(f"expected a bough.OperationalSpace of constrained rows, or a model with loops, got {space!r}")
    known = set(space.tasks.names)
    more = [task for task in closure_tasks(space.model) if task.name not in known]
    if not more:
        return space
    return OperationalSpace(
        space.model, (*space.tasks.tasks, *more), dtype=space.dtype, general=space.general, dynamics=space.dynamics
    )
