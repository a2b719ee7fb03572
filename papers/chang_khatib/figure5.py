"""Figs. 5 and 6: a robot of 24 links puts a box on the floor, hands and box as one augmented object."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from bough.control import Gains, PosePath, TaskController, augmented_object, rigid_object
from bough.dynamics import Dynamics
from bough.model import Builder, Model, Piece
from bough.opspace import ConstrainedDynamics, OperationalSpace, closure_tasks, pose
from bough.simulate import rollout
from bough.types import FloatArray
from bough.view import picture, scene
from papers.result import Figure, Result, exact, measured
from papers.style import COLOURS, INK, legend_outside

MASS, SIZE, DT = 3.0, (0.30, 0.40, 0.20), 4e-3
TIMES = (0.0, 0.3, 1.8, 3.3, 3.6)
STIFFNESS, DAMPING = 400.0, 40.0
EQUAL = 1e-9  # m/s^2 and rad/s^2
SIDES = (("left", 1.0), ("right", -1.0))
# joint: axis, place in the frame of the link before, mass
TRUNK = {"ankle_roll": (0, 0.08, 4.0), "ankle_pitch": (1, 0.0, 4.0), "knee": (1, 0.42, 8.0),
         "hip_pitch": (1, 0.42, 6.0), "hip_roll": (0, 0.0, 3.0), "waist_yaw": (2, 0.10, 5.0),
         "waist_pitch": (1, 0.08, 5.0), "waist_roll": (0, 0.0, 4.0), "chest": (2, 0.20, 10.0)}  # fmt: skip
ARM = {"shoulder_pitch": (1, 0.0, 1.5), "shoulder_roll": (0, 0.0, 1.5), "shoulder_yaw": (2, 0.0, 1.5),
       "elbow": (1, -0.31, 1.2), "wrist_yaw": (2, -0.14, 0.8), "wrist_roll": (0, -0.14, 0.5),
       "wrist_pitch": (1, 0.0, 0.5)}  # fmt: skip
STANCE = {"ankle_pitch": 0.35, "knee": -0.75, "hip_pitch": 0.45, "waist_pitch": 0.1, "shoulder_pitch": -0.55,
          "elbow": -1.15, "wrist_pitch": 0.2}  # fmt: skip


def solid(mass: float, size: Any) -> FloatArray:
    """The inertia of a box about its centre."""
    square = np.square(size)
    return np.diag(mass / 12 * (square.sum() - square))


def robot(name: str) -> Builder:
    """Both legs as one chain, trunk, head and two arms: as many links as the paper's robot has."""
    builder, axes, up = Builder(name), np.eye(3), "world"
    for joint, (axis, z, mass) in TRUNK.items():
        inertia = solid(mass, (0.15, 0.25, 0.3))
        up = builder.add_body(
            joint, up, "revolute", (0, 0, z), axis=axes[axis], mass=mass, com=(0, 0, 0.15), inertia=inertia
        )
    builder.add_body("head", "chest", "revolute", (0, 0, 0.35), axis=axes[2], mass=4.0, inertia=0.02 * np.eye(3))
    for side, sign in SIDES:
        up = "chest"
        for joint, (axis, z, mass) in ARM.items():
            at = (0.0, sign * 0.2, 0.25) if joint == "shoulder_pitch" else (0.0, 0.0, z)
            inertia = solid(mass, (0.08, 0.08, 0.25))
            up = builder.add_body(
                f"{side}_{joint}", up, "revolute", at, axis=axes[axis], mass=mass, com=(0, 0, -0.08), inertia=inertia
            )
        builder.add_frame(f"{side}_hand", up, (0, 0, -0.08))
    return builder


