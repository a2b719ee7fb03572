"""How numbers are compared with printed ones."""

from __future__ import annotations

import math

import pytest

from bough.compile.graph.program import OperationCount
from bough.sparsity.ltl import ltl
from bough.tree import Tree
from papers.counting import Tally, executed, on_tree
from papers.result import exact, measured, rounded, same_digits


@pytest.mark.parametrize(
    ("printed", "found", "same"),
    [("7.8", 7.7532, True), ("7.8", 7.7, False), ("430", 434.4, True), ("430", 436.0, False), ("434", 434.4, True),
     ("0.37", 0.3689, True), ("1.277", 1.3135, False), ("24", 24.0, True), ("24", 24.6, False)],
)  # fmt: skip
def test_digits(printed, found, same):
    assert same_digits(printed, found) == same


def test_statuses():
    assert exact("x", 3, 3).status == "exact"
    assert exact("x", 3, 4).status == "differs"
    assert exact("x", 3, 4, erratum="E1").status == "corrected (erratum E1)"
    assert exact("x", 3, 3, erratum="E1").status == "differs"  # then there is nothing to correct
    assert rounded("x", "1.3", 1.28).status == "rounds to printed"
    assert rounded("x", "1.3", 1.5).status == "differs"
    assert rounded("x", "1.3", 1.5, erratum="E2").status == "corrected (erratum E2)"
    assert measured("x", 2.0, 1.0).ratio == "0.5x"
    assert exact("x", True, False, erratum="E9").ratio == ""  # yes and no have none
    assert exact("x", OperationCount(mul=2), OperationCount(mul=3)).ratio == "1.5x"


def test_what_is_done_to_a_tally_is_counted():
    def function(x, a):
        a[0] = x * x + 1.0 / (2.0 - -x)
        a[1] = a[1] * math.sqrt(x)

    assert executed(function, float, (2,)) == OperationCount(mul=2, add=2, div=1, sqrt=1)
    assert on_tree(ltl, Tree([-1, 0])) == OperationCount(mul=1, add=1, div=1, sqrt=2)
    assert Tally().count == OperationCount()
