"""A line on the terminal while something is compiled."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.5  # seconds


@contextmanager
def compiling() -> Iterator[None]:
    """Print a line on the terminal if the block takes longer than a moment."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield
        return
    with unless_done(PATIENCE, _say):
        yield


@contextmanager
def unless_done(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Call a function if the block takes longer than so many seconds."""
    timer = threading.Timer(seconds, do)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say() -> None:
    print("bough: compiling; this is kept on disk (see `bough cache warm`)", file=sys.stderr, flush=True)
