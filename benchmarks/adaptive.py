"""Adaptive quasi-statics beside the full divide-and-conquer pass and plain ABA (after Redon & Lin 2005, Table 1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.timing import Timing
from bough.adaptive import QuasiStatics, Stats, relative_joint
from bough.compile.settings import most_threads
from bough.model import Model
from bough.zoo import chain, molecule

EXPONENTS = (3, 11, 19)
PLACES = ((1, "end"), (10, "end"), (1, "middle"), (10, "middle"), (100, "middle"), (1000, "middle"))
SCATTERED = ((10, "anywhere"), (1000, "anywhere"))
JOINTS, MANY_JOINTS = 50_000, 1_000_000
DT = 1e-3
FAMILIES: dict[str, Callable[[int], Model]] = {"chain": chain, "molecule": molecule}


class LoadCase(NamedTuple):
    """Forces on a linkage, and a method."""

    model: Model
    forces: int
    where: str  # on neighbours at the "end" or in the "middle", or "anywhere"
    method: str
    exponent: int | None


def rows() -> list[Timing]:
    """One step on 50,000 joints for several numbers of forces and thresholds, then a million joints."""
    found: list[Timing] = []
    with most_threads(1):
        for name, make in FAMILIES.items():
            found += family(f"{name} {JOINTS:,}", make(JOINTS))
        for name, make in FAMILIES.items():
            found += scale(f"{name} {MANY_JOINTS:,}", make)
    return found


def simulation(case: LoadCase, seed: int = 5) -> QuasiStatics:
    """Constant random forces in the world's frame; no gravity, as in the paper."""
    error = None if case.exponent is None else relative_joint(2.0**-case.exponent)
    sim = QuasiStatics(case.model, error, case.method, culled="zero", catch_up=False)
    sim.gravity = (0.0, 0.0, 0.0)
    rng, n = np.random.default_rng(seed), len(case.model.joints)
    first = {"end": n - case.forces, "middle": n // 2}.get(case.where)
    bodies = rng.choice(n, case.forces, replace=False) if first is None else first + np.arange(case.forces)
    for body in bodies.tolist():
        sim.apply_force(body, rng.normal(size=3))
    return sim


def best_step(case: LoadCase, steps: int, warm_up: int = 2, repeats: int = 6) -> tuple[float, Stats]:
    """Seconds of a step, the best of several runs."""
    sim = simulation(case)
    sim.run(warm_up, DT)
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        sim.run(steps, DT)
        best = min(best, (time.perf_counter() - began) / steps)
    return best, sim.stats


def family(name: str, model: Model) -> list[Timing]:
    """Time and joints computed, for adjacent and for scattered forces; what `auto` takes is shown too."""
    full, stats = best_step(LoadCase(model, 1, "end", "dca", None), 1, repeats=5)
    note = f"{stats.memory / len(model.joints):.0f} bytes a joint"
    plain, _ = best_step(LoadCase(model, 1, "end", "aba", None), 3, repeats=10)
    group = "quasi-statics, one step"
    found = [Timing(group, name, "all joints", {"bough dca": full, "bough aba": plain}, note)]
    for forces, where in PLACES + SCATTERED:
        plain, _ = best_step(LoadCase(model, forces, where, "aba", None), 3, repeats=5)
        for exponent in EXPONENTS:
            times = {"full step, aba": plain, "full step, dca": full}
            auto, stats = best_step(LoadCase(model, forces, where, "auto", exponent), 40, 40, 3)
            times["bough"] = auto
            label = f"{forces} force{'s'[: forces > 1]}, {where}, eps = 2^-{exponent}"
            note = f"{stats.method}, {stats.joints:.0f} joints, {full / auto:.0f} times faster than dca"
            found.append(Timing(group, name, label, times, note))
    return found


def scale(name: str, make: Callable[[int], Model]) -> list[Timing]:
    """Build, solve and step a huge linkage."""
    began = time.perf_counter()
    model = make(MANY_JOINTS)
    built = time.perf_counter()
    sim = simulation(LoadCase(model, 1, "middle", "adaptive", 11))
    assembled = time.perf_counter()
    sim.accelerations()
    solved = time.perf_counter()
    step = np.inf
    for _ in range(10):
        sim.run(10, DT)
        step = min(step, sim.stats.seconds)
    note = f"{sim.stats.joints:.0f} joints, {sim.stats.memory / MANY_JOINTS:.0f} bytes a joint"
    parts = {"model": built - began, "assembly": assembled - built, "first solution": solved - assembled}
    group = "quasi-statics of a million joints"
    return [Timing(group, name, part, {"bough": seconds}) for part, seconds in parts.items()] + [
        Timing(group, name, "step, 1 force, eps = 2^-11", {"bough": step}, note)
    ]
