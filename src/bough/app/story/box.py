"""The humanoid carries a box, puts it on the floor in front of its feet, lets go and stands up: whole-body control.

While it holds the box, hands and box are one mechanism with two loops, and the controller moves the box; then the box
rests on the floor. Contacts and grasps are rigid, and commands are integrated as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import bough
from bough.app.story.robot import SIDES, SOLE, looks, robot, solid
from bough.control import Contact, CubicPath, Gains, PosePath, Reference, WholeBody
from bough.dynamics import Dynamics
from bough.model import Model
from bough.types import FloatArray
from bough.view import Piece, Scene, arrows, scene

DT, EVERY = 5e-3, 4
BOX, MASS = (0.30, 0.34, 0.36), 4.0
GRIP = 0.10  # m above the middle of the box, where hands hold it
START, FLOOR = (0.34, 0.0, 0.98), (0.40, 0.0, BOX[2] / 2)
STANCE = {"hip_pitch": -0.45, "knee": 0.9, "ankle_pitch": -0.45, "shoulder_pitch": -0.5, "elbow": -1.2}
LOW = {"hip_pitch": -1.7, "knee": 2.0, "ankle_pitch": -0.8, "shoulder_pitch": -0.6, "elbow": -0.4}
DOWN, LET_GO, UP = 2.6, 0.6, 2.4  # s that each part takes


class Carried(NamedTuple):
    """What happened: samples of the motion of robot and box, and how well it went."""

    model: Model  # robot and box
    time: FloatArray
    q: FloatArray
    forces: FloatArray  # (T, 2, 3) under the soles, N, in the world's axes
    box_error: FloatArray  # (T,) m from its path
    effort: FloatArray  # (T,) the largest torque over its limit
    seconds: float  # a command, the median
    steps: int


class BoxTask:
    """The robot alone, the robot with the box, and how both stand at the start."""

    def __init__(self) -> None:
        self.robot = robot("humanoid").build()
        self.dynamics = Dynamics(self.robot, general=True)
        self.start = self.stance()
        self.world = self.with_box()
        self.soles = [f"{side}_ankle_roll" for side, _ in SIDES]

    def stance(self) -> FloatArray:
        """Knees bent, soles on the floor, hands at the sides of the box."""
        q = self.robot.neutral.copy()
        for side, _ in SIDES:
            for name, angle in STANCE.items():
                q[self.robot.joint(f"{side}_{name}").q] = angle
        q[2] = 0.86
        targets: dict[str | bough.opspace.Task, FloatArray] = {}
        for side, sign in SIDES:
            foot = np.eye(4)
            foot[:3, 3] = (0.0, sign * 0.10, 0.07)
            targets[f"{side}_ankle_roll"] = foot
            targets[f"{side}_hand"] = np.array([START[0], sign * BOX[1] / 2, START[2] + GRIP])
        return bough.ik.solve(self.robot, targets, q, posture=q).q

    def crouch(self) -> FloatArray:
        """Hands at the box on the floor, the centre of mass over the feet."""
        q = self.start.copy()
        for side, _ in SIDES:
            for name, angle in LOW.items():
                q[self.robot.joint(f"{side}_{name}").q] = angle
        q[self.robot.joint("chest").q], q[2], q[0] = 0.5, 0.45, -0.12
        targets: dict[str | bough.opspace.Task, FloatArray] = {}
        for side, sign in SIDES:
            targets[bough.pose(f"{side}_ankle_roll")] = self.dynamics.placement(self.start, f"{side}_ankle_roll")
            targets[bough.position(f"{side}_hand")] = np.array([FLOOR[0], sign * BOX[1] / 2, FLOOR[2] + GRIP])
        com = bough.center_of_mass()
        targets[com] = np.array([0.03, 0.0, 0.45])
        return bough.ik.solve(self.robot, targets, q, posture=q, weights={com: [1.0, 1.0, 1e-3]}).q

    def upright(self) -> FloatArray:
        """Standing, arms down."""
        q = self.start.copy()
        for side, sign in SIDES:
            for name, angle in {"shoulder_pitch": 0.1, "elbow": -0.3, "wrist_yaw": 0.0}.items():
                q[self.robot.joint(f"{side}_{name}").q] = angle
            q[self.robot.joint(f"{side}_shoulder_roll").q] = sign * 0.15
        return q

    def with_box(self) -> Model:
        """Robot and box; hands hold it as they do at the start."""
        builder = robot("humanoid and box")
        builder.add_body("box", "world", "floating", mass=MASS, inertia=solid(MASS, BOX))
        for side, _ in SIDES:
            hand = self.dynamics.placement(self.start, f"{side}_hand")
            builder.add_closure(f"{side}_hand", "box", "weld", other_point=(hand[:3, :3], hand[:3, 3] - START))
        return builder.build()

    def controller(self, model: Model, tasks: Mapping[Any, Any], posture: FloatArray) -> WholeBody:
        """Feet stand; tasks with their references; the chest stays level sideways, as far as it may."""
        contacts = [Contact(sole, **SOLE) for sole in self.soles]
        weights = {task.name: 0.1 for task in tasks if task.name.startswith("orientation")}
        return WholeBody(
            model, list(tasks), contacts, references={task.name: given for task, given in tasks.items()},
            gains=Gains(150.0), weights=weights, posture=posture, posture_gains=Gains(20.0), dt=DT, general=True,
        )  # fmt: skip


def along(times: list[float], points: list[FloatArray]) -> Callable[[float], Reference]:
    """A reference along a spline."""
    path = CubicPath(times, points)
    return lambda t: Reference(*path(min(max(t, times[0]), times[-1])))


class Run:
    """Samples of all parts, one after the other."""

    def __init__(self, task: BoxTask) -> None:
        self.task, self.t = task, 0.0
        self.rows: list[tuple[float, FloatArray, FloatArray, float, float]] = []
        self.taken: list[float] = []

    def go(
        self,
        controller: WholeBody,
        q: FloatArray,
        duration: float,
        ends: tuple[FloatArray, FloatArray],
        box: FloatArray,
    ) -> FloatArray:
        """Integrate commands; the posture goes from one end to the other. `box` is where the box rests, if it does."""
        model, v = controller.model, np.zeros(controller.model.nv)
        way, feet = model.difference(*ends), [f"{side}_ankle_roll" for side, _ in SIDES]
        effort = model.limits.effort
        for k in range(round(duration / DT)):
            t = k * DT
            s = min(t / (0.9 * duration), 1.0)
            controller.posture = model.integrate(ends[0], s * s * (3.0 - 2.0 * s) * way)
            began = perf_counter()
            command = controller(t, q, v)
            self.taken.append(perf_counter() - began)
            if k % EVERY == 0:
                whole = q if len(box) == 0 else np.concatenate([q, box])
                turns = [self.task.dynamics.placement(q[: self.task.robot.nq], foot)[:3, :3] for foot in feet]
                force = np.array([R @ command.forces[foot][:3] for R, foot in zip(turns, feet, strict=True)])
                off = command.error.get("pose(box)", np.zeros(3))[:3]
                used = np.abs(command.tau[6:]) / np.where(np.isfinite(effort[6:]), effort[6:], np.inf)
                self.rows.append((self.t + t, whole, force, float(np.linalg.norm(off)), float(used.max())))
            v = v + DT * command.qdd
            q = model.integrate(q, DT * v)
        self.t += duration
        return q


def carry() -> Carried:
    """The whole task."""
    task = BoxTask()
    low = task.crouch()
    run, n = Run(task), task.robot.nq
    com = [task.dynamics.center_of_mass(q) for q in (task.start, low)]
    start, floor = np.eye(4), np.eye(4)
    start[:3, 3], floor[:3, 3] = START, FLOOR
    middle = (start + floor) / 2
    middle[0, 3] += 0.06
    box = PosePath([0.0, 0.5 * DOWN, 0.92 * DOWN, DOWN], [start, middle, floor, floor])
    both = [np.concatenate([q, T[:3, 3], [0.0, 0.0, 0.0, 1.0]]) for q, T in ((task.start, start), (low, floor))]
    carried = {bough.pose("box"): box, bough.center_of_mass(): along([0.0, 0.95 * DOWN], [com[0], com[1]])}
    q = run.go(task.controller(task.world, carried, both[0]), both[0], DOWN, (both[0], both[1]), np.zeros(0))
    q, rests = q[:n], q[n:]
    hands = [task.dynamics.placement(q, f"{side}_hand")[:3, 3] for side, _ in SIDES]
    apart: dict[Any, Any] = {
        bough.position(f"{side}_hand"): along([0.0, LET_GO], [hand, hand + [-0.02, sign * 0.12, 0.04]])
        for (side, sign), hand in zip(SIDES, hands, strict=True)
    }
    now = task.dynamics.center_of_mass(q)
    still = {bough.center_of_mass(): along([0.0, LET_GO], [now, now])}
    q = run.go(task.controller(task.robot, apart | still, q), q, LET_GO, (q, q), rests)
    upright = task.upright()
    rise = {bough.center_of_mass(): along([0.0, 0.9 * UP], [now, task.dynamics.center_of_mass(upright)])}
    run.go(task.controller(task.robot, rise, q), q, UP, (q, upright), rests)
    time, states, forces, error, effort = (np.array(column) for column in zip(*run.rows, strict=True))
    return Carried(task.world, time, states, forces, error, effort, float(np.median(run.taken)), len(run.taken))


def shown(found: Carried) -> Scene:
    """The motion as a scene, with the forces under the feet."""
    wood, edge = (0.80, 0.62, 0.40), (0.55, 0.40, 0.24)
    pieces = [
        *looks(), Piece("box", "box", BOX, colour=wood),
        Piece("box", "box", (BOX[0] * 1.01, BOX[1] * 1.01, 0.03), colour=edge),
    ]  # fmt: skip
    soles = [f"{side}_ankle_roll" for side, _ in SIDES]
    beside = [np.array(SOLE["point"]) + (0.0, 0.13 * sign, 0.0) for _, sign in SIDES]  # legs would hide them
    pushes = arrows(found.model, soles, found.forces, beside)
    tracks = {
        "force under the feet, N": found.forces[:, :, 2].sum(axis=1), "box from its path, mm": 1e3 * found.box_error,
        "largest torque over its limit": found.effort,
    }  # fmt: skip
    looked = scene(found.model, pieces=pieces, title="A humanoid puts a box on the floor")
    return looked.playing(found.time, found.q, tracks, arrows=pushes)
