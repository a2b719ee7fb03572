"""The loops of a model as rows: their tasks, how far they are open, how mobile they leave it, and how to close them.

Whoever needs loops calls this module: `Loops(model)` has the rows (`space`), how far they are open (`gap`) and how much
that is for loops of their size (`openness`), and moves configurations onto them (`onto`); `close_loops` closes loops
that are open. `held_tasks` are the rows that steps eliminate; accelerations are kept by `ConstrainedDynamics`.

Closing is by Levenberg-Marquardt steps on the manifold, with a damping of the square of the gap: they converge
quadratically also where rows are redundant, as those of a planar loop in space are (Fan & Yuan 2005). Numbers in files
are rounded, and a planar loop of rounded numbers closes nowhere. A loop therefore counts as closed within a tolerance
relative to its size; from there on steps leave out directions that hardly move, and end at the least-squares gap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import CompiledFunction
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import LOCK
from bough.errors import ModelError, NumericalError, ShapeError, TaskError
from bough.model import LoopClosure, Model
from bough.model.parameters import steps
from bough.opspace.aims import AimSet
from bough.opspace.methods import Prepared
from bough.opspace.methods.method import dof_tree
from bough.opspace.space import OperationalSpace
from bough.opspace.sweeps.errors import ERRORS
from bough.opspace.sweeps.held import CLOSE_GAP, Fixed, Proximal
from bough.opspace.sweeps.wrenches import TIE
from bough.opspace.tasks import Seed, Task, distance, relative
from bough.opspace.tasks.task import WHOLE
from bough.opspace.taskset import TaskSet
from bough.types import FloatArray

TOLERANCE = 1e-5  # of the size of a loop, or radians: what six digits in a file leave open at most
CLOSED = 1e-11  # metres or radians: nothing is gained by closing further
HALVINGS, MOST_STEPS = 30, 100
ROUNDING, TURNS = 1e-12, 4  # metres or radians that `onto` leaves, and steps to get there
ITERATIONS = 3  # of eliminated rows, which may be redundant: see `sweeps.held`
PROGRESS = 1e-3  # of the squared gap of closed loops: a step that gains less is the last


class Mobility(NamedTuple):
    """The mobility of a mechanism at one configuration: `dofs` = nv - rank, `redundant` = rows - rank."""

    dofs: int
    rank: int
    rows: int
    redundant: int

    @property
    def freedoms(self) -> int:
        """The former name of `dofs`."""
        warn("Mobility.freedoms is called dofs now", DeprecationWarning, stacklevel=2)
        return self.dofs


class ClosedLoops(NamedTuple):
    """A configuration (nq,) with its loops closed: the largest gap that is left (m or rad), and steps taken."""

    q: FloatArray
    gap: float
    iterations: int
    success: bool


@explained
def closure_tasks(model: Model) -> tuple[Task, ...]:
    """A task for each closure of the model, named closure(name), with its rows: see `bough.model.LoopClosure`.

    Rows are velocities of `frame` seen from `other`, in world axes for a connect and a weld, in those of `frame` for
    the other kinds. `closure_targets` has where they belong.
    """
    return tuple(_task(c) for c in model.closures)


def _task(c: LoopClosure) -> Task:
    name = f"closure({c.name})"
    if c.kind == "distance":
        return distance(c.frame, c.other, name=name)
    matrix = [WHOLE[k] for k in c.components]
    reference: Any = "local_world_aligned" if c.kind in ("connect", "weld") else "local"
    return relative(c.frame, c.other, reference, matrix=matrix, name=name)


@dataclass(frozen=True)
class TieTask(Task):
    """The velocity of a mimic joint beyond what its leader asks for, on the tree in which it is a joint of its own."""

    dof: int  # the kernels' degree of freedom that follows

    def seeds(self, model: Model) -> list[list[Seed]]:
        m = model.mechanism
        body = np.repeat(np.arange(len(m.parent)), np.diff(m.dof))
        leader = int(model.leading[m.v_index[self.dof]])
        pair = ((self.dof, 1.0), (leader, -m.ratio[self.dof]))
        return [[Seed(TIE, int(body[k]), share * np.eye(6)[m.axis[k]], dof=k) for k, share in pair]]


def held_tasks(model: Model, closures: bool = True) -> tuple[Task, ...]:
    """Rows of the tree of all joints that are eliminated from a motion: loops, and ties of mimic joints."""
    follows = set(range(len(model.mechanism.v_index))) - set(model.leading.tolist())
    return (*(closure_tasks(model) if closures else ()), *(TieTask(f"tie({k})", k) for k in sorted(follows)))


def held_constants(tasks: TaskSet, count: int | None = None) -> tuple[Any, ...]:
    """The first constants of kernels that eliminate rows of `tasks`: all of them, or the last `count`."""
    how = Proximal(np.array([ITERATIONS]), np.array([1.0 / (count or tasks.size)]))
    tree = dof_tree(tasks)._replace(leader=tasks.model.leading)
    return tasks.model.mechanism, tasks.with_placements, tasks.pattern, tree, how


@explained
def closure_targets(model: Model) -> dict[str, Any]:
    """The targets of `closure_tasks`, by name: the identity (4, 4), or the length of a distance."""
    return {f"closure({c.name})": c.length if c.kind == "distance" else np.eye(4) for c in model.closures}


class Loops:
    """The closures of a model; degrees of freedom in `fixed` stay where they are in `onto`."""

    def __init__(self, model: Model, *, dynamics: Dynamics | None = None, fixed: Collection[int] = ()) -> None:
        self.model, self.tasks, self.fixed = model, closure_tasks(model), fixed
        if not self.tasks:
            raise ModelError(f"{model.name!r} has no closures; add them with Builder.add_closure")
        self.dynamics = dynamics or Dynamics(model)

    @cached_property
    def space(self) -> OperationalSpace:
        """The operational space of the loops, one task each."""
        return OperationalSpace(self.model, self.tasks, general=self.dynamics.general, dynamics=self.dynamics)

    def gap(self, q: npt.ArrayLike) -> FloatArray:
        """The gaps of the model's loops, (rows,) or (batch, rows): [linear, angular] from other to frame.

        In the order of `model.closures`; what the rows of `closure_tasks` are the rates of.
        """
        return np.negative(self._errors.call(q, self._target, self.model.neutral))

    @cached_property
    def _target(self) -> FloatArray:
        return self._aims.targets(closure_targets(self.model), self.model.neutral)[0][0]

    @cached_property
    def _aims(self) -> AimSet:
        return AimSet(self.space.tasks)

    @cached_property
    def _errors(self) -> CompiledFunction:
        tasks, aims = self.space.tasks, self._aims
        constants = (self.model.mechanism, tasks.with_placements, aims.arrays)
        return Prepared(ERRORS, constants, tasks.sizes | {"aims": aims.size}).bind(tasks, self.dynamics.general)

    @cached_property
    def scale(self) -> FloatArray:
        """(rows,) what a gap is compared to: metres around a loop (see `loop_size`), or one radian."""
        sizes = [(loop_size(self.model, c), c) for c in self.model.closures]
        return np.array([size if k < 3 else 1.0 for size, c in sizes for k in c.components])

    def openness(self, q: npt.ArrayLike) -> FloatArray:
        """The largest gap over the size of its loop, () or (batch,); a loop of up to `tolerance` counts as closed."""
        return np.asarray(np.abs(self.gap(q) / self.scale).max(axis=-1))

    def onto(self, q: FloatArray, turns: int = TURNS) -> FloatArray:
        """Configurations (batch, nq) that are nearly closed, moved onto the loops along the least way in the metric of
        the masses, by so many Gauss-Newton steps at most."""
        ties = np.zeros((len(q), self.constrained.size - len(self.scale)))
        for _ in range(turns):
            gap = self.gap(q)
            if np.abs(gap).max(initial=0.0) <= ROUNDING:
                break
            q = self._closing.call(q, np.concatenate([gap, ties], axis=1))
        return q

    @cached_property
    def constrained(self) -> TaskSet:
        """All rows that are never at liberty to move: loops, then ties of mimic joints."""
        return TaskSet(self.model, held_tasks(self.model))

    @cached_property
    def _closing(self) -> CompiledFunction:
        fixed = LOCK * np.isin(self.model.mechanism.v_index, list(self.fixed))
        constants = (*held_constants(self.constrained), Fixed(fixed))
        return Prepared(CLOSE_GAP, constants, self.constrained.sizes).bind(self.constrained, self.dynamics.general)

    def mobility(self, q: npt.ArrayLike) -> Mobility:
        """Degrees of freedom, rank and redundant rows at q (nq,), from the singular values of J.

        Those below `TOLERANCE` of the largest count as zero, as rounded numbers make redundant rows nearly redundant.
        """
        J = self.space.jacobian(q)
        if J.ndim != 2:
            raise ShapeError(f"mobility takes one configuration ({self.model.nq},), got {np.shape(q)}")
        sigma = np.linalg.svd(J, compute_uv=False)
        rank = int(np.count_nonzero(sigma > TOLERANCE * sigma.max(initial=0.0)))
        return Mobility(self.model.nv - rank, rank, len(J), len(J) - rank)


@explained
def mobility(model: Model, q: npt.ArrayLike) -> Mobility:
    """The mobility of a model with closures at q (nq,): degrees of freedom, rank, rows, redundant rows."""
    return Loops(model).mobility(q)


def loop_size(model: Model, closure: LoopClosure) -> float:
    """Metres across a loop: the diagonal of a box around its joints and closing frames, all joints at zero."""
    frames, parent = model.frames, model.mechanism.parent
    ends = [model.frame(closure.frame), model.frame(closure.other)]
    ways: list[list[int]] = []
    for i in frames.body[ends].tolist():
        way = []
        while i >= 0:
            way.append(i)
            i = int(parent[i])
        ways.append(way[::-1])
    shared = sum(a == b for a, b in zip(*ways, strict=False))
    points = []
    for k, way in zip(ends, ways, strict=True):
        R, p = np.eye(3), np.zeros(3)
        for T in steps(model, model.neutral, way[shared:]):
            p, R = p + R @ T[:3, 3], R @ T[:3, :3]
            points.append(p)
        points.append(p + R @ frames.p[k])
    return float(np.linalg.norm(np.ptp(points, axis=0)))


@explained
def close_loops(
    model: Model,
    q: npt.ArrayLike,
    *,
    hold: Iterable[str] = (),
    tolerance: float = TOLERANCE,
    strict: bool = True,
    loops: Loops | None = None,
) -> ClosedLoops:
    """Compute a configuration near q (nq,) in which the loops of the model are closed.

    Loops are closed to rounding where possible, else by least squares: rounded numbers in a file may close nowhere.

    Parameters
    ----------
    model : the model
    q : the configuration to start from
    hold : names of joints that stay where they are
    tolerance : a loop counts as closed if its gap is less than this part of its size (or radians)
    strict : raise an error that names the loop that stays open; if False, return the nearest configuration with
        `success` False
    loops : the model's `Loops` to share, if there are some
    """
    found = loops or Loops(model)
    now: Any = np.array(q, float)
    if now.shape != (model.nq,):
        raise ShapeError(f"{model.name!r} takes q ({model.nq},), got {now.shape}")
    free = np.ones(model.nv, bool)
    for name in (hold,) if isinstance(hold, str) else hold:
        free[model.joint(name).v] = False
    gap, k, better = found.gap(now), 0, True
    while better and k < MOST_STEPS and np.abs(gap).max(initial=0.0) > CLOSED:
        now, gap, better = _closer(found, now, gap, free, tolerance)
        k += 1
    largest = float(np.abs(gap).max(initial=0.0))
    success = bool((np.abs(gap) <= tolerance * found.scale).all())
    if strict and not success:
        raise NumericalError(_left_open(model, gap, k))
    return ClosedLoops(now, largest, k, success)


def _closer(
    loops: Loops, q: FloatArray, gap: FloatArray, free: npt.NDArray[np.bool_], tolerance: float
) -> tuple[Any, FloatArray, bool]:
    """One step: the least-squares move, halved until it brings the frames closer."""
    J = loops.space.jacobian(q)[:, free]
    size = float(gap @ gap)
    U, sigma, V = np.linalg.svd(J, full_matrices=False)
    away = U.T @ gap
    if closed := bool((np.abs(gap) <= tolerance * loops.scale).all()):
        # nearly singular directions: where a loop folds, moves as long as sigma close it; rounded numbers ask for more
        most = sigma.max(initial=0.0)
        follows = (sigma > tolerance * most) | (10.0 * sigma**2 > np.abs(away) * most)
        share = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=follows & (sigma > 0.0))
    else:
        share = sigma / (sigma**2 + min(size, 1.0))
    move = np.zeros(len(free))
    move[free] = -V.T @ (share * away)
    for _ in range(HALVINGS):
        there = loops.model.integrate(q, move)
        left = loops.gap(there)
        if left @ left < size:
            return there, left, bool(left @ left < size * (1.0 - PROGRESS * closed))
        move *= 0.5
    return q, gap, False


def _left_open(model: Model, gap: FloatArray, steps: int) -> str:
    worst, at = int(np.abs(gap).argmax()), 0
    for c in model.closures:
        at += c.rows
        if worst < at:
            break
    unit = "m" if c.components[worst - at] < 3 else "rad"
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
