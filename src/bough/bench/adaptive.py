"""Speed of adaptive quasi-statics beside the full divide-and-conquer pass and plain O(n) ABA: prints tables.

python -m bough.bench.adaptive            50,000 joints, all cases
python -m bough.bench.adaptive 1000000    scale: build, solve, step, memory
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bough.adaptive import QuasiStatics, Stats, relative_joint
from bough.model import Model
from bough.zoo import chain, molecule

EXPONENTS = (3, 7, 11, 15, 19)
FORCES = (1, 10, 100, 1000)
DT = 1e-3


class Case(NamedTuple):
    """Forces on a linkage, and a method."""

    model: Model
    forces: int
    scattered: bool
    method: str
    exponent: int | None


def simulation(case: Case, seed: int = 5) -> QuasiStatics:
    """Constant random forces in the world's frame, on neighbours or scattered; no gravity, as in the paper."""
    error = None if case.exponent is None else relative_joint(2.0**-case.exponent)
    sim = QuasiStatics(case.model, error, case.method)
    sim.gravity = (0.0, 0.0, 0.0)
    rng, n = np.random.default_rng(seed), len(case.model.joints)
    bodies = rng.choice(n, case.forces, replace=False) if case.scattered else n // 2 + np.arange(case.forces)
    for body in bodies.tolist():
        sim.apply_force(body, rng.normal(size=3))
    return sim


def best_step(case: Case, steps: int, warm_up: int = 2, repeats: int = 6) -> tuple[float, Stats]:
    """Seconds of a step, the best of several runs."""
    sim = simulation(case)
    sim.run(warm_up, DT)
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        sim.run(steps, DT)
        best = min(best, (time.perf_counter() - began) / steps)
    return best, sim.stats


def table(name: str, model: Model) -> None:
    """Time, joints computed and speed-ups for one linkage."""
    plain, _ = best_step(Case(model, 1, False, "aba", None), 3, repeats=10)
    full, stats = best_step(Case(model, 1, False, "dca", None), 1, repeats=5)
    n = len(model.joints)
    print(f"\n{name}: {n} joints; aba {1e3 * plain:.2f} ms, dca {1e3 * full:.1f} ms ({full / plain:.1f} x aba)")
    print(f"  {stats.memory / n:.0f} bytes a joint")
    for scattered in (False, True):
        print(
            f"  {'scattered' if scattered else 'adjacent'} forces: ms (joints) x dca, x aba; auto: ms, relative to aba"
        )
        for forces in FORCES:
            row, auto = [], []
            for exponent in EXPONENTS:
                if not scattered or forces <= 100:
                    seconds, stats = best_step(Case(model, forces, scattered, "adaptive", exponent), 20, repeats=4)
                    row.append(
                        f"{1e3 * seconds:7.3f} ({stats.joints:6.0f}) {full / seconds:5.0f} {plain / seconds:5.1f}"
                    )
                reference, _ = best_step(Case(model, forces, scattered, "aba", None), 3, repeats=5)
                seconds, stats = best_step(Case(model, forces, scattered, "auto", exponent), 40, 40, 3)
                auto.append(f"{1e3 * seconds:7.3f} {seconds / reference:4.2f} {stats.method:8s}")
            print(f"  {forces:5d} | " + " | ".join(row))
            print("   auto | " + " | ".join(auto))


def scale(name: str, make: Callable[[int], Model], n: int) -> None:
    """Build, solve and step a huge linkage."""
    began = time.perf_counter()
    model = make(n)
    built = time.perf_counter() - began
    sim = simulation(Case(model, 1, False, "adaptive", 11))
    assembled = time.perf_counter() - began - built
    sim.accelerations()
    solved = time.perf_counter() - began - built - assembled
    best = np.inf
    for _ in range(10):
        sim.run(10, DT)
        best = min(best, sim.stats.seconds)
    s = sim.stats
    print(f"{name} {n}: model {built:.1f} s, assembly {assembled:.1f} s, first solution {solved:.1f} s, "
          f"step {1e3 * best:.3f} ms ({s.joints:.0f} joints), {s.memory / n:.0f} bytes a joint")  # fmt: skip


def main(arguments: list[str]) -> None:
    """Tables for 50,000 joints, or the scale run for the number given."""
    families: dict[str, Callable[[int], Model]] = {"chain": chain, "molecule": molecule}
    for name, make in families.items():
        if arguments and int(arguments[0]) > 200_000:
            scale(name, make, int(arguments[0]))
        else:
            table(name, make(int(arguments[0]) if arguments else 50_000))


if __name__ == "__main__":
    main(sys.argv[1:])
