"""Adaptive motion beside full steps of all joints: one limb of 200 joints moves, the rest of the linkage is still."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.timing import Timing
from bough import dynamics
from bough.adaptive import Dynamics, QuasiStatics, body_acceleration, relative_joint
from bough.model import Model, Passive
from bough.types import FloatArray, IntArray
from bough.zoo import chain, molecule

JOINTS, MANY_JOINTS, LIMB = 50_000, 1_000_000, 200
DT, BLOCK, ROUNDS = 2e-4, 80, 5  # steps of a round
GROUP = "motion, one step"


class Limb(NamedTuple):
    """A linkage at rest, what pulls at it, and the freedoms of the limb that is kicked."""

    model: Model
    gravity: FloatArray
    freedoms: IntArray


def hanging_chain(n: int) -> Limb:
    """A chain that hangs straight down, the last of its links kicked."""
    model = chain(n, geometry="straight")
    ends = Dynamics(model).positions([0, 1])
    down = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    return Limb(model, 9.81 * down, np.arange(n - LIMB, n, dtype=np.int64))


def floating_molecule(n: int) -> Limb:
    """A molecule without gravity, a limb of about 200 bonds kicked."""
    model = molecule(n)
    parent, size = np.asarray(model.tree.parent), np.ones(n, int)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            size[parent[i]] += size[i]
    root = int(np.flatnonzero(np.abs(size - LIMB) <= 10)[-1])
    inside = np.zeros(n, bool)
    inside[root] = True
    for i in range(root + 1, n):
        inside[i] = parent[i] >= 0 and inside[parent[i]]
    return Limb(model, np.zeros(3), np.flatnonzero(inside).astype(np.int64))


def hanging_molecule(n: int) -> Limb:
    """A molecule under gravity, held by dry friction at all its bonds but those of a limb, which are free."""
    limb = floating_molecule(n)
    model, none = limb.model.with_gravity((0.0, 0.0, -9.81)), np.zeros(n)
    friction = np.full(n, 3.0 * np.abs(dynamics.Dynamics(model, general=True).gravity(np.zeros(n))).max())
    friction[limb.freedoms] = 0.0
    model = replace(model, passive=Passive(none, friction, none, none))
    return Limb(model, np.array(model.gravity), limb.freedoms)


def kicked(limb: Limb, eps: float, method: str) -> Dynamics:
    """The limb in motion."""
    sim = Dynamics(limb.model, body_acceleration(eps), method)
    sim.gravity = limb.gravity
    v = np.zeros(limb.model.nv)
    v[limb.freedoms] = np.random.default_rng(1).normal(size=len(limb.freedoms))
    sim.velocity = v
    return sim


def steps(sim: Dynamics) -> float:
    """Seconds of a step, choices of active joints included."""
    began = time.perf_counter()
    sim.run(BLOCK, DT)
    return (time.perf_counter() - began) / BLOCK


def rows() -> list[Timing]:
    """50,000 joints beside full steps, in turn; a million joints; and a chain that moves everywhere, by "auto"."""
    found = [
        beside_plain("chain, hanging", hanging_chain(JOINTS), 10.0),
        beside_plain("molecule, hanging, held by friction", hanging_molecule(JOINTS), 0.3),
        beside_plain("molecule, no gravity", floating_molecule(JOINTS), 0.03),
    ]
    return [*found, many("chain, hanging", hanging_chain, 10.0), everywhere()]


def beside_plain(name: str, limb: Limb, eps: float) -> Timing:
    """The best of steps taken in turn, and the error at the end."""
    start = kicked(limb, eps, "full").positions()
    few, all_ = kicked(limb, eps, "adaptive"), kicked(limb, eps, "full")
    times = np.array([(steps(few), steps(all_)) for _ in range(ROUNDS)]).min(axis=0).tolist()
    end = all_.positions()
    error, moved = (np.sqrt((d**2).sum(axis=1).mean()) for d in (few.positions() - end, end - start))
    note = f"{few.active} active, error {error / moved:.1e} of the displacement"
    found = {"full step": times[1], "bough": times[0]}
    return Timing(GROUP, f"{name} {JOINTS:,}", f"eps = {eps:g}", found, note)


def memory() -> float:
    """Bytes held for the hanging chain, beside those of quasi-statics."""
    limb = hanging_chain(JOINTS)
    sim, rest = kicked(limb, 10.0, "adaptive"), QuasiStatics(limb.model, relative_joint(1e-3), "adaptive")
    rest.apply_force(JOINTS // 2, (0.0, 0.0, 1.0))
    rest.step(1e-3)
    sim.step(DT)
    return sim.stats.memory / rest.stats.memory


def many(name: str, make: Callable[[int], Limb], eps: float) -> Timing:
    """The same motion of a million joints, beside that of 50,000."""
    small, large = (kicked(make(n), eps, "adaptive") for n in (JOINTS, MANY_JOINTS))
    times = np.array([(steps(small), steps(large)) for _ in range(ROUNDS)]).min(axis=0).tolist()
    note = f"{large.active} active; {times[1] / times[0]:.2f} times the step of {JOINTS:,} joints"
    numbers = {"memory beside quasi-statics": memory()}
    return Timing(GROUP, f"{name} {MANY_JOINTS:,}", f"eps = {eps:g}", {"bough": times[1]}, note, numbers=numbers)


def everywhere() -> Timing:
    """Where all joints move, "auto" takes full steps."""
    model = chain(JOINTS // 5)
    sims = []
    for method in ("auto", "full"):
        sim = Dynamics(model, body_acceleration(0.01), method)
        sim.velocity = 0.01 * np.random.default_rng(1).normal(size=model.nv)
        sims.append(sim)
    times = np.array([[steps(sim) for sim in sims] for _ in range(3 * ROUNDS)])
    sums = times.sum(axis=0) / len(times)
    note = f"{sums[0] / sums[1]:.3f} times full steps, tries included"
    best = times.min(axis=0).tolist()
    return Timing(
        GROUP, f"chain {JOINTS // 5:,}", "all joints move, auto", {"full step": best[1], "bough": best[0]}, note
    )
