"""Processes of this machine, each fed by a thread: a job goes to each once, then numbers of chunks."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from bough.errors import WorkerLostError
from bough.sweep.engines.executor import Assignment, Outcome, share_out, workers_of


@dataclass(frozen=True)
class Processes:
    """`workers` processes; without a number one for each CPU. One that dies loses its chunk, and is replaced."""

    workers: int | None = None

    def run(self, assignment: Assignment, chunks: Sequence[int]) -> Iterator[Outcome]:
        """The outcomes of these chunks, as they come."""
        sent = pickle.dumps((assignment.job, assignment.folder.resolve(), assignment.chunk))
        hands = [WorkerProcess(sent) for _ in range(min(workers_of(self.workers), len(chunks)))]
        try:
            if chunks:
                yield from share_out(hands, chunks)
        finally:
            for hand in hands:
                hand.close()


class WorkerProcess:
    """A process that computes one chunk at a time; started when it is first needed, and again when it was lost."""

    def __init__(self, sent: bytes) -> None:
        self.sent, self.process = sent, None  # type: tuple[bytes, subprocess.Popen[bytes] | None]

    def __call__(self, chunk: int) -> None:
        try:
            requests, replies = self._pipes()
            pickle.dump(chunk, requests)
            requests.flush()
            found = pickle.load(replies)
        except (OSError, EOFError, pickle.UnpicklingError):
            raise WorkerLostError(f"the process that computed chunk {chunk} ended, exit code {self.close()}") from None
        if isinstance(found, Exception):
            raise found

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self.process is None:
            # told once Python has begun: a file of the user's that is called types.py must not come before Python's own
            paths = [path or os.getcwd() for path in sys.path]
            begin = f"import sys; sys.path[:] = {paths!r}; from bough.sweep.engines.worker import main; main()"
            self.process = subprocess.Popen(
                [sys.executable, "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            assert self.process.stdin
            self.process.stdin.write(self.sent)
        assert self.process.stdin
        assert self.process.stdout
        return self.process.stdin, self.process.stdout

    def close(self) -> int | None:
        """End the process, if there is one; its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe:
                    pipe.close()
            except OSError:  # what was left in the buffer cannot be sent any more
                continue
        return code
