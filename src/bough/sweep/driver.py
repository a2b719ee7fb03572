"""The driver: hands chunks to an executor, keeps their parts, sends those that failed again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter

from bough.arguments import explained
from bough.errors import BoughError, SweepError, WorkerLostError
from bough.record import progress_bar, put_table
from bough.sweep.executors import Workers, computed, open_executor
from bough.sweep.job import Job
from bough.sweep.parts import SweepFolder, file_errors, folder_for, locked


@dataclass(frozen=True)
class Summary:
    """The summary of a sweep."""

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
    executor: Workers | Executor | None = None,
    *,
    chunk: int | None = None,
    retries: int = 2,
    progress: bool = False,
) -> Summary:
    """Compute the missing parts of a job into a folder of Parquet files; call it again after a kill to continue.

    Parameters
    ----------
    job : what to compute
    folder : where to write it
    executor : `Threads()` by default, `Processes`, `Slurm`, `RayCluster`, or any executor of `concurrent.futures` or
        submitit whose workers see the folder
    chunk : rows of a part; by default as many as take a second or more
    retries : how often a chunk that fails is sent again, unless it must fail again; finished parts are kept
    progress : whether to show a progress bar
    """
    folder = Path(folder)
    if chunk is not None and chunk < 1:
        raise SweepError(f"a chunk is one row or more, got {chunk}")
    if retries < 0:
        raise SweepError(f"retries are none or more, got {retries}")
    put_table(BytesIO(), ())  # refuses where there is no pyarrow
    job.check()
    with file_errors(folder), locked(folder):
        parts = folder_for(job, folder, chunk)
        missing = parts.missing()
        found, start = parts.count - len(missing), perf_counter()
        with progress_bar("sweeping", parts.count, progress) as advance:
            advance(found)
            try:
                retried = _fill(job, parts, missing, executor, retries, advance)
            finally:
                parts.tidy()
    return Summary(folder, job.rows.count, parts.count, found, retried, perf_counter() - start)


def _fill(
    job: Job,
    parts: SweepFolder,
    missing: list[int],
    workers: Workers | Executor | None,
    retries: int,
    advance: Callable[[int], None],
) -> int:
    """Rounds until all chunks are done, or one has failed too often; the number of retries."""
    failures: dict[int, Exception] = {}
    retried = 0
    with open_executor(workers, parts.folder) as executor:
        for attempt in range(retries + 1 if missing else 0):
            retried += len(missing) if attempt else 0
            failures = {}
            for chunk, part, error in computed(executor, job, parts.source, parts.chunk, missing):
                if part is not None:
                    parts.write(chunk, part)
                if error is None:
                    advance(1)
                else:
                    failures[chunk] = error
            lost = len(failures)
            failures = {chunk: error for chunk, error in failures.items() if not parts.is_whole(chunk)}
            advance(lost - len(failures))  # a worker that was lost had written some of its parts
            missing = sorted(failures)
            hopeless = (isinstance(e, BoughError | TypeError) and not isinstance(e, WorkerLostError)
                        for e in failures.values())  # fmt: skip
            if not failures or any(hopeless):  # the same failure would come again
                break
    if failures:
        chunk, error = min(failures.items(), key=lambda failure: failure[0])
        raise SweepError(
            f"{len(failures)} of {parts.count} chunks failed, the others are kept; chunk {chunk}: "
            f"{type(error).__name__}: {error}"
        ) from error
    parts.source.unlink(missing_ok=True)
    return retried
