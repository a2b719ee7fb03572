"""A quadruped trots in place: diagonal legs in turn, by whole-body control on point contacts.

`zoo.quadruped` (18 degrees of freedom, 12 motors) is simulated by `rollout` with its four feet on a plane. The trunk is
held level where it stands; the feet in the air follow half a sine. Run:

    python examples/trot.py [folder for a picture]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bough
from bough.control import Contact, Gains, LimitMonitor, Reference, WholeBody
from bough.simulate import Contacts, Recording, rollout

Array = np.ndarray
DT, PERIOD, HEIGHT, FRICTION = 2e-3, 0.4, 0.05, 0.7
REST = 0.5  # seconds on four feet before and after
PAIRS = (("lf_foot", "rh_foot"), ("rf_foot", "lh_foot"))
FEET = PAIRS[0] + PAIRS[1]


class Result(NamedTuple):
    """What happened, a row for each step."""

    time: Array
    trunk: Array  # m that the trunk is off its place
    tilt: Array  # rad
    torque: Array  # the largest, over its limit
    slip: Array  # the largest violation of friction in N
    lifted: Array  # (T, 4) m that feet are above the ground
    limits: bool  # whether a joint passed a limit of position or velocity


class Trot:
    """The gait, its controller and its ground."""

    def __init__(self) -> None:
        self.model = bough.zoo.quadruped()
        self.dynamics = bough.Dynamics(self.model)
        self.start = self._stance()
        self.place = {foot: self.dynamics.placement(self.start, foot)[:3, 3] for foot in FEET}
        trunk = self.dynamics.placement(self.start, "trunk")
        self.trunk = trunk[:3, 3]
        self.duration = 6.0
        references = {f"position({foot})": self.swing(foot) for foot in FEET} | {"pose(trunk)": trunk}
        self.controller = WholeBody(
            self.model,
            [bough.pose("trunk"), *(bough.position(foot) for foot in FEET)],
            [Contact(foot, FRICTION) for foot in FEET],
            references=references,
            weights={"pose(trunk)": 1.0},
            gains={"pose(trunk)": Gains(300.0)} | {f"position({foot})": Gains(1500.0) for foot in FEET},
            posture=self.start,
            dt=DT,
        )

    def _stance(self) -> Array:
        q = self.model.neutral.copy()
        for leg in ("lf", "rf", "lh", "rh"):
            q[self.model.joint(f"{leg}_thigh").q], q[self.model.joint(f"{leg}_shank").q] = 0.6, -1.2
        q[2] = -self.dynamics.placement(q, "lf_foot")[2, 3]
        return q

    def phase(self, t: float) -> tuple[int, float]:
        """The pair that swings (-1 for none) and how far it has come."""
        since = t - REST
        if not 0.0 <= since < self.duration - 2 * REST:
            return -1, 0.0
        half, share = divmod(2.0 * since / PERIOD, 1.0)
        return int(half) % 2, share

    def standing(self, t: float) -> tuple[str, ...]:
        pair, _ = self.phase(t)
        return FEET if pair < 0 else PAIRS[1 - pair]

    def swing(self, foot: str):
        """Up and down again without a jump of velocity: height (1 - cos) / 2 of the phase."""

        def reference(t: float) -> Reference:
            pair, share = self.phase(t)
            place = self.place[foot]
            if pair < 0 or foot not in PAIRS[pair]:
                return Reference(place)
            w, up = 4.0 * np.pi / PERIOD, HEIGHT / 2 * np.array([0.0, 0.0, 1.0])
            angle = 2.0 * np.pi * share
            return Reference(place + (1 - np.cos(angle)) * up, w * np.sin(angle) * up, w**2 * np.cos(angle) * up)

        return reference

    def run(self) -> tuple[Recording, Result]:
        """Simulate; a conflict ends the run with its names."""
        monitor, rows, beyond = LimitMonitor(self.model), [], []

        def torque(t: float, q: Array, v: Array) -> Array:
            command = self.controller(t, q, v, self.standing(t))
            if not command.success:
                sys.exit(f"at {t:.3f} s these conflict: {', '.join(command.conflicts)}")
            report = monitor(q, v, command.tau)
            beyond.extend([*report.position, *report.velocity])
            error, T = command.error["pose(trunk)"], self.dynamics.placements(q)
            heights = [T[self.model.frame(foot), 2, 3] for foot in FEET]
            rows.append((t, np.linalg.norm(error[:3]), np.linalg.norm(error[3:]), report.torque_ratio, *heights))
            return command.tau + self.model.damping * v  # the joints' own damping, which the controller leaves out

        motion = rollout(
            self.model, self.start, np.zeros(self.model.nv), duration=self.duration, dt=DT, tau=torque,
            contacts=Contacts(FEET, friction=FRICTION), dynamics=self.dynamics,
        )  # fmt: skip
        force = motion.extra["contact_force"][:-1]
        slip = (np.linalg.norm(force[..., :2], axis=-1) - FRICTION * force[..., 2]).max(axis=1)
        found = np.array(rows)
        return motion, Result(*found[:, :4].T, slip, found[:, 4:], bool(beyond))


def draw(task: Trot, motion: Recording, result: Result, folder: Path) -> Path:
    from film_strip import film_strip

    begin = int((REST + PERIOD) / DT)
    shown = begin + np.linspace(0, PERIOD / DT, 6).round().astype(int)
    curves = {f"{foot} (cm)": (result.time, 1e2 * result.lifted[:, k]) for k, foot in enumerate(FEET)}
    curves["trunk off its place (mm)"] = (result.time, 1e3 * result.trunk)
    frames = [(motion.time[k], motion.q[k]) for k in shown]
    return film_strip(task.model, frames, folder / "trot.png", curves)


def main(folder: Path) -> int:
    task = Trot()
    motion, result = task.run()
    print(f"{len(result.time)} steps of {1e3 * DT:g} ms, feet up to {100 * result.lifted.max():.1f} cm")
    trunk, tilt = 1e3 * result.trunk.max(), np.degrees(result.tilt.max())
    print(f"trunk within {trunk:.1f} mm and {tilt:.2f} degrees of its place")
    print(
        f"largest torque {100 * result.torque.max():.0f} % of its limit, friction passed by {result.slip.max():.1e} N"
    )
    print("a joint passed a limit" if result.limits else "all joints within their limits")
    folder.mkdir(parents=True, exist_ok=True)
    print("written:", draw(task, motion, result, folder))
    return 0 if not result.limits and result.torque.max() <= 1.0 and result.slip.max() < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("trot")))
