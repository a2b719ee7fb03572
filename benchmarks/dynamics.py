"""The functions that everybody has, on arms, hands, walkers and trees: Bough beside all engines that are here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.absent import Requirements, robot_file
from benchmarks.batches import batch
from benchmarks.engines import OTHERS
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.compare import compare, functions, single
from bough.app.bench.engines import ENGINES, contestants
from bough.app.bench.states import Compared, random_states
from bough.app.bench.timing import contest
from bough.dynamics.dynamics import Dynamics
from bough.io import load
from bough.model import Model

BATCH, MANY = 4096, 65_536
PUSHED = (512, BATCH)  # rows of batches with wrenches
SECONDS = 0.15  # for each contestant
G1 = "g1_29dof_rev_1_0.urdf"
REAL = {"panda.urdf": False, "allegro_right_hand.urdf": False, "go1.urdf": True, G1: True}  # whether the base floats
REQUIRED = Requirements(tuple(REAL))


def rows() -> list[Timing]:
    """All mechanisms; then the code that serves every model, and external forces."""
    return [row for part in PARTS.values() for row in part()]


def of_paper(make: Callable[[], Model]) -> list[Timing]:
    """A mechanism of the papers."""
    model = make()
    compared, dyn = compare(model, SECONDS, ENGINES | OTHERS), Dynamics(model)
    engines = [name for name in ENGINES if name not in compared.absent]
    found = [Timing("single call", model.name, case, times) for case, times in compared.times.items()]
    found += [Timing("single call", model.name, case, {}, why) for case, why in compared.notes.items()]
    found = [row.noted(compared.absent) for row in found]
    return found + [row for size in (BATCH, MANY) for row in batch(model, dyn, size, SECONDS, engines)]


def real(name: str) -> list[Timing]:
    """A real arm, hand, quadruped or humanoid, where its file is."""
    path = robot_file(name)
    return of_paper(partial(load, path, floating_base=REAL[name], mimic="independent")) if path else []


def every_model() -> list[Timing]:
    """The code that serves every model, and external forces."""
    found: list[Timing] = []
    for model in models():
        found += general(model)
        found += [row for count in PUSHED for row in pushed(model, count)]
    return found


def models() -> list[Model]:
    """The 30-DoF humanoid of Featherstone 2005, and a real robot of 35 DoF."""
    g1 = robot_file(G1)
    return [zoo.humanoid(), *([load(g1, floating_base=True)] if g1 else [])]


def general(model: Model) -> list[Timing]:
    """One call of the code that serves every model, and the factorization alone."""
    dyn, states = Dynamics(model, general=True), random_states(model)
    calls, expected, _ = single(dyn, functions(dyn), states)
    shown = (Compared.FORWARD, Compared.INVERSE, Compared.MASS, Compared.FACTOR)
    expected = [{case: x[case] for case in shown} for x in expected]
    ours = {case: calls[case] for case in shown}
    cases, left_out = contestants(ours, ENGINES, model, states, expected)
    rows = (Timing("general code, single call", model.name, case, contest(c)) for case, c in cases.items())
    return [row.noted(left_out) for row in rows]


def pushed(model: Model, count: int) -> list[Timing]:
    """A wrench on every body, as one array, beside the same call without: per row of a batch, on one thread."""
    dyn, rng = Dynamics(model), np.random.default_rng(1)
    q, (v, x) = model.random_configuration(rng, batch=count), rng.normal(size=(2, count, model.nv))
    forces, out = rng.normal(size=(count, len(model.body_names), 6)), np.empty((count, model.nv))
    found = []
    for case, function in ((Compared.FORWARD, dyn.forward_dynamics), (Compared.INVERSE, dyn.inverse_dynamics)):
        calls: dict[str, Callable[[], Any]] = {
            "bough": lambda f=function: f(q, v, x, forces, out=out, threads=1),  # type: ignore[misc]
            "bough without": lambda f=function: f(q, v, x, out=out, threads=1),  # type: ignore[misc]
        }
        times = contest(calls).per(count)
        share = times["bough"] / times["bough without"]
        note = f"{share:.2f} times the time without"
        found.append(Timing(f"a wrench on every body, batch of {count:,}", model.name, case, times, note))
    return found


PARTS: dict[str, Callable[[], list[Timing]]] = {
    "arm": partial(of_paper, partial(zoo.arm, 7)),
    "humanoid": partial(of_paper, zoo.humanoid),
    "chain": partial(of_paper, partial(zoo.chain, 30)),
    "asimo": partial(of_paper, zoo.asimo),
    **{Path(name).stem: partial(real, name) for name in REAL},
    "every_model": every_model,
}
