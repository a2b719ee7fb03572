"""A quadruped learns to walk: thousands of robots side by side, proximal policy optimisation, minutes on one GPU.

`zoo.quadruped` has servos at its twelve joints; a policy moves their targets fifty times a second. It is rewarded for
a speed, for a level trunk and for feet that step in the rhythm of a trot. The policy is then replayed by `rollout` on
the CPU, and written as a page for the browser. Run:

    python examples/learn_to_walk.py [folder] [--device cuda] [--robots 4096] [--iterations 400]
"""

from __future__ import annotations

import json
import math
import sys
import time
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import bough
from bough.simulate import Contacts, Recording, rollout

Array = Any  # of numpy, or a tensor on a GPU
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
DIAGONAL = (1.0, -1.0, -1.0, 1.0)  # which feet swing together
GROUND = Contacts(FEET, friction=0.8, sweeps=6)
DT, SUBSTEPS, GAINS, REACH = 4e-3, 5, (40.0, 1.0), 0.6
SPEED, PERIOD, HEIGHT = 0.8, 0.5, 0.31  # m/s forwards, s of a stride, m of the trunk
MODEL = bough.zoo.quadruped()


def stance() -> np.ndarray:
    q = MODEL.rest_configuration.copy()
    q[2] = 0.332
    return q


def upward(q: Array) -> tuple[Array, Array, Array]:
    """The world's z axis in the axes of the trunk."""
    x, y, z, w = (q[..., k] for k in range(3, 7))
    return 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


def observation(xp: Any, q: Array, v: Array, action: Array, time: Array) -> Array:
    """(..., 47): velocity of the trunk, up, rhythm, joints and their velocities, the last action."""
    phase = time * (2 * math.pi / PERIOD)
    few = xp.stack([*upward(q), xp.sin(phase), xp.cos(phase)], -1)
    home = xp.asarray(stance()[7:], **_like(q))
    return xp.concatenate([v[..., :3], 0.25 * v[..., 3:6], few, q[..., 7:] - home, 0.05 * v[..., 6:], action], -1)


def _like(x: Array) -> dict[str, Any]:
    return {"dtype": x.dtype, "device": x.device} if hasattr(x, "is_cuda") else {"dtype": x.dtype}


def reward(s: bough.env.RobotState) -> Array:
    """Of one action, at most about 2."""
    x, y, _ = upward(s.q)
    speed = s.xp.exp(-4 * ((s.v[:, 0] - SPEED) ** 2 + s.v[:, 1] ** 2)) + 0.5 * s.xp.exp(-4 * s.v[:, 5] ** 2)
    wobble = s.v[:, 2] ** 2 + 0.05 * (s.v[:, 3] ** 2 + s.v[:, 4] ** 2) + x**2 + y**2 + 10 * (s.q[:, 2] - HEIGHT) ** 2
    swing = s.xp.sin(s.time * (2 * math.pi / PERIOD))[:, None] * s.xp.asarray(DIAGONAL, **_like(s.q))
    rhythm = s.xp.where(s.force[..., 2] > 1.0, -swing, swing).sum(1) / 4  # feet of one diagonal in the air
    effort = 0.02 * ((s.action - s.previous) ** 2).sum(1) + 1e-4 * (s.v[:, 6:] ** 2).sum(1)
    return speed + 0.5 * rhythm - wobble - effort


def fallen(s: bough.env.RobotState) -> Array:
    return (upward(s.q)[2] < 0.6) | (s.q[:, 2] < 0.18)


