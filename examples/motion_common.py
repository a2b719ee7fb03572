"""What the examples of adaptive motion share: runs beside the full motion, a table by eps, and one picture."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from bough import adaptive
from bough.model import Model

SAMPLES = 40  # of a run


class Scene(NamedTuple):
    """A linkage, what sets it in motion, and for how long."""

    model: Model
    begin: Callable[[adaptive.Dynamics], Callable[[adaptive.Dynamics], None] | None]  # gives a callback for loads
    steps: int
    dt: float
    integrator: str
    plane: tuple[int, int]  # axes of the picture


class Run(NamedTuple):
    """One run, sampled."""

    time: np.ndarray
    positions: np.ndarray  # (samples, bodies, 3)
    energy: np.ndarray
    momentum: np.ndarray  # (samples,) its norm
    lost: np.ndarray
    active: np.ndarray
    error: np.ndarray  # sqrt(Delta / M)
    moving: np.ndarray  # (bodies,) whether the joint above is active at the end
    seconds: float


def run(scene: Scene, eps: float | None) -> Run:
    """All joints without eps, else those that it leaves active."""
    error = None if eps is None else adaptive.body_acceleration(eps)
    sim = adaptive.Dynamics(
        scene.model, error, "full" if eps is None else "adaptive", integrator=scene.integrator, every=10
    )
    load = scene.begin(sim)
    rows, times, each = [_sample(sim)], [], max(1, scene.steps // SAMPLES)
    for _ in range(max(1, scene.steps // each)):
        began = time.perf_counter()
        sim.run(each, scene.dt, load=load)
        times.append((time.perf_counter() - began) / each)
        rows.append(_sample(sim))
    columns = [np.array(c) for c in zip(*rows, strict=True)]
    moving = np.ones(len(scene.model.body_names), bool)
    if sim.mover.region is not None and sim.stats.method == "adaptive":
        moving[:] = False
        moving[sim.mover.region.pieces.body] = True
    return Run(*columns, moving, float(np.median(times)))  # the first is much longer: trees are built in it


def _sample(sim: adaptive.Dynamics) -> tuple[Any, ...]:
    s = sim.stats
    momentum = float(np.linalg.norm(s.momentum[:3]))
    return s.time, sim.positions(), s.energy, momentum, s.energy_lost, s.active, s.acceleration_error


def errors(found: Run, exact: Run) -> np.ndarray:
    """Root mean square error of all places over that of all displacements at the end."""
    moved = np.sqrt(((exact.positions[-1] - exact.positions[0]) ** 2).sum(axis=1).mean())
    wrong: np.ndarray = np.sqrt(((found.positions - exact.positions) ** 2).sum(axis=2).mean(axis=1))
    return wrong / moved


def table(scene: Scene, exact: Run, tolerances: Sequence[float]) -> list[Run]:
    """Print a row for each eps."""
    n = len(scene.model.joints)
    print(f"{n} joints, {scene.steps} steps of {scene.dt:g} s; all joints: {1e6 * exact.seconds:.0f} us a step")
    print(f"{'eps':>8} {'active':>8} {'error':>10} {'rms acc':>10} {'energy lost':>12} {'us a step':>10} {'gain':>7}")
    found = [run(scene, eps) for eps in tolerances]
    for eps, r in zip(tolerances, found, strict=True):
        lost = r.lost[-1] / max(np.ptp(exact.energy), np.abs(exact.energy).max(), 1e-300)
        row = f"{eps:8g} {r.active[1:].mean():8.0f} {errors(r, exact)[-1]:10.1e} {np.median(r.error[1:]):10.1e}"
        print(f"{row} {lost:12.1e} {1e6 * r.seconds:10.1f} {exact.seconds / r.seconds:7.1f}")
    return found


def picture(scene: Scene, exact: Run, found: Sequence[Run], tolerances: Sequence[float], path: Path) -> None:
    """Shapes at the end, active bodies coloured, and energy, momentum and error over time."""
    figure, axes = plt.subplots(2, 3, figsize=(14, 8))
    x, y = scene.plane
    chosen = len(found) // 2
    moved = np.linalg.norm(exact.positions[-1] - exact.positions[0], axis=1)
    there = exact.positions[-1][moved > 0.01 * moved.max()]
    low, high = there.min(axis=0), there.max(axis=0)
    edge = 0.05 * (high - low).max()
    for panel, r, title in (
        (axes[0, 0], exact, "all joints"),
        (axes[0, 1], found[chosen], f"eps = {tolerances[chosen]:g} m/s²; active in red"),
    ):
        p = r.positions[-1]
        panel.scatter(p[:, x], p[:, y], s=2, c=np.where(r.moving, "tab:red", "0.6"), linewidths=0)
        panel.set_title(title)
        panel.set_xlim(low[x] - edge, high[x] + edge)
        panel.set_ylim(low[y] - edge, high[y] + edge)
    axes[0, 2].plot(exact.time, np.full(len(exact.time), len(exact.moving)), "k", label="all joints")
    axes[1, 0].plot(exact.time, exact.energy, "k", label="all joints")
    axes[1, 1].plot(exact.time, exact.momentum, "k", label="all joints")
    for eps, r in zip(tolerances, found, strict=True):
        axes[0, 2].semilogy(r.time[1:], np.maximum(r.active[1:], 1), label=f"{eps:g}")
        axes[1, 0].plot(r.time, r.energy + r.lost, "--", label=f"{eps:g}, with what locking took")
        axes[1, 1].plot(r.time, r.momentum, "--", label=f"{eps:g}")
        axes[1, 2].semilogy(r.time[1:], np.maximum(errors(r, exact)[1:], 1e-16), label=f"{eps:g}")
    for panel, name in zip(
        (axes[0, 2], *axes[1]),
        ("active joints", "energy, J", "linear momentum, kg m/s", "error / displacement"),
        strict=True,
    ):
        panel.set_xlabel("t, s")
        panel.set_title(name)
        panel.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


def main(
    description: str | None, make: Callable[[float, int], Scene], steps: int, tolerances: Sequence[float], name: str
) -> None:
    """--steps, --scale and --out, a table and a picture."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps, help="time steps of a run")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the linkage relative to the example's")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    given = parser.parse_args()
    scene = make(given.scale, given.steps)
    exact = run(scene, None)
    picture(scene, exact, table(scene, exact, tolerances), tolerances, given.out / name)
