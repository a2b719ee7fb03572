"""A suspension bridge comes to rest under its weight, then under a truck: chains, an elastic deck, a loop a hanger.

The main cable and the hangers are chains without stiffness, the deck is an elastic beam. All are one tree of hinges;
the far end of the cable and the foot of every hanger are closures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import shaded

from bough.adaptive import Closure, QuasiStatics
from bough.model import Model
from bough.view import Shapes
from bough.zoo.elastic import Rods, frames_along, rod_model

SPAN, SAG, DECK = 100.0, 12.0, -16.0  # m
EI, CABLE, BEAM = 2e9, 300.0, 1500.0  # N m^2; kg/m of the cable, and of the deck
TRUCK = 2e5  # N
WIDE = 9.0  # m between the two sides of the picture; the model is one of them


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


def built(at: np.ndarray, length: np.ndarray, links: int, truck: float | None) -> list[Shapes]:
    """Both sides of the bridge, the slab between them, towers, and the truck."""
    start, end = at[:, :3, 3], at[:, :3, 3] + length[:, None] * at[:, :3, 0]
    cable, deck, rope = slice(0, links), slice(links, 2 * links), slice(2 * links, None)
    found = []
    for side in (-WIDE / 2, WIDE / 2):
        off = np.array([0.0, side, 0.0])
        found.append(shaded.rods_between(start[cable] + off, end[cable] + off, 0.75, (0.30, 0.36, 0.45)))
        found.append(shaded.rods_between(start[rope] + off, end[rope] + off, 0.22, (0.45, 0.48, 0.54)))
        for x in (0.0, SPAN):
            foot, top = np.array([[x, side, DECK - 9.0]]), np.array([[x, side, 2.5]])
            found.append(shaded.rods_between(foot, top, 2.2, (0.72, 0.36, 0.24)))
    middle = (start[deck] + end[deck]) / 2
    boxes = [(middle, np.stack([1.02 * length[deck], np.full(links, WIDE + 1.0), np.full(links, 0.7)], axis=1), "deck")]
    if truck is not None:
        height = float(np.interp(truck, middle[:, 0], middle[:, 2])) + 0.35
        boxes.append((np.array([[truck, 0.0, height + 2.0]]), np.array([[8.0, 3.0, 3.2]]), "load"))
        boxes.append((np.array([[truck + 5.4, 0.0, height + 1.6]]), np.array([[2.2, 2.8, 2.4]]), "cab"))
    colours = {"deck": (0.78, 0.76, 0.70), "load": (0.93, 0.33, 0.10), "cab": (0.98, 0.70, 0.16)}
    for center, size, kind in boxes:
        placement = np.zeros((len(center), 3, 4))
        placement[:, [0, 1, 2], [0, 1, 2]] = size
        placement[:, :, 3] = center
        found.append(Shapes("box", np.full(len(center), -1), placement, np.tile(colours[kind], (len(center), 1))))
    return found


def draw(
    model: Model, pictures: list[tuple[str, np.ndarray, np.ndarray]], length: np.ndarray, truck: float, where: Path
) -> None:
    """The bridge under the truck, and how far its deck sinks under either load."""
    import matplotlib.pyplot as plt

    links = len(pictures[0][2])
    shapes = built(pictures[-1][1], length, links, truck)
    pixels = shaded.still(model, shapes, (1500, 560), (-1.22, 0.16), 2.05)
    figure, (top, low) = plt.subplots(
        2, 1, figsize=(11, 6.2), gridspec_kw={"height_ratios": (3.6, 1.5)}, layout="constrained"
    )
    top.imshow(pixels)
    top.set_axis_off()
    top.set_title(f"{len(model.joints)} hinges and a loop at every hanger, at rest under a truck of 20 t", loc="left")
    x = np.linspace(0.0, SPAN, links, endpoint=False)
    for (title, _, sinks), colour in zip(pictures, ("0.55", "#ed541a"), strict=True):
        low.fill_between(x, -100.0 * sinks, alpha=0.18, color=colour, lw=0)
        low.plot(x, -100.0 * sinks, color=colour, label=f"{title}: {100.0 * sinks.max():.1f} cm")
    low.axvline(truck, color="#ed541a", lw=0.8, ls=":")
    low.set(xlim=(0.0, SPAN), xlabel="along the deck, m", ylabel="height beside the drawing, cm")
    low.spines[["top", "right"]].set_visible(False)
    low.legend(frameon=False, loc="lower right")
    figure.savefig(where, dpi=120)
    plt.close(figure)


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
        pictures.append((title, sim.poses(), sinks))
    path = options.out / "settle_cable_bridge.png"
    draw(model, pictures, length, SPAN * (len(deck) // 3) / len(deck), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
