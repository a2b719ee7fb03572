"""The one place where this package is compiled: Numba, cached on disk under a digest of every source it is made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from bough.compile.kernel import make_known_to_numba
from bough.compile.settings import cache_directory, interpreted

F = TypeVar("F", bound=Callable[..., Any])

# Contraction and reciprocals keep full accuracy; reassociation would not.
FAST_MATH = {"contract", "arcp"}
INTERPRETED = interpreted()


_inlined: list[Callable[..., Any]] = []


def inlined(function: F) -> F:
    """A kernel on plan and state, always pasted into its caller: handing these over would cost more than the work."""
    _inlined.append(function)
    return function


def _teach_numba() -> None:
    from numba.extending import register_jitable

    import bough.adaptive.node.vectors  # noqa: F401  (tells Numba what rows are)

    make_known_to_numba()
    while _inlined:
        register_jitable(forceinline=True)(_inlined.pop())


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled on its first call; plain Python when BOUGH_INTERPRET is set."""
    if INTERPRETED:
        return function
    import numba

    _teach_numba()
    before, place = numba.config.CACHE_DIR, _cache_directory()
    numba.config.CACHE_DIR = str(place)
    try:
        options = {"error_model": "numpy", "fastmath": FAST_MATH, "nogil": True, "_nrt": False}
        jitted: Callable[..., Any] = numba.njit(cache=_is_writable(place), **options)(function)
        return jitted
    finally:
        numba.config.CACHE_DIR = before


def _is_writable(place: Path) -> bool:
    """Where nothing can be kept, code is compiled anew by each process."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(place, os.W_OK)


@cache
def _cache_directory() -> Path:
    """Numba tracks the file of a function, not those of the functions it calls: a change in any gives a new place."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    rooms = [package, *(package.parent / name for name in ("joints", "spatial", "compile"))]
    for path in sorted(file for room in rooms for file in room.rglob("*.py")):
        digest.update(path.read_bytes())
    return cache_directory() / f"adaptive-{digest.hexdigest()[:24]}"
