"""Table 2: D1 and D2 of four families of trees, and the ratios of section 4.2."""

from __future__ import annotations

from collections.abc import Callable

from bough import cost
from bough.compile.graph.program import OperationCount
from bough.sparsity.ltdl import ltdl
from bough.tree import Tree
from papers.counting import on_tree
from papers.result import Result, Row, exact, of_formula, rounded
from papers.topologies import balanced, chain, side_branches, span_grid

FAMILIES: dict[str, tuple[str, str, Callable[[int], Tree], Callable[[int], cost.TreeSums], range]] = {
    "unbranched": ("(n^2 - n)/2", "(n^3 - n)/6", chain, cost.unbranched, range(1, 31)),
    "short side branches, n = 2m": (
        "m^2", "(2m^3 + 3m^2 + m)/6", side_branches, cost.short_side_branches, range(1, 13),
    ),
    "balanced tree, n = 2^m - 1": ("sum i 2^i", "sum i(i + 1) 2^(i-1)", balanced, cost.balanced, range(1, 10)),
    "spanning tree of a grid, n = m^2": (
        "m^3 - m^2", "(7m^4 - 6m^3 - m^2)/12", span_grid, cost.span_grid, range(1, 13),
    ),
}  # fmt: skip
# the ratio of a dense to a sparse factorization that section 4.2 prints, by tree
RATIOS = (("balanced tree", balanced, 4, "7.8"), ("balanced tree", balanced, 8, "430"),
          ("grid", span_grid, 4, "5.3"), ("grid", span_grid, 16, "74"))  # fmt: skip
LARGE = (("balanced tree", balanced, cost.balanced, 8), ("grid", span_grid, cost.span_grid, 16))
# side branches: bodies in each, how many on each node, and the share beta of the main chain
LIMITS = ((1, 1, 2), (2, 1, 3), (1, 2, 3))
MAIN_CHAIN = 400


def run(full: bool = False) -> Result:
    """LTDL executed for every size; D1 is its divisions and D2 its multiplications."""
    rows = [_family(name) for name in FAMILIES]
    rows += [ratio_to_dense(name, make(m), printed) for name, make, m, printed in RATIOS]
    for name, make, sums, m in LARGE:
        rows.append(of_formula(f"{name}, n = {make(m).n}: LTDL", of_sums(sums(m)), on_tree(ltdl, make(m))))
    rows += [row for case in LIMITS for row in limits(*case)]
    return Result(
        tuple(rows), remarks=("E13: the printed 430 at n = 255 is 434.4 to four digits, as Shimanovskij has it (434).",)
    )


def _family(name: str) -> Row:
    D1, D2, make, formula, sizes = FAMILIES[name]
    counts = {m: on_tree(ltdl, make(m)) for m in sizes}
    printed = {m: formula(m) for m in sizes}
    m = sizes[-1]
    same = all((counts[k].div, counts[k].mul, counts[k].add) == (s.D1, s.D2, s.D2) for k, s in printed.items())
    return Row(
        f"{name}: D1, D2",
        f"{D1}, {D2}",
        f"LTDL executed at {m}: {counts[m].div:,} d, {counts[m].mul:,} (m + a)",
        "",
        exact("", True, same).status,
        f"sizes {sizes[0]} to {sizes[-1]}",
        f"at {m}: {printed[m].D1:,}, {printed[m].D2:,}",
    )


def of_sums(sums: cost.TreeSums) -> OperationCount:
    """D1 d + D2 (m + a)."""
    return OperationCount(mul=sums.D2, add=sums.D2, div=sums.D1)


def operations(tree: Tree) -> int:
    """D1 + 2 D2 by execution: the measure of section 4.2."""
    return on_tree(ltdl, tree).total


def ratio_to_dense(name: str, tree: Tree, printed: str) -> Row:
    """Both factorizations executed: the dense one is that of a chain."""
    found = operations(chain(tree.n)) / operations(tree)
    note = "E13: 434.4 to four digits" if printed == "430" else ""
    return rounded(f"{name}, n = {tree.n}: dense / sparse", printed, found, note)


def limits(length: int, per_node: int, divisor: int) -> list[Row]:
    """Section 4.2: D1 and D2 of long chains with side branches tend to beta and beta^2 of the unbranched ones."""
    tree = side_branches(MAIN_CHAIN, length, per_node)
    dense = cost.unbranched(tree.n)
    what = f"side branches of {length}, {per_node} on each node, main chain of {MAIN_CHAIN}"
    rows = []
    for label, found, power in (("D1", tree.D1 / dense.D1, 1), ("D2", tree.D2 / dense.D2, 2)):
        value, limit = divisor**power, 1 / divisor**power
        close = abs(found / limit - 1) < 0.02
        status = "rounds to printed" if close else "differs"
        rows.append(
            Row(f"{what}: {label} / unbranched", f"-> 1/{value}", f"{found:.4f}", f"{found - limit:+.1g}", status)
        )
    return rows
