"""A progress bar in the terminal, beside what is printed, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

_SCREEN = Lock()  # one bar at a time: those within another stay unseen
PATIENCE = 1.5  # s; what is done sooner needs no bar


@contextmanager
def progress_bar(title: str, total: int | None, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Gives a function to be called with the number of steps just taken; a bar appears when it takes long.

    Without a `total` it runs to and fro.
    """
    if not shown:
        yield lambda done: None
        return
    ended, taken = Event(), [0]
    thread = Thread(target=_shown, args=(title, total, taken, ended), daemon=True)
    thread.start()

    def advance(done: int) -> None:
        taken[0] += done

    try:
        yield advance
    finally:
        ended.set()
        thread.join()


def _shown(title: str, total: int | None, taken: list[int], ended: Event) -> None:
    """In a thread of its own: waits, then draws ten times a second."""
    if ended.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    if not _SCREEN.acquire(blocking=False):
        return
    columns = Progress.get_default_columns()
    counted = (*columns, MofNCompleteColumn()) if total is not None else columns
    try:
        with Progress(*counted, console=Console(stderr=True), transient=total is None) as bar:
            task = bar.add_task(title, total=total)
            while not ended.wait(0.1):
                bar.update(task, completed=taken[0])
            bar.update(task, completed=taken[0])
    finally:
        _SCREEN.release()
