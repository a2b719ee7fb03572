"""The kernels of `step` for one model, its contacts and a choice of joints that are rows of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

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
from bough.simulate.contacts import ContactSpace, Plane, tangent_axes
from bough.simulate.step import Grounds, JointRows, Locks
from bough.simulate.steps import kept
from bough.types import FloatArray

SWEEPS = 6  # of a straight-line step
FAR = 1e30


class Setting(NamedTuple):
    """What steps: a model, its laws less those that are left out, its contacts, and further inputs."""

    dynamics: Dynamics
    without: Sequence[str]
    space: ContactSpace
    parameters: Parameters  # quantities of the model that are inputs
    servo: bool  # whether target, kp and kd are
    prescribed: Sequence[int] = ()  # entries of v that follow a motion

    @property
    def is_fixed(self) -> bool:
        """Whether a step is one kernel: with a number of sweeps, on planes, without loops and mimic joints."""
        model, contacts = self.dynamics.model, self.space.contacts
        held = bool(model.couplings) or (bool(model.closures) and "closures" not in self.without)
        return contacts is not None and contacts.sweeps is not None and self.space.is_flat and not held

    @property
    def laws(self) -> JointLaws:
        """Of each of the kernels' degrees of freedom."""
        return joint_laws(self.dynamics.model, self.without, self.prescribed)[0]

    def freedoms(self, marks: Any) -> set[int]:
        """Entries of v whose joints are marked."""
        leading = self.dynamics.model.leading
        return set(np.flatnonzero(np.asarray(marks)[leading]).tolist())


