"""Slurm through submitit: an array of jobs that read the job from the sweep's folder and write their parts there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep
from typing import Any

from bough.errors import MissingExtraError, SweepError, WorkerLostError
from bough.record import replacing
from bough.sweep.engines.executor import Assignment, Outcome, workers_of

MOST_JOBS = 200  # of an array; chunks are dealt to them


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
        dealt = [list(chunks[k::MOST_JOBS]) for k in range(min(MOST_JOBS, len(chunks)))]
        executor = self._executor(folder)
        executor.update_parameters(**self.options)
        if self.cluster == "slurm":
            executor.update_parameters(slurm_array_parallelism=workers_of(self.workers))
        with executor.batch():
            jobs = [executor.submit(write_parts, str(sent), chunk) for chunk in dealt]
        yield from self._collected(jobs, dealt)

    def _executor(self, folder: Path) -> Any:
        try:
            import submitit
        except ImportError:
            raise MissingExtraError("a sweep on Slurm needs submitit: pip install 'bough[slurm]'") from None
        try:
            return submitit.AutoExecutor(folder=folder, cluster=self.cluster)
        except RuntimeError as error:
            raise SweepError(f"no Slurm here: {error}") from None

    def _collected(self, jobs: list[Any], dealt: list[list[int]]) -> Iterator[Outcome]:
        waiting = dict(enumerate(jobs))
        while waiting:
            for k in [k for k, job in waiting.items() if job.done()]:
                job = waiting.pop(k)
                error = job.exception()
                if error is None:
                    yield from (Outcome(chunk, error=wrong) for chunk, wrong in job.result())
                else:
                    lost = WorkerLostError(f"job {job.job_id} ended: {str(error).strip().splitlines()[-1:]}")
                    yield from (Outcome(chunk, error=lost) for chunk in dealt[k])
            sleep(self.poll if waiting else 0.0)


def write_parts(sent: str, chunks: Sequence[int]) -> list[tuple[int, Exception | None]]:
    """In a job: the parts of these chunks, those that are there left as they are."""
    from bough.sweep.engines.worker import sendable

    with open(sent, "rb") as file:
        job, size = pickle.load(file)
    outcomes: list[tuple[int, Exception | None]] = []
    for chunk in chunks:
        try:
            job.write(Path(sent).parents[1], chunk, size)
            outcomes.append((chunk, None))
        except Exception as error:
            outcomes.append((chunk, sendable(error)))
    return outcomes
