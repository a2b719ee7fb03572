"""What the three adaptive benchmarks share: run a case, measure its error against the exact run, print and plot."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bough.adaptive import QuasiStatics, relative_joint
from bough.model import Model

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `papers` lies, which draws the paper's linkages
TURN = 0.5  # rad


class Case(NamedTuple):
    """A linkage, what is applied to it, and for how long."""

    model: Model
    load: Callable[[QuasiStatics], None]
    steps: int
    start: np.ndarray


class Result(NamedTuple):
    """One run: seconds and joints computed per step, where the bodies ended, and which moved last."""

    seconds: float
    joints: float
    positions: np.ndarray
    moving: np.ndarray


def simulation(case: Case, method: str, exponent: int | None = None) -> QuasiStatics:
    """A run about to start, without gravity."""
    sim = QuasiStatics(
        case.model, None if exponent is None else relative_joint(2.0**-exponent), method, culled="zero", catch_up=False
    )
    sim.gravity = (0.0, 0.0, 0.0)
    sim.configuration = case.start
    case.load(sim)
    return sim


def time_step(case: Case, turn: float = TURN) -> float:
    """The step that would turn the fastest joint by `turn` over the whole run, if its acceleration stayed."""
    fastest = np.abs(simulation(case, "aba").accelerations()).max()
    return float(np.sqrt(2.0 * turn / (case.steps * fastest)))


def run(case: Case, dt: float, method: str, exponent: int | None = None, steps: int | None = None) -> Result:
    """Run to the end; the first step, which builds the tree, is not timed."""
    sim, steps = simulation(case, method, exponent), steps or case.steps
    sim.step(dt)
    joints, began = 0.0, time.perf_counter()
    for part in np.diff(np.linspace(1, steps, min(steps, 21)).astype(int)).tolist():
        sim.run(part, dt)
        joints += part * sim.stats.joints
    seconds = (time.perf_counter() - began) / max(steps - 1, 1)
    return Result(seconds, joints / max(steps - 1, 1), sim.positions(), sim.accelerations() != 0)


def displacement_error(found: Result, exact: Result, start: np.ndarray) -> float:
    """Largest error of a displacement, relative to the largest displacement (Redon & Lin 2005, 6.4, as meant)."""
    error = np.linalg.norm(found.positions - exact.positions, axis=1).max()
    return float(error / np.linalg.norm(exact.positions - start, axis=1).max())


def random_forces(bodies: Sequence[int], seed: int = 0) -> Callable[[QuasiStatics], None]:
    """Unit forces in random directions, constant in the world."""
    directions = np.random.default_rng(seed).normal(size=(len(bodies), 3))

    def load(sim: QuasiStatics) -> None:
        for body, direction in zip(bodies, directions, strict=True):
            sim.apply_force(int(body), direction / np.linalg.norm(direction))

    return load


def arguments(description: str | None, steps: int) -> argparse.Namespace:
    """--steps and --out, common to all."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps, help=f"time steps of a run (the paper: {steps})")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the pictures")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the linkage relative to the paper's")
    return parser.parse_args()
