"""Kinematic trees drawn as graphs: nodes are bodies or degrees of freedom, the base below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bough.tree import Tree
from bough.types import FloatArray
from papers.result import Figure
from papers.style import COLOURS, INK

MOST_NUMBERED = 45  # nodes up to which numbers are legible


def places(tree: Tree) -> FloatArray:
    """(n + 1, 2): leaves side by side in depth-first order, each node above the middle of its children; base last."""
    found, leaves = np.zeros((tree.n + 1, 2)), 0
    for i in tree.order.tolist()[::-1]:
        children = tree.children(i)
        found[i, 1] = len(tree.path(i))
        if len(children):
            found[i, 0] = np.mean([found[c, 0] for c in children])
        else:
            found[i, 0], leaves = -leaves, leaves + 1
    roots = np.flatnonzero(tree.parent < 0)
    found[-1, 0] = found[roots, 0].mean()
    return found


def draw_tree(axes: Any, tree: Tree, title: str) -> None:
    """One graph: nodes numbered from one, as the papers do, where there is room."""
    at = places(tree)
    for i in range(tree.n):
        up = tree.parent[i]
        axes.plot(at[[i, up], 0], at[[i, up], 1], "-", color=INK, linewidth=1.0, zorder=1)
    numbered = tree.n <= MOST_NUMBERED
    axes.plot(at[:-1, 0], at[:-1, 1], "o", color=COLOURS[0], markersize=10 if numbered else 4, zorder=2)
    axes.plot(*at[-1], "s", color=INK, markersize=8, zorder=2)
    for i in range(tree.n if numbered else 0):
        axes.text(*at[i], str(i + 1), color="white", fontsize=6, ha="center", va="center", zorder=3)
    axes.set_title(title, fontsize=9)
    axes.margins(0.12)
    axes.set_axis_off()


def mechanisms(trees: Mapping[str, Tree], caption: str, columns: int = 3) -> Figure:
    """A figure with one graph for each tree."""

    def draw(canvas: Any) -> None:
        rows = -(-len(trees) // columns)
        grid = canvas.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, (title, tree) in zip(grid.flat, trees.items(), strict=False):
            draw_tree(axes, tree, title)

    return Figure("mechanisms", caption, draw, (9.5, 3.0 * -(-len(trees) // columns)))
