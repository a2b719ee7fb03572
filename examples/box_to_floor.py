"""A humanoid of 24 links puts a box on the floor with both hands and raises it again (after Chang & Khatib 2001).

The legs, which move together, and the trunk are one chain of nine joints on the ground; it carries two arms of seven
joints and a head. The box is a free body held by rigid grasps on both sides, so that arms and box form a closed loop.
The hands follow the box along a cubic spline; the posture is held in the null space of the hands. Run:

    python examples/box_to_floor.py [folder for recording and pictures]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bough
from bough.control import Gains, PosePath, Reference, Stabiliser, TaskController, share_wrench
from bough.opspace import ConstrainedDynamics, OperationalSpace, pose, relative
from bough.simulate import Recording, rollout
from bough.spatial import rotation_vector

Array = np.ndarray
X, Y, Z = np.eye(3)
DT = 1e-3
BOX_MASS, BOX_SIZE = 3.0, np.array([0.30, 0.40, 0.20])
# name, axis, place of the joint in the frame of the link before, mass
TRUNK = (
    ("ankle_roll", X, (0, 0, 0.08), 4.0), ("ankle_pitch", Y, (0, 0, 0), 4.0), ("knee", Y, (0, 0, 0.42), 8.0),
    ("hip_pitch", Y, (0, 0, 0.42), 6.0), ("hip_roll", X, (0, 0, 0), 3.0), ("waist_yaw", Z, (0, 0, 0.10), 5.0),
    ("waist_pitch", Y, (0, 0, 0.08), 5.0), ("waist_roll", X, (0, 0, 0), 4.0), ("chest", Z, (0, 0, 0.20), 10.0),
)  # fmt: skip
ARM = (
    ("shoulder_pitch", Y, (0, 1, 0), 1.5), ("shoulder_roll", X, (0, 0, 0), 1.5), ("shoulder_yaw", Z, (0, 0, 0), 1.5),
    ("elbow", Y, (0, 0, -0.31), 1.2), ("wrist_yaw", Z, (0, 0, -0.14), 0.8), ("wrist_roll", X, (0, 0, -0.14), 0.5),
    ("wrist_pitch", Y, (0, 0, 0), 0.5),
)  # fmt: skip
# how the robot stands when it starts: the box in front of its belly
STANCE = {
    "ankle_pitch": 0.35, "knee": -0.75, "hip_pitch": 0.45, "waist_pitch": 0.1,
    "left_shoulder_pitch": -0.55, "right_shoulder_pitch": -0.55, "left_elbow": -1.15, "right_elbow": -1.15,
    "left_wrist_pitch": 0.2, "right_wrist_pitch": 0.2,
}  # fmt: skip


def solid(mass: float, size: Array) -> Array:
    """The inertia of a box about its centre."""
    return mass / 12 * np.diag((size**2).sum() - size**2)


def robot_builder(name: str) -> bough.Builder:
    builder, up = bough.Builder(name), "world"
    for joint, axis, place, mass in TRUNK:
        inertia = solid(mass, np.array([0.15, 0.25, 0.3]))
        up = builder.add_body(joint, up, "revolute", place, axis=axis, mass=mass, com=(0, 0, 0.15), inertia=inertia,
                              effort=600.0, velocity=10.0, lower=-2.6, upper=2.6)  # fmt: skip
    skull = {"mass": 4.0, "com": (0, 0, 0.1), "inertia": 0.02 * np.eye(3)}
    builder.add_body("head", "chest", "revolute", (0, 0, 0.35), axis=Z, effort=100.0, **skull)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        up = "chest"
        for joint, axis, place, mass in ARM:
            where = (0.0, sign * 0.2, 0.25) if joint == "shoulder_pitch" else place
            inertia = solid(mass, np.array([0.08, 0.08, 0.25]))
            up = builder.add_body(f"{side}_{joint}", up, "revolute", where, axis=axis, mass=mass, com=(0, 0, -0.08),
                                  inertia=inertia, effort=200.0, velocity=15.0, lower=-2.9, upper=2.9)  # fmt: skip
        builder.add_frame(f"{side}_hand", up, (0, 0, -0.08))
    return builder


def skew(x: Array) -> Array:
    a, b, c = x.tolist()
    return np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])


def placement(R: Array, p: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


class BoxToFloor:
    """The robot alone (what the controller knows), and the robot with the box (what is simulated)."""

    def __init__(self) -> None:
        self.robot = robot_builder("humanoid").build()
        self.q0 = self.robot.neutral.copy()
        for joint, angle in STANCE.items():
            self.q0[self.robot.joint(joint).q] = angle
        self.kinematics = bough.Dynamics(self.robot)
        hands = [self.kinematics.placement(self.q0, f"{side}_hand") for side in ("left", "right")]
        self.start = placement(np.eye(3), (hands[0][:3, 3] + hands[1][:3, 3]) / 2)
        self.grips = [np.linalg.inv(self.start) @ hand for hand in hands]  # hands seen from the box
        self.path = self.make_path()
        self.world = self.make_world()
        self.space = OperationalSpace(self.robot, [pose("left_hand"), pose("right_hand")])
        self.controller = TaskController(
            self.space,
            {f"pose({side}_hand)": self.hand_reference(k) for k, side in enumerate(("left", "right"))},
            gains=Gains(400.0),
            posture=self.q0,
            posture_gains=Gains(16.0),
        )
        grasps = [relative(f"{side}_hand", f"{side}_grip") for side in ("left", "right")]
        self.grasp = OperationalSpace(self.world, grasps)
        self.q = np.concatenate([self.q0, self.start[:3, 3], [0, 0, 0, 1]])
        self.v = np.zeros(self.world.nv)
        self.constrained = ConstrainedDynamics(self.grasp)
        self.stabilise = Stabiliser(self.grasp, self.q, rate=30.0)

    def make_path(self) -> PosePath:
        """Down to the floor in front of the feet, a pause, and up again."""
        floor = self.start.copy()
        floor[:3, 3] = [0.42, 0.0, BOX_SIZE[2] / 2]
        middle = self.start.copy()
        middle[:3, 3] = (self.start[:3, 3] + floor[:3, 3]) / 2 + [0.05, 0.0, 0.0]
        times = [0.0, 0.3, 1.8, 3.3, 3.8, 5.3, 6.8, 7.2]
        return PosePath(times, [self.start, self.start, middle, floor, floor, middle, self.start, self.start])

    def make_world(self) -> bough.Model:
        """Robot and box, two trees; grips are frames of the box where the hands hold it."""
        builder = robot_builder("humanoid and box")
        builder.add_body("box", "world", "floating", mass=BOX_MASS, inertia=solid(BOX_MASS, BOX_SIZE))
        for side, grip in zip(("left", "right"), self.grips, strict=True):
            builder.add_frame(f"{side}_grip", "box", (grip[:3, :3], grip[:3, 3]))
        return builder.build()

    def hand_reference(self, k: int) -> Callable[[float], Reference]:
        """The motion of a hand that holds the box on its path."""

        def reference(t: float) -> Reference:
            box = self.path(t)
            arm = box.position[:3, :3] @ self.grips[k][:3, 3]
            velocity, acceleration = box.velocity.copy(), box.acceleration.copy()
            W, A = skew(velocity[3:]), skew(acceleration[3:])
            velocity[:3] += W @ arm
            acceleration[:3] += A @ arm + W @ (W @ arm)
            return Reference(box.position @ self.grips[k], velocity, acceleration)

        return reference

    def load(self, t: float) -> Array:
        """The forces (12,) by which the hands carry the box along its path: its weight and inertia, shared."""
        box = self.path(t)
        a, alpha, w = box.acceleration[:3], box.acceleration[3:], box.velocity[3:]
        R = box.position[:3, :3]
        J = R @ solid(BOX_MASS, BOX_SIZE) @ R.T
        wrench = np.concatenate([BOX_MASS * (a + 9.81 * Z), J @ alpha + skew(w) @ J @ w])
        return share_wrench([R @ grip[:3, 3] for grip in self.grips], wrench).ravel()

    def torque(self, t: float, q: Array, v: Array) -> Array:
        n = self.robot.nv
        command = self.controller(t, q[:n], v[:n], self.load(t))
        if command.limits.torque:
            raise RuntimeError(f"t = {t:.3f} s: {', '.join(command.limits.torque)} beyond its torque limit")
        return np.concatenate([command.tau, np.zeros(6)])

    def motion(self, q: Array, v: Array, tau: Array) -> Array:
        return self.constrained(q, v, tau, self.stabilise(q, v)).qdd

    def check_posture(self, q: Array, v: Array) -> float:
        """The largest acceleration of the hands that the posture torque causes, over the one it would cause alone."""
        op, tau0 = self.space(q, v), self.controller.posture_torque(q, v)
        H = self.kinematics.mass_matrix(q)
        alone = op.J @ np.linalg.solve(H, tau0)
        left = op.J @ np.linalg.solve(H, op.joint_forces(np.zeros(12), tau0))
        return float(np.abs(left).max() / np.abs(alone).max())

    def run(self, progress: bool = True) -> Recording:
        duration = float(self.path.path.times[-1])
        return rollout(
            self.world, self.q, self.v, duration=duration, dt=DT, tau=self.torque, motion=self.motion,
            integrator="semi_implicit_euler", every=10, progress=progress,
        )  # fmt: skip

    def report(self, recording: Recording) -> dict[str, Array]:
        """Wanted and actual box, errors in metres and degrees, cross-coupling, along the recording."""
        n, dynamics = self.robot.nv, bough.Dynamics(self.world)
        wanted = np.array([self.path(t).position for t in recording.time])
        actual = np.array([dynamics.placement(q, "box") for q in recording.q])
        turns = [rotation_vector(a[:3, :3] @ b[:3, :3].T) for a, b in zip(wanted, actual, strict=True)]
        coupling = [self.check_posture(q[:n], v[:n]) for q, v in zip(recording.q, recording.v, strict=True)]
        return {
            "wanted": wanted[:, :3, 3], "actual": actual[:, :3, 3],
            "error": np.linalg.norm(wanted[:, :3, 3] - actual[:, :3, 3], axis=1),
            "turn": np.degrees(np.linalg.norm(turns, axis=1)), "coupling": np.array(coupling),
        }  # fmt: skip


def draw(demo: BoxToFloor, recording: Recording, results: dict[str, Array], folder: Path) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from film_strip import film_strip

    figure, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, constrained_layout=True)
    for k, name in enumerate("xyz"):
        axes[0].plot(recording.time, results["wanted"][:, k], "--", color=f"C{k}", label=f"{name} wanted")
        axes[0].plot(recording.time, results["actual"][:, k], color=f"C{k}", label=f"{name} actual")
    axes[0].set(ylabel="box (m)")
    axes[0].legend(ncols=3, fontsize="small")
    axes[1].plot(recording.time, 1e3 * results["error"], label="position (mm)")
    axes[1].plot(recording.time, results["turn"], label="orientation (deg)")
    axes[1].set(ylabel="tracking error")
    axes[1].legend()
    axes[2].semilogy(recording.time, np.maximum(results["coupling"], 1e-18))
    axes[2].set(xlabel="time (s)", ylabel="posture seen by the hands")
    motion = folder / "box_to_floor_motion.png"
    figure.savefig(motion, dpi=130)

    frames = [
        (recording.time[k], recording.q[k]) for k in np.linspace(0, len(recording.time) - 1, 7).round().astype(int)
    ]
    curves = {"height of the box (m)": (recording.time, results["actual"][:, 2])}
    box = bough.model.Piece("box", "box", tuple(BOX_SIZE), colour=(0.80, 0.62, 0.40))
    sequence = film_strip(demo.world, frames, folder / "box_to_floor_sequence.png", curves, pieces=[box])
    return [motion, sequence]


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    demo = BoxToFloor()
    begin = time.perf_counter()
    recording = demo.run(progress=sys.stderr.isatty())
    seconds = time.perf_counter() - begin
    results = demo.report(recording)
    recording.extra.update({name: results[name] for name in ("wanted", "actual", "error", "turn", "coupling")})
    written = [recording.save(folder / "box_to_floor.npz"), *draw(demo, recording, results, folder)]
    error, turn, coupling = 1e3 * results["error"].max(), results["turn"].max(), results["coupling"].max()
    steps = round(recording.time[-1] / DT)
    print(f"{steps} steps of controller and constrained dynamics in {seconds:.1f} s, {steps / seconds:.0f} a second")
    print(f"tracking error: {error:.3f} mm and {turn:.4f} degrees at most (wanted: below 1 mm and 0.1 degrees)")
    print(f"posture seen by the hands: {coupling:.1e} of its torque (wanted: below 1e-8)")
    print("written:", ", ".join(map(str, written)))
    return 0 if error < 1.0 and turn < 0.1 and coupling < 1e-8 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("box_to_floor")))
