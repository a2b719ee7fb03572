"""Timing on a noisy machine: short bursts, contestants in turn, states in turn; the best and the median of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

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
