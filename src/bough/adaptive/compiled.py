"""The one place where this package is compiled: Numba, cached on disk under a digest of every source it is made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from bough.compile.cache import directory
from bough.compile.kernel import make_known_to_numba

# Contraction and reciprocals keep full accuracy; reassociation would not.
FAST_MATH = {"contract", "arcp"}
INTERPRETED = bool(os.environ.get("BOUGH_INTERPRET"))


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled on its first call; plain Python when BOUGH_INTERPRET is set."""
    if INTERPRETED:
        return function
    import numba

    make_known_to_numba()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_cache_directory())
    try:
        return numba.njit(cache=True, error_model="numpy", fastmath=FAST_MATH, nogil=True, _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = before


@cache
def _cache_directory() -> Path:
    """Numba tracks the file of a function, not those of the functions it calls: a change in any gives a new place."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    below = [package.parent / name for name in ("joints.py", "inertia.py", "spatial.py", "compile/scalar.py")]
    for path in [*sorted(package.glob("*.py")), *below]:
        digest.update(path.read_bytes())
    return directory() / f"adaptive-{digest.hexdigest()[:24]}"
