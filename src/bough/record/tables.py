"""Parquet tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bough.errors import RecordingError, required
from bough.record.files import replacing

SHAPES = "shapes"  # under this name a table keeps the shapes of columns whose rows are arrays of several axes


def write_table(path: str | Path, columns: Mapping[str, Any], facts: Mapping[str, str] | None = None) -> Path:
    """Columns of equal length (arrays, or lists of lists) as a Parquet file, with `facts` and Bough's version."""
    pyarrow, parquet = _arrow()
    table = pyarrow.table(dict(columns)).replace_schema_metadata(_known(facts))
    with replacing(path) as file:
        parquet.write_table(table, file)
    return Path(path)


def put_table(
    file: IO[bytes], pieces: Iterable[Mapping[str, npt.NDArray[Any]]], facts: Mapping[str, str] | None = None
) -> None:
    """Pieces of a table, arrays (rows, ...) by name, into a Parquet file: one row group each, written as it comes.

    A row with several numbers is a list of fixed length.
    """
    pyarrow, parquet = _arrow()
    with ExitStack() as stack:
        writer = None
        for columns in pieces:
            listed, shapes = {}, []
            for name, array in columns.items():
                array = np.ascontiguousarray(array)
                shapes.append(f"{name}:{','.join(map(str, array.shape[1:]))}")
                flat = pyarrow.array(array.reshape(-1))
                size = int(np.prod(array.shape[1:], dtype=int))
                listed[name] = flat if array.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, size)
            table = pyarrow.table(listed).replace_schema_metadata(_known(facts) | {SHAPES: ";".join(shapes)})
            if writer is None:
                options = {"use_dictionary": False, "compression": "snappy", "write_page_checksum": True}
                writer = stack.enter_context(parquet.ParquetWriter(file, table.schema, **options))
            if not table.schema.equals(writer.schema, check_metadata=True):
                raise RecordingError("all rows of a table have the same columns, of the same shapes and kinds")
            writer.write_table(table)


def read_table(path: str | Path, columns: list[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """What `put_table` wrote, from a file: arrays of the shapes that were given."""
    _, parquet = _arrow()
    try:
        table = parquet.read_table(path, columns=columns, page_checksum_verification=True)
        shapes = dict(word.split(":") for word in table.schema.metadata[SHAPES.encode()].decode().split(";"))
        found = {}
        for name in table.column_names:
            column = table[name].combine_chunks()
            flat = column.flatten() if shapes[name] else column
            shape = [int(size) for size in shapes[name].split(",") if size]
            found[name] = np.asarray(flat).reshape(len(column), *shape)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(f"{str(path)!r} is damaged or no part of a sweep: {error}") from None
    return found


def table_facts(path: str | Path) -> tuple[dict[str, str], int]:
    """What is written beside a table, and how many rows it has; a file cut short is refused."""
    _, parquet = _arrow()
    try:
        found = parquet.read_metadata(path)
    except (OSError, ValueError) as error:
        raise RecordingError(f"{str(path)!r} is damaged or no Parquet file: {error}") from None
    return {key.decode(): value.decode(errors="replace") for key, value in (found.metadata or {}).items()
            if key != b"ARROW:schema"}, found.num_rows  # fmt: skip


def _known(facts: Mapping[str, str] | None) -> dict[str, str]:
    return {"bough": import_module("bough").__version__} | dict(facts or {})


def _arrow() -> tuple[Any, Any]:
    return required("pyarrow", "tables", "Parquet"), required("pyarrow.parquet", "tables", "Parquet")
