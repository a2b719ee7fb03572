"""Batches over threads: workers take rows from a queue until none are left."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bough.compile import settings
from bough.compile.run import workers
from bough.compile.run.gate import OK, Gate, WorkQueue, record_of, serve

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# The cost of each further thread: a fraction of a microsecond if it is awake, a few if it must be woken.
WAKE_SECONDS = 6e-6
TURNS_PER_THREAD = 24  # workers take rows in turns so short that they finish together
FEW_ROWS = 16  # whole vectors of lanes
PROBE_ROWS = 64


class Batches:
    """Batches of one function, each on as many threads as its work is worth.

    `gate` runs all rows of some arrays in this thread; `new_gate` makes one that takes its rows from a queue.
    """

    def __init__(self, gate: Gate, new_gate: Callable[[WorkQueue], Gate], most_rows: int) -> None:
        self._gate, self._new_gate, self._most_rows = gate, new_gate, most_rows
        self._idle: list[Team] = []
        self._seconds_per_row = 0.0  # 0 = not known yet

    def will_probe(self, batch: int, threads: int | None) -> bool:
        """Whether to time the first rows of a batch on their own."""
        threads = settings.threads() if threads is None else threads
        return threads != 1 and not self._seconds_per_row and batch >= PROBE_ROWS

    def is_short(self, batch: int) -> bool:
        """Whether a batch is not worth splitting."""
        return useful_threads(batch * self._seconds_per_row, 2) < 2 if self._seconds_per_row else batch < PROBE_ROWS

    def run(self, arrays: Sequence[np.ndarray], threads: int | None) -> int:
        """All rows of the arrays, on at most so many threads (None = the default); a status."""
        threads = settings.threads() if threads is None else settings.check_threads(threads)
        if self.will_probe(len(arrays[0]), threads):
            begin = time.perf_counter()
            status = self._gate(*(x[:PROBE_ROWS] for x in arrays))
            if status != OK:
                return status
            self._seconds_per_row = (time.perf_counter() - begin) / PROBE_ROWS
            arrays = [x[PROBE_ROWS:] for x in arrays]
        if threads == 1 or self.is_short(len(arrays[0])):
            return self._gate(*arrays)
        try:
            team = self._idle.pop()
        except IndexError:
            team = Team(self._new_gate, self._most_rows)
        status = team.run(arrays, useful_threads(len(arrays[0]) * self._seconds_per_row, threads))
        self._idle.append(team)  # not after an interrupt: another thread may still be at work for it
        return status


class Team:
    """Call trampolines of one function that share the rows of a batch. One batch at a time."""

    def __init__(self, new_gate: Callable[[WorkQueue], Gate], most_rows: int) -> None:
        self._new_gate, self._most_rows = new_gate, most_rows
        self._queue = WorkQueue()
        self._gates: list[Gate] = []
        self._records: list[int | None] = []
        self._assigned: list[workers.Worker] = []

    def run(self, arrays: Sequence[np.ndarray], threads: int) -> int:
        """All rows of the arrays, by this thread and others; the worst status."""
        rows = rows_per_turn(len(arrays[0]), threads, self._most_rows)
        members = min(threads, -(-len(arrays[0]) // rows))
        while len(self._gates) < members:
            self._gates.append(self._new_gate(self._queue))
            self._records.append(record_of(self._gates[-1]))
        native = serve()
        if native is not None and None not in self._records:
            return self._run_natively(arrays, rows, workers.take(members - 1, native))
        self._queue.fill(rows)
        others = [_submit(gate, arrays) for gate in self._gates[1:members]]
        return max([self._gates[0](*arrays), *map(_status, others)])

    def _run_natively(self, arrays: Sequence[np.ndarray], rows: int, found: list[workers.Worker]) -> int:
        """With workers that need no Python: the call trampoline writes work into their memory."""
        try:
            if found != self._assigned[: len(found)]:
                self._queue.assign([(s.address, r or 0) for s, r in zip(found, self._records[1:], strict=False)])
                self._assigned = list(found)
            self._queue.fill(rows, len(found))
            return self._gates[0](*arrays)
        finally:
            workers.give_back(found)


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads for systems without native workers."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(os.cpu_count(), "bough worker")


def _submit(gate: Gate, arrays: Sequence[np.ndarray]) -> Future[int] | None:
    """One worker's part, for another thread; None if none can be started."""
    try:
        return _pool().submit(gate, *arrays)
    except RuntimeError:
        return None


def _status(part: Future[int] | None) -> int:
    """The status of a worker; one that has not begun is not needed any more."""
    return OK if part is None or part.cancel() else part.result()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of its parent's threads


def useful_threads(seconds: float, most: int) -> int:
    """The number of threads that finish so much work soonest, at most `most`.

    With k threads it takes seconds / k + WAKE_SECONDS (k - 1), which is least at k = sqrt(seconds / WAKE_SECONDS).
    """
    return max(1, min(most, int(math.sqrt(seconds / WAKE_SECONDS))))


def rows_per_turn(batch: int, threads: int, most: int) -> int:
    """The number of rows that a thread takes at once: a small part of a batch, in whole vectors if it is large."""
    share, part = -(-batch // threads), -(-batch // (threads * TURNS_PER_THREAD))
    return max(1, min(most, share, -(-part // FEW_ROWS) * FEW_ROWS))
