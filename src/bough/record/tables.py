"""Parquet tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bough.errors import RecordingError, required
from bough.record.files import replacing

DIGEST = "digest"  # under this name a table keeps the SHA-256 of its columns
SHAPES = "shapes"  # under this name a table keeps the shapes of columns whose rows are arrays of several axes


def write_table(path: str | Path, columns: Mapping[str, Any], facts: Mapping[str, str] | None = None) -> Path:
    """Columns of equal length (arrays, or lists of lists) as a Parquet file, with `facts` and Bough's version."""
    pyarrow, parquet = _arrow()
    try:
        table = pyarrow.table(dict(columns)).replace_schema_metadata(_known(facts))
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise RecordingError(f"these columns have no place in a Parquet table: {error}") from None
    with replacing(path) as file:
        parquet.write_table(table, file)
    return Path(path)


def put_table(
    file: IO[bytes], pieces: Iterable[Mapping[str, npt.NDArray[Any]]], facts: Mapping[str, str] | None = None
) -> None:
    """Pieces of a table, arrays (rows, ...) by name, into a Parquet file: one row group each, written as it comes.

    A row with several numbers is a list of fixed length. The file has a digest of its content, which `read_table`
    compares.
    """
    pyarrow, parquet = _arrow()
    with ExitStack() as stack:
        writer, content = None, dict[str, Any]()
        for columns in pieces:
            listed, shapes = {}, []
            for name, array in columns.items():
                array = np.ascontiguousarray(array)
                shapes.append(f"{name}:{','.join(map(str, array.shape[1:]))}")
                flat = _flat(pyarrow, name, array)
                content.setdefault(name, hashlib.sha256()).update(_bytes(flat))
                size = int(np.prod(array.shape[1:], dtype=int))
                listed[name] = flat if array.ndim == 1 else pyarrow.FixedSizeListArray.from_arrays(flat, size)
            table = pyarrow.table(listed).replace_schema_metadata(_known(facts) | {SHAPES: ";".join(shapes)})
            if writer is None:
                options = {"use_dictionary": False, "compression": "snappy", "write_page_checksum": True}
                writer = stack.enter_context(parquet.ParquetWriter(file, table.schema, **options))
            if not table.schema.equals(writer.schema, check_metadata=True):
                raise RecordingError("all rows of a table have the same columns, of the same shapes and kinds")
            writer.write_table(table)
        if writer is not None:
            writer.add_key_value_metadata({DIGEST: _digest(content, shapes)})


def _flat(pyarrow: Any, name: str, array: npt.NDArray[Any]) -> Any:
    try:
        return pyarrow.array(array.reshape(-1))
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise RecordingError(f"column {name!r} has no place in a Parquet table: {error}") from None


def _bytes(flat: Any) -> bytes:
    """The content of a flat column."""
    numbers = np.asarray(flat)
    return "".join(f"{x!r}\n" for x in numbers).encode() if numbers.dtype == object else numbers.tobytes()


def _digest(content: Mapping[str, Any], shapes: Iterable[str]) -> str:
    """The digest of columns, their names and their shapes, from the digests of their content."""
    words = [";".join(shapes), *(f"{name} {found.hexdigest()}" for name, found in content.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def read_table(path: str | Path, columns: list[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays that `put_table` wrote, with their shapes."""
    pyarrow, parquet = _arrow()
    try:
        known = parquet.read_schema(path).names
        missing = [name for name in columns or () if name not in known]
        if missing:
            raise RecordingError(f"{str(path)!r} has no column {missing[0]!r}; it has {', '.join(known)}")
        table = parquet.read_table(path, columns=columns, page_checksum_verification=True)
        shapes = dict(word.split(":") for word in table.schema.metadata[SHAPES.encode()].decode().split(";"))
        found, content = {}, {}
        for name in table.column_names:
            column = table[name].combine_chunks()
            flat = column.flatten() if shapes[name] else column
            shape = [int(size) for size in shapes[name].split(",") if size]
            found[name] = np.asarray(flat).reshape(len(column), *shape)
            if columns is None:
                content[name] = hashlib.sha256(_bytes(flat))
        digest = (parquet.read_metadata(path).metadata or {}).get(DIGEST.encode(), b"").decode()
        words = [f"{name}:{shape}" for name, shape in shapes.items()]
    except RecordingError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MemoryError, pyarrow.ArrowException) as error:
        raise RecordingError(f"{str(path)!r} is damaged or no part of a sweep: {error}") from None
    if columns is None and digest and digest != _digest(content, words):
        raise RecordingError(f"{str(path)!r} is damaged: its digest does not match its content")
    return found


def table_facts(path: str | Path) -> tuple[dict[str, str], int]:
    """The facts beside a table, and its number of rows; a truncated file is refused."""
    pyarrow, parquet = _arrow()
    try:
        found = parquet.read_metadata(path)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise RecordingError(f"{str(path)!r} is damaged or no Parquet file: {error}") from None
    return {key.decode(): value.decode(errors="replace") for key, value in (found.metadata or {}).items()
            if key != b"ARROW:schema"}, found.num_rows  # fmt: skip


def _known(facts: Mapping[str, str] | None) -> dict[str, str]:
    return {"bough": import_module("bough").__version__} | dict(facts or {})


def _arrow() -> tuple[Any, Any]:
    return required("pyarrow", "tables", "Parquet"), required("pyarrow.parquet", "tables", "Parquet")
