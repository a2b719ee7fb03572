"""Section 6 and Fig. 7: forward dynamics of a humanoid and of a chain, both of 30 DoF."""

from __future__ import annotations

from typing import Any, NamedTuple

from bough import cost, zoo
from bough.compile.graph.program import OperationCount
from bough.cost.operations import ops
from bough.dynamics.export import count
from bough.model import Model
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.tree import Tree
from papers.counting import on_tree
from papers.result import Figure, Result, Row, evaluated, exact, measured, rounded
from papers.style import COLOURS, INK, legend_outside, operations_axis
from papers.topologies import chain


class Printed(NamedTuple):
    """What the paper prints of one mechanism."""

    D: tuple[int, ...]  # D0a, D1a, D0b, D1b, D0c, D1c
    crba: OperationCount
    rnea: OperationCount
    factorize: OperationCount
    solve: OperationCount
    total: OperationCount
    aba: OperationCount


PRINTED = {
    "humanoid": Printed((21, 66, 3, 18, 1, 6), ops(2475, 2124), ops(2275, 1996), ops(1258, 1039), ops(468, 438),
                        ops(6476, 5597), ops(5544, 5054)),
    "chain": Printed((24, 300, 0, 0, 1, 24), ops(6462, 4419), ops(2263, 1972), ops(4930, 4495), ops(900, 870),
                     ops(14555, 11756), ops(5346, 4883)),
}  # fmt: skip


def crba_transforms(tree: Tree) -> tuple[int, ...]:
    """What CRBA moves at nodes with DH parameters, without, and below a floating base 0: inertias and vectors of each.

    Its loops: for i from the last, the inertia of i to its parent; then its force to the parent, from there on, ...
    """
    inertias, vectors = [0, 0, 0], [0, 0, 0]
    for i in range(tree.n - 1, -1, -1):
        for moved, path in ((inertias, tree.path(i)[-1:]), (vectors, tree.path(i))):
            for j in path[tree.parent[path] >= 0]:
                above = tree.parent[j]
                standard = tree.dh_child[above] == j
                moved[0 if standard else 1] += 1
                moved[2] += int(standard and above == 0)
    return tuple(x for pair in zip(inertias, vectors, strict=True) for x in pair)


PARTS = dict(zip(("RNEA", "CRBA", "factorize", "back-substitute", "ABA"), COLOURS, strict=False))


class Costs(NamedTuple):
    """The same by the printed formulas on the library's trees, LTDL by execution; and the library's own programs."""

    crba: OperationCount
    rnea: OperationCount
    factorize: OperationCount
    solve: OperationCount
    aba: OperationCount
    own: dict[str, OperationCount]

    @property
    def total(self) -> OperationCount:
        return self.rnea + self.crba + self.factorize + self.solve


def run(full: bool = False) -> Result:
    """Divisions count as multiplications, as in the paper; tau - C is left out."""
    models = {"humanoid": zoo.humanoid(), "chain": zoo.floating_chain()}
    costs = {name: costs_of(model) for name, model in models.items()}
    rows = [row for name, model in models.items() for row in _rows(name, model, costs[name])]
    h, c = costs["humanoid"], costs["chain"]
    rows += [
        *_ratios("CRBA, chain / humanoid", c.crba, h.crba, ("2.37", "2.61")),
        *_ratios("forward dynamics by CRBA, chain / humanoid", c.total, h.total, ("2.18", "2.25")),
        *_ratios("humanoid, CRBA / ABA", h.total, h.aba, ("1.14", "1.17")),
        rounded("abstract: chain, CRBA / ABA, a = m", "2.6", c.total.total / c.aba.total, "E13: 2.72 with a = 0"),
    ]  # fmt: skip
    caption = (
        "Operations of forward dynamics by the route over H (RNEA, CRBA, factorization, back-substitution) and by ABA, "
        "for the humanoid and for the unbranched chain of equally many DoF. Full colours are the paper's algorithms, "
        "grey ones the programs of this library, counted as they are executed. Branches take the route over H from "
        "2.6 times the cost of ABA down to 1.14 times."
    )
    return Result(tuple(rows), (Figure("bars", caption, lambda canvas: draw(canvas, costs), (8.0, 4.4)),))


def costs_of(model: Model) -> Costs:
    """The body tree gives kinematics and inertias, the tree of DoF the factorization."""
    bodies, dofs = model.tree, model.dof_tree
    own = {"CRBA": count(model, "mass_matrix"), "RNEA": count(model, "bias_force"),
           "by CRBA": count(model, "forward_dynamics", method="crba"),
           "by ABA": count(model, "forward_dynamics", method="aba")}  # fmt: skip
    return Costs(
        cost.crba(bodies, [0]),
        cost.rnea(bodies, [0]),
        cost.divisions_as_multiplications(on_tree(ltdl, dofs)),
        _solving(dofs),
        cost.aba(bodies),
        {name: cost.divisions_as_multiplications(ops) for name, ops in own.items()},
    )


