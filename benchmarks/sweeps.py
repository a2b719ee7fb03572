"""What a second worker brings to a sweep, beside two plain processes that share nothing: rounds alternate, best counts.

Jobs of twelve chunks of about a second each, as a sweep makes them; times have the start of the workers in them. Only a
machine with two idle cores gives figures that mean something.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.timing import Timing
from bough import zoo
from bough.sweep import DrawnRows, Evaluate, Job, Processes, Roll, Threads, Workers, run

CHUNKS, ROUNDS = 12, 3
CASES = ("forward dynamics", "rollouts of 1 s")
PLAIN = "import sys; from benchmarks.sweeps import plain; plain(*sys.argv[1:])"


def job(case: str, size: float = 1.0) -> Job:
    """About twelve seconds of work for one core."""
    if case == CASES[0]:
        return Job(zoo.humanoid(), Evaluate("forward_dynamics"), DrawnRows(int(6_291_456 * size)), inputs=False)
    return Job(zoo.arm(7), Roll(duration=1.0), DrawnRows(int(122_880 * size)))


def rows(size: float = 1.0, rounds: int = ROUNDS) -> list[Timing]:
    """Seconds per row, by kind and number of workers."""
    return [measured(case, size, rounds) for case in CASES]


def measured(case: str, size: float, rounds: int) -> Timing:
    """One job by all of them in turn."""
    made = job(case, size)
    made.part(0, 1)  # compiles, and keeps the code on the disk
    ways: dict[str, Callable[[Path], None]] = {}
    for name, executor in (("thread", Threads), ("process", Processes)):
        for workers in (1, 2):
            ways[f"{workers} {name}"] = partial(swept, made, executor(workers))
    for workers in (1, 2):
        ways[f"{workers} plain"] = partial(apart, CASES.index(case), size, workers)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                start = perf_counter()
                way(Path(folder))
                best[name] = min(best[name], perf_counter() - start)
    gains = {kind: best[f"1 {kind}"] / best[f"2 {kind}"] for kind in ("thread", "process", "plain")}
    note = "two workers beside one: {thread:.2f} (threads), {process:.2f} (processes), {plain:.2f} (apart, no sweep); "
    note = note.format(**gains) + f"{CHUNKS} chunks of {best['1 thread'] / CHUNKS:.2f} s for one thread"
    seconds = {f"bough {name}": taken / made.rows.count for name, taken in best.items()}
    return Timing("sweeps: per row", made.model.name, case, seconds, note)


def swept(made: Job, executor: Workers, folder: Path) -> None:
    """By the workers of a sweep."""
    run(made, folder, executor, chunk=made.rows.count // CHUNKS)


def apart(case: int, size: float, workers: int, folder: Path) -> None:
    """By processes that know nothing of each other, each with its share of the chunks."""
    command = [sys.executable, "-c", PLAIN]
    words = [str(case), str(size), str(folder)]
    started = [subprocess.Popen([*command, *words, f"{k}/{workers}"]) for k in range(workers)]
    if any([process.wait() for process in started]):
        raise RuntimeError("a plain process failed")


def plain(case: str, size: str, folder: str, share: str) -> None:
    """In such a process: every so many chunks."""
    made = job(CASES[int(case)], float(size))
    first, step = map(int, share.split("/"))
    for chunk in range(first, CHUNKS, step):
        made.write(Path(folder), chunk, made.rows.count // CHUNKS)
