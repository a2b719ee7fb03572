"""Large trees: time to build, and time per joint, which must not grow with the number of joints."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bough import zoo
from bough.bench.report import Timing
from bough.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.model import Model


def rows() -> list[Timing]:
    """Chains and random trees of 1,000 to 100,000 joints; mass matrix and factor of a binary tree of 65,535."""
    found: list[Timing] = []
    for name, family in (("chain", zoo.chain), ("random tree", zoo.random_tree)):
        for n in (1_000, 10_000, 100_000):
            model, seconds = timed(lambda family=family, n=n: family(n))  # type: ignore[misc]
            found.append(Timing("large trees: build, in all", f"{name} {n:,}", "model", {"bough": seconds}))
            found += per_joint(model, f"{name} {n:,}")
    return found + factor_of_binary_tree()


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


def per_joint(model: Model, name: str) -> list[Timing]:
    dyn, rng = Dynamics(model), np.random.default_rng(0)
    q = model.random_configuration(rng)
    v, tau = rng.normal(size=(2, model.nv))
    cases = {
        "forward dynamics": lambda: dyn.forward_dynamics(q, v, tau, method="aba"),
        "inverse dynamics": lambda: dyn.inverse_dynamics(q, v, tau),
    }
    return [
        Timing("large trees: per joint", name, case, contest({"bough": run}).per(model.nv))
        for case, run in cases.items()
    ]


def factor_of_binary_tree() -> list[Timing]:
    model = zoo.binary(16)
    dyn, q = Dynamics(model), model.random_configuration(np.random.default_rng(0))
    cases = {"packed mass matrix": lambda: dyn.packed_mass_matrix(q), "factorize": lambda: dyn.factorize(q)}
    group = "large trees: mass matrix and LTDL, in all"
    return [Timing(group, f"binary {model.nv:,}", case, contest({"bough": run})) for case, run in cases.items()]