class RowKernels:
    """The kernels for joints that have some of these freedoms.

    Impulses of joints in `first` come first, then three of each contact, then those of the other joints, then those of
    stops that lock joints (see `step`).
    """

    def __init__(self, setting: Setting, freedoms: set[int], first: Sequence[int] | None = None) -> None:
        self.setting, self.model = setting, setting.dynamics.model
        self.names = [j.name for j in self.model.joints if freedoms & set(range(j.v.start, j.v.stop))]
        self.joints = [v for name in self.names for v in range(self.model.nv)[self.model.joint(name).v]]
        self.first, self.contacts = list(self.joints if first is None else first), setting.space.count
        self.width = len(self.joints) + 3 * self.contacts
        stopped = setting.freedoms(setting.laws.stops) if setting.is_fixed else set()
        self.locks = sorted(stopped - set(self.joints))
        self.seen = self.width + len(self.locks)  # impulses
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
        general: bool = False,
        device: Device = CPU,
        dtype: npt.DTypeLike = np.float64,
    ) -> CompiledFunction:
        """A routine of `step`, the same one for all equal models with equal contacts and joints.

        General code takes all inputs, whether they are used or not: it is compiled once for all. Shares that change no
        digit are those of `dtype`.
        """
        setting, space, parameters = self.setting, self.setting.space, self.setting.parameters
        unused: tuple[str, ...] = () if setting.servo else ("target", "kp", "kd")
        unused += ("axes", "distance") if space.is_flat else ()
        unused += () if setting.prescribed else ("lead",)
        if general:
            unused, parameters = (), all_parameters(parameters)
        routine = routine.without(*(name for name in unused if name in routine.inputs))
        if not self.locks:
            routine = replace(routine, again=None)
        key = repr((
            routine.name, sweeps, self.names, self.first, space.key, parameters.inputs, unused,
            sorted(setting.without), setting.is_fixed, sorted(setting.prescribed),
        ))  # fmt: skip

        def make() -> CompiledFunction:
            prepared = Prepared(routine, self.constants(sweeps, dtype), self.sizes)
            how: dict[str, Any] = {"parameters": parameters, "device": device, "twins": self._marked}
            return prepared.bind(self.tasks, general, dtype, **how)

        return kept((self.model.hash, general, device, np.dtype(dtype), key), make)

    def _marked(self, constants: Groups) -> Twins | None:
        """Constants with twins marked, and impulses of stops as belonging to their joints."""
        found = mark_limbs(constants)
        if found is None:
            return None
        joints = found.axes["nv"]
        return found._replace(
            axes={**found.axes, "seen": {self.width + n: joints[v] for n, v in enumerate(self.locks) if v in joints}}
        )

    def _tasks(self) -> TaskSet:
        """A row for each freedom of the joints, normal and tangents of every point on every ground, and held rows."""
        space, along = self.setting.space, [joint(name) for name in self.names]
        for n, normal in enumerate(space.normals):
            axes = tangent_axes(normal)
            for k, point in enumerate(space.points):
                # the lowest point of a sphere moves by v + omega x (-r n)
                table = np.concatenate([axes, np.cross(-point.radius * axes[0], axes)], axis=1)
                place = {"point": point.point, "name": f"contact {n} {k}"}
                along.append(rows(point.frame, table, "local_world_aligned", **place))  # type: ignore[arg-type]
        return TaskSet(self.model, [*along, *held_tasks(self.model, "closures" not in self.setting.without)])

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The numbers behind the shapes of the kernels' arrays."""
        own, solved = self.tasks.sizes, self.width
        more = {"contacts": self.contacts, "laws": len(self.joints) + self.contacts, "solved": solved}
        more |= {"locks": len(self.locks), "seen": self.seen}
        return own | more | {"columns": solved + 1, "held": own["rows"] - solved}

    def constants(self, sweeps: int | None, dtype: npt.DTypeLike = np.float64) -> tuple[Any, ...]:
        """Those of the kernels."""
        own = joint_laws(self.model, self.setting.without, self.setting.prescribed)
        groups = held_constants(self.tasks, self.sizes["held"])
        return *groups, *own, *self._joint_rows, self._grounds, laws(len(self.joints), self.contacts, sweeps, dtype)

    @cached_property
    def _joint_rows(self) -> tuple[JointRows, Locks]:
        m, law, leading = self.model.mechanism, self.setting.laws, self.model.leading
        lower = np.where(law.stops & LOWER, law.lower, -FAR)
        upper = np.where(law.stops & UPPER, law.upper, FAR)
        coordinate = np.where(law.stops, m.q_index[law.body], -1)
        own = leading[self.joints]
        others = [v for v in sorted(self.setting.freedoms(law.stops)) if v not in self.joints and v not in self.locks]
        watched = np.array(others, np.int64)
        far, near = leading[watched], leading[self.locks]
        contacts = [*range(-3 * self.contacts, 0)]
        order = [*self.first, *contacts, *(v for v in self.joints if v not in self.first)]
        place = np.array([order.index(x) for x in (*self.joints, *contacts)], np.int64)
        joint_rows = JointRows(
            coordinate[own], lower[own], upper[own], law.friction[own],
            watched, coordinate[far], lower[far], upper[far], place,
        )  # fmt: skip
        of_dof = np.full(len(m.v_index), -1)
        of_dof[near] = np.arange(len(near))
        v = np.array(self.locks, np.int64)
        return joint_rows, Locks(law.body[near], near, v, coordinate[near], lower[near], upper[near], of_dof)

    @cached_property
    def _grounds(self) -> Grounds:
        space, frames, first = self.setting.space, self.model.frames, len(self.joints)
        body = frames.body[space.frames]
        point = frames.p[space.frames] + np.einsum("kij,kj->ki", frames.R[space.frames], space.at)
        n, count = len(space.normals), len(space.points)
        heights = [g.height if isinstance(g, Plane) else 0.0 for g in space.grounds]
        seed_of = {int(r): s for s, r in enumerate(self.tasks.seeds.row)}
        contacts = space.contacts
        compliance, damping = (contacts.compliance, contacts.damping) if contacts else (0.0, 0.0)
        return Grounds(
            np.tile(body, n).astype(np.int64), np.tile(point, (n, 1)), np.repeat(space.normals, count, axis=0),
            np.repeat(heights, count) + np.tile(space.radius, n),
            np.array([first], np.int64),
            np.array([compliance > 0.0], np.int64), np.array([compliance, compliance * damping]),
            np.array([not space.is_flat], np.int64), np.tile(space.radius, n),
            np.array([seed_of[first + r] for r in range(3 * self.contacts)], np.int64),
            np.array([self.setting.is_fixed and compliance == 0.0], np.int64),
        )  # fmt: skip


def all_parameters(given: Parameters) -> Parameters:
    """Every quantity as an input, if any is."""
    return Parameters(given.model, tuple(SHAPES)) if given else given


def put_rows(found: tuple[FloatArray, ...], where: Any, more: tuple[FloatArray, ...]) -> None:
    """Write rows of several arrays."""
    for old, new in zip(found, more, strict=True):
        old[where] = new
