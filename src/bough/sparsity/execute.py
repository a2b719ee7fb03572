"""How the kernels of this package are run on arrays of numbers: the one place that decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bough.compile.settings import interpreted
from bough.sparsity.routines import vector_function
from bough.tree import Tree


def run(kernel: Callable[..., None], *arrays: Any) -> None:
    """Call `kernel` on int64 and float arrays (flat, or 2-d and C-contiguous), which it may overwrite.

    Compiled; with BOUGH_INTERPRET=1 in the environment, as plain Python.
    """
    if interpreted():
        with np.errstate(all="ignore"):
            kernel(*arrays)
        return
    from bough.compile.run import direct

    direct.call(kernel, *arrays)


def run_on_vector(tree: Tree, kernel: Callable[..., None], L: Any, x: Any) -> Any:
    """The product `kernel` of a factor in packed rows with a vector (n,) in the user's order."""
    return vector_function(tree, kernel, L.dtype)(L, x)
