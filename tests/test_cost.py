"""Cost formulas against every number that the papers print."""

from __future__ import annotations

import random

import pytest

from bough import cost
from bough.compile.graph.program import OperationCount
from bough.errors import TreeError
from bough.tree.tree import Tree
from strategies import FACTS, TREES

pytestmark = pytest.mark.interpreted

FORMULAS = {
    "F05 LTL factorize": cost.ltl,
    "F05 LTDL factorize": cost.ltdl,
    "F05 LTL back-substitute": cost.ltl_solve,
    "F05 LTDL back-substitute": cost.ltdl_solve,
    "F05 Lx LTL": lambda tree: cost.factor_multiply(tree, unit=False),
    "F05 Lx LTDL": lambda tree: cost.factor_multiply(tree, unit=True),
    "F05 LTx LTL": lambda tree: cost.factor_multiply(tree, unit=False),
    "F05 LTx LTDL": lambda tree: cost.factor_multiply(tree, unit=True),
    "F05 Lix LTL": lambda tree: cost.factor_solve(tree, unit=False),
    "F05 Lix LTDL": lambda tree: cost.factor_solve(tree, unit=True),
    "F05 LiTx LTL": lambda tree: cost.factor_solve(tree, unit=False),
    "F05 LiTx LTDL": lambda tree: cost.factor_solve(tree, unit=True),
    "S UDU^T": cost.ltdl,
    "S forward substitution": cost.udut_forward,
    "S back substitution": lambda tree: cost.factor_solve(tree, unit=True),
}


def operations(printed):
    return OperationCount(printed.get("m", 0), printed.get("a", 0), printed.get("d", 0), printed.get("s", 0))


def pair(count):
    return [count.mul, count.add]


@pytest.mark.parametrize("name", FACTS["counts"])
@pytest.mark.parametrize("operation", FORMULAS)
def test_table_1_of_f05_and_s(name, operation):
    assert FORMULAS[operation](TREES[name]) == operations(FACTS["counts"][name][operation])


@pytest.mark.parametrize("family", FACTS["table2"])
def test_table_2_of_f05_and_s(family):
    for size, sums in FACTS["table2"][family].items():
        assert list(getattr(cost, family)(int(size))[1:]) == sums


def test_table_2_agrees_with_trees():
    for m in range(1, 9):
        binary = Tree([(i - 1) // 2 for i in range(2**m - 1)])
        assert cost.balanced(m) == (binary.n, binary.D1, binary.D2)
        chain = Tree(range(-1, m - 1))
        assert cost.unbranched(m) == (chain.n, chain.D1, chain.D2)
        grid = Tree([k - 1 if k % m else k - m if k else -1 for k in range(m * m)])
        assert cost.span_grid(m) == (grid.n, grid.D1, grid.D2)
        branches = Tree([*range(-1, m - 1), *range(m)])
        assert cost.short_side_branches(m) == (branches.n, branches.D1, branches.D2)


@pytest.mark.parametrize("name", [name for name, fact in FACTS["trees"].items() if "ratio" in fact])
def test_ratio_to_dense_factorization(name):
    tree = TREES[name]
    dense = cost.ltdl(Tree(range(-1, tree.n - 1))).total
    assert dense / cost.ltdl(tree).total == pytest.approx(FACTS["trees"][name]["ratio"], rel=1e-12)


@pytest.mark.parametrize("name", [name for name, fact in FACTS["trees"].items() if "ratio" in fact])
def test_the_density_rule_stands_beside_the_exact_ratio(name):
    rule, fact = cost.density_rule(TREES[name]), FACTS["trees"][name]
    assert rule.density == pytest.approx(fact["density"], rel=1e-12)
    assert rule.factorize == pytest.approx(fact["density"] ** -2, rel=1e-12)
    assert rule.exact_factorize == pytest.approx(fact["ratio"], rel=1e-12)
    assert rule.solve == pytest.approx(1 / fact["density"], rel=1e-12)
    n = TREES[name].n
    assert rule.exact_solve == pytest.approx((2 * n * (n - 1) + n) / (4 * fact["D1"] + n), rel=1e-12)


def test_the_density_rule_at_the_ends():
    assert cost.density_rule(Tree(range(-1, 29))) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert cost.density_rule(Tree([-1] * 6)).exact_factorize == float("inf")
    assert cost.density_rule(Tree([])) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert cost.density_rule(Tree([-1])).exact_factorize == 1.0


@pytest.mark.parametrize("name", FACTS["dynamics"])
def test_dynamics_of_section_6(name):
    body, fact = FACTS["expansions"][name], FACTS["dynamics"][name]
    tree = Tree(body["parent"])
    assert pair(cost.crba(tree, [0])) == fact["crba"]
    assert pair(cost.rnea(tree, [0])) == fact["rnea"]
    if "aba" in fact:
        assert pair(cost.aba(tree)) == fact["aba"]
        total = cost.crba_forward_dynamics(tree, body["dofs"], [0])
        assert pair(cost.divisions_as_multiplications(total)) == fact["total"]


def test_section_6_counts_divisions_as_multiplications():
    tree = TREES["humanoid30"]
    assert pair(cost.divisions_as_multiplications(cost.ltdl(tree))) == [1258, 1039]
    assert pair(cost.divisions_as_multiplications(cost.ltdl_solve(tree))) == [468, 438]


def test_fixed_base_chain():
    assert cost.rnea(Tree(range(-1, 5))) == OperationCount(93 * 6 - 69, 81 * 6 - 66)
    assert cost.crba(Tree([-1] * 6)) == OperationCount()


OPERATIONAL_SPACE = {
    "LTDL": ("ltdl", lambda tree, rows: cost.ltdl(tree)),
    "Jx": ("jacobian_multiply", cost.jacobian_multiply),
    "JTx": ("jacobian_transpose_multiply", cost.jacobian_transpose_multiply),
    "JLinv": ("jacobian_solve", cost.jacobian_solve),
    "YYT": ("outer_product", cost.outer_product),
    "Jbar": ("jbar", lambda tree, rows: cost.jbar(tree, rows, unit=True)),
    "N": ("nullspace", cost.nullspace),
}


@pytest.mark.parametrize("label", OPERATIONAL_SPACE)
def test_table_2_of_f10(label):
    name, formula = OPERATIONAL_SPACE[label]
    tree, rows = TREES["asimo40"], FACTS["asimo"]["rows"]
    assert formula(tree, rows) == operations(FACTS["asimo"]["table2"][label]["sparse"])
    assert cost.dense(40, 24)[name] == operations(FACTS["asimo"]["table2"][label]["dense"])


def test_a_general_factor_divides_n_times_more():
    tree, rows = TREES["asimo40"], FACTS["asimo"]["rows"]
    extra = cost.jbar(tree, rows, unit=False) - cost.jbar(tree, rows, unit=True)
    assert extra == OperationCount(div=24 * 40)


def test_rows_on_different_robots_share_nothing():
    forest = Tree([-1, 0, -1, 2])
    assert cost.outer_product(forest, [1, 3]) == OperationCount(mul=2 + 0 + 2, add=1 + 0 + 1)


def test_recursive_algorithm_on_asimo():
    fact, tree = FACTS["asimo"], Tree(FACTS["expansions"]["asimo"]["parent"])
    assert cost.rjk_articulated(tree) == operations(fact["eq39"])
    assert cost.rjk_omega(tree, FACTS["table3"][0]["bodies"]) == operations(fact["eq40"])


@pytest.mark.parametrize("row", FACTS["table3"], ids=lambda row: row["row"])
@pytest.mark.parametrize("form", ["fixed", "as_printed"])
def test_table_3_of_f10(row, form):
    tree, bodies = Tree(row["parent"]), row["bodies"]
    expanded = tree.expanded(row["dofs"])
    first = expanded.first
    rows = [int(first[b + 1]) - 1 for b in bodies for _ in range(6)]
    sparse = (
        cost.crba(tree, [0]),
        cost.ltdl(expanded),
        cost.jacobian_solve(expanded, rows),
        cost.outer_product(expanded, rows),
    )
    assert [pair(sparse[0]), pair(sparse[3])] == [row["crba"], row["YYT"]]
    assert [sparse[2].div, sparse[2].mul] == row["JLinv"]
    assert sum(c.total for c in sparse) == row["denominator"]

    printed = form == "as_printed"
    need = cost.rjk_need(tree, bodies, as_printed=printed)
    diagonal = sum(i == j for i, j in need)
    assert [diagonal, len(need) - diagonal] == row[form]["need"]
    omega = cost.rjk_omega(tree, bodies, as_printed=printed)
    assert pair(omega) == row[form]["omega"]
    total = cost.rjk_articulated(tree).total + omega.total
    assert total == row[form]["total"]
    if printed and row["printed"]:
        assert round(total / row["denominator"], 3) == row["printed"]


def test_need_across_robots_is_empty():
    assert cost.rjk_need(Tree([-1, 0, -1, 2]), [1, 3]) == {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert cost.rjk_need(Tree([-1, 0, 1, 0]), [2, 3]) == {(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3)}


def printed_need(parent, bodies):
    """F10 Fig. 15, line by line; bodies are counted from 1 there. Blocks between two robots are zero and left out."""
    n, lam = len(parent), [0, *(p + 1 for p in parent)]
    paths = [[]]
    for i in range(1, n + 1):
        paths.append([*paths[lam[i]], i])
    need = {}
    for i in range(n, 0, -1):
        for j in range(n, i - 1, -1):
            if i - 1 in bodies and j - 1 in bodies:
                need[i, j] = True
            if (i, j) in need:
                ancestor = max(set(paths[i]) & set(paths[j]), default=0)
                if i == j:
                    if lam[i] != 0:
                        need[lam[i], lam[i]] = True
                elif ancestor == i:
                    need[i, lam[j]] = True
                elif ancestor > 0:
                    need[lam[i], lam[j]] = True
    return {(i - 1, j - 1) for i, j in need if i <= j and set(paths[i]) & set(paths[j])}


def test_the_printed_need_depends_on_the_numbering():
    """Erratum E1: with equal distances and interleaved numbers the printed figure loses a pair, too."""
    tree = Tree([-1, 0, 0, 2, 1])
    assert len(cost.rjk_need(tree, [3, 4], as_printed=True)) == 6
    assert len(cost.rjk_need(tree, [3, 4])) == 7
    same_robot = Tree([-1, 0, 1, 0, 3])
    assert len(cost.rjk_need(same_robot, [2, 4], as_printed=True)) == 7


@pytest.mark.parametrize("seed", range(200))
def test_the_printed_need_is_figure_15(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 14)
    parent = [rng.randint(-1 if rng.random() < 0.2 else 0, i - 1) if i else -1 for i in range(n)]
    bodies = rng.sample(range(n), rng.randint(1, min(n, 4)))
    assert cost.rjk_need(Tree(parent), bodies, as_printed=True) == printed_need(parent, bodies)


def test_the_printed_need_wants_parents_first():
    with pytest.raises(TreeError, match="node 0 has parent 1"):
        cost.rjk_need(Tree([1, -1]), [0], as_printed=True)
    assert cost.rjk_need(Tree([1, -1]), [0]) == {(0, 0), (1, 1)}


CK_PRODUCTS = (59, 84, 113, 167, 224, 59, 128)  # for the rows of Table 3 of F10, the bodies in the listed order


def test_products_of_chang_and_khatib_on_the_rows_of_table_3():
    for row, number in zip(FACTS["table3"], CK_PRODUCTS, strict=False):
        tree, bodies = Tree(row["parent"]), row["bodies"]
        products = cost.chang_khatib_products(tree, bodies)
        assert len(products) == number
        assert len(products) <= tree.n * (2 * len(bodies) - 1)
        two = sum(tree.dh_child[tree.parent[j]] == j for j in products)
        price = OperationCount(150 * two + 174 * (number - two), 96 * two + 132 * (number - two))
        diagonal = cost.chang_khatib(tree, bodies) - price - cost.rjk_articulated(tree)
        pairs = {(i, j) for i, j in cost.rjk_need(tree, bodies) if i != j}
        both = [k for i, j in pairs for k in ([j] if tree.common_ancestor(i, j) == i else [i, j])]
        twice = sum(tree.dh_child[tree.parent[j]] == j for j in both)
        rest = len(both) - twice
        blocks = OperationCount(150 * twice + 174 * rest, 96 * twice + 132 * rest)
        assert diagonal == cost.rjk_omega(tree, bodies) - blocks  # the diagonal blocks are those of RJK


def test_products_of_chang_and_khatib_at_the_ends():
    assert cost.chang_khatib_products(Tree([-1, 0, -1, 2]), [1, 3]) == []  # two robots share nothing
    assert cost.chang_khatib_products(Tree([-1, 0, 1]), [2]) == []
    assert cost.chang_khatib_products(Tree([-1, 0, 1]), [2, 0]) == [2, 1]
