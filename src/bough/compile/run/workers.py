"""Worker threads that never need the GIL: each has memory into which a batch writes its work.

Passing the GIL from thread to thread costs as much as a hundred evaluations, so workers stay in native code
(`serve` in gate.ll): they poll their memory for a moment, then sleep until they are woken, which only Linux offers
(futex). On other systems `threads` takes a thread pool of Python.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable

LOOKS = 4_000  # before falling asleep: a fraction of a millisecond
WORKER_BYTES = 128  # two cache lines: no false sharing
FUTEX = {"x86_64": 202, "AMD64": 202, "aarch64": 98}  # numbers of the system call
X86, ARM = ("llvm.x86.sse2.pause", "", ""), ("llvm.aarch64.hint", "i32", " 1")  # name, type and value of its argument
PAUSE = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}


def are_possible() -> bool:
    """Whether this system supports sleeping workers."""
    return sys.platform == "linux" and platform.machine() in FUTEX


def platform_ir() -> str:
    """@pause, @wake and @sleep of gate.ll for this system; without futexes they only wait a little."""
    machine, declared, pause, call = platform.machine(), [], "", {"wake": "", "sleep": ""}
    if machine in PAUSE:
        name, kind, value = PAUSE[machine]
        declared.append(f"declare void @{name}({kind})")
        pause = f"call void @{name}({kind}{value})"
    if are_possible():
        declared.append("declare i64 @syscall(i64, ...)")
        head = f"%x = call i64 (i64, ...) @syscall(i64 {FUTEX[machine]}, ptr %worker, "
        call = {"wake": head + "i32 129, i32 1)", "sleep": head + "i32 128, i32 0, ptr null)"}  # among threads only
    lines = [f"define internal void @{name}(ptr %worker) {{\n {text}\n ret void\n}}" for name, text in call.items()]
    return "\n".join([*declared, f"define internal void @pause() alwaysinline {{\n {pause}\n ret void\n}}", *lines])


class Worker:
    """The memory of one worker, and its thread."""

    def __init__(self, serve: Callable[[int, int], int]) -> None:
        memory = ctypes.create_string_buffer(2 * WORKER_BYTES)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))  # for ever: the thread polls it until the process ends
        self.address = -(-ctypes.addressof(memory) // WORKER_BYTES) * WORKER_BYTES
        threading.Thread(target=serve, args=(self.address, LOOKS), name="bough worker", daemon=True).start()


_idle: list[Worker] = []


def take(count: int, serve: Callable[[int, int], int]) -> list[Worker]:
    """So many workers, or fewer if no thread can be started, for the caller alone until given back."""
    found: list[Worker] = []
    while len(found) < count:
        try:
            found.append(_idle.pop())
        except IndexError:
            try:
                found.append(Worker(serve))
            except RuntimeError:
                break
    return found


def give_back(found: list[Worker]) -> None:
    """Give workers back; they are idle, as a batch ends when all have finished. They come first the next time."""
    _idle.extend(reversed(found))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads
