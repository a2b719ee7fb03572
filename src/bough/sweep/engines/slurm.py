"""Slurm through submitit: an array of jobs that read the job from the sweep's folder and write their parts there."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bough.errors import SweepError, WorkerLostError, required
from bough.record import replacing
from bough.sweep.engines.executor import Assignment, Outcome, workers_of

MOST_JOBS = 200  # of an array; chunks are dealt to them
TURNS = 4  # jobs for each worker, so that all end at about the same time
GRACE = 10.0  # s after a job has left the queue in which its result may still arrive


@dataclass(frozen=True)
class Slurm:
    """At most `workers` jobs at a time; `options` are those of submitit, such as {"slurm_partition": "cpu"}.

    The folder of the sweep must be seen by the nodes. A killed driver leaves the jobs running: their parts count.
    `cluster="local"` starts processes here instead, for trying out.
    """

    workers: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = "slurm"
    poll: float = 1.0  # s

    def run(self, assignment: Assignment, chunks: Sequence[int]) -> Iterator[Outcome]:
        """The outcomes of these chunks, as they come."""
        if not chunks:
            return
        folder = assignment.folder.resolve() / "slurm"
        folder.mkdir(exist_ok=True)
        sent = folder / f"{assignment.job.digest}.job"
        with replacing(sent) as file:
            pickle.dump((assignment.job, assignment.chunk), file)
        count = min(MOST_JOBS, TURNS * workers_of(self.workers), len(chunks))
        dealt = [list(chunks[k::count]) for k in range(count)]
        executor = self._executor(folder)
        executor.update_parameters(**self.options)
        if self.cluster == "slurm":
            executor.update_parameters(slurm_array_parallelism=workers_of(self.workers))
        with executor.batch():
            jobs = [executor.submit(write_parts, str(sent), chunk) for chunk in dealt]
        yield from self._collected(jobs, dealt)

    def _executor(self, folder: Path) -> Any:
        submitit = required("submitit", "slurm", "a sweep on Slurm")
        try:
            return submitit.AutoExecutor(folder=folder, cluster=self.cluster)
        except RuntimeError as error:
            raise SweepError(f"no Slurm here: {error}") from None

    def _collected(self, jobs: list[Any], dealt: list[list[int]]) -> Iterator[Outcome]:
        waiting, left = dict(enumerate(jobs)), {}  # type: tuple[dict[int, Any], dict[int, float]]
        while waiting:
            ended = self._ended(waiting, left)
            for k in ended:
                yield from outcomes(waiting.pop(k), dealt[k])
            sleep(self.poll if waiting else 0.0)

    def _ended(self, waiting: Mapping[int, Any], left: dict[int, float]) -> list[int]:
        """Jobs with a result, and those that have left the queue without one; `left` says since when."""
        if self.cluster != "slurm":
            return [k for k, job in waiting.items() if job.done()]
        done = {k for k, job in waiting.items() if job.paths.result_pickle.exists()}
        queue = queued(list(waiting.values()))
        for k, job in waiting.items():
            if queue is not None and job.job_id not in queue:
                left.setdefault(k, monotonic())
            else:
                left.pop(k, None)
        return [k for k in waiting if k in done or monotonic() - left.get(k, monotonic()) > GRACE]


def queued(jobs: Sequence[Any]) -> set[str] | None:
    """Which of them Slurm still has, waiting or running; None where it does not answer. Needs no accounting."""
    numbers = ",".join(sorted({job.job_id.split("_")[0] for job in jobs}))
    command = ["squeue", "--noheader", "--array", "--format=%i", f"--jobs={numbers}"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode and "Invalid job id" not in asked.stderr:  # which is what it says of jobs long gone
        return None
    return {*asked.stdout.split()}


def outcomes(job: Any, chunks: Sequence[int]) -> Iterator[Outcome]:
    """What a job that has ended says of its chunks, or that it was lost with them."""
    if job.paths.result_pickle.exists():
        error = job.exception()
        if error is None:
            yield from (Outcome(chunk, error=wrong) for chunk, wrong in job.result())
            return
        last = str(error)
    else:
        last = job.paths.stderr.read_text(errors="replace") if job.paths.stderr.exists() else "it left no log"
    words = " ".join(last.strip().splitlines()[-1:])
    lost = WorkerLostError(f"job {job.job_id} ended: {words}")
    yield from (Outcome(chunk, error=lost) for chunk in chunks)


def write_parts(sent: str, chunks: Sequence[int]) -> list[tuple[int, Exception | None]]:
    """In a job: the parts of these chunks, those that are there left as they are."""
    from bough.sweep.engines.worker import sendable
    from bough.sweep.job import name_of

    with open(sent, "rb") as file:
        job, size = pickle.load(file)
    found: list[tuple[int, Exception | None]] = []
    for chunk in chunks:
        try:
            if not (Path(sent).parents[1] / name_of(chunk)).exists():
                job.write(Path(sent).parents[1], chunk, size)
            found.append((chunk, None))
        except Exception as error:
            found.append((chunk, sendable(error)))
    return found
