"""A progress bar in the terminal, beside what is printed, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

PATIENCE = 1.5  # s; what is done sooner needs no bar


@contextmanager
def progress_bar(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function to be called with the number of steps just taken; a bar appears when it takes long."""
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    bar = Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True))
    task, begun, started = bar.add_task(title, total=total), monotonic(), False

    def advance(done: int) -> None:
        nonlocal started
        bar.advance(task, done)
        if not started and monotonic() - begun > PATIENCE:
            started = True
            bar.start()

    try:
        yield advance
    finally:
        if started:
            bar.stop()
