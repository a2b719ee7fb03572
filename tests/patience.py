"""Waiting for what another thread or process does: as long as a loaded machine may need."""

import time
from collections.abc import Callable


def until(true: Callable[[], object], seconds: float = 240.0) -> None:
    """Wait until something is true; a test that waits longer has failed."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.01)
