"""Common parts of all commands: printing, JSON for machines, and errors as one line."""

from __future__ import annotations

import json
import math
import sys
from contextlib import AbstractContextManager
from dataclasses import asdict, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.compile.run.notice import unless_done

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Record = Annotated[Path | None, typer.Option(help="Write the motion to this .npz or .parquet file.")]
WRENCH = "FRAME:fx,fy,fz or FRAME:fx,fy,fz,mx,my,mz in world axes. May be repeated."
Forces = Annotated[list[str], typer.Option("--force", metavar="FRAME:NUMBERS", help=WRENCH)]
OK, FAILED, USAGE = 0, 1, 2


def example(*lines: str) -> str:
    """The end of a help page, on lines of their own."""
    return "\n  ".join(("\b\nExample:", *lines))


def completion_words(words: list[str], place: int) -> tuple[list[str], int, str]:
    """The words that bash completes, joined where it splits at colons, and the part of the last one that it keeps."""
    whole: list[str] = []
    for word in words[: place + 1]:
        joins = bool(whole) and (word == ":" or whole[-1].endswith(":"))
        whole[-1:] = [whole[-1] + word] if joins else [*whole[-1:], word]
    if place >= len(words) and not (whole and whole[-1].endswith(":")):
        whole.append("")  # a new word begins
    last = whole[-1]
    return whole, len(whole) - 1, last[: last.rfind(":") + 1]


@cache
def out() -> Console:
    """Where results are printed."""
    from rich.console import Console

    return Console()


def say(text: str) -> None:
    """A line of plain text, whatever marks are in it."""
    out().print(text, markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """A line about what is going on, beside the results."""
    typer.echo(text, err=True)


def patient(what: str, after: float = 1.0) -> AbstractContextManager[None]:
    """Says what is going on if it takes longer than a moment; what is compiled is kept on disk."""
    return unless_done(after, lambda: note(f"{what}; later runs load it from the cache"))


def working(what: str) -> AbstractContextManager[object]:
    """A progress bar without an end, on a terminal, for what takes long."""
    from bough.record import progress_bar

    return progress_bar(what, None, watched())


def show_json(value: Any) -> None:
    """One JSON document; numbers that JSON does not have (NaN, infinity) are null."""
    typer.echo(json.dumps(plain(value), indent=1, ensure_ascii=False))


def report(json: bool, facts: Any, *lines: str) -> None:
    """A result: one JSON document for machines, or lines of text."""
    if json:
        show_json(facts)
    for line in () if json else lines:
        say(line)


def wrote(*paths: Path | None) -> list[str]:
    """A line for each file that was written."""
    return [f"wrote {path}" for path in paths if path is not None]


def plain(value: Any) -> Any:
    """Arrays, dataclasses and their like as what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def watched() -> bool:
    """Whether standard error is a terminal: progress is shown there only."""
    return sys.stderr.isatty()


def fail(error: BaseException) -> int:
    """Print an error as one line; the exit code: 2 where the request was wrong, 1 where its execution failed."""
    from bough.errors import BoughError, CheckpointError, NumericalError, RecordingError, SweepError, TooLargeError

    known = isinstance(error, BoughError | OSError | ValueError)
    sentence = " ".join(str(error).split("\n")) or type(error).__name__
    if isinstance(error, MemoryError) and not isinstance(error, BoughError):
        sentence = "there is not enough memory for this"
    elif not known:
        sentence = f"unexpected {type(error).__name__}: {sentence} (--debug shows where)"
    typer.secho(f"error: {sentence}", err=True, fg="red", bold=True)
    failed = (CheckpointError, NumericalError, RecordingError, SweepError, OSError, MemoryError)
    refused = isinstance(error, TooLargeError) or (isinstance(error, BoughError) and not isinstance(error, failed))
    return USAGE if refused or (isinstance(error, ValueError) and not isinstance(error, failed)) else FAILED
