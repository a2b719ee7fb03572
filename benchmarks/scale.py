"""Large trees: time to build, time by the number of joints, and its exponent beside that of the operation counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import Timing
from bough import cost, zoo
from bough.app.bench.engines import ENGINES, contestants
from bough.app.bench.states import Compared, random_states
from bough.app.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.model import Model
from bough.sparsity import ltdl
from bough.sparsity.pattern import to_dense

FAMILIES: dict[str, tuple[Callable[[int], Model], Sequence[int]]] = {
    "chain": (zoo.chain, (1_000, 10_000, 100_000, 300_000, 1_000_000)),
    "binary tree": (zoo.binary, (10, 13, 17, 18, 20)),  # levels
    "random tree": (partial(zoo.random_tree, depth_first=True), (1_000, 10_000, 100_000, 300_000, 1_000_000)),
    "random tree, any numbering": (zoo.random_tree, (1_000, 10_000, 100_000, 300_000, 1_000_000)),
}
# What is factorized: the last decade lies beyond the caches, as that of the functions above
FACTORED: dict[str, tuple[Callable[[int], Model], Sequence[int]]] = {
    "chain": (zoo.chain, (400, 1_000, 2_000, 4_000)),
    "binary tree": (zoo.binary, (12, 14, 16, 17, 18, 19, 20)),
}
DECADE = 10.5
BESIDE = {"binary tree": (zoo.binary, (6, 8, 10, 12)), "chain": (zoo.chain, (30, 100, 1_000))}


def rows() -> list[Timing]:
    """Models, forward and inverse dynamics per joint, LTDL in all; then exponents over the last decade."""
    found: list[Timing] = []
    taken: dict[str, dict[int, tuple[float, float]]] = {}
    for name, (family, sizes) in FAMILIES.items():
        for size in sizes:
            model, seconds = timed(partial(family, size))
            found.append(Timing("large trees: build, in all", f"{name} {model.nv:,}", "model", {"bough": seconds}))
            for row in per_joint(model, f"{name} {model.nv:,}"):
                found.append(row)
                taken.setdefault(f"{name}: {row.case}", {})[model.nv] = (row.seconds["bough"] * model.nv, model.nv)
    for name, (family, sizes) in FACTORED.items():
        for size in sizes:
            model = family(size)
            row = factored(model, f"{name} {model.nv:,}")
            found.append(row)
            operations = float(cost.ltdl(model.dof_tree).total)
            taken.setdefault(f"{name}: LTDL", {})[model.nv] = (row.seconds["bough"], operations)
    for name, (family, sizes) in BESIDE.items():
        for size in sizes:
            model = family(size)
            found += beside(model, f"{name} {model.nv:,}")
    return [*found, *exponents(taken)]


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


def per_joint(model: Model, name: str) -> Iterator[Timing]:
    dyn, states = Dynamics(model, general=True), random_states(model)
    cases: dict[str, Callable[..., Any]] = {
        Compared.FORWARD: partial(dyn.forward_dynamics, method="aba"),
        Compared.INVERSE: dyn.inverse_dynamics,
    }
    for case, run in cases.items():
        calls = [partial(run, s.q, s.v, s.tau) for s in states]
        yield Timing("large trees: per joint", name, case, contest({"bough": calls}).per(model.nv))


def beside(model: Model, name: str) -> Iterator[Timing]:
    """The general code beside other engines, each of which was found to give the same."""
    dyn, states = Dynamics(model, general=True), random_states(model)
    ours: dict[str, list[Callable[[], Any]]] = {
        Compared.FORWARD: [lambda s=s: dyn.forward_dynamics(s.q, s.v, s.tau) for s in states],  # type: ignore[misc]
        Compared.INVERSE: [lambda s=s: dyn.inverse_dynamics(s.q, s.v, s.tau) for s in states],  # type: ignore[misc]
        Compared.MASS: [lambda s=s: dyn.packed_mass_matrix(s.q) for s in states],  # type: ignore[misc]
    }
    expected = [{case: calls[k]() for case, calls in ours.items()} for k in range(len(states))]
    for found in expected:
        found[Compared.MASS] = to_dense(found[Compared.MASS], model.dof_tree)
    peers, left_out = contestants(ours, ENGINES, model, states, expected)
    for case, calls in peers.items():
        yield Timing("large trees: beside other engines", name, case, contest(calls)).noted(left_out)


def factored(model: Model, name: str) -> Timing:
    dyn, tree = Dynamics(model, general=True), model.dof_tree
    H = [dyn.packed_mass_matrix(s.q) for s in random_states(model)]
    return Timing("large trees: LTDL, in all", name, "LTDL", contest({"bough": [partial(ltdl, h, tree) for h in H]}))


def exponents(taken: dict[str, dict[int, tuple[float, float]]]) -> Iterator[Timing]:
    """Slopes of time and of operations in a doubly logarithmic plot, over the last decade of n."""
    for what, points in taken.items():
        last = {n: point for n, point in points.items() if n * DECADE >= max(points)}
        n = np.log(list(last))
        fitted, predicted = (float(np.polyfit(n, np.log([p[k] for p in last.values()]), 1)[0]) for k in (0, 1))
        off = {"fitted": fitted, "predicted": predicted, "off the predicted": abs(fitted - predicted)}
        note = f"n = {min(last):,} to {max(last):,}"
        yield Timing("scaling: exponents", what, "exponent", {}, note, numbers=off)
