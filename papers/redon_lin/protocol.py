"""The protocol of section 6, cell by cell: a linkage, a number of forces, a threshold; cost and error.

A cell is one run under constant random forces of about 1 N in the world's axes, without gravity. The paper does not say
where its forces act, nor the step: here they act on neighbours at the free end ("adjacent"), on the body in the middle
("middle") or on bodies drawn at random ("scattered"), and dt = 1 ms. Linkages start at random, but for the bicycle
chain and the millipede: the paper builds its millipede from equal blocks, so that ours is straight; two other postures
show how much the posture matters.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from bough.adaptive import QuasiStatics, relative_joint
from bough.model import Model
from bough.types import FloatArray
from bough.zoo import bicycle_chain, chain, millipede, molecule

EXPONENTS = tuple(range(20))  # eps = 2^0 .. 2^-19
TABLE_EXPONENTS = (3, 7, 11, 15, 19)
FORCES = (1, 10, 100, 1000)
DT = 1e-3
SAMPLES = 10
LINKAGES: dict[str, Callable[[], Model]] = {
    "molecule": lambda: molecule(50_000, window=2),
    "chain": lambda: chain(50_000),
    "millipede": lambda: millipede(geometry="straight", floating=True),
    "millipede, winding": lambda: millipede(geometry="straight", floating=True),
    "millipede, coiled": lambda: millipede(geometry="random", floating=True),
    "bicycle chain": bicycle_chain,
}
MILLIPEDES = ("millipede", "millipede, winding", "millipede, coiled")


class Experiment(NamedTuple):
    """What is run on one linkage."""

    linkage: str
    where: str  # "adjacent", "middle" or "scattered"
    forces: tuple[int, ...]
    exponents: tuple[int, ...]
    steps: int


FULL = (
    Experiment("molecule", "adjacent", FORCES, EXPONENTS, 4000),
    Experiment("chain", "adjacent", FORCES, EXPONENTS, 4000),
    *(Experiment(name, "middle", (1,), EXPONENTS, 4000) for name in MILLIPEDES),
    Experiment("bicycle chain", "adjacent", (1,), EXPONENTS, 10_000),
    Experiment("molecule", "scattered", FORCES, EXPONENTS, 4000),
    Experiment("chain", "scattered", FORCES, EXPONENTS, 4000),
)
SHORT = tuple(plan._replace(exponents=TABLE_EXPONENTS, steps=min(plan.steps, 40)) for plan in FULL)


def simulation(
    model: Model, plan: Experiment, forces: int, exponent: int | None, method: str, assembly: Any = "balanced"
) -> QuasiStatics:
    """The same start and the same forces for all thresholds and methods."""
    rng, n = np.random.default_rng(forces), len(model.joints)
    legs = n // 13  # of a millipede: ten links each, and three of the spine, which come first
    error = None if exponent is None else relative_joint(2.0**-exponent)
    sim = QuasiStatics(model, error, method, culled="zero", catch_up=False, assembly=assembly)
    start, bodies = model.random_configuration(rng), rng.choice(n, min(forces, n), replace=False)
    if plan.linkage in ("bicycle chain", "millipede"):
        start = model.neutral
    elif plan.linkage == "millipede, winding":
        start = winding(legs)
    sim.configuration = start
    if plan.where == "adjacent":
        bodies = np.arange(n - len(bodies), n)
    elif plan.where == "middle":
        bodies = np.array([3 * legs // 2])
    for body in bodies.tolist():
        sim.apply_force(body, rng.normal(size=3))
    return sim


def winding(legs: int) -> FloatArray:
    """Configuration of a straight, floating millipede that winds along the plane of x and z, on arched legs."""
    q, spine = np.zeros(6 + 13 * legs), 3 * legs
    q[6] = 1.0  # the base, not turned
    turned = np.array([1.0, 1.0, -1.0, -1.0])[np.arange(spine) % 4]  # axes alternate, up and back
    q[8 : 6 + spine : 2] = (turned * 0.12 * np.cos(2.0 * np.pi * np.arange(spine) / 80.0))[2::2]
    up = (
        np.array([-0.7, 0.0, 0.5, 0.0, 0.5, 0.0, 0.4, 0.0, 0.0, 0.0])
        * np.where(np.arange(legs) // 2 % 2, -1, 1)[:, None]
    )
    swing = np.array([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]) * np.where(np.arange(legs) % 2, -0.5, 0.5)[:, None]
    q[6 + spine :] = (turned[:10] * (up + swing)).ravel()
    return q


def centres(sim: QuasiStatics) -> FloatArray:
    """Centres of gravity of all bodies in the world, (n, 3)."""
    poses, inertia = sim.poses(), sim.model.inertias
    return poses[:, :3, 3] + np.einsum("nij,nj->ni", poses[:, :3, :3], inertia[:, 1:4] / inertia[:, :1])


def reference(model: Model, plan: Experiment, forces: int) -> tuple[list[FloatArray], dict[str, Any]]:
    """Displacements in exact runs at each sample, and the time of a step by ABA and by divide and conquer."""
    sim = simulation(model, plan, forces, None, "aba")
    sim.run(1, DT)  # compiled before anything is timed
    sim = simulation(model, plan, forces, None, "aba")
    start, moved, taken = centres(sim), [], []
    for part in parts(plan.steps):
        began = perf_counter()
        sim.run(part, DT)
        taken.append((perf_counter() - began) / part)
        moved.append(centres(sim) - start)
    full = simulation(model, plan, forces, None, "dca")
    full.run(2, DT)
    began = perf_counter()
    full.run(5, DT)
    times = {"aba": float(np.median(taken)), "dca": (perf_counter() - began) / 5}
    return moved, {**times, "steps": plan.steps, "moved": float(np.abs(moved[-1]).max())}


def cell(model: Model, plan: Experiment, forces: int, exponent: int, exact: list[FloatArray]) -> dict[str, Any]:
    """Seconds of a step, the median of the samples; joints on average; displacement error at the end and on average."""
    sim = simulation(model, plan, forces, exponent, "adaptive")
    start, taken, joints, errors = centres(sim), [], 0.0, []
    sim.accelerations()  # the tree is built before the first step, as in the paper
    for part, true in zip(parts(plan.steps), exact, strict=True):
        began = perf_counter()
        sim.run(part, DT)
        taken.append((perf_counter() - began) / part)
        joints += part * sim.stats.joints
        errors.append(displacement_error(centres(sim) - start, true))
    return {
        "seconds": float(np.median(taken)), "joints": joints / plan.steps, "error_end": errors[-1],
        "error_mean": float(np.mean(errors)), "steps": plan.steps, "method": sim.stats.method,
    }  # fmt: skip


def parts(steps: int) -> list[int]:
    """The steps in samples of about equal length."""
    ends = np.linspace(0, steps, min(SAMPLES, steps) + 1).astype(int)
    return np.diff(ends).tolist()


def displacement_error(moved: FloatArray, true: FloatArray) -> float:
    """max_i |d_i(eps) - d_i| / max_i |d_i|; the paper prints it without the difference, which would tend to 1."""
    return float(np.linalg.norm(moved - true, axis=1).max() / np.linalg.norm(true, axis=1).max())
