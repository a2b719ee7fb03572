"""Timing on a noisy machine: short bursts, contestants in turn, the best and the median of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

Contestant = Callable[[], object]


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


def contest(contestants: Mapping[str, Contestant], seconds: float = 0.6, burst: float = 2e-3) -> Times:
    """Seconds per call of each contestant, from bursts taken in turn for about `seconds` each."""
    calls = {name: max(1, int(burst / _once(run))) for name, run in contestants.items()}
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    stop = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < stop or not all(taken.values()):
        for name, run in contestants.items():
            taken[name].append(_burst(run, calls[name]))
    return Times({name: min(x) for name, x in taken.items()}, {name: median(x) for name, x in taken.items()})


def _once(run: Contestant) -> float:
    """A first guess at the time of a call, after a warm-up that compiles what has to be compiled."""
    run()
    return min(_burst(run, 1) for _ in range(5))


def _burst(run: Contestant, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls
