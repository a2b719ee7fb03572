"""Files that are whole or not there: written beside their place, flushed to the disk, then put in it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO

from bough.errors import OptionError, required, short

RECORDINGS = (".npz", ".parquet")


def is_special(path: str | Path) -> bool:
    """Whether `path` leads to something that is neither a regular file nor a folder: a device, a pipe, an open file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or str(path).startswith(("/dev/", "/proc/"))


def check_folder(path: str | Path, *suffixes: str) -> Path:
    """The path of a file that can be written: its folder is there, and its name ends as one of these does, if any."""
    path = Path(path)
    if path.is_dir():
        raise OptionError(f"{short(str(path))!r} is a folder, expected the name of a file")
    if is_special(path):
        if not os.access(path, os.W_OK):
            raise OptionError(f"{short(str(path))!r} may not be written to")
        return path
    if suffixes and path.suffix.lower() not in suffixes:
        raise OptionError(f"{short(str(path))!r}: expected the name of a {' or '.join(suffixes)} file")
    if not path.parent.is_dir():
        raise OptionError(f"{short(str(path))!r}: there is no folder {short(str(path.parent))!r}")
    if not os.access(path.parent, os.W_OK):
        raise OptionError(f"{short(str(path))!r}: the folder {short(str(path.parent))!r} may not be written into")
    return path


def make_folder(path: str | Path) -> Path:
    """A folder to write into, made if it is not there."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OptionError(f"{short(str(path))!r} cannot be a folder: a file is in the way") from None
    return path


def check_recording(path: str | Path) -> Path:
    """The path of a .npz or .parquet file that can be written."""
    path = check_folder(path, *RECORDINGS)
    if path.suffix == ".parquet":
        required("pyarrow", "tables", "a .parquet file")
    return path


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A binary file to write into, which takes the place of `path` when the block ends without an error.

    Until then, and after a crash at any moment, `path` is what it was before. A symbolic link stays, and the file that
    it points to is replaced. Devices and pipes are written to directly: they are never replaced.
    """
    if is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    if path.is_symlink():  # a link that leads to itself
        raise OptionError(f"{short(str(path))!r} is a link that leads nowhere")
    beside = path.parent / f".{path.name[:100]}.{token_hex(6)}.part"
    # opened like any new file, so that the umask, which threads share, need not be read
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(beside, path.stat().st_mode & 0o777)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
