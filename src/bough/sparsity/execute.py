"""How the kernels of this package are run on arrays of numbers: the one place that decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bough.compile.settings import interpreted


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
