"""A progress bar in the terminal, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function to be called with the number of steps just taken."""
    if not shown:
        yield lambda done: None
        return
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), TimeRemainingColumn()) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.advance(task, done)
