"""Figure 5: factorization cost against n for the topologies of Table 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough.tree import Tree
from papers.featherstone2005.table2 import operations
from papers.result import MEASURED, Figure, Result, Row
from papers.style import legend_outside, plain_ticks
from papers.topologies import balanced, chain, side_branches, span_grid

LARGEST = 64
SIZES: dict[str, dict[int, Tree]] = {
    "unbranched": {n: chain(n) for n in range(2, LARGEST + 1, 2)},
    "short side branches": {2 * m: side_branches(m) for m in range(1, LARGEST // 2 + 1)},
    "side branches of two": {3 * m: side_branches(m, 2) for m in range(1, LARGEST // 3 + 1)},
    "two side branches a node": {3 * m: side_branches(m, 1, 2) for m in range(1, LARGEST // 3 + 1)},
    "spanning tree of a grid": {m * m: span_grid(m) for m in range(1, 9)},
    "balanced tree": {2**m - 1: balanced(m) for m in range(1, 7)},
}
CUBE = ("n^3", 3.0)
ORDERS = {"spanning tree of a grid": ("n^2", 2.0), "balanced tree": ("n (log n)^2", None)}


def run(full: bool = False) -> Result:
    """D1 + 2 D2 of LTDL by execution; the printed order beside the slope between the two largest sizes."""
    costs = {name: {n: operations(tree) for n, tree in trees.items()} for name, trees in SIZES.items()}
    rows = tuple(_slope(name, costs[name]) for name in SIZES)
    caption = (
        "Operations of the LTDL factorization (D1 + 2 D2, executed) against the number of joints, on logarithmic axes. "
        "The unbranched chain is a full matrix; a side branch on every body costs a fourth of it, longer or double "
        "side branches a ninth (their curves nearly coincide), and the balanced tree grows hardly faster than n."
    )
    return Result(rows, (Figure("cost", caption, lambda canvas: draw(canvas, costs)),), data={"costs": costs})


def _slope(name: str, cost: dict[int, int]) -> Row:
    a, b = sorted(cost)[-2:]
    slope, step = np.log(cost[b] / cost[a]), np.log(b / a)
    order, power = ORDERS.get(name, CUBE)
    expected = power if power else 1 + 2 * np.log(np.log(b) / np.log(a)) / step
    note = f"slope between n = {a} and {b}, where {order} has {expected:.2f}"
    return Row(f"{name}: order", order, f"n^{slope / step:.2f}", "", MEASURED, note)


def draw(canvas: Any, costs: dict[str, dict[int, int]]) -> None:
    axes = canvas.subplots()
    for (name, cost), mark in zip(costs.items(), "os^vDP", strict=True):
        points = {n: c for n, c in cost.items() if c}
        axes.loglog(list(points), list(points.values()), marker=mark, markevery=0.12, label=name)
    plain_ticks(axes.xaxis, [2, 4, 8, 16, 32, 64])
    axes.set_xlabel("joints n")
    axes.set_ylabel("operations, D1 + 2 D2")
    legend_outside(canvas, axes, 3)
