"""Every figure of the papers that is marked exact is found by running the library: there is no other case.

tests/data/exact.json lists them: paper, place, figure, value. Most stand in a row of the report, which must be exact;
those of whole families of trees are counted here.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bough import zoo
from bough.compile.graph.program import OperationCount
from bough.cost import featherstone2005 as f05_cost
from bough.cost import featherstone2010 as f10_cost
from bough.dynamics.dynamics import Dynamics
from bough.sparsity import ltdl as factorize
from bough.sparsity.ltdl import ltdl
from bough.tree import Tree
from papers import run
from papers.counting import on_tree
from papers.featherstone2005 import table1 as f05
from papers.featherstone2005.section2 import pattern, touched
from papers.featherstone2010.asimo import task_set
from papers.shimanovskij import table1 as udut
from papers.topologies import balanced, chain, side_branches, span_grid
from strategies import FACTS, TREES

FIGURES = json.loads((Path(__file__).parents[1] / "data" / "exact.json").read_text())
F05, S, F10 = "featherstone2005.", "shimanovskij.", "featherstone2010."
# figure: the script, and the rows that stand for it
ROWS = {
    "nu(1) of Tree 1": (F05 + "section2", "nu(1) of Tree 1"),
    "nu(2) of Tree 1": (F05 + "section2", "nu(2) of Tree 1"),
    "H pattern Tree 1, nonzeros per row (7,4,4,3,3,3,3)": (F05 + "section2", "eq. 4: nonzeros in each row of H"),
    "L pattern Tree 1, nonzeros per row": (F05 + "section2", "nonzeros in each row of L"),
    "expanded parent array (joints 1,2,6 = 2,2,3 DoF)": (F05 + "section2", "Fig. 2: expanded parent array"),
    "Tree 1 k=7: step-2 elements H73,H71; step-3 elements H33,H31,H11 (loops executed)": (
        F05 + "section2", "k = 7, step 2: elements written", "k = 7, step 3: elements written"),
    "dense k=7: 6 at step 2, 21 at step 3 (loops executed)": (
        F05 + "section2", "k = 7, dense: elements written at steps 2 and 3"),
    "non-DH nodes of Tree 1": (F05 + "section2", "nodes without DH parameters in Tree 1"),
    "envelope of permuted H": (F05 + "section2", "eq. 7: envelope of the permuted H"),
    "zeros inside envelope": (F05 + "section2", "eq. 7: zeros inside the envelope"),
    "standard Cholesky factor of Tree-1 H is dense (28 nonzeros)": (
        F05 + "section2", "Cholesky factor of the H of Tree 1: nonzeros"),
    "LTDL executed [balanced255]": (F05 + "table2", "balanced tree, n = 255: LTDL"),
    "LTDL executed [grid256]": (F05 + "table2", "grid, n = 256: LTDL"),
    "nonzeros 468, zeros 432, 48%": (F05 + "section6", "humanoid: nonzeros, zeros, per cent of zeros"),
    "factorize humanoid (div=m)": (F05 + "section6", "humanoid: LTDL, executed"),
    "back-substitute humanoid": (F05 + "section6", "humanoid: back-substitution, executed"),
    "factorize dense 30": (F05 + "section6", "dense H: factorize"),
    "back-substitute dense 30": (F05 + "section6", "dense H: back-substitute"),
    "original graph D0, D1": (F05 + "section6", "humanoid: D0, D1 of the original tree"),
    "humanoid D0a,D1a,D0b,D1b,D0c,D1c": (F05 + "section6", "humanoid: D0a, D1a, D0b, D1b, D0c, D1c"),
    "chain D0a,D1a,D0b,D1b,D0c,D1c": (F05 + "section6", "chain: D0a, D1a, D0b, D1b, D0c, D1c"),
    "CRBA executed rx/vx counts [humanoid]": (
        F05 + "section6", "humanoid: transforms in the loops of CRBA, executed"),
    "CRBA executed rx/vx counts [chain25]": (F05 + "section6", "chain: transforms in the loops of CRBA, executed"),
    "CRBA ratio chain/humanoid (a=m, a=0)": (
        F05 + "section6", "CRBA, chain / humanoid, a = m", "CRBA, chain / humanoid, a = 0"),
    "chain/humanoid ratio (a=m, a=0)": (
        F05 + "section6", "forward dynamics by CRBA, chain / humanoid, a = m",
        "forward dynamics by CRBA, chain / humanoid, a = 0"),
    "rx = screws*(15m+15a)+2m+3a": (
        F05 + "section5", "rx at a DH node: two screws, and the products of the angle",
        "rx at another node: three screws"),
    "one axial screw on a 6-vector, executed (2 screws = 20m+12a)": (F05 + "section5", "an axial screw on a vector"),
    "one axial screw on a rigid-body inertia, executed": (
        F05 + "section5", "footnote: an axial screw on an inertia"),
    "general (non-DH) vector transform 24m+18a, executed": (
        F05 + "section5", "vx at another node: a general transform"),
    "expanded parent array (joints 3,6 two-DoF)": (S + "table1", "Fig. 2: expanded parent array"),
    "nonzeros per row of M": (S + "table1", "eq. 5: nonzeros in each row of M"),
    "nonzeros per row of U": (S + "table1", "nonzeros in each row of U"),
    "k=9: ancestors 5,2,1": (S + "table1", "k = 9: ancestors"),
    "k=9: computed M99,M59,M29,M19 (diagonal counted), modified M55,M25,M22,M15,M12,M11": (
        S + "table1", "k = 9: elements computed, the diagonal counted", "k = 9: elements modified"),
    "dense k=9: 9 computed, 36 modified (loops executed)": (
        S + "table1", "k = 9, dense: elements computed and modified"),
    "eta_i = nonzeros in column i of U": (S + "table1", "eta: nonzeros in each column of U"),
    "mu(1), nu(2), kappa(4), mu(5)": (F10 + "section2", "mu(1), nu(2), kappa(4), mu(5)"),
    "J columns for b=[4,7]": (F10 + "section2", "section 5: columns of J for b = (4, 7)"),
    "Y has the sparsity pattern of J": (F10 + "section2", "section 6: Y has the pattern of J"),
    "J L_d^-1 and Y_d D^-1 sparse": (F10 + "table1", "J L_d^-1, Y_d D^-1"),
    "YY^T formula with max(0,d_ij-1) on a forest (two robots), executed": (F10 + "table1", "Y Y', two robots"),
    "n, N, m, d": (F10 + "table2", "n, N, m, d"),
    "H nonzeros 708 of 1600": (F10 + "table2", "nonzeros of H, elements"),
    "L nonzeros 374, dense 820": (F10 + "table2", "nonzeros of L, of a dense L"),
    "J nonzeros 312 of 960": (F10 + "table2", "nonzeros of J, elements"),
    "Y_D Y_d^T sparse": (F10 + "table2", "Y_D Y_d', sparse"),
    "total sparse Lambda^-1 from H,J (d,m,a)": (F10 + "table2", "Lambda^-1 from H and J, sparse"),
    "total dense": (F10 + "table2", "Lambda^-1 from H and J, dense"),
    "Jbar, N savings > 50000": (F10 + "table2", "more than 50,000 operations saved in Jbar and in N"),
    "H, C": (F10 + "table2", "H, C"),
    "Fig 7 zero-testing product on ASIMO J: 312m+312a, 960 elements accessed": (
        F10 + "table2", "Fig. 7, J' x by testing for zeros: operations, elements"),
    "second loop: 34 transforms, 28 two-screw, 6 three-screw": (
        F10 + "table3", "second loop: transforms of two and of three screws"),
    "need(i,i) 28; 27 transforms 24+3": (F10 + "table3", "third loop: need(i, i), then transforms"),
    "need(i,j) 39; 78 transforms 71+7": (F10 + "table3", "final loop: need(i, j), transforms"),
    "D^-1, tau": (F10 + "table3", "eq. 39: D^-1, tau"),
    "Omega": (F10 + "table3", "eq. 40: Omega"),
    "no ancest=i case": (F10 + "table3", "final loop: cases in which i is an ancestor of j"),
    "factorizing H with 12-DoF hands costs more than 8-limb": (
        F10 + "table3", "factorizing H with 12-DoF hands costs more than with eight limbs"),
    "RJK wins once 15 extra joints per limb": (F10 + "table3", "RJK is cheaper from 15 more joints per limb on"),
    "(...) tau_j executed": (F10 + "table4", "(...) tau"),
    "tau_i P_i executed": (F10 + "table4", "tau P"),
    "Omega phi_j = 6 vector transforms (20m+12a / 24m+18a)": (
        F10 + "table4", "Omega phi, two screws", "Omega phi, three screws"),
    "phi^T Omega phi = 38m+40a per screw": (
        F10 + "table4", "phi' Omega phi, two screws", "phi' Omega phi, three screws"),
    "one axial screw on a general symmetric 6x6, executed": (
        F10 + "table4", "phi (tau P) phi', what a third screw adds"),
    **{f"{facts} {form}": (F10 + "table2", f"{ours}, {form}") for form in ("sparse", "dense") for facts, ours in (
        ("LTDL", "LTDL"), ("Jx", "J x"), ("J^T x", "J' x"), ("J L^-1", "J L^-1"), ("Y Y^T", "Y Y'"),
        ("Jbar", "L_d^-1 (Y_D' Lambda)"))},
    "N sparse": (F10 + "table2", "1 - Jbar J, sparse"),
    "N dense (matmul + n adds)": (F10 + "table2", "1 - Jbar J, dense"),
    **{f"{name} {robot}": (F05 + "section6", f"{robot}: {name}")
       for name in ("CRBA", "RNEA", "ABA") for robot in ("humanoid", "chain")},
    **{f"FD total {robot}": (F05 + "section6", f"{robot}: forward dynamics by CRBA")
       for robot in ("humanoid", "chain")},
}  # fmt: skip
KERNELS = {operation.what: operation for operation in (*f05.OPERATIONS, *udut.OPERATIONS)}
WRITTEN = {"Lx": "L x", "LTx": "L' x", "Lix": "L^-1 x", "LiTx": "L^-T x"}


@cache
def rows_of(script):
    return {row.what: row for row in run(script).rows}


def numbers(x):
    """All numbers of a value, or of the text of a row, in order of size: pairs are written in several ways."""
    if isinstance(x, str):
        return sorted(float(k.replace(",", "")) for k in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", x))
    if isinstance(x, dict):
        return numbers([k for k in x.values() if k])
    return sorted(y for part in x for y in numbers(part)) if isinstance(x, list) else [float(x)]


@cache
def factorized(tree_of, size):
    found = on_tree(ltdl, tree_of(size))
    assert found.mul == found.add
    return [found.div, found.mul]


def shortest_paths(m):
    """A random spanning tree of a grid with shortest paths: the parent is the left or the upper neighbour."""
    rng = np.random.default_rng(m)
    up = [[k - step for step, there in ((1, k % m), (m, k >= m)) if there] or [-1] for k in range(m * m)]
    return Tree([int(rng.choice(choice)) for choice in up])


def on_a_tree(name, tree):
    """Table 1 of Featherstone 2005 and of Shimanovskij: LTL factorize, Lx LTDL, UDU^T, ..."""
    words = name.split()
    if words[0] in WRITTEN:
        words = [words[1], WRITTEN[words[0]]]
    what = ": ".join(words) if words[0] in ("LTL", "LTDL") else name.replace("UDU^T", "UDU' factorization")
    found = on_tree(KERNELS[what].kernel, TREES[tree], *[1] * KERNELS[what].on_vector)
    return dict(m=found.mul, a=found.add, d=found.div, s=found.sqrt)


def bounds(m):
    """Section 4.2, below Table 2."""
    D1, D2 = factorized(balanced, m)
    half, whole = 2 ** (m - 1), 2**m
    return (m - 1) * half <= D1 <= (m - 1) * whole and m * (m - 1) * half / 2 <= D2 <= m * (m - 1) * half


def of_asimo(row):
    """n, d, m of a row of Table 3."""
    variant = dict(zip((fact["row"] for fact in FACTS["table3"]), zoo.ASIMO_VARIANTS, strict=True))[row]
    tasks = task_set(variant)
    return [tasks.model.dof_tree.n, tasks.model.dof_tree.height, tasks.size]


def slower(_):
    """By how many per cent the route over H is slower than ABA, in whole ones."""
    rows = rows_of(F05 + "section6")
    return [round(100 * float(rows[f"humanoid, CRBA / ABA, a = {a}"].ours)) - 100 for a in ("m", "0")]


def three_screws(_):
    """What is printed for two screws (E4: not reproducible) and a third, executed."""
    rows = rows_of(F10 + "table4")
    two, third = rows["phi (tau P) phi', two screws"].paper, rows["phi (tau P) phi', what a third screw adds"].ours
    return [x + y for x, y in zip(numbers(two), numbers(third), strict=True)]


# what counts the figures of a family: the pattern of their names, and a function of its groups
FAMILIES = {
    r"((?:LTL|LTDL|Lx|LTx|Lix|LiTx|UDU|forward|back)\S*(?: \S+)?) \[(?!balanced255|grid256)(\w+)\]": on_a_tree,
    r"unbranched n=(\d+)": lambda n: factorized(chain, int(n)),
    r"short side branches m=(\d+)": lambda m: factorized(side_branches, int(m)),
    r"balanced m=(\d+)(?: closed form .*)?": lambda m: factorized(balanced, int(m)),
    r"balanced bounds m=(\d+)": lambda m: bounds(int(m)),
    r"span grid m=(\d+)": lambda m: factorized(span_grid, int(m)),
    r"span grid m=(\d+) random min-path tree": lambda m: factorized(shortest_paths, int(m)),
    r"grid m=(\d+): number of nodes with eta=k is m-\|k-m\|": lambda m: np.bincount(
        [len(span_grid(int(m)).path(i)) for i in range(int(m) ** 2)])[1:].tolist(),
    r"(.*): n,d,m": of_asimo,
    r"humanoid D\^e_(\d)": lambda k: factorized(lambda _: zoo.humanoid().dof_tree, 30)[int(k) - 1],
    r"Tree 1 k=7: step-2 elements (\(3,1\))": lambda _: [j for _, j in touched(zoo.tree1().dof_tree, 6)[0]],
    r"CRBA vs ABA (humanoid) % slower \(a=m, a=0\)": slower,
    r"third screw of phi P phi\^T also (38m\+40a)": three_screws,
}  # fmt: skip


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: " ".join(figure[:3]))
def test_figure(figure):
    *_, name, printed = figure
    counted = [count(*found.groups()) for rule, count in FAMILIES.items() if (found := re.fullmatch(rule, name))]
    if counted:
        assert name not in ROWS
        assert [numbers(x) for x in counted] == [numbers(printed)]
        return
    script, *places = ROWS[name]
    rows = [rows_of(script)[place] for place in places]
    assert {row.status for row in rows} <= {"exact", "rounds to printed"}
    if printed is True:
        assert [row.ours for row in rows] == ["yes"]
    else:
        assert numbers(printed) in (numbers([row.paper for row in rows]), numbers([row.formula for row in rows]))


def test_no_figure_is_left_out():
    assert len(FIGURES) == 318
    assert set(ROWS) <= {name for _, _, name, _ in FIGURES}


PRICES = {
    F05 + "section5": {
        "ra: sum of two inertias": f05_cost.RIGID_ADD,
        "rx at a DH node: two screws, and the products of the angle": f05_cost.RIGID_TRANSFORM[2],
        "rx at another node: three screws": f05_cost.RIGID_TRANSFORM[3],
        "vx at a DH node: two screws": f05_cost.VECTOR_TRANSFORM[2],
        "vx at another node: a general transform": f05_cost.VECTOR_TRANSFORM[3],
    },
    F10 + "table4": {
        "phi (tau P) phi', what a third screw adds": (
            f10_cost.ARTICULATED_TRANSFORM[3] - f10_cost.ARTICULATED_TRANSFORM[2]
        ),
        "phi' Omega phi, two screws": f10_cost.DIAGONAL_TRANSFORM[2],
        "phi' Omega phi, three screws": f10_cost.DIAGONAL_TRANSFORM[3],
        "tau' (...) tau, all of (...) tau formed": f10_cost.DIAGONAL_STEP - OperationCount(add=1),
        "Omega phi, two screws": f10_cost.BLOCK_TRANSFORM[2],
        "Omega phi, three screws": f10_cost.BLOCK_TRANSFORM[3],
        "(...) tau": f10_cost.BLOCK_STEP,
    },
}


@pytest.mark.parametrize(("script", "price"), [(script, price) for script in PRICES for price in PRICES[script]])
def test_prices_of_formulas_are_those_of_executed_kernels(script, price):
    """What the totals of CRBA and of RJK are made of; left are 60m + 62a (E4), and RNEA and ABA of other papers."""
    assert rows_of(script)[price].ours == str(PRICES[script][price])


@pytest.mark.parametrize("name", ["tree1", "shimanovskij", "humanoid", "asimo"])
def test_patterns_are_those_of_executed_matrices(name):
    """H by the kernel, at a random configuration, and its factor: nonzero where the sets of the tree say."""
    model = getattr(zoo, name)()
    H = Dynamics(model, general=True).mass_matrix(model.random_configuration(np.random.default_rng(1)))
    wanted, factor = pattern(model.dof_tree).astype(bool), factorize(H, model.dof_tree)
    assert not H[~wanted].any()
    assert (
        np.mean(np.abs(H[wanted]) > 1e-12 * np.abs(H).max()) > 0.95
    )  # not within a joint: the mass of a base, its axes
    assert not factor.L[~(wanted & np.tri(model.nv, dtype=bool))].any()
