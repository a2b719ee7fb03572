"""Settings from environment variables, all read here."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from bough.errors import SettingError

OFF = ("", "0", "false", "no", "off")
DEFAULT_LIMIT = 512 * 2**20
_most_threads: ContextVar[int | None] = ContextVar("most_threads", default=None)
_chosen_threads: ContextVar[int | None] = ContextVar("chosen_threads", default=None)


def interpreted() -> bool:
    """BOUGH_INTERPRET: kernels run as plain Python, nothing is compiled."""
    return os.environ.get("BOUGH_INTERPRET", "").strip().lower() not in OFF


def forms_are_timed() -> bool:
    """BOUGH_GPU_TIMED: GPU kernels take the form that is fastest when tried; results may differ in the last digits."""
    return os.environ.get("BOUGH_GPU_TIMED", "").strip().lower() not in OFF


def threads() -> int:
    """The number of `on_threads`, or BOUGH_NUM_THREADS, or the number of CPUs; at most that of `most_threads`."""
    limit, chosen = _most_threads.get(), _chosen_threads.get()
    count = threads_of_environment() if chosen is None else chosen
    return count if limit is None else min(limit, count)


def check_threads(count: int) -> int:
    """A requested number of threads, if it is valid."""
    if not (hasattr(count, "__index__") and count >= 1):
        raise SettingError(f"threads must be a whole number, at least 1, got {count!r}")
    return count


@contextmanager
def on_threads(count: int | None) -> Iterator[None]:
    """Batches in this block, in this thread, are run as if each call had threads=count; None changes nothing.

    For functions that make several calls, so that their own `threads=` reaches all of them.
    """
    if count is None:
        yield
        return
    token = _chosen_threads.set(check_threads(count))
    try:
        yield
    finally:
        _chosen_threads.reset(token)


@contextmanager
def most_threads(count: int) -> Iterator[None]:
    """Batches in this block, in this thread, run on at most so many threads: where many of them run side by side."""
    token = _most_threads.set(count)
    try:
        yield
    finally:
        _most_threads.reset(token)


def threads_of_environment() -> int:
    """BOUGH_NUM_THREADS, or the number of CPUs this process may use."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _number("BOUGH_NUM_THREADS", cpus, least=1)


def cache_limit() -> int:
    """BOUGH_CACHE_LIMIT in bytes, or 512 MiB."""
    return _number("BOUGH_CACHE_LIMIT", DEFAULT_LIMIT, least=0)


def cache_directory() -> Path:
    """BOUGH_CACHE_DIR, or the user's cache directory of the platform."""
    chosen = os.environ.get("BOUGH_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "bough" / "cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "bough"
    return Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache") / "bough"


def _home() -> Path:
    """The user's folder, or a private temporary one without HOME and user name (containers)."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"home-{getattr(os, 'getuid', int)()}"


def _number(name: str, default: int, least: int) -> int:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise SettingError(f"the environment variable {name} is {text!r}; expected a whole number, {least} or more")
    return value