def _rows(name: str, model: Model, found: Costs) -> list[Row]:
    printed, dofs = PRINTED[name], model.dof_tree
    rows = []
    if name == "humanoid":
        dense = chain(30)
        rows = [
            exact("humanoid: D1, D2 of the expanded tree", (219, 1039), (dofs.D1, dofs.D2)),
            exact("humanoid: nonzeros, zeros, per cent of zeros", (468, 432, 48), _zeros(dofs)),
            exact("humanoid: D0, D1 of the original tree", (24, 84), (model.tree.D0, model.tree.D1)),
            exact("dense H: factorize", ops(4930, 4495), cost.divisions_as_multiplications(on_tree(ltdl, dense))),
            exact("dense H: back-substitute", ops(900, 870), _solving(dense)),
        ]  # fmt: skip
    own = "formula on the tree; constants of McMillan & Orin and of Balafoutis et al. taken as given"
    return [
        *rows,
        exact(f"{name}: D0a, D1a, D0b, D1b, D0c, D1c", printed.D, tuple(model.tree.dh_counts([0]))),
        exact(f"{name}: transforms in the loops of CRBA, executed", printed.D, crba_transforms(model.tree)),
        exact(f"{name}: LTDL, executed", printed.factorize, found.factorize),
        exact(f"{name}: back-substitution, executed", printed.solve, found.solve),
        evaluated(f"{name}: CRBA", printed.crba, found.crba, own),
        evaluated(f"{name}: RNEA", printed.rnea, found.rnea, own),
        evaluated(f"{name}: ABA", printed.aba, found.aba, own),
        evaluated(f"{name}: forward dynamics by CRBA", printed.total, found.total, "the sum of the above"),
        measured(f"{name}: CRBA, this library", printed.crba, found.own["CRBA"], "traced program"),
        measured(f"{name}: RNEA, this library", printed.rnea, found.own["RNEA"], "traced program"),
        measured(f"{name}: ABA, this library", printed.aba, found.own["by ABA"], "traced program, all from q"),
        measured(f"{name}: by CRBA, this library", printed.total, found.own["by CRBA"], "traced program, all from q"),
    ]  # fmt: skip


def _solving(tree: Tree) -> OperationCount:
    return cost.divisions_as_multiplications(on_tree(ltdl_solve, tree, 1))


def _zeros(tree: Tree) -> tuple[int, int, int]:
    some = tree.n + 2 * tree.D1
    return some, tree.n**2 - some, round(100 * (1 - tree.density))


def _ratios(what: str, a: OperationCount, b: OperationCount, printed: tuple[str, str]) -> list[Row]:
    """With additions as dear as multiplications, and with additions free."""
    return [
        rounded(f"{what}, a = m", printed[0], a.total / b.total),
        rounded(f"{what}, a = 0", printed[1], a.mul / b.mul),
    ]


def draw(canvas: Any, costs: dict[str, Costs]) -> None:
    axes = canvas.subplots()
    ticks: list[tuple[float, str]] = []
    for name, c in costs.items():
        parts = (("RNEA", c.rnea), ("CRBA", c.crba), ("factorize", c.factorize), ("back-substitute", c.solve))
        for label, stack, own in (("by CRBA", parts, c.own["by CRBA"]), ("by ABA", (("ABA", c.aba),), c.own["by ABA"])):
            place = 0.9 * len(ticks)
            _stack(axes, place, stack)
            axes.barh(place + 0.32, own.total, 0.2, color="#bbbbbb", label="this library" if len(ticks) == 3 else None)
            axes.text(own.total + 150, place + 0.32, f"{own.total:,}", va="center", fontsize=8, color=INK)
            ticks.append((place + 0.1, f"{name}, {label}"))
    axes.set_yticks(*zip(*ticks, strict=True))
    operations_axis(axes, 30_000)
    legend_outside(canvas, axes, 6)


def _stack(axes: Any, place: float, parts: tuple[tuple[str, OperationCount], ...]) -> None:
    """One bar of several parts, each named once in the legend, and its total."""
    left, known = 0, axes.get_legend_handles_labels()[1]
    for part, taken in parts:
        axes.barh(place, taken.total, 0.42, left, color=PARTS[part], label=None if part in known else part)
        left += taken.total
    axes.text(left + 150, place, f"{left:,}", va="center", fontsize=9)
