"""The kernels behind steps with contacts on planes, and which rows of a batch take which.

All contacts of a row stick or are open (`hold`), or some of them slip: then sweeps go on until the laws hold (`cone`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bough.compile.executions import LARGEST_GRAPH, CompiledFunction
from bough.compile.routine import Routine
from bough.dynamics.parameters import Parameters
from bough.errors import NonFiniteError, NumericalError
from bough.opspace import TaskSet, joint, rows
from bough.opspace.methods import Prepared
from bough.opspace.methods.method import dof_tree
from bough.simulate.cone import PACES, laws
from bough.simulate.cone import SWEEPS as AT_ONE_PACE
from bough.simulate.contacts import ContactSpace, Ground, Plane, tangent_axes
from bough.simulate.joint_effects import JointEffects
from bough.simulate.newton import RowProblem, newton_impulses
from bough.simulate.step import CHANGE, CONTACT_STEP, LARGEST, LIFT, ROW_PROBLEM, GroundPlanes, JointRows
from bough.simulate.steps import kept
from bough.types import FloatArray, IntArray

SWEEPS = 6  # in one call
TURNS = AT_ONE_PACE * PACES // SWEEPS  # calls until sweeps are given up
FAR = 1e30


class Setting(NamedTuple):
    """What steps, and where: effects of joints, contacts, and so many sweeps, or None until they have converged.

    A state without a finite successor raises, or is NaN if not `strict`.
    """

    effects: JointEffects
    space: ContactSpace
    sweeps: int | None
    strict: bool
    parameters: Parameters  # quantities of the model that are inputs
    servo: bool = False  # whether target, kp and kd are


class Situation(NamedTuple):
    """States before a step, a row for each: forces of joints, friction of contacts, and impulses to begin with."""

    q: FloatArray
    v: FloatArray
    tau: FloatArray
    friction: FloatArray  # (batch, contacts)
    start: FloatArray  # (batch, rows), as the last step found them; without joints that only have limits, or with
    slid: FloatArray  # (batch,) not zero where contacts slipped in the last step, or nothing is known of it
    given: tuple[FloatArray, ...] = ()  # quantities of the model that differ from row to row
    servo: tuple[FloatArray, ...] = ()  # target, kp and kd (batch, nv), if there are servos

    def some(self, rows: IntArray) -> Situation:
        """These rows alone."""
        each = (tuple(x[rows] for x in some) for some in (self.given, self.servo))
        of_rows: Any = (*(x[rows] for x in self[:6]), *each)
        return Situation(*of_rows)


def is_small(nv: int, joints: int, contacts: int) -> bool:
    """Whether the graph of a step with so many rows of joints and contacts is worth compiling."""
    rows = joints + 3 * contacts
    return SWEEPS * (2 * rows**2 + 60 * contacts) + 400 * nv + 20 * rows**2 < LARGEST_GRAPH


def is_small_held(nv: int, joints: int, contacts: int) -> bool:
    """Whether that of a step with a factor of all rows is."""
    rows = joints + 3 * contacts
    return rows**3 // 3 + 400 * nv + 24 * rows**2 < LARGEST_GRAPH


def plane(ground: Ground) -> Plane:
    """A ground that is known to be one."""
    assert isinstance(ground, Plane)
    return ground


def _open(report: FloatArray) -> Any:
    """(batch,) where laws do not hold yet."""
    return report[:, CHANGE] > report[:, LARGEST]


def put_rows(found: tuple[FloatArray, ...], rows: IntArray, more: tuple[FloatArray, ...]) -> None:
    for old, new in zip(found, more, strict=True):
        old[rows] = new


class Kernels:
    """The kernels for a choice of joints that are rows of the solver."""

    def __init__(self, setting: Setting, freedoms: set[int]) -> None:
        self.setting, self.model = setting, setting.effects.model
        self.names = [j.name for j in self.model.joints if freedoms & set(range(j.v.start, j.v.stop))]
        self.joints = [v for name in self.names for v in range(self.model.nv)[self.model.joint(name).v]]

    @property
    def width(self) -> int:
        """Rows of the solver."""
        return len(self.joints) + 3 * self.setting.space.count

    def converged(self, now: Situation, dt: float) -> Any:
        """The outputs of the kernel: of rows in which all contacts stick by `hold`, of the others by sweeps.

        What a row gets depends on itself alone. As copies of rows cost as much as steps, all of them take the way of
        the larger part, and the smaller part the other one after it.
        """
        if self.setting.sweeps is not None or not is_small_held(
            self.model.nv, len(self.joints), self.setting.space.count
        ):
            return self.swept(now, dt)
        slid = now.slid != 0.0
        if 2 * np.count_nonzero(slid) < len(slid):
            found = self._call(self.hold, now, dt, 1.0)
            rest = np.flatnonzero(slid | _open(found[-1]))
            if len(rest):
                put_rows(found, rest, self.swept(now.some(rest), dt))
            return found
        found = self.swept(now, dt)
        still = np.flatnonzero(~slid)
        if len(still):
            held = self._call(self.hold, now.some(still), dt, 1.0)
            fits = ~_open(held[-1])
            put_rows(found, still[fits], tuple(x[fits] for x in held))
        return found

    def swept(self, now: Situation, dt: float) -> Any:
        """The outputs of the kernel by sweeps, repeated where they have not converged."""
        found = self._call(self.step, now, dt, 1.0)
        if self.setting.sweeps is not None:
            return found
        rest = np.flatnonzero(_open(found[-1]))
        if len(rest):
            some = now._replace(start=found[2]).some(rest)
            more = self._call(self.step, some._replace(start=self._newton(some, dt)), dt, 1.0)
            better = ~_open(more[-1]) | (more[-1][:, CHANGE] < found[-1][rest, CHANGE])
            put_rows(found, rest[better], tuple(x[better] for x in more))
            rest = rest[_open(found[-1][rest])]
        for turn in range(TURNS):
            if not len(rest):
                break
            pace = 1.0 / (1 + turn * SWEEPS // AT_ONE_PACE)
            more = self._call(self.step, now._replace(start=found[2]).some(rest), dt, pace)
            put_rows(found, rest, more)
            rest = rest[_open(more[-1])]
        return found

    def _newton(self, now: Situation, dt: float) -> FloatArray:
        """Impulses of rows that sweeps are slow to find."""
        arrays = (*now[:3], *now.servo, now.friction, np.full((len(now.q), 1), dt), *now.given)
        (A, b, friction, lower, upper), status = self.problem.with_status(*arrays)
        some = np.flatnonzero(status == 0)
        found = now.start.copy()
        found[some] = newton_impulses(RowProblem(A, b, friction, lower, upper).some(some), now.start[some])
        return found

    def _call(self, kernel: CompiledFunction, now: Situation, dt: float, pace: float) -> Any:
        count = len(now.q)
        # arrays that fit need no second look
        arrays = (*now[:3], *now.servo, *now[3:5], np.full((count, 1), dt), np.full((count, 1), pace), *now.given)
        try:
            return kernel.call(*arrays)
        except (NumericalError, NonFiniteError):
            # looking at each row takes as long again, so only where one is known to fail
            if self.setting.strict:
                raise
            return kernel.with_status(*arrays)[0]

    @cached_property
    def tasks(self) -> TaskSet:
        """A row for each freedom of the joints, then normal and tangents of every point on every plane."""
        space = self.setting.space
        held: list[Any] = [joint(name) for name in self.names]
        for n, ground in enumerate(space.contacts.grounds):
            axes = tangent_axes(plane(ground).unit)
            for k, point in enumerate(space.points):
                # the lowest point of a sphere moves by v + omega x (-r n)
                turned = np.cross(-point.radius * axes[0], axes)
                table = np.concatenate([axes, turned], axis=1)
                held.append(rows(point.frame, table, "local_world_aligned", point=point.point, name=f"contact {n} {k}"))
        return TaskSet(self.model, held)

    @cached_property
    def step(self) -> CompiledFunction:
        return self._bound(CONTACT_STEP, self.setting.sweeps or SWEEPS)

    @cached_property
    def problem(self) -> CompiledFunction:
        return self._bound(ROW_PROBLEM, SWEEPS)

    @cached_property
    def hold(self) -> CompiledFunction:
        return self._bound(CONTACT_STEP, 0)

    @cached_property
    def lift(self) -> CompiledFunction:
        return self._bound(LIFT, SWEEPS)

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of the kernels' arrays."""
        count = self.setting.space.count
        return self.tasks.sizes | {"contacts": count, "laws": len(self.joints) + count}

    def constants(self, sweeps: int) -> tuple[Any, ...]:
        """Those of the kernels after the mechanism, the seeds and the pattern of J."""
        k = laws(len(self.joints), self.setting.space.count, sweeps)
        return dof_tree(self.tasks), *self.setting.effects.laws, self._joint_rows(), self._planes(), k

    def _bound(self, routine: Routine, sweeps: int) -> CompiledFunction:
        """The kernel, the same one for all equal models with equal contacts and joints."""
        space, effects, joints = self.setting.space, self.setting.effects, self._joint_rows()
        if not self.setting.servo and "target" in routine.inputs:
            routine = routine.without("target", "kp", "kd")
        planes = [(tuple(g.point), tuple(g.normal)) for g in map(plane, space.contacts.grounds)]
        points = [(p.frame, *map(float, p.point), p.radius) for p in space.points]
        more = self.setting.parameters.inputs, self._softness.tolist(), self.setting.servo, sorted(effects.without)
        key = repr((routine.name, sweeps, self.names, planes, points, more, [x.tobytes() for x in joints]))

        def make() -> CompiledFunction:
            tasks = self.tasks
            constants = (self.model.mechanism, tasks.with_placements, tasks.pattern, *self.constants(sweeps))
            prepared = Prepared(routine, constants, self.sizes)
            return prepared.bind(tasks, space.dynamics.general, parameters=self.setting.parameters)

        return kept((self.model.hash, space.dynamics.general, key), make)

    def _joint_rows(self) -> JointRows:
        effects, model = self.setting.effects, self.model
        place = dict(zip(effects.limited.tolist(), effects.coordinate.tolist(), strict=True))
        lower, upper = (np.clip(x, -FAR, FAR) for x in (model.limits.lower, model.limits.upper))
        watched = np.array([v for v in effects.limited.tolist() if v not in self.joints], np.int64)
        own = np.array(self.joints, np.int64)
        return JointRows(
            np.array([place.get(v, -1) for v in self.joints], np.int64),
            np.where([v in place for v in self.joints], lower[own], -FAR),
            np.where([v in place for v in self.joints], upper[own], FAR),
            effects.friction[own],
            watched, np.array([place[v] for v in watched.tolist()], np.int64), lower[watched], upper[watched],
        )  # fmt: skip

    @property
    def _softness(self) -> FloatArray:
        contacts = self.setting.space.contacts
        return np.array([contacts.compliance, contacts.compliance * contacts.damping])

    def _planes(self) -> GroundPlanes:
        space, frames = self.setting.space, self.model.frames
        body = frames.body[space.frames]
        point = frames.p[space.frames] + np.einsum("kij,kj->ki", frames.R[space.frames], space.at)
        planes = [plane(ground) for ground in space.contacts.grounds]
        normal = np.repeat([g.unit for g in planes], len(space.points), axis=0)
        height = np.concatenate([np.full(len(space.points), g.height) + space.radius for g in planes])
        n = len(planes)
        return GroundPlanes(
            np.tile(body, n).astype(np.int64), np.tile(point, (n, 1)), normal, height,
            np.array([len(self.joints)], np.int64),
            np.array([space.contacts.compliance > 0.0], np.int64), self._softness,
        )  # fmt: skip
