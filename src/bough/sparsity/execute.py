"""How the kernels of this package are run on arrays of numbers: the one place that decides."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np


def run(kernel: Callable[..., None], *arrays: Any) -> None:
    """Call `kernel` on int64 and float arrays (flat, or 2-d and C-contiguous), which it may overwrite.

    Compiled; with BOUGH_INTERPRET=1 in the environment, as plain Python.
    """
    if os.environ.get("BOUGH_INTERPRET") == "1":
        with np.errstate(all="ignore"):
            kernel(*arrays)
        return
    from bough.compile import general

    general.run(kernel, *arrays)
