"""Parquet tables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bough.errors import MissingExtraError
from bough.record.files import replacing


def write_table(path: str | Path, columns: Mapping[str, Any], facts: Mapping[str, str] | None = None) -> Path:
    """Columns of equal length (arrays, or lists of lists) as a Parquet file, with `facts` and Bough's version."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing Parquet needs pyarrow: pip install 'bough[tables]'") from None
    known = {"bough": import_module("bough").__version__} | dict(facts or {})
    table = pyarrow.table(dict(columns)).replace_schema_metadata(known)
    with replacing(path) as file:
        parquet.write_table(table, file)
    return Path(path)