class Carrying:
    """The robot alone, which the law knows, and the robot with the box in both hands, which is simulated."""

    def __init__(self) -> None:
        self.robot = robot("robot").build()
        self.q0 = self.robot.neutral.copy()
        for name in self.robot.joint_names:
            self.q0[self.robot.joint(name).q] = STANCE.get(name.removeprefix("left_").removeprefix("right_"), 0.0)
        hands = [Dynamics(self.robot).placement(self.q0, f"{side}_hand") for side, _ in SIDES]
        start = np.eye(4)
        start[:3, 3] = (hands[0][:3, 3] + hands[1][:3, 3]) / 2
        self.grips = [np.linalg.inv(start) @ hand for hand in hands]
        floor, middle = start.copy(), start.copy()
        floor[:3, 3] = (0.42, 0.0, SIZE[2] / 2)
        middle[:3, 3] = (start[:3, 3] + floor[:3, 3]) / 2 + (0.05, 0.0, 0.0)
        self.path = PosePath(TIMES, [start, start, middle, floor, floor])
        self.world = self.with_box()
        self.space = OperationalSpace(self.robot, [pose(f"{side}_hand") for side, _ in SIDES])
        self.posture = TaskController(self.space, {}, posture=self.q0, posture_gains=Gains(16.0))
        self.constrained = ConstrainedDynamics(OperationalSpace(self.world, closure_tasks(self.world)))
        self.q = np.concatenate([self.q0, start[:3, 3], (0.0, 0.0, 0.0, 1.0)])
        self.dynamics, self.gaps = Dynamics(self.world), list[float]()

    def with_box(self) -> Model:
        builder = robot("robot and box")
        builder.add_body("box", "world", "floating", mass=MASS, inertia=solid(MASS, SIZE))
        for (side, _), grip in zip(SIDES, self.grips, strict=True):
            builder.add_frame(f"{side}_grip", "box", (grip[:3, :3], grip[:3, 3]))
            builder.add_closure(f"{side}_hand", f"{side}_grip", "weld")
        return builder.build()

    def torque(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """The law of the box; now and then it is checked whether the closed chain accelerates the box as it should."""
        tau, a = self.law(t, q, v)
        if round(t / DT) % 25 == 0:
            n, R = self.robot.nv, self.dynamics.placement(q, "box")[:3, :3]
            linear, angular = self.constrained(q, v, tau).qdd[n:].reshape(2, 3)
            found = np.concatenate([R @ (linear + np.cross(v[n + 3 :], v[n : n + 3])), R @ angular])
            self.gaps.append(float(np.abs(found - a).max()))
        return tau

    def law(self, t: float, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Joint forces and the box's acceleration: Lambda_+ shared by the hands, the posture in their null space."""
        n, wanted, T = self.robot.nv, self.path(t), self.dynamics.placement(q, "box")
        R, op = T[:3, :3], self.space(q[:n], v[:n])
        rate = np.concatenate([R @ v[n : n + 3], R @ v[n + 3 :]])
        error = np.concatenate([wanted.position[:3, 3] - T[:3, 3], np.cross(R.T, wanted.position[:3, :3].T).sum(0) / 2])
        a = wanted.acceleration + DAMPING * (wanted.velocity - rate) + STIFFNESS * error
        box = rigid_object(MASS, np.zeros(3), R @ solid(MASS, SIZE) @ R.T, angular_velocity=rate[3:])
        whole = augmented_object(op, [R @ grip[:3, 3] for grip in self.grips], box)
        tau0 = self.posture.posture_torque(q[:n], v[:n])
        return np.concatenate([op.joint_forces(whole.forces(a), tau0), np.zeros(6)]), a


def run(full: bool = False) -> Result:
    """The motion down; the paper gives no numbers of it."""
    task = Carrying()
    found = rollout(task.world, task.q, np.zeros(task.world.nv), duration=TIMES[-1], dt=DT, tau=task.torque,
                    integrator="lie_midpoint", every=5)  # fmt: skip
    wanted = np.array([task.path(t).position[:3, 3] for t in found.time])
    box = np.array([task.dynamics.placement(q, "box")[:3, 3] for q in found.q])
    apart, off = max(task.gaps), 1e3 * float(np.linalg.norm(box - wanted, axis=1).max())
    rows = (
        exact("links, operational points", (24, 2), (len(task.robot.joints), 2)),
        exact("closed chain and augmented object accelerate the box alike, all along the motion", True,
              apart < EQUAL, f"{apart:.0e} m/s^2 or rad/s^2 apart at most, at {len(task.gaps)} states; loops are "
              "closed in each step, and what the posture asks for does not reach the box"),
        measured("the box off its spline, mm at most", "", off, f"steps of {1e3 * DT:.0f} ms"),
        measured("servo rate of the task, Hz", 300.0, rate(task), "the law alone, from Python, on one core; printed: "
                 "control and simulation on two processors of 266 MHz"),
    )  # fmt: skip
    return Result(rows, (_sequence(task, found), _spline(found.time, wanted, box)))


def rate(task: Carrying, bursts: int = 30, calls: int = 10) -> float:
    """Calls of the law a second, at states that change, in the best of many bursts."""
    rng, v = np.random.default_rng(0), np.zeros(task.world.nv)
    states = [task.world.integrate(task.q, 0.01 * rng.normal(size=task.world.nv)) for _ in range(calls)]
    best = math.inf
    for _ in range(bursts):
        start = perf_counter()
        for k, q in enumerate(states):
            task.law(k * DT, q, v)
        best = min(best, perf_counter() - start)
    return calls / best


def _sequence(task: Carrying, found: Any) -> Figure:
    def draw(canvas: Any) -> None:
        moments = np.linspace(0, len(found.time) - 1, 5).round().astype(int)
        links = scene(task.world)
        box = scene(task.world, pieces=[Piece("box", "box", SIZE, colour=(0.80, 0.62, 0.40))])
        shown = replace(links, shapes=[*links.shapes, *box.shapes]).playing(found.time[moments], found.q[moments])
        for k, axes in enumerate(canvas.subplots(1, len(moments))):
            axes.imshow(picture(shown, (420, 640), sample=k, direction=(-1.2, 0.12), zoom=1.55))
            axes.set_title(f"{found.time[moments[k]]:.1f} s")
            axes.set_axis_off()

    caption = (
        "Fig. 5: the robot while it puts the box on the floor. The reference of the posture is the start: it gives way "
        "in the null space of the hands, without a coupling acceleration."
    )
    return Figure("sequence", caption, draw, (10.0, 3.4))


def _spline(time: FloatArray, wanted: FloatArray, box: FloatArray) -> Figure:
    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for k, name in enumerate("xyz"):
            axes.plot(time, box[:, k], color=COLOURS[k], label=f"{name} of the box")
            axes.plot(time, wanted[:, k], linestyle=(0, (2, 8)), color=INK, label="its spline" if k == 2 else None)
        axes.set_xlabel("time, s")
        axes.set_ylabel("position, m")
        legend_outside(canvas, axes, 4)

    caption = "Fig. 6: the middle of the box follows its cubic spline, whose dashes lie on the motion."
    return Figure("spline", caption, draw)
