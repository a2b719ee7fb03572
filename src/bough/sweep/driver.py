"""The driver: hands chunks to an executor, keeps their parts, sends those that failed again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter

from bough.arguments import explained
from bough.errors import BoughError, SweepError, WorkerLostError
from bough.record import progress_bar, put_table
from bough.sweep.engines import Executor, Threads
from bough.sweep.job import Job
from bough.sweep.parts import SweepFolder, locked


@dataclass(frozen=True)
class Summary:
    """How a sweep went."""

    folder: Path
    rows: int
    parts: int
    found: int  # parts that were there already
    retried: int  # chunks that were sent again
    seconds: float

    def __str__(self) -> str:
        again = f", {self.retried} chunks sent again" if self.retried else ""
        return (
            f"{self.rows:,} rows in {self.parts} part{'s' * (self.parts != 1)} under {self.folder}: "
            f"{self.found} were there, {self.parts - self.found} computed in {self.seconds:.2f} s{again}"
        )


@explained
def run(
    job: Job,
    folder: str | Path,
    executor: Executor | None = None,
    *,
    chunk: int | None = None,
    retries: int = 2,
    progress: bool = False,
) -> Summary:
    """Compute what is missing of a job into a folder of Parquet parts; call it again after a kill to go on.

    `executor` is `Threads()` without; `chunk` rows go into a part, without: as many as take a second or more. A chunk
    that fails is sent again up to `retries` times, unless the failure lies in what was asked. What succeeds is kept.
    """
    folder, needed = Path(folder), job.needs
    if chunk is not None and chunk < 1:
        raise SweepError(f"a chunk is one row or more, got {chunk}")
    job.rows.take(job.model, needed, 0, 1)  # refuses what cannot be before anything is written
    put_table(BytesIO(), ())  # and where there is no pyarrow
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        parts = SweepFolder(folder, job, chunk)
        missing = parts.missing()
        found, start = parts.count - len(missing), perf_counter()
        with progress_bar("sweeping", parts.count, progress) as advance:
            advance(found)
            try:
                retried = _fill(parts, missing, executor or Threads(), retries, advance)
            finally:
                parts.tidy()
    return Summary(folder, job.rows.count, parts.count, found, retried, perf_counter() - start)


def _fill(
    parts: SweepFolder, missing: list[int], executor: Executor, retries: int, advance: Callable[[int], None]
) -> int:
    """Rounds until all chunks are there, or one has failed too often; how many were sent again."""
    failures: dict[int, Exception] = {}
    retried = 0
    for attempt in range(retries + 1):
        retried += len(missing) if attempt else 0
        failures = {}
        for outcome in executor.run(parts, missing):
            if outcome.error is None:
                if outcome.part is not None:
                    parts.write(outcome.chunk, outcome.part)
                advance(1)
            else:
                failures[outcome.chunk] = outcome.error
        lost = len(failures)
        failures = {chunk: error for chunk, error in failures.items() if not parts.whole(chunk)}
        advance(lost - len(failures))  # a worker that was lost had written some of its parts
        if any(map(_hopeless, failures.values())) or not failures:
            break
        missing = sorted(failures)
    if failures:
        chunk, error = next(iter(failures.items()))
        raise SweepError(
            f"{len(failures)} of {parts.count} chunks failed, the others are kept; chunk {chunk}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return retried


def _hopeless(error: Exception) -> bool:
    """Does the failure lie in what was asked, so that it would come again?"""
    return isinstance(error, BoughError | TypeError) and not isinstance(error, WorkerLostError)
