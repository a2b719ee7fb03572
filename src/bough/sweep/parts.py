"""The folder of a sweep: its description, one Parquet part for each chunk, and a lock for its driver."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import RecordingError, SweepError
from bough.record import read_table, replacing, table_facts
from bough.sweep.job import Job, name_of

JOB, LOCK, SOURCE = "sweep.json", "lock", "job.pickle"


class SweepFolder:
    """Parts of a job in a folder, which is made if it is not there; that of another job is refused."""

    def __init__(self, folder: str | Path, job: Job, chunk: int | None) -> None:
        self.folder, self.job = Path(folder), job
        self.folder.mkdir(parents=True, exist_ok=True)
        known = described(self.folder) if (self.folder / JOB).exists() else None
        if known is None:
            if any(self.folder.glob("part-*.parquet")):
                raise SweepError(f"{self.folder} has parts of a sweep, but no {JOB} that says of which")
            self.chunk = chunk or job.chunk_size()
            text = json.dumps({"job": job.description, "rows": job.rows.count, "chunk": self.chunk}, indent=1)
            with replacing(self.folder / JOB) as file:
                file.write(text.encode())
            return
        self.chunk = int(known["chunk"])
        if known["job"] != job.description:
            raise SweepError(f"{self.folder} holds another sweep: {_difference(known['job'], job.description)}")
        if chunk not in (None, self.chunk):
            raise SweepError(f"{self.folder} was begun with {self.chunk} rows a chunk, not {chunk}")

    @property
    def count(self) -> int:
        """How many parts there will be."""
        return -(-self.job.rows.count // self.chunk)

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

    def missing(self) -> list[int]:
        """Chunks whose parts are not there; parts that are damaged are made again, leftovers of a kill removed."""
        self.tidy()
        found = [chunk for chunk in range(self.count) if not self.is_whole(chunk)]
        for chunk in found:
            self.path(chunk).unlink(missing_ok=True)  # what is there is whole, from now on
        return found

    def tidy(self) -> None:
        """Remove what workers that were killed had begun to write."""
        for begun in (*self.folder.glob(".part-*.part"), *self.folder.glob(f".{SOURCE}*.part")):
            begun.unlink(missing_ok=True)

    def is_whole(self, chunk: int) -> bool:
        """Is the part of this chunk there, and all of it as it was written?"""
        start, stop = chunk * self.chunk, min((chunk + 1) * self.chunk, self.job.rows.count)
        if not self.path(chunk).exists():
            return False
        try:
            facts, rows = table_facts(self.path(chunk))
            expected = {"sweep": self.job.digest, "rows": f"{start}:{stop}"}
            if rows != stop - start or not expected.items() <= facts.items() or "digest" not in facts:
                return False
            read_table(self.path(chunk))  # compares the digest
        except RecordingError:
            return False
        return True


def described(folder: Path) -> dict[str, Any]:
    """What is written about the sweep in a folder."""
    try:
        found = json.loads((folder / JOB).read_text())
        return {"job": dict(found["job"]), "rows": int(found["rows"]), "chunk": int(found["chunk"])}
    except FileNotFoundError:
        raise SweepError(f"{folder} is no folder of a sweep: it has no {JOB}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise SweepError(f"{folder / JOB} is damaged: {error}") from None


def _difference(known: dict[str, Any], asked: dict[str, Any]) -> str:
    names = [name for name in asked if known.get(name) != asked[name]]
    return "; ".join(f"{name} is {known.get(name)}, asked for: {asked[name]}" for name in names)


@explained
def read(folder: str | Path, columns: list[str] | None = None, *, partial: bool = False) -> dict[str, npt.NDArray[Any]]:
    """Columns of a sweep as arrays, in the order of the rows.

    One with parts missing is refused; with `partial`, the rows of the parts that are there and whole are returned, and
    the column `row` says which they are.
    """
    folder = Path(folder)
    known = described(folder)
    paths = [folder / name_of(chunk) for chunk in range(-(-known["rows"] // known["chunk"]))]
    missing = [path.name for path in paths if not path.exists()]
    if missing and not partial:
        raise SweepError(f"{folder}: {len(missing)} of {len(paths)} parts are missing, first {missing[0]}: resume it")
    wanted = columns if columns is None or not partial or "row" in columns else ["row", *columns]
    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for path in paths:
        if path.name in missing:
            continue
        try:
            tables[path.name] = read_table(path, wanted)
        except RecordingError:
            if not partial:
                raise
    if not tables:
        raise SweepError(f"{folder}: none of {len(paths)} parts is there: resume it")
    return _joined(folder, tables)


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
def locked(folder: Path) -> Iterator[None]:
    """One driver at a time; the lock of one that was killed is free again."""
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
