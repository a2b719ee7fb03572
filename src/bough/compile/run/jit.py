"""Machine code of kernels: translated to LLVM as they are written, optimised when all of them are together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bough.compile.identity import identity
from bough.compile.lower.kinds import ENTRY
from bough.compile.run import cache, native


def load(kernel: Callable[..., Any], how: str, text: Callable[[], str]) -> native.LoadedCode:
    """The code of a kernel, from the disk cache or compiled now from `text`, which depends on nothing but `how`."""
    what = (identity(kernel), how)
    with native.compiling:
        made = cache.fetch(f"jit {what}", lambda: native.compile_ir(text(), level=3, optimise=True))
        return native.load(made, ENTRY)
