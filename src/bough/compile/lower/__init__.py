"""Kernels as LLVM: the text of a plain function over scalars, read as it is written, becomes one module of IR.

Belongs here: what each piece of the kernels' subset of Python means to LLVM. Does not belong here: optimising, loading
and keeping the code (`run`), straight-line graphs (`emit`).

Types are found on the way, from the arguments on: whole numbers are i64, others double or float, tuples and arrays are
taken apart into numbers, named tuples in a table are a pointer to their words. A variable that is bound once is a
value; one that is bound again is a place on the stack, which LLVM's optimiser turns into values. Where that was guessed
wrong, or a variable proves to be a float only later, the function is begun again with what was learned.
"""

from __future__ import annotations

from bough.compile.lower.module import of_arguments, of_lanes, of_rows

__all__ = ["of_arguments", "of_lanes", "of_rows"]
