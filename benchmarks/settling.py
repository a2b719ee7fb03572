"""Linkages that settle: cables to equilibrium, a loop that is held, and forces that change between steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.timing import Timing
from bough.adaptive import Closure, QuasiStatics, energy
from bough.app.bench.timing import contest
from bough.model import Model
from bough.zoo import cable, chain, molecule

GROUP = "quasi-statics: equilibria, a loop, changing forces"
JOINTS, H, SPAN = 50_000, 1e-3, 0.7


def rows() -> list[Timing]:
    model = molecule(JOINTS).with_gravity((0.0, 0.0, 0.0))
    return [hanging(), bent(), one_loop(model), many_loops(), one_force(model), many_forces(model)]


def hanging(joints: int = 2000) -> Timing:
    """A cable of 1 m that hangs from two points 0.7 m apart."""
    model = cable(joints, clamped=False, span=SPAN, planar=True)
    seconds, sim, note = settled(lambda: QuasiStatics(model, method="aba"))
    wrong = abs(-sim.positions()[:, 2].min() - catenary_sag(SPAN))
    case = "hangs from two points, from straight to rest"
    return Timing(
        GROUP, f"cable {joints:,}", case, {"bough": seconds}, f"{note}, sag off the catenary by {wrong:.0e} m"
    )


def catenary_sag(span: float) -> float:
    """Of a chain of length 1: a with 2 a sinh(span / 2a) = 1 by halving."""
    low, high = 1e-2, 1e3
    for _ in range(100):
        a = 0.5 * (low + high)
        low, high = (a, high) if 2.0 * a * np.sinh(span / (2.0 * a)) > 1.0 else (low, a)
    return float(a * (np.cosh(span / (2.0 * a)) - 1.0))


def bent(joints: int = 1000, alpha: float = 10.0) -> Timing:
    """A clamped cable of 1 m with a load of alpha EI at its tip, which bends it by 0.81 m."""
    model = cable(joints, EI=2.0, planar=True).with_gravity((0.0, 0.0, 0.0))

    def loaded() -> QuasiStatics:
        sim = QuasiStatics(model)
        sim.apply_force("end", (0.0, 0.0, -2.0 * alpha))
        return sim

    seconds, sim, note = settled(loaded)
    sag = -sim.positions(["end"])[0, 2]
    case = f"load of {alpha:g} EI at its tip, from straight to rest"
    return Timing(GROUP, f"cantilever {joints:,}", case, {"bough": seconds}, f"{note}, tip {sag:.4f} m lower")


def settled(make: Callable[[], QuasiStatics], repeats: int = 3) -> tuple[float, QuasiStatics, str]:
    """The best time of `minimize` from a fresh start, the simulation at rest, and how it came there."""
    best = np.inf
    for _ in range(repeats + 1):  # the first compiles
        sim = make()
        began = time.perf_counter()
        found = sim.minimize()
        best = min(best, time.perf_counter() - began)
    return best, sim, f"{found.iterations} steps of Newton's method, a force of {found.force:.0e} left"


def one_loop(model: Model) -> Timing:
    """A step with two bodies, ten joints apart, held together at a point, beside the same step without."""
    a, b = JOINTS // 2, JOINTS // 2 + 10
    free = QuasiStatics(model, energy(0.1), "adaptive")
    base, tip = free.poses([a, b])
    looped = model.with_frame("pin", model.body_names[a], np.linalg.solve(base, tip))
    held = QuasiStatics(looped, energy(0.1), "adaptive", closures=[Closure("pin", model.body_names[b], "spherical")])
    for sim in (free, held):
        sim.apply_force(a + 5, (0.3, 0.0, 0.1))
    times = contest({"bough": lambda: held.step(h=H), "bough without the loop": lambda: free.step(h=H)})
    note = f"{1e6 * (times['bough'] - times['bough without the loop']):.0f} us more"
    return Timing(GROUP, f"molecule {JOINTS:,}", "one loop, an adaptive step", times, note)


def many_loops() -> Timing:
    """A full step with a bridge over ten of every 200 joints, beside the same step without."""
    model = chain(JOINTS, seed=3)
    free, looped, names, closures = QuasiStatics(model, method="aba"), model, model.body_names, []
    at = free.poses()
    for k in range(0, JOINTS, 200):
        looped = looped.with_frame(f"bridge{k}", names[k], np.linalg.solve(at[k], at[k + 10]))
        closures.append(Closure(f"bridge{k}", names[k + 10], "spherical"))
    held = QuasiStatics(looped, method="aba", closures=closures)
    for sim in (free, held):
        sim.gravity = (0.0, 0.0, 0.0)
        sim.apply_force(JOINTS - 1, (0.0, 1e-3, 0.0))
    times = contest({"bough": lambda: held.step(h=H), "bough without the loops": lambda: free.step(h=H)})
    note = f"{times['bough'] / times['bough without the loops']:.2g} times as long"
    return Timing(GROUP, f"chain {JOINTS:,}", f"{len(closures)} loops, a full step", times, note)


def one_force(model: Model) -> Timing:
    """`change_force`, which waits until a step needs it."""
    sim = QuasiStatics(model, energy(0.1), "adaptive")
    number = sim.apply_force(JOINTS // 2, (0.0, 0.0, 1.0))
    forces = ((0.5, 0.0, 1.0), (0.4, 0.0, 1.0))
    times = contest({"bough": [partial(sim.change_force, number, force) for force in forces]})
    return Timing(GROUP, f"molecule {JOINTS:,}", "one force changed, without a step", times)


def many_forces(model: Model) -> Timing:
    """What it adds to a full step that all forces change before it."""
    sim, other = (QuasiStatics(model, method="aba") for _ in range(2))
    load, f = sim.loads(range(JOINTS)), 1e-3 * np.random.default_rng(0).normal(size=(JOINTS, 3))
    other.loads(range(JOINTS)).values[:] = f

    def change_and_step() -> None:
        np.negative(f, out=f)
        load.values[:] = f
        sim.step(h=H)

    times = contest({"bough": change_and_step, "bough without a change": lambda: other.step(h=H)}, seconds=2.0)
    return Timing(GROUP, f"molecule {JOINTS:,}", "50,000 forces changed, and a full step", times)
