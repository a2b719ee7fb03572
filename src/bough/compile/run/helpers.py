"""Threads that help with a batch: awake for a moment after each job, so that the next one finds them so.

Waking a thread that sleeps takes as long as hundreds of evaluations. So a helper first watches its bell for a
moment, in native code without the GIL; and whoever waits for a helper watches the number of its jobs done.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from queue import SimpleQueue
from typing import Any

from bough.compile.run import native
from bough.compile.run.cache import fetch

LOOKS = 100_000  # before falling asleep: a fraction of a millisecond at most

LINGER = """
define i64 @linger(ptr %word, i64 %seen, i64 %looks) {
entry:
  br label %look
look:
  %left = phi i64 [ %looks, %entry ], [ %less, %again ]
  %now = load atomic i64, ptr %word monotonic, align 8
  %same = icmp eq i64 %now, %seen
  %any = icmp sgt i64 %left, 0
  %on = and i1 %same, %any
  br i1 %on, label %again, label %done
again:
  %less = sub i64 %left, 1
  br label %look
done:
  ret i64 %now
}
"""


@cache
def _linger() -> Callable[[int, int, int], int]:
    """`linger(address, seen, looks)`: wait, but not for long, until the word there is not what was seen."""
    code = native.load(fetch(f"linger {LINGER}", lambda: native.compile_ir(LINGER)), "linger")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(code.address)
    function.code = code  # type: ignore[attr-defined]  # kept in memory
    return function


class SharedCount:
    """A count that one thread raises and another waits for."""

    def __init__(self) -> None:
        self._word = ctypes.c_int64()
        self._address = ctypes.addressof(self._word)
        self._seen = 0
        self._rises: SimpleQueue[None] = SimpleQueue()  # to sleep on

    def up(self) -> None:
        self._rises.put(None)
        self._word.value += 1

    def wait(self) -> None:
        """Until it is raised once more than it was waited for."""
        _linger()(self._address, self._seen, LOOKS)
        self._rises.get()
        self._seen += 1


class Helper:
    """One thread, for one job at a time."""

    def __init__(self) -> None:
        self._bell, self._done = SharedCount(), SharedCount()
        self._job: list[Callable[[], Any]] = []
        self._result: Any = None
        self._error: BaseException | None = None
        self._is_leaving = False
        _linger()  # compiled by the caller, once
        threading.Thread(target=self._serve, name="bough helper", daemon=True).start()

    def start(self, job: Callable[[], Any]) -> None:
        self._job.append(job)
        self._bell.up()

    def finish(self) -> Any:
        """The result of the job; None if it had not begun, and now never will."""
        with suppress(IndexError):
            self._job.pop()
            return None
        self._done.wait()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self._result

    def leave(self) -> None:
        """End the thread, after the job it is at."""
        self._is_leaving = True
        self._bell.up()

    def _serve(self) -> None:
        while True:
            self._bell.wait()
            try:
                job = self._job.pop()
            except IndexError:  # taken back
                if self._is_leaving:
                    return
                continue
            try:
                self._result = job()
            except BaseException as error:
                self._error = error
            del job
            self._done.up()


_idle: list[Helper] = []


@contextmanager
def hired(count: int) -> Iterator[list[Helper]]:
    """So many helpers, or fewer if no thread can be started, for the caller alone; each must be finished with.

    After an interrupt no one knows what they are at: they leave, and others are hired the next time.
    """
    found: list[Helper] = []
    try:
        hire(count, found)
        yield found
    except BaseException:
        for helper in found:
            helper.leave()
        raise
    dismiss(found)


def hire(count: int, found: list[Helper] | None = None) -> list[Helper]:
    """So many helpers, or fewer if no thread can be started; for the caller alone until they are dismissed."""
    found = [] if found is None else found
    for _ in range(count):
        try:
            found.append(_idle.pop())
        except IndexError:
            try:
                found.append(Helper())
            except RuntimeError:
                break
    return found


def dismiss(helpers: list[Helper]) -> None:
    _idle.extend(helpers)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads
