"""The other end of `processes`: reads a job, then numbers of chunks; writes the part of each, and says so."""

from __future__ import annotations

import os
import pickle
import sys

from bough.errors import SweepError


def main() -> None:
    """Until there is nothing more to read: also when the driver was killed."""
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a function of the user prints must not come between the replies
    try:
        job, folder, size = pickle.load(requests)
        while True:
            chunk = pickle.load(requests)
            try:
                job.write(folder, chunk, size)
                found = None
            except Exception as error:
                found = sendable(error)
            pickle.dump(found, replies)
            replies.flush()
    except (EOFError, OSError, KeyboardInterrupt):
        return


def sendable(error: Exception) -> Exception:
    """The error itself, or its sentence where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return SweepError(f"{type(error).__name__}: {error}")
    return error
