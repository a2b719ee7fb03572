"""`@kernel`: marks a plain function over scalars that may be interpreted, traced or compiled.

A kernel stays inside the subset of Python that Numba compiles, never allocates, and takes no
branch on a floating-point value. It does not know how it is executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_kernels: list[tuple[Callable[..., Any], bool]] = []
_lessons: list[tuple[str, str]] = []
_known_to_numba = 0


def kernel(function: F) -> F:
    """Register `function` as a kernel and return it unchanged: it stays plain Python."""
    _kernels.append((function, False))
    return function


def inlined(function: F) -> F:
    """A kernel that is always pasted into its caller: handing its arguments over would cost more than its work."""
    _kernels.append((function, True))
    return function


def lowered_by(module: str, source: str) -> None:
    """Have `module`, which tells Numba what functions in the file `source` become, imported before it compiles."""
    _lessons.append((module, source))


def lessons_digest() -> str:
    """A digest of what Numba is told, which compiled code depends on, too."""
    digest = hashlib.sha256()
    for module, source in sorted(_lessons):
        found = find_spec(module)
        for path in (source, found.origin if found and found.origin else source):
            digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def make_known_to_numba() -> None:
    """Let Numba inline every kernel. Done when something is first compiled, so that importing bough stays light."""
    global _known_to_numba
    from numba.extending import register_jitable

    from bough.compile.scalar import teach_numba

    if _known_to_numba == 0:
        teach_numba()
    for module, _ in _lessons:
        import_module(module)
    for function, inline in _kernels[_known_to_numba:]:
        register_jitable(forceinline=inline, no_cfunc_wrapper=True)(function)
    _known_to_numba = len(_kernels)
