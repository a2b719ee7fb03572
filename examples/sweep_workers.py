"""How many times faster a sweep goes with two workers than with one: rounds alternate, the best of each counts. Run:

    python examples/sweep_workers.py [rounds]

Only a machine with two idle cores gives a figure that means something; what it gives plain Python is printed beside it.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter

import bough
from bough.sweep import DrawnRows, Evaluate, Job, Processes, Roll, Threads, run

JOBS = {
    "forward dynamics, threads": (Job(bough.zoo.humanoid(), Evaluate("forward_dynamics"), DrawnRows(400_000)), Threads),
    "rollouts, processes": (Job(bough.zoo.arm(7), Roll(duration=5.0), DrawnRows(9_600)), Processes),
}
CHUNKS = 16


def burn(count: int) -> int:
    return sum(range(count))


def machine(rounds: int) -> float:
    """What two processes of plain Python do in the time of one."""
    best = {1: float("inf"), 2: float("inf")}
    with ProcessPoolExecutor(2) as pool:
        for _ in range(rounds):
            for workers in best:
                start = perf_counter()
                list(pool.map(burn, [20_000_000] * workers))
                best[workers] = min(best[workers], perf_counter() - start)
    return 2 * best[1] / best[2]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"plain Python: {machine(rounds):.2f} times one worker")
    for name, (job, executor) in JOBS.items():
        best = {1: float("inf"), 2: float("inf")}
        for _ in range(rounds):
            for workers in best:
                with tempfile.TemporaryDirectory() as folder:
                    summary = run(job, folder, executor(workers), chunk=job.rows.count // CHUNKS)
                best[workers] = min(best[workers], summary.seconds)
        print(f"{name}: {best[1]:.2f} s with one worker, {best[2]:.2f} s with two: {best[1] / best[2]:.2f} times")


if __name__ == "__main__":
    main()
