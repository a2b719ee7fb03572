"""Prices in operations, and sums of them."""

from __future__ import annotations

from bough.compile.graph.program import OperationCount


def ops(m: int = 0, a: int = 0, d: int = 0, sqrt: int = 0) -> OperationCount:
    """Multiplications, additions, divisions and square roots."""
    return OperationCount(mul=m, add=a, div=d, sqrt=sqrt)


def total(*terms: tuple[int, OperationCount]) -> OperationCount:
    """The sum of n operations of each price, for pairs (n, price)."""
    columns = zip(*([n * x for x in price.astuple()] for n, price in terms), strict=True)
    return OperationCount(*(sum(column) for column in columns))


def divisions_as_multiplications(cost: OperationCount) -> OperationCount:
    """The convention of F05, section 6."""
    return ops(m=cost.mul + cost.div, a=cost.add, sqrt=cost.sqrt)
