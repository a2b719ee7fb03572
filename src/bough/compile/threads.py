"""Batches over threads: slices of rows, taken by whichever thread is free."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

Run = Callable[..., int]

SHORT_SECONDS = 400e-6  # less work than this is not worth waking another thread
SLICE_SECONDS = 60e-6  # slices are short, so that threads finish together, but not so short that handing out shows
SLICES_PER_THREAD = 6
PROBE_ROWS = 64
ALIGNMENT = 16  # rows: whole vectors of lanes


def default_threads() -> int:
    """BOUGH_NUM_THREADS, or the number of CPUs this process may use."""
    chosen = os.environ.get("BOUGH_NUM_THREADS")
    if chosen:
        return max(1, int(chosen))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_short(batch: int, seconds_per_row: float) -> bool:
    """Is a batch not worth splitting? (A time of 0 is unknown.)"""
    return batch * seconds_per_row < SHORT_SECONDS if seconds_per_row else batch < PROBE_ROWS


def run_in_slices(
    run: Run, arrays: Sequence[np.ndarray], threads: int | None, seconds_per_row: float
) -> tuple[int, float]:
    """Apply `run(*arrays) -> status` to all rows; returns the worst status and the time that a row takes.

    `run` must release the GIL. `seconds_per_row` is what an earlier call returned, or 0.
    """
    batch, done, status = len(arrays[0]), 0, 0
    if seconds_per_row == 0.0:
        done = min(batch, PROBE_ROWS)
        start = time.perf_counter()
        status = run(*(x[:done] for x in arrays))
        seconds_per_row = (time.perf_counter() - start) / max(1, done)
        if status or done == batch:
            return status, seconds_per_row if done == PROBE_ROWS else 0.0
    slices = _slices(done, batch, threads or default_threads(), seconds_per_row)
    if len(slices) == 1:
        return run(*(x[slices[0]] for x in arrays)), seconds_per_row
    return _run_concurrently(run, arrays, slices, threads or default_threads()), seconds_per_row


def _slices(first: int, last: int, threads: int, seconds_per_row: float) -> list[slice]:
    """Rows first..last in slices for `threads`, each of them long enough."""
    seconds = (last - first) * seconds_per_row
    short = threads == 1 or seconds < SHORT_SECONDS
    count = 1 if short else min(int(seconds / SLICE_SECONDS), threads * SLICES_PER_THREAD)
    rows = -(-(last - first) // count)
    rows = -(-rows // ALIGNMENT) * ALIGNMENT
    return [slice(i, min(i + rows, last)) for i in range(first, last, rows)]


def _run_concurrently(run: Run, arrays: Sequence[np.ndarray], slices: list[slice], threads: int) -> int:
    waiting = deque(slices)

    def work() -> int:
        status = 0
        while waiting:
            try:
                rows = waiting.popleft()
            except IndexError:  # another thread was quicker
                break
            status = max(status, run(*(x[rows] for x in arrays)))
        return status

    helpers = [_pool().submit(work) for _ in range(min(threads, len(slices)) - 1)]
    status = work()
    return max([status, *(helper.result() for helper in helpers)])


_shared_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def _pool() -> ThreadPoolExecutor:
    global _shared_pool
    with _pool_lock:
        if _shared_pool is None:
            _shared_pool = ThreadPoolExecutor(max_workers=max(32, default_threads()), thread_name_prefix="bough")
        return _shared_pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads."""
    global _shared_pool, _pool_lock
    _shared_pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
