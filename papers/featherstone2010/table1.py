"""Table 1: cost formulas of the sparse operational-space algorithms."""

from __future__ import annotations

from bough import cost, zoo
from bough.compile.graph.program import OperationCount
from bough.tree import Tree
from papers.featherstone2010.asimo import dense_costs, last_dofs, sparse_costs, task_set
from papers.result import Result, Row, exact, of_formula
from papers.topologies import balanced, chain, forest

PRINTED = {
    "J x": "sum d_i m + sum (d_i - 1) a",
    "J' x": "sum d_i (m + a)",
    "J L^-1": "sum d_i d + sum d_i (d_i - 1)/2 (m + a)",
    "J L_d^-1, Y_d D^-1": "the same",
    "Y Y'": "sum d_ij m + sum max(0, d_ij - 1) a, i >= j",
    "L_d^-1 (Y_D' Lambda)": "m (D1 + sum d_i) (m + a)",
    "1 - Jbar J": "n sum d_i (m + a) + n a",
}


def formulas(tree: Tree, last: list[int]) -> dict[str, OperationCount]:
    """As printed."""
    return {
        "J x": cost.jacobian_multiply(tree, last),
        "J' x": cost.jacobian_transpose_multiply(tree, last),
        "J L^-1": cost.jacobian_solve(tree, last),
        "J L_d^-1, Y_d D^-1": cost.jacobian_solve(tree, last),
        "Y Y'": cost.outer_product(tree, last),
        "L_d^-1 (Y_D' Lambda)": cost.jbar(tree, last, unit=True),
        "1 - Jbar J": cost.nullspace(tree, last),
    }


def cases() -> dict[str, tuple[Tree, list[int]]]:
    """Trees and the last DoF of each task row: robots, bushes, chains, and two robots side by side."""
    asimo, hfh = task_set(), task_set("HFH")
    humanoid = zoo.humanoid().dof_tree
    return {
        "ASIMO HF": (asimo.model.dof_tree, last_dofs(asimo)),
        "ASIMO HFH": (hfh.model.dof_tree, last_dofs(hfh)),
        "humanoid": (humanoid, [11] * 6 + [17] * 6),
        "chain of 9": (chain(9), [8] * 6 + [4] * 3),
        "balanced 15": (balanced(4), [7, 7, 8, 14, 3]),
        "two robots": (forest(2, 9), [8] * 6 + [17] * 6 + [12] * 3),
    }


def run(full: bool = False) -> Result:
    """The algorithms of Figs. 5, 6 and 8 to 10 executed on six trees."""
    found = {name: (formulas(*case), sparse_costs(*case)) for name, case in cases().items()}
    rows = []
    for operation, printed in PRINTED.items():
        agree = {name: formula[operation] == ours[operation] for name, (formula, ours) in found.items()}
        formula, ours = found["ASIMO HF"]
        rows.append(Row(
            operation, printed, f"executed: {ours[operation]}", "",
            exact("", True, all(agree.values())).status, f"the same on {sum(agree.values())} of {len(agree)} trees",
            f"ASIMO: {formula[operation]}",
        ))  # fmt: skip
    n, m = 9, 4
    names = {"J x": "jacobian_multiply", "J' x": "jacobian_transpose_multiply", "J L^-1": "jacobian_solve",
             "Y Y'": "outer_product", "L_d^-1 (Y_D' Lambda)": "jbar", "1 - Jbar J": "nullspace"}  # fmt: skip
    dense = dense_costs(n, m)
    for operation, name in names.items():
        rows.append(of_formula(f"dense, n = {n}, m = {m}: {operation}", cost.dense(n, m)[name], dense[operation]))
    rows.append(_two_robots())
    return Result(tuple(rows), remarks=(f"Executed on: {', '.join(found)}.",))


def _two_robots() -> Row:
    """Y Y' where robots share nothing: three bodies of the forest of erratum E11, both bases floating, six rows each.

    The forest is not named, but follows: m - a counts the pairs of rows that share a joint, and 99 = 78 + 21 are those
    of 12 rows on one robot and 6 on the other. Then 21 (d_a + d_b + d_c) + 36 d_ab = 657 with d_ab <= d_a, d_b leaves
    d_ab = 6 and d_a + d_b + d_c = 21 alone: two bodies share a floating base.
    """
    bodies = Tree([-1, 0, 0, -1, 3, 3])
    tree = bodies.expanded([6, 1, 1, 6, 1, 1])
    last = [int(tree.first[b + 1]) - 1 for b in (1, 2, 4) for _ in range(6)]
    note = "lambda = (0, 1, 1, 0, 4, 4), bases of six DoF, six rows on each of the bodies 2, 3 and 5"
    return exact("Y Y', two robots", OperationCount(657, 558), sparse_costs(tree, last)["Y Y'"], note)
