"""Timing on a noisy machine: short bursts, contestants in turn, states in turn; the best and the median of many."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from statistics import median
from typing import Any

from bough import record
from bough.compile.settings import threads

PACKAGES = ("bough", "numpy", "llvmlite", "scipy", "pin", "mujoco", "drake", "dartpy", "cvxopt", "casadi", "torch",
            "jax", "openmm")  # fmt: skip
Call = Callable[[], object]
# The same call at two or more states, taken in turn; or one call that has many states in itself (a batch, a step)
Contestant = Call | Sequence[Call]


class Times(dict[str, float]):
    """Seconds per call by contestant: the best burst; the median of all bursts beside it."""

    def __init__(self, best: Mapping[str, float], middle: Mapping[str, float]) -> None:
        super().__init__(best)
        self.median = dict(middle)

    def per(self, count: int | Mapping[str, int]) -> Times:
        """The same for each of `count` configurations of a call."""
        many = {name: count if isinstance(count, int) else count[name] for name in self}
        return Times(*({name: t / many[name] for name, t in times.items()} for times in (self, self.median)))

    def __or__(self, other: Mapping[str, float]) -> Times:  # type: ignore[override]
        middle = other.median if isinstance(other, Times) else {}
        return Times({**self, **other}, self.median | middle)


@dataclass(frozen=True)
class Timing:
    """One comparison: seconds per call of each contestant, Bough's own ones named "bough ..."."""

    group: str
    model: str
    case: str
    seconds: Mapping[str, float]
    note: str = field(default="")
    median: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)  # other results, by a name that says their unit

    def __post_init__(self) -> None:
        """Times bring their medians along."""
        if isinstance(self.seconds, Times):
            object.__setattr__(self, "median", self.seconds.median)
            object.__setattr__(self, "seconds", dict(self.seconds))

    def noted(self, absent: Mapping[str, str]) -> Timing:
        """The same row, saying which engines do not take part and why."""
        why = "; ".join([self.note] * bool(self.note) + [f"without {name}: {text}" for name, text in absent.items()])
        return replace(self, note=why)


def contest(contestants: Mapping[str, Contestant], seconds: float = 0.6, burst: float = 2e-3) -> Times:
    """Seconds per call of each contestant, from bursts taken in turn for about `seconds` each."""
    turns = {name: _turns([x] if callable(x) else list(x), burst) for name, x in contestants.items()}
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    stop = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < stop or not all(taken.values()):
        for name, calls in turns.items():
            taken[name].append(_burst(calls))
    return Times({name: min(x) for name, x in taken.items()}, {name: median(x) for name, x in taken.items()})


def _turns(calls: list[Call], burst: float) -> list[Call]:
    """The calls of a burst: all states in turn, as often as fits, after a warm-up that compiles."""
    _burst(calls)
    once = min(_burst(calls) for _ in range(5)) * len(calls)
    return calls * max(1, int(burst / once))


def _burst(calls: list[Call]) -> float:
    start = time.perf_counter()
    for call in calls:
        call()
    return (time.perf_counter() - start) / len(calls)


def machine() -> dict[str, Any]:
    """CPU and cores, GPU where one was used, Python, commit, versions of what takes part, and the day."""
    used = sys.modules.get("bough.compile.run.cuda.gpu")
    gpu = {"card": used.find_gpu().name} if used and used.find_gpu.cache_info().currsize else {}
    return gpu | record.machine(PACKAGES) | {"cores": threads(), "date": date.today().isoformat()}
