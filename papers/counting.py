"""Counting by execution: on a number that only counts what is done to it, or on symbols, where repeats are free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.compile.graph.expr import Graph
from bough.compile.graph.program import OperationCount, count
from bough.tree import Tree


class Tally:
    """Stands for every number in a kernel: kernels never branch on values, so that they may all be the same."""

    __slots__ = ("add", "div", "mul", "sqrt")

    def __init__(self) -> None:
        self.mul = self.add = self.div = self.sqrt = 0

    def __mul__(self, other: Any) -> Tally:
        self.mul += 1
        return self

    def __add__(self, other: Any) -> Tally:
        self.add += 1
        return self

    def __truediv__(self, other: Any) -> Tally:
        self.div += 1
        return self

    def __neg__(self) -> Tally:
        return self

    def __float__(self) -> float:
        """Only the square root asks for it: its result is a plain number, which the operators below take."""
        self.sqrt += 1
        return 1.0

    __sub__ = __rsub__ = __radd__ = __add__
    __rmul__ = __mul__
    __rtruediv__ = __truediv__

    def filled(self, *shape: int) -> npt.NDArray[Any]:
        """An array of these numbers."""
        return np.full(shape, self, object)

    @property
    def count(self) -> OperationCount:
        return OperationCount(self.mul, self.add, self.div, self.sqrt)


def executed(kernel: Callable[..., Any], *arguments: Any) -> OperationCount:
    """Operations of one call. Shapes (tuples of integers) stand for arrays of numbers, `float` for one number."""
    tally = Tally()
    given = [tally if x is float else tally.filled(*x) if _is_shape(x) else x for x in arguments]
    kernel(*given)
    return tally.count


def on_tree(kernel: Callable[..., Any], tree: Tree, *columns: int) -> OperationCount:
    """Operations of a kernel of `sparsity` on packed rows, and on n by k arrays where it takes them."""
    parent, rows = tree.regular.tolist(), tree.rows.tolist()
    return executed(kernel, parent, rows, (tree.D1 + tree.n,), *((tree.n, k) for k in columns))


def traced(function: Callable[..., Any], *sizes: int) -> OperationCount:
    """Operations of a function of tuples of these sizes (1: one number), equal expressions counted once."""
    graph = Graph()
    given = [tuple(graph.input(k, i) for i in range(size)) for k, size in enumerate(sizes)]
    found = function(*(x[0] if len(x) == 1 else x for x in given))
    return count(graph, [graph.operand(x) for x in (found if isinstance(found, tuple) else (found,))])


def _is_shape(x: Any) -> bool:
    return type(x) is tuple and all(type(n) is int for n in x)
