"""What the examples of adaptive motion share: runs beside the full motion, a table by eps, and one picture."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from bough import adaptive, view
from bough.model import Model

SAMPLES = 40  # of a run
ACTIVE, LOCKED, PLAIN = (0.86, 0.16, 0.10), (0.62, 0.65, 0.70), (0.16, 0.36, 0.62)
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
    direction: tuple[float, float]  # where the camera stands: radians about z from x, then upwards
    zoom: float = 1.0
    within: tuple[float, float] = (0.0, 1.0)  # what is drawn, along the longest side of the linkage
    every: int = 10


class Run(NamedTuple):
    """One run, sampled."""

    time: np.ndarray
    q: np.ndarray  # (samples, nq)
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
        began = time.perf_counter()
        sim.run(each, scene.dt, load=load)
        times.append((time.perf_counter() - began) / each)
        rows.append(_sample(sim))
    columns = [np.array(c) for c in zip(*rows, strict=True)]
    return Run(*columns, float(np.median(times)))  # the first is much longer: trees are built in it


def _sample(sim: adaptive.Dynamics) -> tuple[Any, ...]:
    s = sim.stats
    momentum = float(np.linalg.norm(s.momentum[:3]))
    place = sim.configuration, sim.positions(), sim.moving
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


def drawn(scene: Scene, r: Run, size: tuple[int, int], plain: bool) -> np.ndarray:
    """Pixels: the linkage at some instants, one beside the other, active bodies in red."""
    base, parts = view.scene(scene.model, r.q[0]), []
    start = base.placements(r.q[0])[:, :3, 3]
    x = start[:, np.ptp(start, axis=0).argmax()]
    seen = np.abs((x - x.min()) / max(np.ptp(x), 1e-300) - np.mean(scene.within)) <= 0.5 * np.ptp(scene.within) + 1e-9
    body = np.asarray(scene.model.frames.body)[[scene.model.frame(name) for name in scene.model.body_names]]
    for k, share in enumerate(scene.shown):
        sample = round(share * (len(r.time) - 1))
        colours = np.tile(PLAIN if plain else LOCKED, (len(base.links.parent), 1))
        if not plain:
            colours[body[r.moving[sample]]] = ACTIVE
        T = base.placements(r.q[sample])
        for whole in base.shapes:
            here = seen[whole.body]
            part = replace(
                whole, body=whole.body[here], placement=whole.placement[here], colour=colours[whole.body[here]]
            )
            placed = T[part.body][:, :3, :3] @ part.placement
            placed[:, :, 3] += T[part.body][:, :3, 3] + k * np.array(scene.apart)
            ground = np.full(len(part), -1)
            parts.append(replace(part, body=ground, placement=placed))
    shapes = replace(base, shapes=parts)
    return view.picture(shapes, size, direction=scene.direction, zoom=scene.zoom)


def picture(scene: Scene, exact: Run, found: Sequence[Run], tolerances: Sequence[float], path: Path) -> None:
    """Shapes at some instants, active bodies coloured, and energy, momentum and error over time."""
    figure = plt.figure(figsize=(15, 9.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.5, 1.0])
    chosen = len(found) // 2
    titles = "all joints", f"eps = {tolerances[chosen]:g} m/s²: active joints red, locked ones grey"
    for panel, r, title in zip(above.subplots(1, 2), (exact, found[chosen]), titles, strict=True):
        panel.imshow(drawn(scene, r, (1100, 840), r is exact))
        panel.set_title(f"{title}; t = " + ", ".join(f"{s * r.time[-1]:.2g}" for s in scene.shown) + " s")
        panel.set_axis_off()
    count, energy, momentum, error = below.subplots(1, 4)
    for panel, values in ((energy, exact.energy), (momentum, exact.momentum)):
        panel.plot(exact.time, values, "k", label="all joints")
    count.axhline(len(exact.moving[0]), color="k", label="all joints")
    for eps, r in zip(tolerances, found, strict=True):
        count.semilogy(r.time[1:], np.maximum(r.active[1:], 1), label=f"{eps:g}")
        energy.plot(r.time, r.energy + r.lost, "--", label=f"{eps:g}, with what locking took")
        momentum.plot(r.time, r.momentum, "--", label=f"{eps:g}")
        error.semilogy(r.time[1:], np.maximum(errors(r, exact)[1:], 1e-16), label=f"{eps:g}")
    names = "active joints", "energy, J", "linear momentum, kg m/s", "error / displacement"
    for panel, name in zip((count, energy, momentum, error), names, strict=True):
        panel.set_xlabel("t, s")
        panel.set_title(name)
        panel.legend(fontsize=7)
    figure.savefig(path, dpi=100)
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
