"""Table 1: cost of factorization, back-substitution and products with a sparse factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bough import cost
from bough.compile.graph.program import OperationCount
from bough.sparsity import products
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.sparsity.ltl import ltl, ltl_solve
from bough.tree import Tree
from papers.counting import on_tree
from papers.result import Result, Row, of_formula
from papers.topologies import small_trees


class Operation(NamedTuple):
    """A line of the table: what is printed, the formula, and the kernel that does it (on a vector or not)."""

    what: str
    printed: str
    formula: Callable[[Tree], OperationCount]
    kernel: Callable[..., Any]
    on_vector: bool


def _multiply(unit: bool) -> Callable[[Tree], OperationCount]:
    return lambda tree: cost.factor_multiply(tree, unit=unit)


def _solve(unit: bool) -> Callable[[Tree], OperationCount]:
    return lambda tree: cost.factor_solve(tree, unit=unit)


OPERATIONS = (
    Operation("LTL: factorize", "n sqrt + D1 d + D2 (m + a)", cost.ltl, ltl, False),
    Operation("LTL: back-substitute", "2n d + 2 D1 (m + a)", cost.ltl_solve, ltl_solve, True),
    Operation("LTL: L x", "n m + D1 (m + a)", _multiply(False), products.lmul, True),
    Operation("LTL: L' x", "n m + D1 (m + a)", _multiply(False), products.ltmul, True),
    Operation("LTL: L^-1 x", "n d + D1 (m + a)", _solve(False), products.lsolve, True),
    Operation("LTL: L^-T x", "n d + D1 (m + a)", _solve(False), products.ltsolve, True),
    Operation("LTDL: factorize", "D1 d + D2 (m + a)", cost.ltdl, ltdl, False),
    Operation("LTDL: back-substitute", "n d + 2 D1 (m + a)", cost.ltdl_solve, ltdl_solve, True),
    Operation("LTDL: L x", "D1 (m + a)", _multiply(True), products.unit_lmul, True),
    Operation("LTDL: L' x", "D1 (m + a)", _multiply(True), products.unit_ltmul, True),
    Operation("LTDL: L^-1 x", "D1 (m + a)", _solve(True), products.unit_lsolve, True),
    Operation("LTDL: L^-T x", "D1 (m + a)", _solve(True), products.unit_ltsolve, True),
)


def run(full: bool = False) -> Result:
    """Every kernel executed on nine trees; the formulas are those printed."""
    trees = small_trees()
    rows = [row for operation in OPERATIONS for row in compare(operation, trees)]
    return Result(tuple(rows), remarks=(f"Executed on {len(trees)} trees: {', '.join(trees)}.",))


def compare(operation: Operation, trees: dict[str, Tree]) -> list[Row]:
    """One row if all trees agree with the formula, and one more for each that does not."""
    found = {name: on_tree(operation.kernel, tree, *[1] * operation.on_vector) for name, tree in trees.items()}
    agree = [of_formula(f"{operation.what}, {n}", operation.formula(trees[n]), count) for n, count in found.items()]
    shown = Row(
        operation.what,
        operation.printed,
        f"executed on the humanoid: {found['humanoid 30']}",
        "",
        agree[0].status,
        f"the same on {sum(row.status == 'exact' for row in agree)} of {len(agree)} trees",
        f"humanoid: {operation.formula(trees['humanoid 30'])}",
    )
    return [shown, *(row for row in agree if row.status != "exact")]
