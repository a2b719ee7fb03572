"""Two hands move one box as an augmented object (Khatib 1988; Chang & Khatib 2001), and squeeze it meanwhile.

The robot, the box and its path are those of `box_to_floor`. The law acts on the box: the acceleration it needs, times
the inertia of hands and box together, is shared by the hands; internal forces that move nothing hold it fast. Run:

    python examples/two_hands.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from box_to_floor import BOX_MASS, BOX_SIZE, BoxToFloor, solid
from film_strip import film_strip

from bough.control import augmented_object, internal_forces, rigid_object
from bough.simulate import Recording
from bough.spatial import rotation_vector

Array = np.ndarray
STIFFNESS, DAMPING = 400.0, 40.0
SQUEEZE = 20.0  # newtons, from both sides


class TwoHands(BoxToFloor):
    """The same task by a law of the box."""

    def box(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Placement (4, 4) and velocity (6,), [linear, angular] in world axes, of the box that is held."""
        T, n = self.constrained.dynamics.placement(q, "box"), self.robot.nv
        return T, np.concatenate([T[:3, :3] @ v[n : n + 3], T[:3, :3] @ v[n + 3 :]])

    def squeeze(self, points: list[Array]) -> Array:
        """Forces (12,) of the hands along the line between them."""
        line = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
        return SQUEEZE * np.concatenate([line, np.zeros(3), -line, np.zeros(3)])

    def torque(self, t: float, q: Array, v: Array) -> Array:
        n, (T, rate), wanted = self.robot.nv, self.box(q, v), self.path(t)
        R = T[:3, :3]
        points = [R @ grip[:3, 3] for grip in self.grips]
        held = rigid_object(BOX_MASS, np.zeros(3), R @ solid(BOX_MASS, BOX_SIZE) @ R.T, angular_velocity=rate[3:])
        op = self.space(q[:n], v[:n])
        turn = rotation_vector(wanted.position[:3, :3] @ R.T)
        error = np.concatenate([wanted.position[:3, 3] - T[:3, 3], turn])
        a = wanted.acceleration + DAMPING * (wanted.velocity - rate) + STIFFNESS * error
        F = augmented_object(op, points, held).forces(a, self.squeeze(points))
        tau = op.joint_forces(F, self.controller.posture_torque(q[:n], v[:n]))
        over = self.controller.monitor(q[:n], v[:n], tau).torque
        if over:
            raise RuntimeError(f"t = {t:.3f} s: {', '.join(over)} beyond its torque limit")
        return np.concatenate([tau, np.zeros(6)])

    def pressure(self, recording: Recording) -> Array:
        """The internal force (T,) in newtons by which the hands press on the box from both sides."""
        found = []
        for q, v, tau in zip(recording.q, recording.v, recording.tau, strict=True):
            on_hands = self.constrained(q, v, tau, self.stabilise(q, v)).force.reshape(2, 6)
            R = self.box(q, v)[0][:3, :3]
            points = [R @ grip[:3, 3] for grip in self.grips]
            line = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
            found.append(-internal_forces(points, on_hands)[0, :3] @ line)
        return np.array(found)


def draw(task: TwoHands, recording: Recording, results: dict[str, Array], folder: Path) -> Path:
    shown = np.linspace(0, len(recording.time) - 1, 7).round().astype(int)
    curves = {
        "box off its path (um)": (recording.time, 1e6 * results["error"]),
        "squeezed by (N)": (recording.time, task.pressure(recording)),
    }
    frames = [(recording.time[k], recording.q[k]) for k in shown]
    return film_strip(task.world, frames, folder / "two_hands.png", curves)


def main(folder: Path) -> int:
    task = TwoHands()
    recording = task.run(progress=sys.stderr.isatty())
    results = task.report(recording)
    error, turn, pressure = 1e3 * results["error"].max(), results["turn"].max(), task.pressure(recording)
    print(f"the box is within {error:.3f} mm and {turn:.4f} degrees of its path, and all torques within their limits")
    print(f"it is squeezed by {pressure.min():.2f} to {pressure.max():.2f} N (wanted: {SQUEEZE:g})")
    folder.mkdir(parents=True, exist_ok=True)
    print("written:", draw(task, recording, results, folder))
    return 0 if error < 1.0 and turn < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("two_hands")))
