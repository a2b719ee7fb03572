"""The printed figures of Featherstone 2010 and Chang & Khatib 2001, from execution on scalars that count."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from bough import cost, zoo
from bough.compile.routine import operations, trace
from bough.model.coupling import parents_of_dofs
from bough.opspace import TaskSet, pose
from bough.opspace.methods import dof_tree, prepare
from bough.opspace.methods.chang_khatib import chang_khatib_program
from bough.opspace.methods.rjk import need, rjk_program
from bough.opspace.sweeps.jacobian import (
    jacobian_times,
    jacobian_transpose_times,
    outer_product,
    solve_rows,
    solve_rows_unit,
)
from bough.sparsity.ltdl import ltdl
from bough.tree.tree import Tree
from papers.featherstone2010.asimo import jacobian_pattern, last_dofs
from papers.featherstone2010.products import generalised_inverse, null_space

pytestmark = pytest.mark.interpreted
ROWS = {"HF": 1.618, "HFH": 1.923, "+6 HF": 1.369, "+12 HF": 1.095, "8 limbs HF": 2.496, "hands HF": 1.122}
CK_PRODUCTS = {
    "HF": 59, "HFH": 84, "+6 HF": 113, "+12 HF": 167, "8 limbs HF": 224, "hands HF": 59, "hands FTF": 128
}  # fmt: skip


class Counted:
    """A number that counts what is done to it; nothing is folded."""

    tally: ClassVar[Counter[str]] = Counter()

    def __init__(self, value):
        self.value = value

    def _do(self, name, other, result):
        Counted.tally[name] += 1
        return Counted(result(self.value, other.value))

    def __mul__(self, other):
        return self._do("m", other, float.__mul__)

    def __add__(self, other):
        return self._do("a", other, float.__add__)

    def __sub__(self, other):
        return self._do("a", other, float.__sub__)

    def __truediv__(self, other):
        return self._do("d", other, float.__truediv__)

    def __neg__(self):
        return Counted(-self.value)


def counted(array):
    flat = np.empty(np.size(array), object)
    flat[:] = [Counted(float(x)) for x in np.ravel(array)]
    return flat.reshape(np.shape(array))


def values(array):
    return np.array([x.value for x in array.ravel()]).reshape(array.shape)


ZERO, ONE = Counted(0.0), Counted(1.0)


class Asimo:
    """General packed H and J with the pattern of ASIMO's hands and feet."""

    def __init__(self):
        self.tasks = TaskSet(zoo.asimo(), [pose(frame, "local") for frame in zoo.asimo_tasks()])
        self.p, self.f = self.tasks.pattern, dof_tree(self.tasks)
        rng = np.random.default_rng(0)
        self.n, self.m, self.parent = 40, 24, self.f.parent.tolist()
        path = np.zeros((self.n, self.n), bool)
        for k in range(self.n):
            path[k, k] = True
            if self.parent[k] >= 0:
                path[k] |= path[self.parent[k]]
        self.L0 = np.where(path, rng.uniform(-0.3, 0.3, path.shape), 0.0)
        np.fill_diagonal(self.L0, rng.uniform(1, 2, self.n))
        self.dense_H = self.L0.T @ self.L0
        self.H = counted(np.concatenate([self.dense_H[k, path[k]] for k in range(self.n)]))
        entries = rng.normal(size=len(self.p.dof))
        self.J, self.dense_J = counted(entries), np.zeros((self.m, self.n))
        for r in range(self.m):
            e = slice(self.p.of_row[r], self.p.of_row[r + 1])
            self.dense_J[r, self.p.dof[e]] = entries[e]

    def factor(self):
        L = self.H.copy()
        ltdl(self.f.parent, self.f.rows, L)
        return L


@pytest.fixture(scope="module")
def asimo():
    return Asimo()


def count(**expected):
    actual = {key: Counted.tally[key] for key in expected}
    Counted.tally.clear()
    assert actual == expected


def test_table_2_factorization(asimo):
    Counted.tally.clear()
    asimo.factor()
    count(d=334, m=1779, a=1779)


def test_table_2_products_with_the_jacobian(asimo):
    x, y = counted(np.arange(40.0)), counted(np.zeros(24))
    Counted.tally.clear()
    jacobian_times(asimo.p, asimo.J, x, y)
    count(m=312, a=288)
    np.testing.assert_allclose(values(y), asimo.dense_J @ np.arange(40.0))
    jacobian_transpose_times(asimo.p, asimo.J, y, x, ZERO)
    count(m=312, a=312)
    np.testing.assert_allclose(values(x), asimo.dense_J.T @ values(y))


