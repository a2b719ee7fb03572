"""Steps with contacts on planes, many states at once, by the traced kernel of `step`.

What the kernel cannot know beforehand is decided here, state by state: sweeps that have not converged go on from the
impulses found, joints that would pass a limit are asked again with limits among the rows, and points that went into the
ground are lifted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from bough.compile.executions import LARGEST_GRAPH, BoundFunction
from bough.compile.routine import Routine
from bough.dynamics.dynamics import Dynamics
from bough.errors import NonFiniteError, NumericalError
from bough.opspace import TaskSet, joint, rows
from bough.opspace.methods import Prepared
from bough.opspace.methods.method import dof_tree
from bough.simulate.cone import PACES, laws
from bough.simulate.cone import SWEEPS as AT_ONE_PACE
from bough.simulate.contacts import Contacts, ContactSpace, Ground, Plane, tangent_axes
from bough.simulate.joint_effects import JointEffects
from bough.simulate.step import CHANGE, CONTACT_STEP, DEPTH, EXCESS, LARGEST, LIFT, SPENT, GroundPlanes, JointRows
from bough.types import FloatArray, IntArray

SWEEPS = 6  # in one call
TURNS = AT_ONE_PACE * PACES // SWEEPS  # calls until sweeps are given up
DEEP = 1e-6  # metres: points that are further inside the ground are lifted
FAR = 1e30


# Kernels by what they are made of: tracing one takes longer than a hundred steps
_known: WeakKeyDictionary[Dynamics, dict[str, BoundFunction]] = WeakKeyDictionary()


class Stepped(NamedTuple):
    """States after a step, a row for each."""

    q: FloatArray
    v: FloatArray
    lam: FloatArray  # (batch, rows): those of joints with friction or a limit, then three of each contact
    residual: FloatArray  # (batch,) how far the last sweep still moved a velocity


class Situation(NamedTuple):
    """States before a step, a row for each: forces of joints, friction of contacts, and impulses to begin with."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    friction: FloatArray  # (batch, contacts)
    start: FloatArray  # (batch, rows), as the last step found them

    def some(self, rows: IntArray) -> Situation:
        """These rows alone."""
        return Situation(*(x[rows] for x in self))


Advance: TypeAlias = Callable[[Situation, float], Stepped]


def serves(effects: JointEffects, contacts: Contacts | None) -> bool:
    """Whether steps can be traced: planes, no loops, no mimic joints, a graph that is not too large."""
    model, general = effects.model, effects.dynamics.general
    if contacts is None or effects.closures or model.couplings or general:
        return False
    flat = all(isinstance(ground, Plane) for ground in contacts.grounds)
    return flat and _small(model.nv, int(np.count_nonzero(effects.friction)), contacts.count)


def _small(nv: int, joints: int, contacts: int) -> bool:
    """Whether the graph of a step with so many rows of joints and contacts is worth compiling."""
    rows = joints + 3 * contacts
    return SWEEPS * (2 * rows**2 + 60 * contacts) + 400 * nv + 20 * rows**2 < LARGEST_GRAPH


class CompiledSteps:
    """Steps of a model with contacts; with `sweeps` that many of them and no more.

    Where limits of joints would make too many rows for a graph, states in which they act are stepped by `otherwise`.
    A state without a finite successor raises, or is NaN if not `strict`.
    """

    def __init__(
        self, effects: JointEffects, space: ContactSpace, sweeps: int | None, otherwise: Advance, strict: bool
    ) -> None:
        self.effects, self.model, self.space = effects, effects.model, space
        self.sweeps, self.otherwise, self.strict = sweeps, otherwise, strict
        rubbing, limited = set(np.flatnonzero(effects.friction).tolist()), set(effects.limited.tolist())
        self.lean = _Rows(self, rubbing)
        self.full: _Rows | None = None
        self.joints = effects.rows.tolist()
        if _small(self.model.nv, len(effects.rows), space.count):
            self.full = self.lean if limited <= rubbing else _Rows(self, rubbing | limited)
            self.joints = self.full.joints
        # normal and tangents (contacts, 3, 3)
        self.axes = tangent_axes(np.repeat([_plane(g).unit for g in space.contacts.grounds], len(space.points), axis=0))
        # where the joints of the lean rows, and all contacts, are among all rows
        known = {v: i for i, v in enumerate(self.joints)}
        first, count = len(self.joints), 3 * space.count
        places = [*(known[v] for v in self.lean.joints), *range(first, first + count)]
        last = places == [*range(first, first + count)]
        self._lean: Any = slice(first, None) if last else np.array(places, np.int64)

    def __call__(self, now: Situation, dt: float) -> Stepped:
        """The states after dt."""
        whole = self.full is self.lean
        found = self.lean.converged(now if whole else now._replace(start=now.start[:, self._lean]), dt)
        q_after, v_after, lam, report = found
        beyond = np.flatnonzero(report[:, EXCESS] > 0.0)
        if not whole:
            wide = np.zeros_like(now.start)
            wide[:, self._lean] = lam
            lam = wide
            if len(beyond) and self.full is not None:
                again = self.full.converged(now.some(beyond), dt)
                q_after[beyond], v_after[beyond], lam[beyond], report[beyond] = again
        deep = np.flatnonzero((report[:, DEPTH] > DEEP) & (report[:, SPENT] > 0.0))
        if len(deep):
            q_after[deep] = (self.full or self.lean).lift.call(q_after[deep], report[deep, SPENT : SPENT + 1])
        residual = report[:, CHANGE]
        if len(beyond) and self.full is None:
            slow = self.otherwise(now.some(beyond), dt)
            q_after[beyond], v_after[beyond], lam[beyond], residual[beyond] = slow
        return Stepped(q_after, v_after, lam, residual)


