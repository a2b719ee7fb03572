"""Millipede (Redon & Lin 2005, section 6.2 and Fig. 5): 13,000 links, one force in the middle, eps = 2^0 .. 2^-19."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from adaptive_common import Case, arguments, displacement_error, random_forces, run, simulation, time_step
from shaded import INK, save

from bough.zoo import millipede
from papers.redon_lin.linkages import draw_millipede


def main() -> None:
    given = arguments(__doc__, 4_000)
    model = millipede(legs=max(2, int(1000 * given.scale)), geometry="straight", floating=True)
    names = len(model.joints)
    case = Case(model, random_forces([names // 2]), given.steps, np.array(model.neutral))
    dt = time_step(case)
    start = simulation(case, "aba").positions()
    exact, full = run(case, dt, "aba"), run(case, dt, "dca", steps=min(given.steps, 10))
    print(f"{names} links: dca {1e3 * full.seconds:.2f} ms, aba {1e3 * exact.seconds:.2f} ms a step")
    print(f"{'eps':>7} {'ms':>8} {'joints':>8} {'x dca':>7} {'x aba':>7} {'auto ms':>8} {'end displacement error':>23}")
    rows = []
    for exponent in range(20):
        found, auto = run(case, dt, "adaptive", exponent), run(case, dt, "auto", exponent)
        error = displacement_error(found, exact, start)
        rows.append((2.0**-exponent, found.seconds, found.joints, auto.seconds))
        gains = f"{full.seconds / found.seconds:7.1f} {exact.seconds / found.seconds:7.1f}"
        cost = f"{1e3 * found.seconds:8.3f} {found.joints:8.0f}"
        print(f"{f'2^-{exponent}':>7} {cost} {gains} {1e3 * auto.seconds:8.3f} {error:23.2e}")
    plot(np.array(rows), full.seconds, exact.seconds, given.out / "adaptive_millipede.png")


def plot(rows: np.ndarray, full: float, plain: float, path: object) -> None:
    """A small one with its active joints in red; time and joints against the error threshold, as in Fig. 5."""
    figure = plt.figure(figsize=(11, 7.4), layout="constrained")
    above, below = figure.subfigures(2, 1)
    draw_millipede(above)
    left, right = below.subplots(1, 2)
    left.loglog(rows[:, 0], rows[:, 1], "o--", label="error-bounded")
    left.loglog(rows[:, 0], rows[:, 3], "s:", label="auto")
    left.axhline(full, color=INK, label="DCA")
    left.axhline(plain, color="0.6", label="ABA, O(n)")
    left.set_ylabel("seconds per step")
    left.legend()
    right.loglog(rows[:, 0], rows[:, 2], "o-")
    right.set_ylabel("joint accelerations computed")
    for panel in (left, right):
        panel.set_xlabel("relative joint acceleration error")
        panel.invert_xaxis()
    save(figure, path)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
