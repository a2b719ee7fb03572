"""Section 4.1, the rule of thumb: factorization costs alpha^2, back-substitution alpha of the dense ones."""

from __future__ import annotations

from typing import Any

from bough import cost, zoo
from bough.tree import Tree
from papers.featherstone2005.table2 import operations
from papers.result import Figure, Result, Row
from papers.style import legend_outside
from papers.topologies import balanced, chain, side_branches, span_grid

CHECKED = 64  # trees up to this size are executed as well


def trees() -> dict[str, Tree]:
    """From a fifth of H to all of it."""
    return {
        "balanced, 15": balanced(4),
        "balanced, 255": balanced(8),
        "grid, 16": span_grid(4),
        "grid, 256": span_grid(16),
        "humanoid, 30": zoo.humanoid().dof_tree,
        "ASIMO, 40": zoo.asimo().dof_tree,
        "side branches, 200": side_branches(100),
        "four arms, four legs, 70": zoo.asimo("8 limbs HF").dof_tree,
        "12-DoF hands, 60": zoo.asimo("hands HF").dof_tree,
    }


def run(full: bool = False) -> Result:
    """The rule beside D1 and D2, and beside executions where these take no time."""
    rules = {name: cost.density_rule(tree) for name, tree in trees().items()}
    rows = []
    for name, tree in trees().items():
        rule = rules[name]
        note = f"alpha = {rule.density:.4f}"
        if tree.n <= CHECKED:
            dense = operations(chain(tree.n)) / operations(tree)
            assert abs(dense / rule.exact_factorize - 1) < 1e-12
            note += ", executed"
        for what, guess, exact in (
            ("factorization", rule.factorize, rule.exact_factorize), ("back-substitution", rule.solve, rule.exact_solve)
        ):  # fmt: skip
            rows.append(Row(f"{name}: {what}, dense / sparse", "", f"{exact:.4g}",
                            f"{exact / guess:.3g}x", "measured", note, f"about {guess:.4g}"))  # fmt: skip
    caption = (
        "How many times cheaper a sparse factorization is than a dense one: exactly (circles), and by the rule of "
        "thumb 1/alpha^2 (bars), for trees of falling density alpha. The rule is a little too careful for bushy trees."
    )
    figure = Figure("rule", caption, lambda canvas: draw(canvas, rules), (7.0, 4.4))
    return Result(
        tuple(rows), (figure,), ("The rule is an estimate (E13); `bough.cost.density_rule` gives both numbers.",)
    )


def draw(canvas: Any, rules: dict[str, cost.DensityRule]) -> None:
    axes = canvas.subplots()
    ordered = dict(sorted(rules.items(), key=lambda item: item[1].density, reverse=True))
    places = range(len(ordered))
    axes.plot([r.factorize for r in ordered.values()], places, "|", markersize=16, markeredgewidth=2.5, color="#888888",
              label="rule of thumb, 1/alpha^2")  # fmt: skip
    axes.plot([r.exact_factorize for r in ordered.values()], places, "o", label="exact, D1 + 2 D2")
    axes.set_xscale("log")
    axes.set_yticks(places, [f"{name} (alpha = {r.density:.2f})" for name, r in ordered.items()])
    axes.set_xlabel("dense / sparse operations of the factorization")
    legend_outside(canvas, axes)
