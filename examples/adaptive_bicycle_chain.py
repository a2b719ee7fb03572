"""Bicycle chain (Redon & Lin 2005, section 6.1, Fig. 1): 30 links, a constant force on the last one, 10,000 steps."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from adaptive_common import Case, arguments, displacement_error, run, simulation, time_step
from shaded import save

from bough.adaptive import QuasiStatics
from bough.zoo import bicycle_chain
from papers.redon_lin.linkages import draw_chain

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
    figure, panels = plt.subplots(2, 2, figsize=(10, 4.8), layout="constrained")
    draw_chain(panels[0, 0], model, start, exact.positions, exact.positions, exact.moving)
    panels[0, 0].set_title("start (pale) and end, exact", fontsize=10)
    for exponent in EXPONENTS:
        result = run(case, dt, "adaptive", exponent)
        error = displacement_error(result, exact, start)
        print(f"{f'2^-{exponent}':>8} {1e6 * result.seconds:10.1f} {result.joints:7.1f} {error:23.2e}")
        if exponent in SHOWN:
            panel = panels.flat[1 + SHOWN.index(exponent)]
            draw_chain(panel, model, start, exact.positions, result.positions, result.moving)
            panel.set_title(f"eps = 2^-{exponent}: {result.joints:.1f} joints a step, red in the last", fontsize=10)
    save(figure, given.out / "adaptive_bicycle_chain.png")


if __name__ == "__main__":
    main()
