"""Timing on a noisy machine: short bursts, contestants in turn, the best of many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Contestant = Callable[[], object]


def contest(contestants: Mapping[str, Contestant], seconds: float = 0.6, burst: float = 2e-3) -> dict[str, float]:
    """Seconds per call of each contestant: the best burst among many, taken in turn for about `seconds` each."""
    calls = {name: max(1, int(burst / _once(run))) for name, run in contestants.items()}
    best = dict.fromkeys(contestants, float("inf"))
    stop = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < stop:
        for name, run in contestants.items():
            best[name] = min(best[name], _burst(run, calls[name]))
    return best


def _once(run: Contestant) -> float:
    """A first guess at the time of a call, after a warm-up that compiles what has to be compiled."""
    run()
    return min(_burst(run, 1) for _ in range(5))


def _burst(run: Contestant, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls
