"""The kernels of `contact_step` for one model, its contacts and its joint laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.compile.executions import CPU, LARGEST_GRAPH, CompiledFunction, Device
from bough.compile.graph.twins import Twins
from bough.compile.routine import Groups, Routine
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.laws import LOWER, UPPER, JointLaws, joint_laws
from bough.dynamics.parameters import SHAPES, Parameters
from bough.model import mark_limbs
from bough.opspace import TaskSet, joint, rows
from bough.opspace.loops import held_constants, held_tasks
from bough.opspace.methods import Prepared
from bough.simulate.cone import laws
from bough.simulate.contact_step import Grounds, RoughJoints
from bough.simulate.contacts import ContactSpace, Plane
from bough.simulate.integration import kept
from bough.simulate.stops import LOCKED, ROWS, Stops

SWEEPS = 6  # of a straight-line step
FAR = 1e30
Place: TypeAlias = tuple[str, Any, Any]  # a frame, a point of it or None, and its offset in world axes


class Setting(NamedTuple):
    """The system of a step: a model, the laws to ignore, its contacts, and further inputs."""

    dynamics: Dynamics
    without: Sequence[str]
    space: ContactSpace
    parameters: Parameters  # quantities of the model that are inputs
    servo: bool  # whether target, kp and kd are
    prescribed: Sequence[int] = ()  # entries of v that follow a motion
    planes: bool = False  # whether planes differ from state to state

    @property
    def has_loops(self) -> bool:
        """Whether rows are eliminated: loops, or ties of mimic joints."""
        model = self.dynamics.model
        return bool(model.couplings) or (bool(model.closures) and "closures" not in self.without)

    @property
    def is_fixed(self) -> bool:
        """Whether a step is one kernel: with a number of sweeps, without loops and mimic joints."""
        contacts = self.space.contacts
        return contacts is not None and contacts.sweeps is not None and not self.has_loops

    @property
    def laws(self) -> JointLaws:
        """Of each of the kernels' degrees of freedom."""
        return joint_laws(self.dynamics.model, self.without, self.prescribed)[0]

    def entries(self, marks: Any) -> list[int]:
        """Entries of v whose degrees of freedom are marked."""
        return np.flatnonzero(np.asarray(marks)[self.dynamics.model.leading]).tolist()


