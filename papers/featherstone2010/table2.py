"""Table 2, Fig. 12 and section 9: operation counts for ASIMO's hands and feet."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import cost
from bough.compile.graph.program import OperationCount
from bough.cost.operations import ops
from bough.opspace import OperationalSpace
from papers.featherstone2010.asimo import (
    dense_costs,
    jacobian_pattern,
    last_dofs,
    sparse_costs,
    task_set,
    zero_testing_product,
)
from papers.result import ROUNDS, Figure, Result, Row, evaluated, exact, measured, rounded
from papers.style import legend_outside, operations_axis, show_patterns

LATER = "L_d^-1 (Y_D' Lambda)"


# operation: dense, sparse
PRINTED = {
    "LTDL": (ops(10660, 10660, 780), ops(1779, 1779, 334)),
    "J x": (ops(960, 936), ops(312, 288)),
    "J' x": (ops(960, 920), ops(312, 312)),
    "J L^-1": (ops(18720, 18720, 960), ops(1872, 1872, 312)),
    "Y Y'": (ops(12000, 11700), ops(2424, 2124)),
    LATER: (ops(41760, 40800), ops(15504, 15504)),
    "1 - Jbar J": (ops(38400, 36840), ops(12480, 12520)),
}
ROUTE = ("LTDL", "J L^-1", "Y Y'")  # from H and J to Lambda^-1


def run(full: bool = False) -> Result:
    """All operations executed on the pattern of ASIMO and on full matrices of its size."""
    tasks = task_set()
    tree, bodies = tasks.model.dof_tree, tasks.model.tree
    sparse, dense = sparse_costs(tree, last_dofs(tasks)), dense_costs(40, 24)
    rows = [_h_and_c(tasks)]
    for name, (full_printed, sparse_printed) in PRINTED.items():
        rows.append(exact(f"{name}, sparse", sparse_printed, sparse[name]))
        rows.append(exact(f"{name}, dense", full_printed, dense[name]))
    rows.append(exact("Y_D Y_d', sparse", ops(2424, 2124), sparse["Y Y'"], "the same kernel on two arrays"))
    rows += _section9(tasks, sparse, dense)
    rows += [
        measured("H by CRBA, this library", cost.crba(bodies, [0]), _own("mass_matrix"), "traced program"),
        measured("C by RNEA, this library", cost.rnea(bodies, [0]), _own("bias_force"), "traced program"),
    ]
    caption = (
        "Operations of each calculation with standard matrix arithmetic (grey) and with the sparse algorithms (blue), "
        "both executed, for ASIMO with tasks on hands and feet (n = 40, m = 24). The largest saving in absolute terms "
        "is in Jbar and N, the largest factor, 9.5, in J L^-1."
    )
    figure = Figure(
        "bars",
        caption,
        lambda canvas: draw(canvas, sparse, dense, cost.crba(bodies, [0]) + cost.rnea(bodies, [0])),
        (8.0, 4.6),
    )
    return Result(tuple(rows), (figure, _patterns(tasks)))


def _own(function: str) -> OperationCount:
    from bough.dynamics.export import count

    return count(task_set().model, function)


def _h_and_c(tasks: Any) -> Row:
    bodies = tasks.model.tree
    H, C = cost.crba(bodies, [0]), cost.rnea(bodies, [0])
    note = f"formulas of Featherstone 2005 on the tree: H {H}, C {C}; D0a .. D1c = {tuple(bodies.dh_counts([0]))}"
    return evaluated("H, C", ops(7317, 6219), H + C, note)


def _section9(tasks: Any, sparse: dict[str, OperationCount], dense: dict[str, OperationCount]) -> list[Row]:
    tree, J = tasks.model.dof_tree, jacobian_pattern(tasks)
    new = sum((sparse[name] for name in ROUTE), OperationCount())
    old = sum((dense[name] for name in ROUTE), OperationCount())
    some = tree.n + 2 * tree.D1
    saved = [dense[name].total - sparse[name].total for name in (LATER, "1 - Jbar J")]
    numeric = numerical_nonzeros(tasks)
    return [
        exact("n, N, m, d", (40, 35, 24, 14), (tree.n, tasks.model.tree.n, tasks.size, tree.height)),
        exact("nonzeros of H, elements", (708, 1600), (some, tree.n**2)),
        exact("nonzeros of L, of a dense L", (374, 820), (tree.D1 + tree.n, tree.n * (tree.n + 1) // 2)),
        exact("nonzeros of J, elements", (312, 960), (int(J.sum()), J.size)),
        Row("zeros in J", "approximately 67 %", f"{100 * (1 - J.mean()):.1f} %", "+0.5", ROUNDS),
        rounded("zeros in H, per cent", "56", 100 * (1 - tree.density)),
        exact("Lambda^-1 from H and J, sparse", ops(6075, 5775, 646), new),
        exact("Lambda^-1 from H and J, dense", ops(41380, 41080, 1740), old),
        rounded("factor saved in Lambda^-1", "6.7", old.total / new.total),
        rounded("factor saved in J L^-1", "9.5", dense["J L^-1"].total / sparse["J L^-1"].total),
        exact("more than 50,000 operations saved in Jbar and in N", True, min(saved) > 50_000, f"{saved}"),
        exact("Fig. 7, J' x by testing for zeros: operations, elements", (ops(312, 312), 960), zero_testing_product(J),
              "structural nonzeros"),
        measured("the same on J in link coordinates", None, zero_testing_product(numeric)[0],
                 "256 numerical nonzeros at a random configuration (E7)"),
    ]  # fmt: skip


def numerical_nonzeros(tasks: Any) -> Any:
    """J of a random configuration, rounding removed."""
    model = tasks.model
    J = OperationalSpace(model, list(tasks.tasks))(model.random_configuration(np.random.default_rng(0))).J
    return np.where(np.abs(J) > 1e-12 * np.abs(J).max(), J, 0.0)


def draw(
    canvas: Any, sparse: dict[str, OperationCount], dense: dict[str, OperationCount], first: OperationCount
) -> None:
    axes, names = canvas.subplots(), list(PRINTED)
    places = np.arange(len(names) + 1)
    axes.barh(places[1:] - 0.2, [dense[name].total for name in names], 0.38, color="#bbbbbb", label="dense")
    axes.barh(places[1:] + 0.2, [sparse[name].total for name in names], 0.38, label="sparse")
    axes.barh(0, first.total, 0.38, color="#009E73", label="H and C")
    axes.text(first.total + 600, 0, f"{first.total:,}", va="center", fontsize=8)
    for place, name in zip(places[1:], names, strict=True):
        for shift, taken in ((-0.2, dense[name]), (0.2, sparse[name])):
            axes.text(taken.total + 600, place + shift, f"{taken.total:,}", va="center", fontsize=8)
    axes.set_yticks(places, ["H, C", *names])
    operations_axis(axes, 95_000)
    legend_outside(canvas, axes)


def _patterns(tasks: Any) -> Figure:
    def show(canvas: Any) -> None:
        from papers.featherstone2005.section2 import pattern

        H, J = pattern(tasks.model.dof_tree), jacobian_pattern(tasks).astype(float)
        show_patterns(canvas, {"H": H, "L": np.tril(H), "J and Y": J})

    caption = (
        "Structural nonzeros of H, of its factor L, and of J for ASIMO's hands and feet. Y = J L^-1, Y_d and Y_D have "
        "the pattern of J: each row is the path from its body to the root."
    )
    return Figure("patterns", caption, show, (9.0, 3.6))
