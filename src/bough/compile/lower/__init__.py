"""Kernels as LLVM: the source of a plain function over scalars becomes one module of IR.

Belongs here: the translation of the kernels' subset of Python. Does not belong here: optimising, loading and caching
the code (`run`), straight-line graphs (`emit`).

Types are inferred from the arguments on: whole numbers are i64, others double or float, tuples and arrays are split
into numbers, named tuples in a table are a pointer to their words. A variable that is assigned once is a value; one
that is assigned again is a stack slot, which LLVM's optimiser turns into values. Where that guess was wrong, or a
variable becomes a float only later, the function is translated again.
"""

from __future__ import annotations

from bough.compile.lower.module import of_arguments, of_lanes, of_rows

__all__ = ["of_arguments", "of_lanes", "of_rows"]
