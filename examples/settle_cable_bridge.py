"""A suspension bridge comes to rest under its weight, then under a truck: chains, an elastic deck, a loop a hanger.

The main cable and the hangers are chains without stiffness, the deck is an elastic beam. All are one tree of hinges;
the far end of the cable and the foot of every hanger are closures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from bough.adaptive import Closure, QuasiStatics
from bough.model import Model
from bough.zoo.elastic import Rods, frames_along, rod_model

SPAN, SAG, DECK = 100.0, 12.0, -16.0  # m
EI, CABLE, BEAM = 2e9, 300.0, 1500.0  # N m^2; kg/m of the cable, and of the deck
TRUCK = 2e5  # N


def polyline(points: np.ndarray, first: int, parent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parents, orientations, origins and lengths of links along points, numbered from `first` on."""
    arm = np.diff(points, axis=0)
    length = np.linalg.norm(arm, axis=1)
    own = np.arange(first, first + len(arm))
    return np.append(parent, own[:-1]), frames_along(arm / length[:, None], np.zeros(len(arm))), points[:-1], length


def bridge(hangers: int, pieces: int) -> tuple[Model, list[Closure], list[str], np.ndarray]:
    """The model at its drawing, its loops, the bodies of the deck, and the lengths of all links."""
    count = (hangers + 1) * pieces
    x = np.linspace(0.0, SPAN, count + 1)
    z = SAG * ((2.0 * x / SPAN - 1.0) ** 2 - 1.0)
    cable = polyline(np.stack([x, 0 * x, z], axis=1), 0, -1)
    deck = polyline(np.stack([x, 0 * x, np.full_like(x, DECK)], axis=1), count, -1)
    parts, kind = [cable, deck], [CABLE * cable[3], BEAM * deck[3]]
    made = 2 * count
    feet = []
    for k in range(1, hangers + 2):  # the last one hangs on the tower: a straight deck could not sag between fixed ends
        node = k * pieces
        hung = node - 1 if k <= hangers else -1
        rope = polyline(np.array([[x[node], 0.0, h] for h in np.linspace(z[node], DECK, 3)]), made, hung)
        parts.append(rope)
        kind.append(40.0 * rope[3])
        made += 2
        feet.append((made - 1, float(rope[3][-1]), count + node if k <= hangers else -1))
    parent, R, p, length = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    stiffness = np.zeros(made)
    stiffness[count + 1 : 2 * count] = EI / (SPAN / count)
    rods = Rods(parent, ("y",) * made, R, p, length, np.concatenate(kind), np.full(made, 0.2))
    model = rod_model("bridge", rods, stiffness, np.zeros(made))
    names, closures = model.body_names, []
    for name, body in (("cable", count - 1), ("deck", 2 * count - 1)):
        model = model.with_frame(f"{name} end", names[body], (float(length[body]), 0.0, 0.0))
    model = model.with_frame("anchor", "world", (SPAN, 0.0, 0.0))
    closures.append(Closure("anchor", "cable end", "spherical"))
    for k, (foot, reach, on) in enumerate(feet):
        model = model.with_frame(f"foot{k}", names[foot], (reach, 0.0, 0.0))
        closures.append(Closure(names[on] if on >= 0 else "deck end", f"foot{k}", "spherical"))
    return model, closures, list(names[count : 2 * count]), length


def draw(pictures: list[tuple[str, np.ndarray]], length: np.ndarray, truck: float, where: Path) -> None:
    """Every link as a line along the x axis of its frame; the deck's sinking is drawn ten times too large."""
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    figure, axes = plt.subplots(len(pictures), 1, figsize=(10, 3 * len(pictures)), sharex=True)
    for panel, (title, at) in zip(axes, pictures, strict=True):
        ends = np.stack([at[:, :3, 3], at[:, :3, 3] + length[:, None] * at[:, :3, 0]], axis=1)
        panel.add_collection(LineCollection(ends[:, :, [0, 2]], colors="0.25", linewidths=1.2))
        low = ends[np.abs(ends[:, 0, 2] - DECK) < 1.0]
        panel.plot(low[:, 0, 0], DECK - 3.0 + 10.0 * (low[:, 0, 2] - DECK), "-", color="tab:red", lw=1)
        panel.set_title(title, fontsize=10)
        panel.set_xlim(-3.0, SPAN + 3.0)
        panel.set_ylim(DECK - 6.0, 2.0)
        panel.set_aspect("equal")
    axes[-1].annotate("truck", (truck, DECK), (truck, DECK + 5.0), arrowprops={"arrowstyle": "->"}, ha="center")
    figure.tight_layout()
    figure.savefig(where, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hangers", type=int, default=11)
    parser.add_argument("--pieces", type=int, default=5, help="links between two hangers")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    model, closures, deck, length = bridge(options.hangers, options.pieces)
    sim = QuasiStatics(model, method="aba", closures=closures)
    drawn, pictures = sim.positions(deck)[:, 2], []
    print(f"{len(model.joints)} hinges, {len(closures)} loops")
    for title in ("own weight", "with a truck"):
        if title != "own weight":
            sim.apply_force(deck[len(deck) // 3], (0.0, 0.0, -TRUCK))
        began = time.perf_counter()
        found = sim.minimize()
        sinks = drawn - sim.positions(deck)[:, 2]
        print(f"{title}: {found.iterations} steps, {1e3 * (time.perf_counter() - began):.0f} ms, ", end="")
        at = SPAN * sinks.argmax() / len(deck)
        print(f"loops open by {found.opening:.1e} m, the deck sinks by {sinks.max():.3f} m at x = {at:.0f} m")
        pictures.append((f"{title}: sinks by {sinks.max():.2f} m (red: ten times)", sim.poses()))
    path = options.out / "settle_cable_bridge.png"
    draw(pictures, length, SPAN * (len(deck) // 3) / len(deck), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
