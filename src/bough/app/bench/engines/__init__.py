"""The same mechanism in other engines: one file and one class for each, with `calls(state)`.

Belongs here: a model built in another engine, and what each engine calls the functions that everybody has. Does not
belong here: which models are measured, and timing. An engine that is not installed, or cannot have the mechanism, says
so by a `BoughError`. One engine serves all states: whatever it keeps from one call meets the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from bough.app.bench.states import PeerState, check
from bough.model import Model
from bough.types import FloatArray

# Modules of this package, and the class in each
ENGINES = {
    "pinocchio": "PinocchioEngine",
    "mujoco": "MujocoEngine",
    "drake": "DrakeEngine",
    "dart": "DartEngine",
    "casadi": "CasadiEngine",
}


class PeerCall(NamedTuple):
    """One function of an engine at a state: its name there, the call, and its result in Bough's order and axes."""

    label: str
    run: Callable[[], Any]
    result: Callable[[], Any]


class Peer(NamedTuple):
    """One function of an engine: its name there, and its calls at all states, to be taken in turn."""

    label: str
    calls: list[Callable[[], Any]]


Expected = Sequence[Mapping[str, FloatArray]]  # for each state, by function


def agreed(engine: str, model: Model, states: Sequence[PeerState], expected: Expected) -> dict[str, Peer]:
    """The functions of an engine, each checked to give Bough's results with the states in turn, twice."""
    twin = getattr(import_module(f"bough.app.bench.engines.{engine}"), ENGINES[engine])(model)
    calls: list[dict[str, PeerCall]] = [twin.calls(s) for s in states]
    shared = [case for case in calls[0] if case in expected[0]]
    for case in shared:
        for own, results in (*zip(calls, expected, strict=True),) * 2:
            own[case].run()
            check(f"{own[case].label} on {model.name}", own[case].result(), results[case])
    return {case: Peer(calls[0][case].label, [own[case].run for own in calls]) for case in shared}
