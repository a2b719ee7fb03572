"""Compiling kernels, plain functions over scalars: interpreted, specialised or general.

Belongs here: kernels, routines, the ways to execute them (`executions`) and, in packages of their own, graphs, text and
machine code. Does not belong here: any physics, any name of a computed quantity.

How a call runs: `executions.bind_arrays` binds a `Routine` and its `Constants`. The first call compiles them to an
`Entry` (`run.call`) and makes a call trampoline (`run.gate`). Later calls with arrays that fit run that trampoline
alone; batches run it on several threads (`run.threads`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bough.compile.derived import jvp as jvp
    from bough.compile.derived import vjp as vjp
    from bough.compile.executions import BoundFunction as BoundFunction
    from bough.compile.executions import CompiledFunction as CompiledFunction
    from bough.compile.executions import Execution as Execution
    from bough.compile.executions import bind_arrays as bind_arrays
    from bough.compile.routine import Constants as Constants
    from bough.compile.routine import Routine as Routine

# Public names and the files that they are in, which are imported when they are used: kernels need none of them
_FILES = {
    "BoundFunction": "executions",
    "CompiledFunction": "function",
    "Constants": "routine",
    "Execution": "executions",
    "Routine": "routine",
    "bind_arrays": "executions",
    "jvp": "derived",
    "vjp": "derived",
}
__all__ = [*_FILES]


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'bough.compile' has no attribute {name!r}")
    return getattr(import_module(f"bough.compile.{_FILES[name]}"), name)
