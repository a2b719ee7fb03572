"""Threads of this process: nothing to start. Compiled code and Parquet run without the GIL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bough.sweep.engines.executor import Assignment, Outcome, share_out, workers_of


@dataclass(frozen=True)
class Threads:
    """`workers` threads; without a number one for each CPU."""

    workers: int | None = None

    def run(self, assignment: Assignment, chunks: Sequence[int]) -> Iterator[Outcome]:
        """The outcomes of these chunks, as they come."""
        job, folder, size = assignment.job, assignment.folder, assignment.chunk
        count = min(workers_of(self.workers), len(chunks))
        return share_out([lambda chunk: job.write(folder, chunk, size)] * count, chunks) if chunks else iter(())
