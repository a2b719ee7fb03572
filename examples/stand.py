"""A humanoid stands on two feet, shifts its centre of mass over the left one, lifts the right one, and reaches out.

The robot is Unitree's G1 from example-robot-data (35 degrees of freedom, of which the six of its base have no motor).
Torques of a whole-body controller act on a robot whose eight corners of soles meet the ground by `rollout`'s contacts.
Run:

    python examples/stand.py [folder for a picture]
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bough
from bough.control import Contact, CubicPath, Gains, LimitMonitor, Reference, WholeBody
from bough.simulate import Contacts, Recording, rollout

Array = np.ndarray
DT = 2e-3
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
HAND = "right_rubber_hand"
SOLE = {"size": (0.15, 0.05), "point": (0.035, 0.0, -0.035), "friction": 0.6}
STANCE = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": 0.6, "shoulder_pitch": 0.2}
LIFT = (3.0, 5.0)  # when the right foot is in the air


class Result(NamedTuple):
    """What happened, a row for each step."""

    time: Array
    hand: Array  # m from its path
    center: Array  # m from its path
    torque: Array  # the largest, over its limit
    cone: Array  # the largest violation in N and Nm of what was planned; not positive where friction and pressure hold
    slip: Array  # the largest violation in N of the friction that acted
    foot: Array  # m that the standing feet have moved
    lifted: Array  # m that the right foot is above the ground
    limits: bool  # whether a joint passed a limit of position or velocity


def robot() -> bough.Model:
    """G1, from the package that has it."""
    try:
        found = [f for f in files("example-robot-data") or [] if f.name == "g1_29dof_rev_1_0.urdf"]
    except PackageNotFoundError:
        sys.exit("this example needs example-robot-data: pip install example-robot-data")
    return bough.load(Path(str(found[0].locate())), floating_base=True)


def stance(model: bough.Model, dynamics: bough.Dynamics) -> Array:
    """Knees and elbows bent, ankles at their height over the plane z = 0."""
    q = model.neutral.copy()
    for side in ("left", "right"):
        for name, angle in STANCE.items():
            q[model.joint(f"{side}_{name}_joint").q] = angle
    q[2] -= dynamics.placement(q, FEET[0])[2, 3] - 0.035
    return q


class Stand:
    """The task: its paths, its controller and the time it takes."""

    def __init__(self, model: bough.Model | None = None) -> None:
        self.model = model or robot()
        self.dynamics = bough.Dynamics(self.model)
        self.start = self._stance()
        com, hand = self.dynamics.center_of_mass(self.start), self.dynamics.placement(self.start, HAND)[:3, 3]
        left, right = (self.dynamics.placement(self.start, foot)[:3, 3] for foot in FEET)
        over = np.array([left[0] + 0.03, left[1] - 0.01, com[2]])
        self.center = CubicPath([0.0, 2.5, 6.0, 8.0], [com, over, over, com])
        reach = hand + [0.12, -0.05, 0.20]
        self.hand = CubicPath([0.0, 1.0, 2.5, 6.0, 8.0], [hand, hand, reach, reach, hand])
        high = right + [0.0, 0.0, 0.06]
        self.foot = CubicPath([LIFT[0], 4.0, LIFT[1]], [right, high, right])
        self.controller = self._controller()

    def _stance(self) -> Array:
        """Soles level on the plane z = 0, by inverse kinematics of both feet, the rest of the body near a stance."""
        q = stance(self.model, self.dynamics)
        targets = {foot: self.dynamics.placement(q, foot) for foot in FEET}
        for T in targets.values():
            T[:3, :3], T[2, 3] = np.eye(3), 0.035
        return bough.ik.solve(self.model, targets, q, posture=q).q

    def _controller(self) -> WholeBody:
        def along(path: CubicPath):
            return lambda t: Reference(*path(t))

        frames = ("torso_link", "pelvis", FEET[1])
        tasks = [bough.center_of_mass(), bough.position(HAND), bough.position(FEET[1])]
        paths = {"center_of_mass": self.center, f"position({HAND})": self.hand, f"position({FEET[1]})": self.foot}
        upright = {f"orientation({frame})": self.dynamics.placement(self.start, frame) for frame in frames}
        return WholeBody(
            self.model,
            [*tasks, *(bough.orientation(frame) for frame in frames)],
            [Contact(foot, **SOLE) for foot in FEET],
            references={name: along(path) for name, path in paths.items()} | upright,
            weights={f"position({HAND})": 10.0, "center_of_mass": 10.0},
            gains=Gains(400.0),
            posture=self.start,
            dt=DT,
        )

    def ground(self) -> Contacts:
        """The corners of both soles on a plane."""
        return Contacts.from_soles(self.model, FEET, **SOLE)

    def run(self, duration: float = 10.0) -> tuple[Recording, Result]:
        """Simulate; a conflict ends the run with its names."""
        monitor, rows, beyond, before = LimitMonitor(self.model), [], [], {}
        contacts = {contact.frame: contact for contact in self.controller.contacts}

        def torque(t: float, q: Array, v: Array) -> Array:
            standing = FEET[:1] if LIFT[0] <= t < LIFT[1] else FEET
            command = self.controller(t, q, v, standing)
            if not command.success:
                sys.exit(f"at {t:.3f} s these conflict: {', '.join(command.conflicts)}")
            report = monitor(q, v, command.tau)
            beyond.extend([*report.position, *report.velocity])
            places = {foot: self.dynamics.placement(q, foot)[:3, 3] for foot in FEET}
            moved = {foot: before.setdefault((foot, len(standing), t > LIFT[1]), places[foot]) for foot in standing}
            rows.append((
                t, np.linalg.norm(command.error[f"position({HAND})"]), np.linalg.norm(command.error["center_of_mass"]),
                report.torque_ratio, max((contacts[foot].cone @ f).max() for foot, f in command.forces.items()),
                max(np.abs(places[foot] - at).max() for foot, at in moved.items()), places[FEET[1]][2] - 0.035,
            ))  # fmt: skip
            return command.tau

        motion = rollout(
            self.model, self.start, np.zeros(self.model.nv), duration=duration, dt=DT, tau=torque,
            contacts=self.ground(), dynamics=self.dynamics,
        )  # fmt: skip
        force = motion.extra["contact_force"][:-1]
        slip = (np.linalg.norm(force[..., :2], axis=-1) - SOLE["friction"] * force[..., 2]).max(axis=1)
        found = np.array(rows).T
        return motion, Result(*found[:5], slip, *found[5:], bool(beyond))


def draw(task: Stand, motion: Recording, result: Result, folder: Path) -> Path:
    from film_strip import film_strip

    shown = np.linspace(0, len(motion.time) - 1, 7).round().astype(int)
    curves = {
        "hand off its path (mm)": (result.time, 1e3 * result.hand),
        "centre of mass off its path (mm)": (result.time, 1e3 * result.center),
        "right foot (cm)": (result.time, 1e2 * result.lifted),
    }
    frames = [(motion.time[k], motion.q[k]) for k in shown]
    return film_strip(task.model, frames, folder / "stand.png", curves, direction=(-0.6, 0.15))


def main(folder: Path) -> int:
    task = Stand()
    task.run(DT)  # compiles
    start = time.perf_counter()
    motion, result = task.run()
    spent = 1e6 * (time.perf_counter() - start) / len(result.time)
    hand, center, foot, lifted = (1e3 * x.max() for x in (result.hand, result.center, result.foot, result.lifted))
    print(
        f"{len(result.time)} steps of {1e3 * DT:g} ms, {spent:.0f} us each with all checks ({task.controller.solver})"
    )
    print(f"hand within {hand:.2f} mm, centre of mass within {center:.2f} mm of their paths")
    print(f"largest torque {100 * result.torque.max():.0f} % of its limit, right foot lifted {lifted:.0f} mm")
    print(f"largest violation of a cone: planned {max(result.cone.max(), 0.0):.1e} N, acting {result.slip.max():.1e} N")
    print(f"feet moved {foot:.4f} mm")
    print("a joint passed a limit" if result.limits else "all joints within their limits")
    folder.mkdir(parents=True, exist_ok=True)
    print("written:", draw(task, motion, result, folder))
    return 0 if hand < 1.0 and not result.limits and result.torque.max() <= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("stand")))
