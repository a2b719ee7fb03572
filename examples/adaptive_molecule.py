"""Molecule (Redon & Lin 2005, section 6.3, Table 1, Figs. 7 and 8): 50,000 joints, 1 to 1,000 forces."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from adaptive_common import Case, Result, arguments, displacement_error, random_forces, run, simulation, time_step
from shaded import INK, save

from bough.model import Model
from bough.zoo import molecule
from papers.redon_lin.linkages import draw_molecule

EXPONENTS = (3, 7, 11, 15, 19)
FORCES = (1, 10, 100, 1000)


class Row(NamedTuple):
    """One row of Table 1: a number of forces, over all thresholds."""

    forces: int
    full: float  # seconds a step of the whole divide-and-conquer pass
    plain: float  # and of the O(n) algorithm
    seconds: list[float]
    joints: list[float]
    errors: list[float]
    auto: list[float]


def measure(model: Model, forces: int, scattered: bool, steps: int) -> Row:
    """All thresholds for one set of forces. Many scattered ones are run for a few steps only, without an error."""
    n, rng = len(model.joints), np.random.default_rng(1)
    bodies = rng.choice(n, forces, replace=False) if scattered else n // 2 + np.arange(forces)
    case = Case(model, random_forces(bodies.tolist()), steps, np.array(model.neutral))
    dt = time_step(case)
    start = simulation(case, "aba").positions()
    exact, full = run(case, dt, "aba"), run(case, dt, "dca", steps=4)
    affordable = min(steps, 20) if scattered and forces >= 100 else steps
    found: list[Result] = [run(case, dt, "adaptive", e, affordable) for e in EXPONENTS]
    auto = [run(case, dt, "auto", e) for e in EXPONENTS]
    errors = [displacement_error(r, exact, start) if affordable == steps else np.nan for r in found]
    return Row(
        forces, full.seconds, exact.seconds, [r.seconds for r in found], [r.joints for r in found], errors,
        [r.seconds for r in auto],
    )  # fmt: skip


def print_table(rows: list[Row]) -> None:
    """The layout of Table 1, with ABA and the automatic switch beside it."""
    head = "".join(f"{f'2^-{e}':>10}" for e in EXPONENTS)
    print(f"{'N_f':>6}{head}{'DCA':>10}{'ABA':>10}")
    print("time (milliseconds)")
    for r in rows:
        print(f"{r.forces:6d}" + "".join(f"{1e3 * x:10.3f}" for x in [*r.seconds, r.full, r.plain]))
    print("time of the automatic switch (milliseconds)")
    for r in rows:
        print(f"{r.forces:6d}" + "".join(f"{1e3 * x:10.3f}" for x in r.auto))
    print("joint accelerations computed")
    for r in rows:
        print(f"{r.forces:6d}" + "".join(f"{x:10.0f}" for x in r.joints))
    print("relative displacement error at the end of the run")
    for r in rows:
        print(f"{r.forces:6d}" + "".join(f"{x:10.1e}" for x in r.errors))


def plot(rows: list[Row], path: object) -> None:
    """A small one with its active joints in red; time, joints and displacement error, as in Figs. 7 and 8."""
    figure = plt.figure(figsize=(12, 8), layout="constrained")
    above, below = figure.subfigures(2, 1)
    draw_molecule(above)
    panels = below.subplots(1, 3)
    eps = [2.0**-e for e in EXPONENTS]
    for r in rows:
        for panel, values in zip(panels, (r.seconds, r.joints, r.errors), strict=True):
            panel.loglog(eps, values, "o-", label=f"{r.forces} forces")
    panels[0].axhline(rows[0].full, color=INK, label="DCA")
    panels[0].axhline(rows[0].plain, color="0.6", label="ABA")
    for panel, label in zip(
        panels, ("seconds per step", "joints computed", "relative displacement error"), strict=True
    ):
        panel.set_ylabel(label)
        panel.set_xlabel("relative joint acceleration error")
        panel.invert_xaxis()
        panel.legend()
    save(figure, path)  # type: ignore[arg-type]


def main() -> None:
    given = arguments(__doc__, 4_000)
    model = molecule(int(50_000 * given.scale))
    counts = [forces for forces in FORCES if 2 * forces <= len(model.joints)]
    for scattered in (False, True):
        name = "scattered" if scattered else "adjacent"
        print(f"\n{len(model.joints)} joints, {given.steps} steps, {name} forces")
        rows = [measure(model, forces, scattered, given.steps) for forces in counts]
        print_table(rows)
        plot(rows, given.out / f"adaptive_molecule_{name}.png")


if __name__ == "__main__":
    main()
