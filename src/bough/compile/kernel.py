"""`@kernel`: marks a plain function over scalars that may be interpreted, traced or compiled.

A kernel stays inside the subset of Python that Numba compiles, never allocates, and takes no
branch on a floating-point value. It does not know how it is executed.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[Callable[..., Any]] = []
_known_to_numba = 0


def kernel(function: F) -> F:
    """Register `function` as a kernel and return it unchanged: it stays plain Python."""
    _kernels.append(function)
    return function


def make_known_to_numba() -> None:
    """Let Numba inline every kernel. Done when something is first compiled, so that importing bough stays light."""
    global _known_to_numba
    from numba.extending import register_jitable

    from bough.compile.scalar import teach_numba

    if _known_to_numba == 0:
        teach_numba()
    for function in _kernels[_known_to_numba:]:
        register_jitable(function)
    _known_to_numba = len(_kernels)


@cache
def source_hash(function: Callable[..., Any]) -> str:
    """A digest of the files of a kernel and of all kernels it calls: code compiled from others is never reused."""
    digest = hashlib.sha256()
    for name in sorted({inspect.getfile(f) for f in called_kernels(function)}):
        with open(name, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def called_kernels(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """The kernels that `function` calls, directly or not, and itself."""
    known, found, waiting = set(_kernels), {function}, [function]
    while waiting:
        code, scope = waiting[-1].__code__, waiting.pop().__globals__
        for name in code.co_names:
            called = scope.get(name)
            if isinstance(called, FunctionType) and called in known and called not in found:
                found.add(called)
                waiting.append(called)
    return found