def start(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Standing, with joints and velocities a little off."""
    q, v = np.tile(stance(), (count, 1)), 0.2 * rng.normal(size=(count, MODEL.nv))
    q[:, 7:] += rng.uniform(-0.15, 0.15, (count, 12))
    q[:, 2] += 0.02
    return q, v


def environment(robots: int, device: str = "cpu") -> bough.env.RobotVectorEnv:
    """Robots on grounds of different friction, up to a tenth heavier or lighter."""
    return bough.env.RobotVectorEnv(
        MODEL, robots, start=start, contacts=GROUND, servo=GAINS, reach=REACH, dt=DT, substeps=SUBSTEPS, horizon=500,
        observe=lambda s: observation(s.xp, s.q, s.v, s.action, s.time), reward=reward, ended=fallen, device=device,
        friction=lambda rng, count: rng.uniform(0.5, 1.1, count),
        parameters={"inertia": lambda rng, count: MODEL.inertias * rng.uniform(0.9, 1.1, (count, 1, 1))},
    )  # fmt: skip


def learn(env: bough.env.RobotVectorEnv, iterations: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The policy, and the curve of its learning."""
    from ppo import Learner

    learner, began, rows = Learner(env), time.perf_counter(), []
    for k in range(iterations):
        rows.append(learner.iteration() | {"seconds": time.perf_counter() - began})
        if k % 10 == 0 or k == iterations - 1:
            now = rows[-1]
            words = f"{k:5d} {now['seconds']:6.1f} s  reward {now['reward']:.3f}  falls {now['ended']:.4f} a step"
            print(words, flush=True)
    curve = {name: [round(row[name], 5) for row in rows] for name in rows[0]}
    return learner.weights(), {"robots": env.num_envs, "actions": iterations * learner.steps, "curve": curve}


def act(weights: dict[str, np.ndarray], seen: np.ndarray) -> np.ndarray:
    """The mean action of a policy."""
    count = len(weights) // 2
    for k in range(count):
        seen = weights[f"W{k}"] @ seen + weights[f"b{k}"]
        seen = np.tanh(seen) if k < count - 1 else seen
    return seen.clip(-1.0, 1.0)


def walk(weights: dict[str, np.ndarray], duration: float = 6.0) -> Recording:
    """The policy on one robot of the model's own weight, by `rollout` on the CPU."""
    home, last = stance(), {"action": np.zeros(12), "step": -1}
    target = np.zeros(MODEL.nv)

    def servo_target(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        step = round(t / DT) // SUBSTEPS
        if step != last["step"]:
            seen = observation(np, q, v, last["action"], np.asarray(step * SUBSTEPS * DT))
            last.update(action=act(weights, seen), step=step)
            target[6:] = home[7:] + REACH * last["action"]
        return target

    return rollout(
        MODEL, home, np.zeros(MODEL.nv), duration=duration, dt=DT, servo=GAINS, target=servo_target, contacts=GROUND,
        every=SUBSTEPS,
    )  # fmt: skip


def write(folder: Path, motion: Recording) -> None:
    """The motion as a recording, and as a page for the browser."""
    motion.save(folder / "walk.npz")
    speed = np.gradient(motion.q[:, 0], motion.time)
    scene = bough.view.scene(MODEL).playing(motion.time, motion.q, {"speed (m/s)": speed})
    scene.save_html(folder / "walk.html")


def draw(folder: Path, motion: Recording) -> Path:
    """Postures of one stride, and the curve of learning."""
    from film_strip import film_strip

    curve = json.loads((folder / "curve.json").read_text())["curve"]
    first = len(motion.time) // 2
    shown = first + np.linspace(0, PERIOD / (DT * SUBSTEPS), 6).round().astype(int)
    curves = {"mean reward of an action (of at most 2)": (np.array(curve["seconds"]), np.array(curve["reward"]))}
    frames = [(motion.time[k], motion.q[k]) for k in shown]
    return film_strip(MODEL, frames, folder / "walk.png", curves)


def main(words: list[str]) -> int:
    parser = ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("walk"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--robots", type=int, default=4096)
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--replay", action="store_true", help="replay folder/policy.npz, learn nothing")
    given = parser.parse_args(words)
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.replay:
        weights = dict(np.load(given.folder / "policy.npz"))
    else:
        weights, report = learn(environment(given.robots, given.device), given.iterations)
        np.savez_compressed(given.folder / "policy.npz", **weights)
        (given.folder / "curve.json").write_text(json.dumps(report))
    motion = walk(weights)
    write(given.folder, motion)
    if find_spec("matplotlib") and (given.folder / "curve.json").exists():
        draw(given.folder, motion)
    way, height = motion.q[-1, 0], motion.q[len(motion.q) // 2 :, 2]
    print(f"{motion.time[-1]:g} s: {way:.2f} m forwards, trunk between {height.min():.3f} and {height.max():.3f} m")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
