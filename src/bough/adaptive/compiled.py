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


def prepared(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """A call of `function`, compiled or not, that may be made again and again on what its arrays hold by then."""
    return partial(function, *arguments) if interpreted() else direct.Call(function, *arguments)
