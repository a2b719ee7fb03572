"""How the kernels of this package are called: compiled, or as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bough.compile.run import direct
from bough.compile.settings import interpreted


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled on its first call; plain Python when BOUGH_INTERPRET is set."""
    return function if interpreted() else partial(direct.call, function)
