"""Restraints on protein-like linkages and molecules: adaptive steps beside plain ones, at the same end or error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks import settling
from benchmarks.timing import Timing
from bough.adaptive import ErrorMeasure, QuasiStatics, Restraints, energy
from bough.model import Model
from bough.types import FloatArray
from bough.zoo import adenylate_kinase, fold, molecule, protein

RESIDUES, COPIES = 214, 51  # of adenylate kinase, and as many domains as make 50,000 joints
H, PART = 0.1, 1e-3  # pseudo-time of a step, and the share of the energy at which a fold counts as pulled
STEPS, SPRINGS = 2000, 100
TIGHTER = 0.5, 0.3, 0.1, 0.01, 1e-3, 1e-4  # eps with which the enzyme is pulled
PASSED = 0.5, 0.1, 0.01, 1e-3  # shares of its energy at which clocks are read
GROUP = "quasi-statics under restraints"


class Pulled(NamedTuple):
    """A fold, and where some of its bodies are pulled to."""

    model: Model
    q: FloatArray
    bodies: Sequence[int | str]
    targets: FloatArray
    stiffness: float = 1.0
    h: float = H


def rows() -> list[Timing]:
    """One domain with restraints all over it, 51 with those on one, an enzyme, springs that follow; what settles."""
    return [whole_fold(), one_domain(), *enzyme(), follow(), *settling.rows()]


def pulled_fold(copies: int, domain: int, seed: int = 1) -> Pulled:
    """Domains in a row; those of one backbone have eight hinges and all torsions a little off their places."""
    n, begin = RESIDUES * copies, 2 * RESIDUES * domain
    model, rng = protein(n).with_gravity((0.0, 0.0, 0.0)), np.random.default_rng(seed)
    one, spine = fold(RESIDUES), 2 * RESIDUES
    side = len(model.joints) - 2 * n
    q = np.concatenate([np.tile(one[:spine], copies), np.resize(one[spine:], side)])
    there = q.copy()
    there[begin : begin + spine] += rng.normal(0.0, 0.02, spine)
    there[begin + rng.choice(spine, 8, replace=False)] += rng.normal(0.0, 0.3, 8)
    sim = QuasiStatics(model, method="aba")
    sim.configuration = there
    bodies = list(range(begin, begin + spine, 2))
    return Pulled(model, q, bodies, sim.positions(bodies))


def start(fold_: Pulled, error: ErrorMeasure | None, method: str) -> tuple[QuasiStatics, Restraints]:
    """A simulation at the first fold, its tree made, and its springs."""
    sim = QuasiStatics(fold_.model, error, method)
    sim.configuration = fold_.q
    springs = sim.restraints(fold_.bodies, fold_.targets, fold_.stiffness)
    springs(sim)
    sim.accelerations()
    return sim, springs


def passing(
    fold_: Pulled, error: ErrorMeasure | None, method: str, shares: Sequence[float]
) -> tuple[list[float], QuasiStatics]:
    """Seconds until the energy is each of these shares of the first, and the simulation then."""
    sim, springs = start(fold_, error, method)
    springs(sim)
    first, began, passed = springs.energy, time.perf_counter(), []
    for share in shares:
        while springs.energy > share * first:
            sim.run(10, h=fold_.h, load=springs)
        passed.append(time.perf_counter() - began)
    return passed, sim


def until(fold_: Pulled, error: ErrorMeasure | None, method: str, share: float) -> tuple[float, int, float]:
    """(seconds, steps, active joints at the end) until the energy is this share of the first."""
    passed, sim = passing(fold_, error, method, [share])
    return passed[0], sim.steps, sim.stats.active


def whole_fold(repeats: int = 3) -> Timing:
    """988 joints, 214 restraints all over them: seconds in all to the same energy."""
    fold_ = pulled_fold(1, 0)
    plain, ours = [], []
    for _ in range(repeats):
        plain.append(until(fold_, None, "aba", PART))
        ours.append(until(fold_, energy(0.6), "adaptive", PART))
    (p, m, _), (a, n, active) = min(plain), min(ours)
    note = f"{a / p:.2f} times the time of full steps: {n} steps for {m}, {active} joints open at the end"
    label = f"214 restraints, to {PART:g} of the energy, eps = 0.6"
    return Timing(GROUP, f"protein {len(fold_.model.joints):,}", label, {"full step, aba": p, "bough": a}, note)


def pulled_enzyme() -> Pulled:
    """Adenylate kinase in its open form, its alpha carbons pulled to the closed one."""
    model, closed = adenylate_kinase(), adenylate_kinase("closed")
    carbons = [name for name in model.frame_names if name.endswith(".CA")]
    goal = QuasiStatics(closed, method="aba").positions(carbons)
    return Pulled(model, QuasiStatics(model, method="aba").configuration, carbons, goal, 100.0, 0.01)


def enzyme(repeats: int = 5) -> list[Timing]:
    """Measured forms, not folds of random angles: half of all joints move, or all. Times to several energies."""
    fold_, made = pulled_enzyme(), []
    for eps in TIGHTER:
        best = np.full((2, len(PASSED)), np.inf)
        for _ in range(repeats):
            seconds, sim = passing(fold_, energy(eps), "adaptive", PASSED)
            best = np.minimum(best, [passing(fold_, None, "aba", PASSED)[0], seconds])
        plain, ours = best
        times = ", ".join(f"{share:g} in {a / p:.2f}" for share, p, a in zip(PASSED, plain, ours, strict=True))
        ends = "all joints" if sim.stats.method == "aba" else f"{sim.stats.active} joints open"
        note = f"of the energy {times} of the time of full steps; {ends} at the end"
        label = f"214 restraints, to {PASSED[-1]:g} of the energy, eps = {eps:g}"
        last = {"full step, aba": float(plain[-1]), "bough": float(ours[-1])}
        made.append(Timing(GROUP, f"adenylate kinase {len(fold_.model.joints):,}", label, last, note))
    return made


def one_domain(share: float = 0.05) -> Timing:
    """The same fold 51 times in a row, with the restraints on one domain."""
    fold_ = pulled_fold(COPIES, COPIES // 2)
    a, n, active = min(until(fold_, energy(0.6), "adaptive", share) for _ in range(2))
    p, m, _ = until(fold_, None, "aba", share)
    note = f"{n} steps for {m}, {active} joints open at the end"
    label = f"214 restraints on the middle one of {COPIES} domains, to {share:g} of the energy, eps = 0.6"
    return Timing(GROUP, f"protein {len(fold_.model.joints):,}", label, {"full step, aba": p, "bough": a}, note)


def follow(eps: float = 1e-4) -> Timing:
    """Springs on neighbours in a molecule that follow a target; the error is that of the farthest misplaced body."""
    model = molecule(50_000).with_gravity((0.0, 0.0, 0.0))
    bodies = list(range(25_000, 25_000 + SPRINGS))
    sims: dict[str, tuple[float, FloatArray, int]] = {}
    first = QuasiStatics(model, method="aba")
    x0 = first.positions()
    for name, error, method in (("full step, aba", None, "aba"), ("bough", energy(eps), "adaptive")):
        sim = QuasiStatics(model, error, method)
        springs = sim.restraints(bodies, x0[bodies], 1.0)
        springs.drift = np.tile([0.0, 0.0, 0.5 / (STEPS * H_FOLLOW)], (SPRINGS, 1))
        sim.accelerations()
        began = time.perf_counter()
        sim.run(STEPS, h=H_FOLLOW, load=springs)
        sims[name] = time.perf_counter() - began, sim.positions(), sim.stats.active
    exact, moved = sims["full step, aba"][1], np.linalg.norm(sims["full step, aba"][1] - x0, axis=1).max()
    wrong = np.linalg.norm(sims["bough"][1] - exact, axis=1).max() / moved
    note = f"error {wrong:.1e} of the motion, {sims['bough'][2]} joints open at the end"
    label = f"{SPRINGS} springs that follow a target for {STEPS:,} steps, eps = {eps:g}"
    times = {name: seconds / STEPS for name, (seconds, _, _) in sims.items()}
    return Timing(GROUP, f"molecule {len(model.joints):,}", label, times, note)


H_FOLLOW = 0.01
