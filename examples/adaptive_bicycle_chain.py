"""Bicycle chain (Redon & Lin 2005, section 6.1, Fig. 1): 30 links, a constant force on the last one, 10,000 steps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from adaptive_common import Case, arguments, displacement_error, run, save, simulation, time_step

from bough.adaptive import QuasiStatics
from bough.zoo import bicycle_chain

EXPONENTS = (0, 1, 2, 3, 5, 9, 14, 19)
SHOWN = (1, 3, 9)


def pull(sim: QuasiStatics) -> None:
    """A constant force across the chain on its last link."""
    sim.apply_force(sim.model.body_names[-1], [0.3, 1.0, 0.0])


def main() -> None:
    given = arguments(__doc__, 10_000)
    model = bicycle_chain(links=max(2, int(30 * given.scale)))
    case = Case(model, pull, given.steps, np.array(model.neutral))
    dt = time_step(case, turn=600.0)  # far enough to swing round and settle along the force
    start = simulation(case, "aba").positions()
    exact, full = run(case, dt, "aba"), run(case, dt, "dca", steps=min(given.steps, 500))
    print(f"{len(model.joints)} links, {given.steps} steps")
    print(f"aba {1e6 * exact.seconds:.1f} us, dca {1e6 * full.seconds:.1f} us a step")
    print(f"{'eps':>8} {'us a step':>10} {'joints':>7} {'end displacement error':>23}")
    figure, panels = plt.subplots(1, 1 + len(SHOWN), figsize=(14, 2.8), sharex=True, sharey=True)
    draw(panels[0], start, "0.7", "start")
    draw(panels[0], exact.positions, "k", "end, exact")
    panels[0].set_title("exact")
    panels[0].legend()
    for exponent in EXPONENTS:
        result = run(case, dt, "adaptive", exponent)
        error = displacement_error(result, exact, start)
        print(f"{f'2^-{exponent}':>8} {1e6 * result.seconds:10.1f} {result.joints:7.1f} {error:23.2e}")
        if exponent in SHOWN:
            panel = panels[1 + SHOWN.index(exponent)]
            draw(panel, exact.positions, "k", "exact")
            draw(panel, result.positions, "C3", f"{result.joints:.1f} joints a step")
            panel.set_title(f"eps = 2^-{exponent}")
            panel.legend()
    save(figure, given.out / "adaptive_bicycle_chain.png")


def draw(panel: plt.Axes, positions: np.ndarray, color: str, label: str) -> None:
    """The chain from the side."""
    panel.plot(positions[:, 0], positions[:, 1], ".-", color=color, label=label, markersize=4)
    panel.set_aspect("equal")


if __name__ == "__main__":
    main()
