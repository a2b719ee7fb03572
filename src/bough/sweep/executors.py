"""Executors of chunks: those of `concurrent.futures`, those of submitit, and Ray behind the same `submit`.

`Threads`, `Processes`, `Slurm` and `RayCluster` describe one, and open it for a sweep. Any other executor of
`concurrent.futures` or submitit can be given as it is, where its workers see the folder of the sweep.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path
from threading import Thread, local
from time import monotonic, sleep
from typing import Any, Protocol

from bough.compile.run.arrays import is_count
from bough.errors import OptionError, SweepError, WorkerLostError, required
from bough.sweep.job import Job, name_of

MOST_JOBS = 200  # of an array of Slurm; chunks are dealt to them
POLL = 0.5  # s between looks at jobs of Slurm
GRACE = 10.0  # s after a job has left the queue in which its result may still arrive
LATEST = 4  # jobs that a worker keeps
Outcome = tuple[int, bytes | None, Exception | None]  # a chunk, its part where the worker did not write it, an error


class Workers(Protocol):
    """Describes an executor."""

    def open(self, folder: Path) -> Any:
        """The executor for the sweep in a folder, as a context."""


def workers_of(count: int | None) -> int:
    """The number of workers: as set, or one for each CPU."""
    if count is not None and not is_count(count):
        raise OptionError(f"a sweep needs one worker or more, got {count}")
    return count or cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """`workers` threads of this process; without a number one for each CPU. Compiled code runs without the GIL."""

    workers: int | None = None

    def open(self, folder: Path) -> Executor:
        """The executor."""
        return ThreadPoolExecutor(workers_of(self.workers))


@dataclass(frozen=True)
class Processes:
    """`workers` processes; without a number one for each CPU. One that dies loses its chunk, and is replaced.

    A script that starts them needs `if __name__ == "__main__":`, as all that uses Python's process pools.
    """

    workers: int | None = None

    def open(self, folder: Path) -> Executor:
        """The executor."""
        return _ProcessExecutor(workers_of(self.workers))


class _ProcessExecutor(ThreadPoolExecutor):
    """A pool of one process for each thread: where a pool has several, one that dies takes the work of all along."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._own, self._pools = local(), []  # type: tuple[Any, list[ProcessPoolExecutor]]

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        return super().submit(self._elsewhere, function, *arguments, **named)

    def _elsewhere(self, function: Callable[..., Any], *arguments: Any) -> Any:
        if not hasattr(self._own, "pool"):
            self._own.pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_worker)
            self._pools.append(self._own.pool)
        try:
            return self._own.pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            del self._own.pool
            raise WorkerLostError(
                "its process ended; a script that starts processes needs if __name__ == '__main__'"
            ) from None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for pool in self._pools:
            pool.shutdown(wait)


def _begin_worker() -> None:
    """In a process: it ends with its driver, is interrupted by it only, and prints to stderr."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    Thread(target=_end_with, args=(multiprocessing.parent_process(),), daemon=True).start()


def _end_with(driver: Any) -> None:
    driver.join()
    os._exit(1)


@dataclass(frozen=True)
class Slurm:
    """Jobs of Slurm through submitit, `workers` at a time; `options` are submitit's: {"slurm_partition": "cpu"}.

    The folder of the sweep must be seen by the nodes. A killed driver leaves the jobs running: their parts count.
    `cluster="local"` starts processes here instead, for trying out.
    """

    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "slurm"

    @contextmanager
    def open(self, folder: Path) -> Iterator[Any]:
        """submitit's executor."""
        submitit = required("submitit", "slurm", "a sweep on Slurm")
        try:
            executor = submitit.AutoExecutor(folder=folder / "slurm", cluster=self.cluster)
        except RuntimeError as error:
            raise SweepError(f"no Slurm here: {error}") from None
        executor.update_parameters(**self.options)
        if self.cluster == "slurm":
            executor.update_parameters(slurm_array_parallelism=workers_of(self.workers))
        yield executor


@dataclass(frozen=True)
class RayCluster:
    """The cluster at `address` ("auto": the one that runs here), or one started here without; Bough is on its nodes.

    One started here has `workers` CPUs. Parts are sent back: nodes need not see the folder.
    """

    address: str | None = None
    workers: int | None = None

    @contextmanager
    def open(self, folder: Path) -> Iterator[Any]:
        """Ray behind `submit`."""
        ray = required("ray", "ray", "a sweep on Ray")
        if not ray.is_initialized():
            own = {} if self.address else {"num_cpus": self.workers, "include_dashboard": False}
            try:
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise SweepError(f"no Ray cluster at {self.address!r}: {error}") from None
        yield _RayExecutor(ray)


