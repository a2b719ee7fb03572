"""What the examples of adaptive motion share: runs beside the full motion, a table by eps, and one picture."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import shaded

from bough import adaptive
from bough.model import Model
from bough.view import Shapes

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `papers` lies, which draws the paper's linkages
SAMPLES = 40  # of a run
Load = Callable[[adaptive.Dynamics], None]


class Scene(NamedTuple):
    """A linkage, what sets it in motion, for how long, and how it is drawn."""

    model: Model
    begin: Callable[[adaptive.Dynamics], Load | None]  # gives a callback for loads
    steps: int
    dt: float
    integrator: str
    shown: tuple[float, ...]  # instants of the picture, as shares of the time
    apart: tuple[float, float, float]  # from one instant to the next, m
    beside: tuple[float, float, float]  # from the adaptive motion to that of all joints
    width: np.ndarray | float  # of bodies, m
    size: tuple[int, int]  # pixels
    direction: tuple[float, float]  # where the camera stands: radians about z from x, then upwards
    zoom: float = 1.0
    drawn: slice | np.ndarray = slice(None)  # bodies
    turn: np.ndarray = np.eye(3)  # rows are where the axes of the motion are in the picture
    every: int = 10


class Run(NamedTuple):
    """One run, sampled."""

    time: np.ndarray
    positions: np.ndarray  # (samples, bodies, 3)
    moving: np.ndarray  # (samples, bodies) whether the joint of a body is active
    energy: np.ndarray
    momentum: np.ndarray  # (samples,) its norm
    lost: np.ndarray
    active: np.ndarray
    error: np.ndarray  # sqrt(Delta / M)
    seconds: float


def run(scene: Scene, eps: float | None) -> Run:
    """All joints without eps, else those that it leaves active."""
    error = None if eps is None else adaptive.body_acceleration(eps)
    method = "full" if eps is None else "adaptive"
    sim = adaptive.Dynamics(scene.model, error, method, integrator=scene.integrator, every=scene.every)
    load = scene.begin(sim)
    rows, times, each = [_sample(sim)], [], max(1, scene.steps // SAMPLES)
    for _ in range(max(1, scene.steps // each)):
        began = time.process_time()  # of this process, whatever else the machine does
        sim.run(each, scene.dt, load=load)
        times.append((time.process_time() - began) / each)
        rows.append(_sample(sim))
    columns = [np.array(c) for c in zip(*rows, strict=True)]
    return Run(*columns, float(np.median(times)))  # the first is much longer: trees are built in it


def _sample(sim: adaptive.Dynamics) -> tuple[Any, ...]:
    s = sim.stats
    momentum = float(np.linalg.norm(s.momentum[:3]))
    place = sim.positions(), sim.moving
    return s.time, *place, s.energy, momentum, s.energy_lost, s.active, s.acceleration_error


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


def drawn(scene: Scene, found: Run, exact: Run) -> np.ndarray:
    """Pixels: the linkage at some instants, active bodies in red, and beside it that with all joints in blue."""
    parts: list[Shapes] = []
    up, wide = np.asarray(scene.model.parent), np.broadcast_to(scene.width, len(scene.model.joints))
    kept = np.zeros(len(up), bool)
    kept[scene.drawn] = True
    ends = np.flatnonzero(kept & (up >= 0) & kept[np.maximum(up, 0)])
    for k, share in enumerate(scene.shown):
        sample = round(share * (len(found.time) - 1))
        colours = np.where(found.moving[sample][:, None], shaded.ACTIVE, shaded.LOCKED)
        for run, own, off in ((found, colours, 0.0), (exact, np.tile(shaded.PLAIN, (len(up), 1)), 1.0)):
            at = run.positions[sample] @ scene.turn + k * np.array(scene.apart) + off * np.array(scene.beside)
            parts.append(shaded.rods_between(at[up[ends]], at[ends], wide[up[ends]], own[up[ends]]))
    return shaded.still(scene.model, parts, scene.size, scene.direction, scene.zoom)


def picture(scene: Scene, exact: Run, found: Sequence[Run], tolerances: Sequence[float], path: Path) -> None:
    """Shapes at some instants, active bodies coloured, and energy, momentum and error over time."""
    shape = 11.0 * scene.size[1] / scene.size[0]
    figure = plt.figure(figsize=(11, shape + 3.2), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[shape + 0.3, 2.8])
    chosen = (len(found) - 1) // 2
    panel = above.subplots()
    panel.imshow(drawn(scene, found[chosen], exact))
    instants = ", ".join(f"{share * exact.time[-1]:.3g}" for share in scene.shown)
    panel.set_title(
        f"t = {instants} s. Active joints red, locked ones grey (eps = {tolerances[chosen]:g} m/s²); blue: all joints"
    )
    panel.set_axis_off()
    count, energy, momentum, error = below.subplots(1, 4)
    for panel, values in ((energy, exact.energy), (momentum, exact.momentum)):
        panel.plot(exact.time, values, color=shaded.INK, label="all joints")
    count.axhline(len(exact.moving[0]), color=shaded.INK)
    for eps, r in zip(tolerances, found, strict=True):
        count.semilogy(r.time[1:], np.maximum(r.active[1:], 1))
        energy.plot(r.time, r.energy + r.lost, "--", label=f"eps = {eps:g}")
        momentum.plot(r.time, r.momentum, "--")
        error.semilogy(r.time[1:], np.maximum(errors(r, exact)[1:], 1e-16))
    energy.set_ylim(0.0, 1.15 * exact.energy.max())
    energy.legend(fontsize=8, frameon=False, loc="lower right")
    names = "active joints", "energy and what locking took, J", "linear momentum, kg m/s", "error / displacement"
    for panel, name in zip((count, energy, momentum, error), names, strict=True):
        panel.set_xlabel("t, s")
        panel.set_title(name, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.25)
    shaded.save(figure, path)


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
