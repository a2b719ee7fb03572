"""Files that commands will write: refused before the work is done, not after it."""

from __future__ import annotations

import os
from pathlib import Path

from bough.errors import OptionError, short
from bough.record import is_special


def check_recording(path: Path | None) -> None:
    """A .npz or .parquet file in a folder that is there."""
    if path is None:
        return
    if path.suffix not in (".npz", ".parquet"):
        raise OptionError(f"--record {short(str(path))!r}: a recording is written as .npz or .parquet")
    if path.suffix == ".parquet":
        from importlib.util import find_spec

        if find_spec("pyarrow") is None:
            raise OptionError("--record to .parquet needs pyarrow: pip install 'bough[tables]'")
    check_folder(path)


def make_folder(path: Path) -> None:
    """A folder that is there, or is made, and may be written into."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"{short(str(path))!r} cannot be made a folder: {error.strerror}") from None
    check_folder(path / "report")


def check_folder(path: Path) -> None:
    """The folder of a file is there, and may be written into."""
    if path.is_dir():
        raise OptionError(f"{short(str(path))!r} is a folder, expected the name of a file")
    if is_special(path):
        if not os.access(path, os.W_OK):
            raise OptionError(f"{short(str(path))!r} may not be written to")
        return
    if not path.parent.is_dir():
        raise OptionError(f"{short(str(path))!r}: there is no folder {short(str(path.parent))!r}")
    if not os.access(path.parent, os.W_OK):
        raise OptionError(f"{short(str(path))!r}: the folder {short(str(path.parent))!r} may not be written into")
