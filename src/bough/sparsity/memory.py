"""Refusing what cannot fit in memory, before it is allocated."""

from __future__ import annotations

import os

from bough.errors import TooLargeError


def require_memory(nbytes: int, what: str) -> None:
    """Refuse an allocation of `nbytes` that the machine cannot hold; `what` begins the sentence."""
    available = available_memory()
    if nbytes > available:
        raise TooLargeError(f"{what} needs {readable(nbytes)} of memory: {readable(available)} are available")


def available_memory() -> int:
    """Bytes that can be allocated now; all that the machine has where the system does not say more."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("MemAvailable"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        if hasattr(os, "sysconf"):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return 2**47  # unknown: the address space of the processor


def readable(nbytes: float) -> str:
    """A size in decimal units, such as "4.01 TB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"