def _plane(ground: Ground) -> Plane:
    assert isinstance(ground, Plane)
    return ground


class _Rows:
    """The kernels for a choice of joints that are rows of the solver."""

    def __init__(self, owner: CompiledSteps, freedoms: set[int]) -> None:
        self.owner, self.model = owner, owner.model
        self.names = [j.name for j in self.model.joints if freedoms & set(range(j.v.start, j.v.stop))]
        self.joints = [v for name in self.names for v in range(self.model.nv)[self.model.joint(name).v]]

    def converged(self, now: Situation, dt: float) -> Any:
        """The outputs of the kernel, with sweeps repeated where they have not converged."""
        found = self._call(now, dt, 1.0)
        if self.owner.sweeps is not None:
            return found
        report = found[-1]
        rest = np.flatnonzero(report[:, CHANGE] > report[:, LARGEST])
        for turn in range(TURNS):
            if not len(rest):
                break
            more = self._call(now._replace(start=found[2]).some(rest), dt, 1.0 / (1 + turn * SWEEPS // AT_ONE_PACE))
            for old, new in zip(found, more, strict=True):
                old[rest] = new
            rest = rest[more[-1][:, CHANGE] > more[-1][:, LARGEST]]
        return found

    def _call(self, now: Situation, dt: float, pace: float) -> Any:
        arrays = (*now, np.array([dt]), np.array([pace]))
        try:
            return self.step.call(*arrays)
        except (
            NumericalError,
            NonFiniteError,
        ):  # looking at each row takes as long again, so only where one is known to fail
            if self.owner.strict:
                raise
            return self.step.with_status(*arrays)[0]

    @cached_property
    def tasks(self) -> TaskSet:
        """A row for each freedom of the joints, then normal and tangents of every point on every plane."""
        space = self.owner.space
        held: list[Any] = [joint(name) for name in self.names]
        for n, ground in enumerate(space.contacts.grounds):
            axes = tangent_axes(_plane(ground).unit)
            for k, point in enumerate(space.points):
                # the lowest point of a sphere moves by v + omega x (-r n)
                turned = np.cross(-point.radius * axes[0], axes)
                table = np.concatenate([axes, turned], axis=1)
                held.append(rows(point.frame, table, "local_world_aligned", point=point.point, name=f"contact {n} {k}"))
        return TaskSet(self.model, held)

    @cached_property
    def step(self) -> BoundFunction:
        return self._bound(CONTACT_STEP, self.owner.sweeps or SWEEPS)

    @cached_property
    def lift(self) -> BoundFunction:
        return self._bound(LIFT, SWEEPS)

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of the kernels' arrays."""
        count = self.owner.space.count
        return self.tasks.sizes | {"contacts": count, "laws": len(self.joints) + count}

    def constants(self, sweeps: int) -> tuple[Any, ...]:
        """Those of the kernels after the mechanism, the seeds and the pattern of J."""
        k = laws(len(self.joints), self.owner.space.count, sweeps)
        return dof_tree(self.tasks), self._joint_rows(), self._planes(), k

    def _bound(self, routine: Routine, sweeps: int) -> BoundFunction:
        """The kernel, the same one for every rollout of one `Dynamics` with equal contacts and joints."""
        space, joints = self.owner.space, self._joint_rows()
        planes = [(tuple(g.point), tuple(g.normal)) for g in map(_plane, space.contacts.grounds)]
        points = [(p.frame, *map(float, p.point), p.radius) for p in space.points]
        key = repr((routine.name, sweeps, self.names, planes, points, [x.tobytes() for x in joints]))
        known = _known.setdefault(space.dynamics, {})
        if key not in known:
            tasks = self.tasks
            constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, *self.constants(sweeps))
            known[key] = Prepared(routine, constants, self.sizes).bind(tasks, space.dynamics.general)
        return known[key]

    def _joint_rows(self) -> JointRows:
        effects, model = self.owner.effects, self.model
        place = dict(zip(effects.limited.tolist(), effects.coordinate.tolist(), strict=True))
        lower, upper = (np.clip(x, -FAR, FAR) for x in (model.limits.lower, model.limits.upper))
        watched = np.array([v for v in effects.limited.tolist() if v not in self.joints], np.int64)
        own = np.array(self.joints, np.int64)
        return JointRows(
            effects.damping, effects.stiffness, model.rest_configuration,
            np.array([place.get(v, -1) for v in self.joints], np.int64),
            np.where([v in place for v in self.joints], lower[own], -FAR),
            np.where([v in place for v in self.joints], upper[own], FAR),
            effects.friction[own],
            watched, np.array([place[v] for v in watched.tolist()], np.int64), lower[watched], upper[watched],
        )  # fmt: skip

    def _planes(self) -> GroundPlanes:
        space, frames = self.owner.space, self.model.frames
        body = frames.body[space.frames]
        point = frames.p[space.frames] + np.einsum("kij,kj->ki", frames.R[space.frames], space.at)
        planes = [_plane(ground) for ground in space.contacts.grounds]
        normal = np.repeat([g.unit for g in planes], len(space.points), axis=0)
        height = np.concatenate([np.full(len(space.points), g.height) + space.radius for g in planes])
        n = len(planes)
        return GroundPlanes(
            np.tile(body, n).astype(np.int64), np.tile(point, (n, 1)), normal, height,
            np.array([len(self.joints)], np.int64),
        )  # fmt: skip
