"""A Ray cluster: the job lies in its object store once, by its digest; chunks are tasks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bough.errors import SweepError, WorkerLostError, required
from bough.sweep.engines.executor import Assignment, Outcome
from bough.sweep.job import Job

LATEST = 4  # jobs that a worker keeps


@dataclass(frozen=True)
class RayCluster:
    """The cluster at `address` ("auto": the one that runs here), or one started here without; Bough is on its nodes.

    At most `workers` chunks are under way at a time, without a number two for each CPU of the cluster.
    """

    address: str | None = None
    workers: int | None = None

    def run(self, assignment: Assignment, chunks: Sequence[int]) -> Iterator[Outcome]:
        """The outcomes of these chunks, as they come."""
        ray = required("ray", "ray", "a sweep on Ray")
        if not ray.is_initialized():
            own = {} if self.address else {"num_cpus": self.workers, "include_dashboard": False}
            try:
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise SweepError(f"no Ray cluster at {self.address!r}: {error}") from None
        job = assignment.job
        sent = ray.put(pickle.dumps(job))
        most = self.workers or max(1, 2 * int(ray.cluster_resources().get("CPU", 1)))
        compute = ray.remote(max_retries=0)(_part)
        waiting, under_way = list(reversed(chunks)), {}  # type: tuple[list[int], dict[Any, int]]
        while waiting or under_way:
            while waiting and len(under_way) < most:
                chunk = waiting.pop()
                under_way[compute.remote(sent, job.digest, chunk, assignment.chunk)] = chunk
            for done in ray.wait(list(under_way), num_returns=1)[0]:
                yield _outcome(ray, done, under_way.pop(done))


def _outcome(ray: Any, done: Any, chunk: int) -> Outcome:
    try:
        return Outcome(chunk, ray.get(done))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        return Outcome(chunk, error=cause if isinstance(cause, Exception) else SweepError(str(error)))
    except ray.exceptions.RayError as error:
        return Outcome(chunk, error=WorkerLostError(f"chunk {chunk}: {type(error).__name__}"))


def _part(sent: bytes, digest: str, chunk: int, size: int) -> bytes:
    """In a worker: the job is unpacked once, whichever chunks follow."""
    if digest not in _KEPT:
        while len(_KEPT) >= LATEST:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[digest] = pickle.loads(sent)
    return _KEPT[digest].part(chunk, size)


_KEPT: dict[str, Job] = {}
