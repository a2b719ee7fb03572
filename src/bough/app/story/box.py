"""A humanoid lowers a box to the floor and lifts it again: whole-body control of one mechanism with two loops."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

import bough
from bough.app.story.robot import SIDES, SOLE, looks, robot, solid
from bough.control import Contact, CubicPath, Gains, PosePath, Reference, WholeBody
from bough.dynamics import Dynamics
from bough.model import Model
from bough.simulate import rollout
from bough.types import FloatArray
from bough.view import Piece, Scene, arrows, scene

DT, EVERY = 5e-3, 4
BOX, MASS = (0.30, 0.34, 0.36), 4.0
GRIP = 0.10  # m from the centre of the box up to the hands
START, FLOOR = (0.34, 0.0, 0.98), (0.40, 0.0, BOX[2] / 2)
STANCE = {"hip_pitch": -0.45, "knee": 0.9, "ankle_pitch": -0.45, "shoulder_pitch": -0.5, "elbow": -1.2}
CROUCH = {"hip_pitch": -1.7, "knee": 2.0, "ankle_pitch": -0.8, "shoulder_pitch": -0.6, "elbow": -0.4}
TIMES = np.array([0.0, 1.3, 2.4, 2.8, 3.9, 5.2])  # s: start, halfway, on the floor, leaving it, halfway, end
SOLES = [f"{side}_ankle_roll" for side, _ in SIDES]


class Carried(NamedTuple):
    """Samples of robot and box, and how well the motion is tracked."""

    model: Model  # robot and box
    time: FloatArray
    q: FloatArray
    forces: FloatArray  # (T, 2, 3) under the soles, N, in world axes
    box_error: FloatArray  # (T,) distance of the box from its path, m
    effort: FloatArray  # (T,) largest torque over its limit
    seconds: float  # median time of a command
    steps: int


def posture(model: Model, angles: dict[str, float], box: tuple[float, float, float]) -> FloatArray:
    """Configuration with both soles on the floor and the hands at the sides of a box, from guessed joint angles."""
    q = model.neutral.copy()
    for side, _ in SIDES:
        for name, angle in angles.items():
            q[model.joint(f"{side}_{name}").q] = angle
    low = box is FLOOR
    q[model.joint("chest").q], q[0], q[2] = (0.5, -0.12, 0.45) if low else (0.0, 0.0, 0.86)
    targets: dict[str | bough.opspace.Task, FloatArray] = {}
    for side, sign in SIDES:
        foot = np.eye(4)
        foot[:3, 3] = (0.0, sign * 0.10, 0.07)
        targets[f"{side}_ankle_roll"] = foot
        targets[bough.position(f"{side}_hand")] = np.array([box[0], sign * BOX[1] / 2, box[2] + GRIP])
    com = bough.center_of_mass()
    if low:
        targets[com] = np.array([0.03, 0.0, 0.45])
    return bough.ik.solve(model, targets, q, posture=q, weights={com: [1.0, 1.0, 1e-3]} if low else None).q


def with_box(dynamics: Dynamics, q: FloatArray) -> Model:
    """Robot and box; the hands hold it as they do at q."""
    builder = robot("humanoid and box")
    builder.add_body("box", "world", "floating", mass=MASS, inertia=solid(MASS, BOX))
    for side, _ in SIDES:
        hand = dynamics.placement(q, f"{side}_hand")
        builder.add_closure(f"{side}_hand", "box", "weld", other_point=(hand[:3, :3], hand[:3, 3] - START))
    return builder.build()


class BoxController:
    """Commands along the path of the box, and what is recorded of them."""

    def __init__(self) -> None:
        alone = robot("humanoid").build()
        self.dynamics, self.n = Dynamics(alone, general=True), alone.nq
        ends = [posture(alone, STANCE, START), posture(alone, CROUCH, FLOOR)]
        self.model = with_box(self.dynamics, ends[0])
        start, floor = np.eye(4), np.eye(4)
        start[:3, 3], floor[:3, 3] = START, FLOOR
        middle = (start + floor) / 2
        middle[0, 3] += 0.06
        com = [self.dynamics.center_of_mass(q) for q in ends]
        sway = CubicPath(TIMES[[0, 2, 3, 5]], [com[0], com[1], com[1], com[0]])
        self.start, self.low = (
            np.concatenate([q, T[:3, 3], [0.0, 0.0, 0.0, 1.0]]) for q, T in zip(ends, (start, floor), strict=True)
        )
        tasks = {
            bough.pose("box"): PosePath(TIMES, [start, middle, floor, floor, middle, start]),
            bough.center_of_mass(): lambda t: Reference(*sway(t)),
        }
        self.law = WholeBody(
            self.model, list(tasks), [Contact(sole, **SOLE) for sole in SOLES], gains=Gains(150.0), dt=DT, general=True,
            references={task.name: path for task, path in tasks.items()}, posture=self.start, posture_gains=Gains(20.0),
        )  # fmt: skip
        self.depth = CubicPath(TIMES[[0, 2, 3, 5]], [[0.0], [1.0], [1.0], [0.0]])
        self.rows: list[tuple[FloatArray, float, float, float]] = []

    def tau(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """Joint torques at a state; the posture goes from standing to crouching and back."""
        way = self.model.difference(self.start, self.low)
        self.law.posture = self.model.integrate(self.start, self.depth(t)[0] * way)
        began = perf_counter()
        self.command = self.law(t, q, v)
        seconds = perf_counter() - began
        turns = [self.dynamics.placement(q[: self.n], sole)[:3, :3] for sole in SOLES]
        forces = np.array([R @ self.command.forces[sole][:3] for R, sole in zip(turns, SOLES, strict=True)])
        off = float(np.linalg.norm(self.command.error["pose(box)"][:3]))
        used = float(np.max(np.abs(self.command.tau[6:]) / self.model.limits.effort[6:]))
        self.rows.append((forces, off, used, seconds))
        return self.command.tau

    def acceleration(self, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
        """That of the last command: contacts and grasps are rigid."""
        return self.command.qdd


def carry(duration: float = float(TIMES[-1])) -> Carried:
    """Lower and lift the box."""
    control = BoxController()
    model = control.model
    motion = rollout(model, control.start, np.zeros(model.nv), duration=duration, dt=DT, every=EVERY,
                     tau=control.tau, motion=control.acceleration)  # fmt: skip
    forces, off, used, seconds = (np.array(column) for column in zip(*control.rows, strict=True))
    kept = slice(0, None, EVERY)
    samples = len(forces[kept])
    return Carried(model, motion.time[:samples], motion.q[:samples], forces[kept], off[kept], used[kept],
                   float(np.median(seconds)), len(seconds))  # fmt: skip


def shown(found: Carried) -> Scene:
    """The motion as a scene, with the forces under the feet."""
    wood, edge = (0.80, 0.62, 0.40), (0.55, 0.40, 0.24)
    pieces = [
        *looks(), Piece("box", "box", BOX, colour=wood),
        Piece("box", "box", (BOX[0] * 1.01, BOX[1] * 1.01, 0.03), colour=edge),
    ]  # fmt: skip
    beside = [np.array(SOLE["point"]) + (0.0, 0.13 * sign, 0.0) for _, sign in SIDES]  # legs would hide them
    tracks = {
        "force under the feet, N": found.forces[:, :, 2].sum(axis=1), "box from its path, mm": 1e3 * found.box_error,
        "largest torque / its limit": found.effort,
    }  # fmt: skip
    looked = scene(found.model, pieces=pieces, title="A humanoid lowers a box to the floor and lifts it")
    return looked.playing(found.time, found.q, tracks, arrows=arrows(found.model, SOLES, found.forces, beside))