def test_table_2_inverse_inertia(asimo):
    L, Y, YD, A = asimo.factor(), asimo.J.copy(), asimo.J.copy(), counted(np.zeros((24, 24)))
    Counted.tally.clear()
    solve_rows_unit(asimo.p, asimo.f, L, Y, YD)
    count(d=312, m=1872, a=1872)
    outer_product(asimo.p, YD, Y, A, ZERO)
    count(m=2424, a=2124)
    np.testing.assert_allclose(values(A), asimo.dense_J @ np.linalg.solve(asimo.dense_H, asimo.dense_J.T))


def test_table_2_with_square_roots(asimo):
    L, Y = asimo.H.copy(), asimo.J.copy()
    L[:] = counted(np.concatenate([row[np.abs(row) > 0] for row in asimo.L0]))
    A = counted(np.zeros((24, 24)))
    Counted.tally.clear()
    solve_rows(asimo.p, asimo.f, L, Y)
    count(d=312, m=1872, a=1872)
    outer_product(asimo.p, Y, Y, A, ZERO)
    np.testing.assert_allclose(values(A), asimo.dense_J @ np.linalg.solve(asimo.dense_H, asimo.dense_J.T))


def test_table_2_jbar_and_null_space(asimo):
    L, Y, YD = asimo.factor(), asimo.J.copy(), asimo.J.copy()
    solve_rows_unit(asimo.p, asimo.f, L, Y, YD)
    Lam = np.linalg.inv(asimo.dense_J @ np.linalg.solve(asimo.dense_H, asimo.dense_J.T))
    Jbar, N = counted(np.zeros((40, 24))), counted(np.zeros((40, 40)))
    Counted.tally.clear()
    generalised_inverse(asimo.p, asimo.f, L, YD, counted(Lam), Jbar, ZERO)
    count(m=15504, a=15504)
    np.testing.assert_allclose(values(Jbar), np.linalg.solve(asimo.dense_H, asimo.dense_J.T) @ Lam, atol=1e-12)
    null_space(asimo.p, asimo.J, Jbar, N, ZERO, ONE)
    count(m=12480, a=12520)
    np.testing.assert_allclose(values(N), np.eye(40) - values(Jbar) @ asimo.dense_J, atol=1e-12)


def test_patterns_of_asimo(asimo):
    tasks = asimo.tasks
    assert jacobian_pattern(tasks).sum() == 312
    assert sorted(set(last_dofs(tasks))) == [15, 24, 33, 39]


@pytest.mark.parametrize("variant", CK_PRODUCTS)
def test_products_of_the_block_methods(variant):
    tasks = TaskSet(zoo.asimo(variant), [pose(f, "local") for f in zoo.asimo_tasks(variant)])
    assert len(chang_khatib_program(tasks).source) == CK_PRODUCTS[variant]
    if variant == "HF":
        program = rjk_program(tasks)
        assert len(program.body) == 28
        assert len(program.source) == 2 * 39
        pairs = need(Tree(tasks.model.mechanism.parent), np.stack([program.first, program.second]).T.tolist())
        assert sum(i != j for i, j in pairs) == 39


def table_3_ratio(variant, as_printed=False):
    """Cost of RJK over cost of the sparse factorization, J left out, from closed formulas."""
    model = zoo.asimo(variant)
    tasks = TaskSet(model, [pose(f, "local") for f in zoo.asimo_tasks(variant)])
    m = model.mechanism
    bodies, expanded = Tree(m.parent), Tree(parents_of_dofs(m))
    rows = [int(tasks.pattern.dof[e - 1]) for e in tasks.pattern.of_row[1:]]
    targets = sorted({int(b) for b in tasks.seeds.body})
    recursive = cost.rjk_articulated(bodies) + cost.rjk_omega(bodies, targets, as_printed=as_printed)
    sparse = (
        cost.crba(bodies, (0,)) + cost.ltdl(expanded) + cost.jacobian_solve(expanded, rows)
        + cost.outer_product(expanded, rows)
    )  # fmt: skip
    return recursive.total / sparse.total


@pytest.mark.parametrize(("variant", "printed"), ROWS.items())
def test_table_3(variant, printed):
    assert round(table_3_ratio(variant), 3) == printed


def test_table_3_fingers_and_thumbs():
    assert round(table_3_ratio("hands FTF", as_printed=True), 3) == 1.277
    assert round(table_3_ratio("hands FTF"), 3) == 1.314


def test_recursion_wins_from_fifteen_more_joints_per_limb():
    assert table_3_ratio("+14 HF") > 1 > table_3_ratio("+15 HF")


def test_pv_on_asimo_is_below_its_bound():
    tasks = TaskSet(zoo.asimo(), [pose(frame, "local") for frame in zoo.asimo_tasks()])
    assert operations(trace(*prepare("pv", tasks))).total <= 23_832
