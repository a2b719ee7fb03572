"""The folder of a sweep: its description, one Parquet part for each chunk, and a lock for its driver."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import BoughError, RecordingError, SweepError
from bough.record import make_folder, read_table, replacing, table_facts
from bough.sweep.job import Job, digest_of, name_of

JOB, LOCK, SOURCE = "sweep.json", "lock", "job.pickle"


@dataclass(frozen=True)
class SweepFolder:
    """The parts of one sweep, `chunk` rows each, of which there are `rows` in all."""

    folder: Path
    job: dict[str, Any]  # its description
    rows: int
    chunk: int

    @property
    def count(self) -> int:
        """The number of parts."""
        return -(-self.rows // self.chunk)

    @property
    def source(self) -> Path:
        """Where workers find the job."""
        return self.folder.resolve() / SOURCE

    def path(self, chunk: int) -> Path:
        """The file of a chunk."""
        return self.folder / name_of(chunk)

    def write(self, chunk: int, part: bytes) -> None:
        """All of a part, or nothing."""
        with replacing(self.path(chunk)) as file:
            file.write(part)

    def table(self, chunk: int, columns: list[str] | None = None) -> dict[str, npt.NDArray[Any]]:
        """Columns of a part; one that is damaged, of other rows or of another sweep is refused."""
        expected = f"{chunk * self.chunk}:{min((chunk + 1) * self.chunk, self.rows)}"
        facts, _ = table_facts(self.path(chunk))
        if {"sweep": digest_of(self.job), "rows": expected}.items() - facts.items() or "digest" not in facts:
            raise RecordingError(f"{str(self.path(chunk))!r} is not rows {expected} of this sweep: resume it")
        return read_table(self.path(chunk), columns)

    def is_whole(self, chunk: int) -> bool:
        """Whether the part of this chunk exists and is intact."""
        try:
            self.table(chunk)
        except RecordingError:
            return False
        return True

    def missing(self) -> list[int]:
        """Chunks whose parts are not there; damaged parts are removed, and what a kill has left."""
        self.tidy()
        found = [chunk for chunk in range(self.count) if not self.is_whole(chunk)]
        for chunk in found:
            self.path(chunk).unlink(missing_ok=True)  # files that exist are intact, from now on
        return found

    def tidy(self) -> None:
        """Remove what workers that were killed had begun to write."""
        for begun in (*self.folder.glob(".part-*.part"), *self.folder.glob(f".{SOURCE}*.part")):
            begun.unlink(missing_ok=True)


def open_folder(folder: Path) -> SweepFolder:
    """The folder of a sweep that was begun."""
    try:
        found = json.loads((folder / JOB).read_text())
        known = SweepFolder(folder, dict(found["job"]), int(found["rows"]), int(found["chunk"]))
    except FileNotFoundError:
        raise SweepError(f"{folder} is no folder of a sweep: it has no {JOB}") from None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SweepError(f"{folder / JOB} is damaged: {error}") from None
    if known.rows < 1 or known.chunk < 1:
        raise SweepError(f"{folder / JOB} is damaged: {known.rows} rows, {known.chunk} a chunk")
    return known


def folder_for(job: Job, folder: Path, chunk: int | None) -> SweepFolder:
    """The folder of this job, begun if it is not there; that of another job is refused."""
    if (folder / JOB).exists():
        known = open_folder(folder)
        if known.job != job.description:
            raise SweepError(f"{folder} holds another sweep: {_difference(known.job, job.description)}")
        if chunk not in (None, known.chunk):
            raise SweepError(f"{folder} was begun with {known.chunk} rows a chunk, not {chunk}")
        return known
    if any(folder.glob("part-*.parquet")):
        raise SweepError(f"{folder} has parts of a sweep, but no {JOB} that says of which")
    found = SweepFolder(folder, job.description, job.rows.count, chunk or job.chunk_size())
    with replacing(folder / JOB) as file:
        file.write(json.dumps({"job": found.job, "rows": found.rows, "chunk": found.chunk}, indent=1).encode())
    return found


def _difference(known: dict[str, Any], job: dict[str, Any]) -> str:
    names = [name for name in job if known.get(name) != job[name]]
    return "; ".join(f"{name} is {known.get(name)}, now: {job[name]}" for name in names)


@explained
def read(folder: str | Path, columns: list[str] | None = None, *, partial: bool = False) -> dict[str, npt.NDArray[Any]]:
    """Columns of a sweep as arrays, in the order of the rows.

    One with parts missing is refused; with `partial`, the rows of the parts that are there and whole are returned, and
    the column `row` says which they are.
    """
    with file_errors(Path(folder)):
        known = open_folder(Path(folder))
    missing = [known.path(chunk).name for chunk in range(known.count) if not known.path(chunk).exists()]
    if missing and not partial:
        raise SweepError(f"{folder}: {len(missing)} of {known.count} parts are missing, first {missing[0]}: resume it")
    read = columns if columns is None or not partial or "row" in columns else ["row", *columns]
    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for chunk in range(known.count):
        try:
            tables[name_of(chunk)] = known.table(chunk, read)
        except RecordingError:
            if not partial:
                raise
    if not tables:
        raise SweepError(f"{folder}: none of {known.count} parts is there: resume it")
    return _joined(Path(folder), tables)


def _joined(folder: Path, tables: dict[str, dict[str, npt.NDArray[Any]]]) -> dict[str, npt.NDArray[Any]]:
    """Tables of the same columns, one after the other."""
    (first, known), *others = tables.items()
    for name, table in others:
        if table.keys() != known.keys():
            raise SweepError(f"{folder}: {name} has the columns {', '.join(table)}, but {first} {', '.join(known)}")
        for column, array in table.items():
            if array.shape[1:] != known[column].shape[1:]:
                shapes = f"{array.shape[1:]} in {name} and {known[column].shape[1:]} in {first}"
                raise SweepError(f"{folder}: rows of {column!r} have shape {shapes}; all must be alike")
    return {column: np.concatenate([table[column] for table in tables.values()]) for column in known}


@contextmanager
def file_errors(folder: Path) -> Iterator[None]:
    """Raise one `SweepError` for errors of the file system: a folder in the place of a file, a full disk."""
    try:
        yield
    except BoughError:
        raise
    except OSError as error:
        raise SweepError(f"{error.filename or folder}: {error.strerror or error}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One driver at a time in the folder, which is made; the lock of one that was killed is free again."""
    make_folder(folder)
    with open(folder / LOCK, "a+b") as file:
        try:
            _lock(file)
        except OSError:
            raise SweepError(f"another sweep is writing into {folder}") from None
        yield


def _lock(file: IO[bytes]) -> None:
    if os.name == "nt":
        import msvcrt

        getattr(msvcrt, "locking")(file.fileno(), getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009  (not in all stubs)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