class _RayExecutor:
    """`submit` on Ray; `put` sends what all calls share once."""

    def __init__(self, ray: Any) -> None:
        self.ray, self.put = ray, ray.put

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = self.ray.remote(max_retries=0)(function).remote(*arguments).future()
        return future


# Chunks through an executor


@contextmanager
def open_executor(workers: Workers | Executor | None, folder: Path) -> Iterator[Any]:
    """The executor that is described, or the caller's own, which stays open."""
    workers = Threads() if workers is None else workers
    if hasattr(workers, "open"):
        with workers.open(folder) as executor:
            yield executor
    elif hasattr(workers, "submit"):
        yield workers
    else:
        raise OptionError(f"an executor has `submit`, as those of concurrent.futures; got {type(workers).__name__}")


def computed(executor: Any, job: Job, source: Path, size: int, chunks: Sequence[int]) -> Iterator[Outcome]:
    """The outcomes of these chunks, as they come; `source` is where workers find the job."""
    folder: Path | None = source.parent
    payload: Any = source
    if hasattr(executor, "put"):
        payload, folder = executor.put(pickle.dumps(job)), None
    elif type(executor) is ThreadPoolExecutor:
        _JOBS[job.digest] = job
    else:
        job.save(source)
    shared = (payload, job.digest, folder, size)
    if hasattr(executor, "map_array"):
        dealt = [[*chunks[k::MOST_JOBS]] for k in range(min(MOST_JOBS, len(chunks)))]
        futures = executor.map_array(compute, *([x] * len(dealt) for x in shared), dealt)
    else:
        dealt = [[chunk] for chunk in chunks]
        futures = [executor.submit(compute, *shared, group) for group in dealt]
    waiting = dict(zip(futures, dealt, strict=True))
    try:
        for future in _as_completed(waiting):
            group = waiting.pop(future)
            try:
                yield from future.result()
            except Exception as error:
                lost = WorkerLostError(f"{type(error).__name__}: {error}")
                yield from ((chunk, None, lost) for chunk in group)
    finally:
        _JOBS.pop(job.digest, None)
        for future in waiting:
            if isinstance(future, Future):  # jobs of Slurm go on: their parts count
                future.cancel()


def _as_completed(waiting: Mapping[Any, Any]) -> Iterator[Any]:
    """Futures as they end, and jobs of submitit, which are polled."""
    left: dict[Any, float] = {}
    while waiting:
        if all(isinstance(future, Future) for future in waiting):
            yield from wait(waiting, return_when=FIRST_COMPLETED).done
            continue
        queue, now = _queue(waiting), monotonic()
        gone = [job for job in waiting if queue is not None and job.job_id not in queue]
        left = {job: left.get(job, now) for job in gone}
        ended = [job for job in waiting if job.paths.result_pickle.exists() or now - left.get(job, now) > GRACE]
        yield from ended
        sleep(0.0 if ended else POLL)


def _queue(jobs: Mapping[Any, Any]) -> set[str] | None:
    """Jobs of submitit that wait or run; None if Slurm does not answer. Slurm needs no accounting for that."""
    slurm = [job.job_id.split("_")[0] for job in jobs if type(job).__name__ == "SlurmJob"]
    if not slurm:
        return {job.job_id for job in jobs if not job.done()}
    command = ["squeue", "--noheader", "--array", "--format=%i", f"--jobs={','.join(sorted({*slurm}))}"]
    queue = subprocess.run(command, capture_output=True, text=True, check=False)
    if queue.returncode and "Invalid job id" not in queue.stderr:  # which is what it says of jobs long gone
        return None
    return {*queue.stdout.split()}


# In a worker

_JOBS: dict[str, Job] = {}


def compute(source: Path | bytes, digest: str, folder: Path | None, size: int, chunks: Sequence[int]) -> list[Outcome]:
    """The parts of these chunks: into the folder where it is seen, and otherwise as bytes."""
    if digest not in _JOBS:
        while len(_JOBS) >= LATEST:
            _JOBS.pop(next(iter(_JOBS)))
        _JOBS[digest] = pickle.loads(source if isinstance(source, bytes) else source.read_bytes())
    job, found = _JOBS[digest], list[Outcome]()
    for chunk in chunks:
        try:
            part = job.part(chunk, size) if folder is None else None
            if folder is not None and not (folder / name_of(chunk)).exists():
                job.write(folder, chunk, size)
            found.append((chunk, part, None))
        except Exception as error:
            found.append((chunk, None, _sendable(error)))
    return found


def _sendable(error: Exception) -> Exception:
    """The error itself, or its sentence where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return SweepError(f"{type(error).__name__}: {error}")
    return error