class StepKernels:
    """Impulses are those of joints with friction, three of each contact, and of stops: locked joints, or rows, too."""

    def __init__(self, setting: Setting, stops_are_rows: bool = False) -> None:
        self.setting, self.model, self.stops_are_rows = setting, setting.dynamics.model, stops_are_rows
        rough = set(setting.entries(setting.laws.rough))
        self.names = [j.name for j in self.model.joints if rough & set(range(j.v.start, j.v.stop))]
        self.joints = [v for name in self.names for v in range(self.model.nv)[self.model.joint(name).v]]
        self.stops = setting.entries(setting.laws.stops)
        self.contacts = setting.space.count
        self.of_contacts = slice(len(self.joints), len(self.joints) + 3 * self.contacts)
        self.seen = self.of_contacts.stop + len(self.stops)
        self.width = self.seen if stops_are_rows else self.of_contacts.stop
        self.tasks = self._tasks()  # points that cannot move are refused here, and not in a step

    def is_small(self, sweeps: int) -> bool:
        """Whether the graph of a step by so many sweeps, or with a factor of all rows, is worth compiling."""
        n = self.width
        solver = sweeps * (2 * n**2 + 60 * self.contacts) + 20 * n**2 if sweeps else n**3 // 3 + 24 * n**2
        return solver + 400 * self.model.nv < LARGEST_GRAPH

    def bind(
        self,
        routine: Routine,
        sweeps: int | None,
        *,
        stops: int = LOCKED,
        general: bool = False,
        device: Device = CPU,
        dtype: npt.DTypeLike = np.float64,
    ) -> CompiledFunction:
        """A routine of `contact_step`, the same one for all equal models with equal contacts and joints.

        General code takes all inputs, whether they are used or not: it is compiled once for all. Shares that change no
        digit are those of `dtype`.
        """
        setting, space, parameters = self.setting, self.setting.space, self.setting.parameters
        unused: tuple[str, ...] = () if setting.servo else ("target", "kp", "kd")
        unused += () if setting.planes else ("axes", "height")
        unused += () if setting.prescribed else ("lead",)
        if general:
            unused, parameters = (), all_parameters(parameters)
        routine = routine.without(*(name for name in unused if name in routine.inputs))
        stops = ROWS if self.stops_are_rows else stops
        if not self.stops or stops != LOCKED:
            routine = replace(routine, again=None)
        key = repr((
            routine.name, sweeps, stops, self.names, space.key, parameters.inputs, unused,
            sorted(setting.without), setting.is_fixed, setting.planes, sorted(setting.prescribed),
        ))  # fmt: skip

        def make() -> CompiledFunction:
            prepared = Prepared(routine, self.constants(sweeps, stops, dtype), self.sizes)
            how: dict[str, Any] = {"parameters": parameters, "device": device, "twins": self._marked}
            return prepared.bind(self.tasks, general, dtype, **how)

        return kept((self.model.hash, general, device, np.dtype(dtype), key), make)

    def _marked(self, constants: Groups) -> Twins | None:
        """Constants with identical limbs marked, and impulses of stops as belonging to their joints."""
        found = mark_limbs(constants)
        if found is None:
            return None
        first, joints = self.of_contacts.stop, found.axes["nv"]
        seen = {first + n: joints[v] for n, v in enumerate(self.stops) if v in joints}
        return found._replace(axes={**found.axes, "seen": seen})

    def _tasks(self) -> TaskSet:
        """Rows of rough joints, velocities of points or of bodies, maybe stops, and rows that are eliminated."""
        along = [joint(name) for name in self.names]
        for n, (frame, point, offset) in enumerate(self._places):
            table = np.eye(6) if point is None else np.concatenate([np.eye(3), np.cross(offset, np.eye(3))], axis=1)
            place = {"point": point or (0.0, 0.0, 0.0), "name": f"contact {n}"}
            along.append(rows(frame, table, "local_world_aligned", **place))  # type: ignore[arg-type]
        if self.stops_are_rows:
            stopped = (j.name for j in self.model.joints if j.v.start in self.stops)
            along += [joint(name, name=f"stops of {name}") for name in stopped]
        return TaskSet(self.model, [*along, *held_tasks(self.model, "closures" not in self.setting.without)])

    @cached_property
    def _place_of(self) -> list[Place]:
        """Where the velocity of each contact is taken: of its frame, if many points are on that, or of the point.

        The lowest point of a sphere is off its middle by -radius along the normal, which must then be a constant.
        """
        space, found = self.setting.space, []
        frames = [p.frame for p in space.points]
        for normal in space.normals:
            for p in space.points:
                whole = frames.count(p.frame) > 2 or (self.setting.planes and p.radius > 0.0)
                offset = (-p.radius * normal).tolist() if p.radius else [0.0, 0.0, 0.0]
                found.append((p.frame, None, ()) if whole else (p.frame, tuple(map(float, p.point)), tuple(offset)))
        return found

    @cached_property
    def _places(self) -> list[Place]:
        """Each once."""
        return list(dict.fromkeys(self._place_of))

    @cached_property
    def _combined(self) -> tuple[Any, Any]:
        """(all,) the first row of tasks of each row of the solver and of loops, and how many rows it combines."""
        joints = len(self.joints)
        widths = [6 if point is None else 3 for _, point, _ in self._places]
        starts = dict(zip(self._places, np.cumsum([joints, *widths]).tolist(), strict=False))
        row, width = [*range(joints)], [1] * joints
        for place in self._place_of:
            row += 3 * [starts[place]]
            width += 3 * [6 if place[1] is None else 3]
        held = range(joints + sum(widths), self.tasks.sizes["rows"])
        return np.array([*row, *held], np.int64), np.array([*width, *(1 for _ in held)], np.int64)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of the kernels' arrays."""
        own, solved = self.tasks.sizes, self.width
        held = len(self._combined[0]) - solved
        more = {"contacts": self.contacts, "laws": solved - 2 * self.contacts, "solved": solved}
        more |= {"stops": len(self.stops), "seen": self.seen, "dense": max(held, solved)}
        return own | more | {"columns": solved + 1, "held": held, "all": solved + held}

    def constants(self, sweeps: int | None, stops: int, dtype: npt.DTypeLike = np.float64) -> tuple[Any, ...]:
        """Those of the kernels."""
        own = joint_laws(self.model, self.setting.without, self.setting.prescribed)
        groups = held_constants(self.tasks, self.sizes["held"])
        rough = RoughJoints(self.model.leading[self.joints])
        how = laws(len(self.joints), self.contacts, sweeps, dtype, self.width - self.of_contacts.stop)
        return *groups, *own, rough, self._stops(stops), self._grounds, how

    def _stops(self, how: int) -> Stops:
        m, law = self.model.mechanism, self.setting.laws
        dof = self.model.leading[self.stops]
        of_dof = np.full(len(m.v_index), -1)
        of_dof[dof] = np.arange(len(dof))
        lower = np.where(law.stops & LOWER, law.lower, -FAR)[dof]
        upper = np.where(law.stops & UPPER, law.upper, FAR)[dof]
        v, coordinate = np.array(self.stops, np.int64), m.q_index[law.body[dof]]
        return Stops(dof, v, coordinate, lower, upper, law.friction[dof], of_dof, np.array([how]))

    @cached_property
    def _grounds(self) -> Grounds:
        space, frames, first = self.setting.space, self.model.frames, len(self.joints)
        body = frames.body[space.frames]
        arm = np.einsum("kij,kj->ki", frames.R[space.frames], space.at)
        point = frames.p[space.frames] + arm
        n, count = len(space.normals), len(space.points)
        heights = [g.height if isinstance(g, Plane) else 0.0 for g in space.grounds]
        contacts = space.contacts
        compliance, damping = (contacts.compliance, contacts.damping) if contacts else (0.0, 0.0)
        return Grounds(
            np.tile(body, n).astype(np.int64), np.tile(point, (n, 1)), space.axes.reshape(-1, 9),
            np.repeat(heights, count), np.tile(space.radius, n),
            np.array([first], np.int64),
            np.array([compliance > 0.0], np.int64), np.array([compliance, compliance * damping]),
            np.array([self.setting.planes], np.int64),
            np.tile(arm, (n, 1)), *self._combined,
            np.array([self.setting.is_fixed and compliance == 0.0], np.int64),
        )  # fmt: skip


def all_parameters(given: Parameters) -> Parameters:
    """Every quantity as an input, if any is."""
    return Parameters(given.model, tuple(SHAPES)) if given else given
