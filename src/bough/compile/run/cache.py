"""Object code on disk, so that nothing is compiled twice on one machine.

One file per entry, named by its key: a header, the key, a digest, the code. A file that is truncated,
damaged or was written for another key is rebuilt, never trusted. Files appear by an atomic rename, so
processes may share the directory. Where it cannot be written, code is compiled in memory, with one warning.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bough.compile.graph.program import Program
from bough.compile.run import notice
from bough.compile.settings import cache_directory, cache_limit

MAGIC = b"bough object code 1\n"
DIGEST_BYTES = 32
SUFFIX = ".code"
TEMPORARY = ".code.part"  # a file that is being written, or that a killed process has left
SOURCES = (".py", ".pyc", ".ll", ".h")  # .pyc if only that is installed


@dataclass(frozen=True)
class CacheInfo:
    """The folder of the cache and its size, in bytes."""

    directory: Path
    entries: int
    size: int
    limit: int


def info() -> CacheInfo:
    """The present size of the cache."""
    sizes = [size for _, size, _ in _entries()]
    return CacheInfo(cache_directory(), len(sizes), sum(sizes), cache_limit())


def clear() -> int:
    """Remove every entry; returns how many there were."""
    entries = list(_entries())
    for _, _, path in entries:
        path.unlink(missing_ok=True)
    return len(entries)


def fingerprint(program: Program) -> str:
    """A digest of the graph, the shapes and the outputs of a program, but not of its names."""
    graph = program.graph
    digest = hashlib.sha256()
    for numbers in (graph.op, graph.a, graph.b, program.flat_roots()):
        digest.update(array("q", numbers).tobytes())
    digest.update(array("d", [*graph.value, *program.parameters]).tobytes())
    digest.update(repr(sorted(program.marks.items(), key=lambda item: item[0])).encode())
    digest.update(repr([[x.shape for x in program.inputs], [x.shape for x in program.outputs]]).encode())
    return digest.hexdigest()


@cache
def compiler_hash() -> str:
    """A digest of the compiler's own sources: code made by another version is never reused."""
    return source_digest("bough.compile")


def source_digest(package: str) -> str:
    """A digest of all sources of a package, in a folder or in a zip file."""
    digest = hashlib.sha256()
    for source in _sources(files(package)):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for found in sorted(folder.iterdir(), key=lambda x: x.name):
        if found.name.endswith(SOURCES):
            yield found
        elif found.name != "__pycache__" and found.is_dir():
            yield from _sources(found)


def fetch(name: str, build: Callable[[], bytes], machine: str | None = None) -> bytes:
    """The code called `name`, for this CPU and by this compiler; `build` makes it if it is missing or damaged.

    `machine` is the target, if not this CPU.
    """
    key = hashlib.sha256(repr((name, machine or _this_cpu(), compiler_hash())).encode()).digest()
    path = cache_directory() / (key.hex() + SUFFIX)
    is_safe = _is_safe(path.parent)
    code = _read(path, key) if is_safe else None
    if code is None:
        with notice.compiling():
            code = build()
        if is_safe:
            _write(path, key, code)
    return code


def _is_safe(folder: Path) -> bool:
    """Whether code in this folder may be run: not if another user could have written it."""
    if not hasattr(os, "geteuid"):
        return True
    try:
        status = folder.stat()
    except OSError:  # not there yet
        return True
    if status.st_uid == os.geteuid() and not status.st_mode & 0o022:
        return True
    _warn_once(f"compiled code is not kept: others can write to {folder}; `chmod go-w` it, or set BOUGH_CACHE_DIR")
    return False


def _this_cpu() -> Any:
    from bough.compile.run.native import host

    return host()


def _read(path: Path, key: bytes) -> bytes | None:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
                return None
            content = file.read()
    except OSError:
        return None
    header = MAGIC + key
    code = content[len(header) + DIGEST_BYTES :]
    if content[: len(header) + DIGEST_BYTES] != header + hashlib.sha256(code).digest():
        return None
    with suppress(OSError):
        os.utime(path)  # recently used: evicted last
    return code


def _write(path: Path, key: bytes, code: bytes) -> None:
    temporary = None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(TEMPORARY, dir=path.parent)
        with open(handle, "wb") as file:
            file.write(MAGIC + key + hashlib.sha256(code).digest() + code)
        os.replace(temporary, path)
        _evict(keep=path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        _warn_once(f"compiled code is not kept: cannot write to {path.parent} ({error.strerror})")


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


def _entries() -> Iterator[tuple[int, int, Path]]:
    """(time of last use, size, path) of each entry and of files of killed writers.

    Another process may remove some meanwhile.
    """
    for path in (x for suffix in (SUFFIX, TEMPORARY) for x in cache_directory().glob("*" + suffix)):
        with suppress(OSError):
            status = path.stat()
            yield status.st_mtime_ns, status.st_size, path


def _evict(keep: Path) -> None:
    """Remove the entries that were used longest ago until the rest fits the limit; `keep` is the newest."""
    entries = sorted(_entries())
    size = sum(item[1] for item in entries)
    for _, freed, path in entries:
        if size <= cache_limit():
            return
        if path != keep:
            path.unlink(missing_ok=True)
            size -= freed
