"""The interface: chunks in, parts out, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import cpu_count
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from threading import Event, Thread
from typing import NamedTuple, Protocol

from bough.errors import OptionError
from bough.sweep.job import Job


class Outcome(NamedTuple):
    """What became of a chunk: its part (None where the worker wrote it itself), or an error."""

    chunk: int
    part: bytes | None = None
    error: Exception | None = None


class Assignment(Protocol):
    """What an executor is told: the job, how many rows a chunk has, and where parts go."""

    job: Job
    chunk: int
    folder: Path


class Executor(Protocol):
    """Computes chunks. Each comes back once, with a part or with an error; sending again is the driver's business."""

    def run(self, assignment: Assignment, chunks: Sequence[int]) -> Iterator[Outcome]:
        """The outcomes of these chunks, as they come."""


def workers_of(wanted: int | None) -> int:
    """As many workers as wanted, or one for each CPU."""
    if wanted is not None and wanted < 1:
        raise OptionError(f"a sweep needs one worker or more, got {wanted}")
    return wanted or cpu_count() or 1


def share_out(hands: Sequence[Callable[[int], bytes | None]], chunks: Sequence[int]) -> Iterator[Outcome]:
    """Chunks to hands, each in a thread; no hand is more than two parts ahead of who takes them."""
    todo: SimpleQueue[int] = SimpleQueue()
    done: Queue[Outcome] = Queue(maxsize=len(hands))
    stop = Event()
    for chunk in chunks:
        todo.put(chunk)
    threads = [Thread(target=_labour, args=(hand, todo, done, stop), daemon=True) for hand in hands]
    for thread in threads:
        thread.start()
    try:
        for _ in chunks:
            yield _next(done)
    finally:
        stop.set()
        while any(thread.is_alive() for thread in threads):
            _drain(done)
            threads[0].join(0.02)


def _labour(hand: Callable[[int], bytes | None], todo: SimpleQueue[int], done: Queue[Outcome], stop: Event) -> None:
    while not stop.is_set():
        try:
            chunk = todo.get_nowait()
        except Empty:
            return
        try:
            outcome = Outcome(chunk, hand(chunk))
        except Exception as error:
            outcome = Outcome(chunk, error=error)
        done.put(outcome)


def _next(done: Queue[Outcome]) -> Outcome:
    """Waits in slices, so that an interrupt is heard on every system."""
    while True:
        try:
            return done.get(timeout=0.5)
        except Empty:
            continue


def _drain(done: Queue[Outcome]) -> None:
    while not done.empty():
        done.get_nowait()
