"""A suspension bridge comes to rest under its weight, then under a truck: chains, an elastic deck, a loop a hanger.

The main cable and the hangers are chains without stiffness, the deck is an elastic beam. All are one tree of hinges;
the far end of the cable and the foot of every hanger are closures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shaded

from bough.adaptive import Closure, QuasiStatics
from bough.model import Model
from bough.view import Shapes
from bough.zoo.elastic import Rods, frames_along, rod_model

SPAN, SAG, DECK = 100.0, 12.0, -16.0  # m
EI, CABLE, BEAM = 2e9, 300.0, 1500.0  # N m^2; kg/m of the cable, and of the deck
TRUCK = 2e5  # N
WIDE, LARGER = 9.0, 25.0  # m between the two sides of the picture, of which the model is one; motions in it
CALM, STRAINED = np.array([0.45, 0.48, 0.54]), np.array([0.90, 0.16, 0.08])


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


class Rest(NamedTuple):
    """The bridge at rest under a load."""

    title: str
    ends: np.ndarray  # (2, links, 3) of all links
    sinks: np.ndarray  # (deck,) m
    pull: np.ndarray  # (hangers,) N in each


def ends_of(sim: QuasiStatics, length: np.ndarray) -> np.ndarray:
    """(2, links, 3): where links begin and end."""
    at = sim.poses()
    return np.stack([at[:, :3, 3], at[:, :3, 3] + length[:, None] * at[:, :3, 0]])


def built(ends: np.ndarray, links: int, strain: np.ndarray, truck: float) -> list[Shapes]:
    """Both sides of the bridge, the slab between them, towers, and the truck; hangers are redder under more strain."""
    start, end = ends
    cable, deck, rope = slice(0, links), slice(links, 2 * links), slice(2 * links, None)
    shade = np.repeat(CALM + strain[:, None] * (STRAINED - CALM), 2, axis=0)
    found = []
    for side in (-WIDE / 2, WIDE / 2):
        off = np.array([0.0, side, 0.0])
        found += shaded.tube(np.append(start[cable], end[cable][-1:], axis=0) + off, 0.75, (0.30, 0.36, 0.45), 2)
        found.append(shaded.rods_between(start[rope] + off, end[rope] + off, 0.35, shade))
        for x in (0.0, SPAN):
            foot, top = np.array([[x, side, DECK - 9.0]]), np.array([[x, side, 2.5]])
            found.append(shaded.rods_between(foot, top, 2.2, (0.72, 0.36, 0.24)))
    middle, way = (start[deck] + end[deck]) / 2, end[deck] - start[deck]
    found.append(slab(middle, 1.02 * way, (0.78, 0.76, 0.70)))
    height = float(np.interp(truck, middle[:, 0], middle[:, 2])) + 0.35
    for x, up, box, colour in (
        (0.0, 2.0, (8.0, 3.0, 3.2), (0.93, 0.33, 0.10)),
        (5.4, 1.6, (2.2, 2.8, 2.4), (0.98, 0.70, 0.16)),
    ):
        placement = np.column_stack([np.diag(box), [truck + x, 0.0, height + up]])
        found.append(Shapes("box", np.array([-1]), placement[None], np.array([colour])))
    return found


def slab(middle: np.ndarray, way: np.ndarray, colour: Sequence[float]) -> Shapes:
    """Boxes along the deck."""
    placement = np.zeros((len(way), 3, 4))
    placement[:, :, 0], placement[:, 1, 1], placement[:, :, 3] = way, WIDE + 1.0, middle
    placement[:, 0, 2], placement[:, 2, 2] = -0.7 * way[:, 2] / way[:, 0], 0.7
    return Shapes("box", np.full(len(way), -1), placement, np.tile(colour, (len(way), 1)))


def draw(model: Model, states: list[Rest], truck: float, where: Path) -> None:
    """The bridge under the truck, how far its deck sinks, and what hangers carry."""
    import matplotlib.pyplot as plt

    links, more = len(states[0].sinks), states[-1].pull - states[0].pull
    shown, least = states[0].ends + LARGER * (states[-1].ends - states[0].ends), more[more > 0.0].min()
    shapes = built(shown, links, np.clip((more - least) / (more.max() - least), 0.0, 1.0), truck)
    pixels = shaded.still(model, shapes, (1200, 440), (-1.3, 0.12), 2.12)
    figure = plt.figure(figsize=(11, 6.6), layout="constrained")
    (top, low), colours = figure.subfigures(2, 1, height_ratios=(4.2, 2.6)), ("0.6", "#ed541a")
    panel = top.subplots()
    panel.imshow(pixels)
    panel.set_axis_off()
    panel.set_title(
        f"{len(model.joints)} hinges and a loop at every hanger, at rest under a truck of 20 t. What it moves is "
        f"drawn {LARGER:g} times as large;\nthe redder a hanger, the more of the truck it carries",
        fontsize=10, loc="left",
    )  # fmt: skip
    left, right = low.subplots(1, 2)
    x, place = np.linspace(0.0, SPAN, links, endpoint=False), SPAN * np.arange(1, len(more) + 1) / len(more)
    for k, (state, colour) in enumerate(zip(states, colours, strict=True)):
        label = f"{state.title}: {100.0 * state.sinks.max():.1f} cm"
        left.fill_between(x, -100.0 * state.sinks, alpha=0.18, color=colour, lw=0)
        left.plot(x, -100.0 * state.sinks, color=colour, label=label)
        right.bar(place + 2.6 * (k - 0.5), state.pull / 1e3, 2.5, color=colour, label=state.title)
    left.set(ylabel="height beside the drawing, cm")
    right.set(ylabel="force in a hanger, kN")
    for panel in (left, right):
        panel.axvline(truck, color="#ed541a", lw=0.8, ls=":")
        panel.set(xlim=(0.0, SPAN + 4.0), xlabel="along the deck, m")
        panel.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, loc="lower right", fontsize=9)
    shaded.save(figure, where)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hangers", type=int, default=11)
    parser.add_argument("--pieces", type=int, default=5, help="links between two hangers")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    model, closures, deck, length = bridge(options.hangers, options.pieces)
    sim = QuasiStatics(model, method="aba", closures=closures)
    drawn, states = ends_of(sim, length), []
    hung = model.joint_names[2 * len(deck) :: 2]
    print(f"{len(model.joints)} hinges, {len(closures)} loops")
    for title in ("own weight", "with a truck"):
        if title != "own weight":
            sim.apply_force(deck[len(deck) // 3], (0.0, 0.0, -TRUCK))
        began = time.perf_counter()
        found = sim.minimize()
        took, ends = time.perf_counter() - began, ends_of(sim, length)
        sinks = (drawn - ends)[0, len(deck) : 2 * len(deck), 2]
        pull = np.linalg.norm(sim.constraint_forces(hung)[:, :3], axis=1)
        print(f"{title}: {found.iterations} steps, {1e3 * took:.0f} ms, loops open by {found.opening:.1e} m, ", end="")
        print(f"the deck sinks by {sinks.max():.3f} m at x = {SPAN * sinks.argmax() / len(deck):.0f} m, ", end="")
        print(f"hangers carry {pull.min() / 1e3:.0f} to {pull.max() / 1e3:.0f} kN")
        states.append(Rest(title, ends, sinks, pull))
    draw(model, states, SPAN * (len(deck) // 3) / len(deck), options.out / "settle_cable_bridge.png")


if __name__ == "__main__":
    main()
