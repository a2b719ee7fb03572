"""Table 2, Fig. 4 and section 3: cost of the factorization for three kinds of trees, and the estimate by alpha."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import cost
from bough.sparsity.udut import udut
from bough.tree import Tree
from papers.counting import on_tree
from papers.featherstone2005.table2 import FAMILIES
from papers.result import Figure, Result, Row, exact, rounded
from papers.style import legend_outside
from papers.topologies import balanced, chain, span_grid

KINDS = {"chain": "unbranched", "binary tree": "balanced tree, n = 2^m - 1",
         "square grid": "spanning tree of a grid, n = m^2"}  # fmt: skip
RATIOS = ((balanced(4), "7.75"), (balanced(8), "434"), (span_grid(4), "5.29"), (span_grid(16), "73.9"))
DENSITIES = (("binary tree", balanced(4), "0.37", "7.3"), ("square grid", span_grid(4), "0.44", "5.2"))


def run(full: bool = False) -> Result:
    """UDU' executed for every size; N1 is its divisions and N2 its multiplications."""
    rows = [_family(kind, name) for kind, name in KINDS.items()]
    for tree, printed in RATIOS:
        rows.append(rounded(f"dense / sparse at n = {tree.n}", printed, operations(chain(tree.n)) / operations(tree)))
    for kind, tree, alpha, estimate in DENSITIES:
        rule = cost.density_rule(tree)
        rows.append(rounded(f"{kind}, n = {tree.n}: alpha", alpha, rule.density))
        rows.append(rounded(f"{kind}, n = {tree.n}: estimate 1/alpha^2", estimate, rule.factorize))
    rows.append(_order())
    caption = (
        "Operations of the UDU' factorization (N1 + 2 N2, executed) against the order n of the matrix. On the chain "
        "the matrix is full and the cost grows as n^3, on the grid as n^2, on the binary tree as n (log n)^2."
    )
    return Result(tuple(rows), (Figure("cost", caption, draw),))


def operations(tree: Tree) -> int:
    return on_tree(udut, tree).total


def _family(kind: str, name: str) -> Row:
    N1, N2, make, formula, sizes = FAMILIES[name]
    found = [on_tree(udut, make(m)) for m in sizes]
    same = [(c.div, c.mul, c.add) == (s.D1, s.D2, s.D2) for c, s in zip(found, map(formula, sizes), strict=True)]
    status = exact("", True, all(same)).status
    last = f"at {sizes[-1]}: {found[-1].div:,} d, {found[-1].mul:,} (m + a)"
    return Row(f"{kind}: N1, N2", f"{N1}, {N2}", f"executed, {last}", "", status, f"sizes {sizes[0]} to {sizes[-1]}")


def _order() -> Row:
    """Which of the two readings of "n log2 n" holds: N2 over each, at growing depths."""
    found = {m: cost.balanced(m) for m in (8, 16, 32)}
    squared = [s.D2 / (s.n * m**2) for m, s in found.items()]
    plain = [s.D2 / (s.n * m) for m, s in found.items()]
    assert squared[-1] < 0.5 < plain[0] < plain[1] < plain[2]
    return Row(
        "binary tree: order of the cost", "n log2 n", "n (log2 n)^2", "", "corrected (erratum E15)",
        f"at depths 8, 16, 32: N2 / (n m^2) = {', '.join(f'{x:.2f}' for x in squared)} tends to 1/2; "
        f"N2 / (n m) = {', '.join(f'{x:.1f}' for x in plain)} grows",
    )  # fmt: skip


def draw(canvas: Any) -> None:
    axes = canvas.subplots()
    sizes = {"chain": [chain(n) for n in range(1, 65, 3)], "square grid": [span_grid(m) for m in range(1, 9)],
             "binary tree": [balanced(m) for m in range(1, 7)]}  # fmt: skip
    for (kind, trees), mark in zip(sizes.items(), "osD", strict=True):
        axes.plot([t.n for t in trees], [operations(t) for t in trees], marker=mark, label=kind)
    axes.set_xlabel("order n of the matrix")
    axes.set_ylabel("operations, N1 + 2 N2")
    axes.set_ylim(0, 20_000)
    axes.set_xticks(np.arange(0, 65, 8))
    legend_outside(canvas, axes)
