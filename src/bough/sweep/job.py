"""A job: a model, what is done, and for which rows; cut into chunks, each with a part of the table."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import numpy as np

from bough.compile.settings import most_threads
from bough.errors import OptionError, short
from bough.model import Model
from bough.record import put_table, replacing
from bough.sweep.rows import Rows, rows_at_a_time
from bough.sweep.work import Columns, SweepWork, YourOwn

SECONDS = 1.5  # that a chunk is meant to take
MOST_BYTES = 256 * 2**20  # of the file of a chunk


@dataclass(frozen=True, eq=False)
class Job:
    """A computation. `inputs` says whether the table has the rows themselves, too."""

    model: Model
    work: SweepWork
    rows: Rows
    inputs: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("model", "work", "rows", "inputs")}

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Arrays of each row."""
        return self.work.needs(self.model)

    @cached_property
    def evaluate(self) -> Callable[[Columns], Columns]:
        """Made once in each process, and shared by its threads."""
        return self.work.bound(self.model, self.rows.parameters)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The identity of the job: two jobs with one description give the same table."""
        return {
            "model": self.model.name,
            "model_hash": self.model.hash,
            "work": self.work.describe(),
            "rows": self.rows.describe(),
            "inputs": self.inputs,
        }

    @cached_property
    def digest(self) -> str:
        """The description as one word."""
        return digest_of(self.description)

    def columns(self, start: int, stop: int) -> Columns:
        """The table from row `start` to row `stop`."""
        rows = self.rows.take(self.model, self.needs, start, stop)
        with most_threads(1):  # workers run side by side
            found = self.evaluate(rows)
        for name in found:
            if name == "row" or (self.inputs and name in rows):
                raise OptionError(f"a result may not be called {name!r}: the table has a column of that name")
            if not name or {":", ";"} & {*name}:
                raise OptionError(f"a result may not be called {short(name)!r}: expected a name without ':' and ';'")
        return {"row": np.arange(start, stop), **(rows if self.inputs else {}), **found}

    def check(self) -> None:
        """Refuse what cannot be computed, before anything is written; functions of the user's run in workers only."""
        self.rows.take(self.model, self.needs, 0, 1)
        if not isinstance(self.work, YourOwn):
            self.columns(0, 1)

    def put(self, file: IO[bytes], chunk: int, size: int) -> None:
        """The Parquet file of a chunk of `size` rows, into a file that is open."""
        start, stop = chunk * size, min((chunk + 1) * size, self.rows.count)
        piece = rows_at_a_time(self.model)
        cuts = [start, *range(start - start % piece + piece, stop, piece), stop]
        pieces = (self.columns(*ends) for ends in pairwise(cuts))
        put_table(file, pieces, {"sweep": self.digest, "rows": f"{start}:{stop}"})

    def part(self, chunk: int, size: int) -> bytes:
        """The same as bytes, to be sent."""
        file = BytesIO()
        self.put(file, chunk, size)
        return file.getvalue()

    def write(self, folder: Path, chunk: int, size: int) -> None:
        """The same in a folder: all of a part, or nothing. Workers write their own parts where they see the folder."""
        with replacing(folder / name_of(chunk)) as file:
            self.put(file, chunk, size)

    def save(self, path: Path) -> None:
        """The job itself, for workers that see the folder."""
        with replacing(path) as file:
            pickle.dump(self, file)

    def chunk_size(self) -> int:
        """The number of rows that take about `SECONDS`, with their part of the table; measured on the first ones."""
        self.part(0, 1)  # compiles
        tried = 8
        while True:
            tried = min(tried, self.rows.count)
            start = perf_counter()
            weight = len(self.part(0, tried))
            taken = perf_counter() - start
            if taken > 0.1 or tried == self.rows.count or weight > MOST_BYTES // 8:
                break
            tried *= 4
        by_time, by_size = int(tried * SECONDS / (taken + 1e-9)), tried * MOST_BYTES // weight
        rows, piece = min(by_time, by_size), rows_at_a_time(self.model)
        return max(1, min(rows - rows % piece if rows > piece else rows, self.rows.count))


def digest_of(description: dict[str, Any]) -> str:
    """A word for the description of a job."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


def name_of(chunk: int) -> str:
    """Part files sort by number."""
    return f"part-{chunk:06d}.parquet"
