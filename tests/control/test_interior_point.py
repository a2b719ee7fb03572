"""The interior-point method beside a solver by active sets, and what its report says."""

import numpy as np
import pytest

from bough.compile.executions import bind_arrays
from bough.control.interior_point import CONTINUED, GAP, INTERIOR_POINT, OPTIMALITY, VIOLATION, Tuning
from bough.control.rows import CONSTANT, EQUATIONS, LIMITS, Row, laid_out
from sizes import size

daqp = pytest.importorskip("daqp")
N, HARD, SOFT, TWO, ONE = 6, 2, 3, 4, 3


def programs(batch, seed, spread=1.0, fixed=0):
    """Random programs that have a solution: equations, soft equations, rows with two bounds and with one.

    The first variables, so many as are `fixed`, are in no inequality.
    """
    rng = np.random.default_rng(seed)
    n = N + fixed
    groups = ["contact"] * HARD + ["task"] * SOFT + ["torque"] * TWO + ["cone"] * ONE
    first = [0 if group in ("contact", "task") else fixed for group in groups]
    columns = [sorted(rng.choice(np.arange(k, n), 4, replace=False).tolist()) for k in first]
    rows = [Row(g, {c: (CONSTANT, 0, 0, 1.0) for c in some}) for g, some in zip(groups, columns, strict=True)]
    blocks, order, numbers = laid_out(rows)
    place = np.argsort(order)
    at = {group: place[[k for k, x in enumerate(groups) if x == group]] for group in dict.fromkeys(groups)}
    blocks = blocks._replace(ends=blocks.ends[[EQUATIONS, LIMITS]])
    a, inside = rng.normal(size=(batch, len(numbers))), rng.normal(size=(batch, n))
    A = dense(blocks, a, n)
    g = np.einsum("brn,bn->br", A, inside)
    low, high, ease = g.copy(), g.copy(), np.zeros(g.shape)
    low[:, at["task"]] += rng.normal(size=(batch, SOFT))
    ease[:, at["task"]] = rng.uniform(0.1, 1.0, (batch, SOFT))
    for group in ("torque", "cone"):
        low[:, at[group]] -= spread * rng.uniform(0.01, 1.0, low[:, at[group]].shape)
        high[:, at[group]] += spread * rng.uniform(0.01, 1.0, low[:, at[group]].shape)
    d, z = rng.uniform(0.01, 1.0, (batch, n)), 3.0 * rng.normal(size=(batch, n))
    count = 2 * TWO + ONE
    tuning = Tuning(*(np.array([x]) for x in (0.0, 1.0, 1e-4, 1e3, 0.1, 0.999, 1e-12, count)))
    sizes = {"n": n, "rows": len(rows), "numbers": len(numbers), "widest": int(np.diff(blocks.row).max())}
    blocks = blocks._replace(iterations=np.array([16]), fixed=np.array([fixed]))
    return (blocks, tuning), sizes, (a, low, high, ease, d, z), A, at


def dense(blocks, a, n):
    A = np.zeros((len(a), blocks.row[-1], n))
    for b, at in enumerate(blocks.value):
        rows = range(blocks.row[b], blocks.row[b + 1])
        for c, column in enumerate(blocks.column[blocks.first[b] : blocks.first[b + 1]]):
            for k, r in enumerate(rows):
                A[:, r, column] = a[:, at + c * len(rows) + k]
    return A


def by_active_sets(A, at, low, high, ease, d, z):
    """The same program by DAQP."""
    soft, hard = at["task"], at["contact"]
    P = np.diag(d) + (A[soft].T / ease[soft]) @ A[soft]
    c = -d * z - (A[soft].T / ease[soft]) @ low[soft]
    rows = np.concatenate([hard, at["torque"], at["cone"]])
    lower = np.where(np.isin(rows, at["cone"]), -1e30, low[rows])
    sense = np.where(np.isin(rows, hard), 5, 0).astype(np.int32)
    upper = np.where(np.isin(rows, hard), low[rows], high[rows])
    x, _, status, _ = daqp.solve(P, c, np.ascontiguousarray(A[rows]), upper, lower, sense, primal_tol=1e-10)
    assert status > 0
    return x


@pytest.mark.parametrize("fixed", [0, 4, 8])
@pytest.mark.parametrize("seed", range(size(6, 1)))
def test_beside_active_sets(seed, fixed):
    constants, sizes, arrays, A, at = programs(size(20, 2), seed, fixed=fixed)
    blocks, tuning = constants
    first = blocks._replace(iterations=blocks.iterations // 2), tuning  # half of the iterations, and then the others
    x, state, *_ = bind_arrays(INTERIOR_POINT, first, sizes, execution="lanes").call(*arrays)
    x, _, g, report = bind_arrays(CONTINUED, first, sizes, execution="lanes").call(*arrays, x, state)
    alone = bind_arrays(INTERIOR_POINT, constants, sizes, execution="lanes").call(*arrays)
    np.testing.assert_allclose(x, alone[0], atol=1e-9)
    assert report.max() < 1e-6
    np.testing.assert_allclose(g, np.einsum("brn,bn->br", A, x), atol=1e-10)
    active = 0
    for k in range(len(x)):
        expected = by_active_sets(A[k], at, *(y[k] for y in arrays[1:]))
        np.testing.assert_allclose(x[k], expected, atol=1e-5)
        active += (np.abs(g[k] - arrays[2][k])[at["cone"]] < 1e-6).sum()
    assert active > 0


def test_constraints_that_contradict_each_other_are_seen_and_give_way():
    constants, sizes, arrays, A, at = programs(size(9, 2), 3)
    a, low, high, ease, d, z = arrays
    function = bind_arrays(INTERIOR_POINT, constants, sizes, execution="lanes")
    low[:, at["torque"][0]], high[:, at["torque"][0]] = 2.0, 1.0  # no number is in between
    *_, report = function.with_status(a, low, high, ease, d, z)[0]
    assert not (report[:, VIOLATION] < 0.1).any()
    ease[:, at["torque"]] = 0.01  # with a compliance it is the middle, less what others pull
    x, _, g, report = function.call(a, low, high, ease, d, z)
    assert report[:, [VIOLATION, GAP]].max() < 1e-6
    assert report[:, OPTIMALITY].max() < 1e-5
    slope = d * (x - z)
    soft = at["task"]
    slope += np.einsum("brn,br->bn", A[:, soft], (g - low)[:, soft] / ease[:, soft])
    over = np.maximum(g - high, 0.0) - np.maximum(low - g, 0.0)
    slope += np.einsum("brn,br->bn", A[:, at["torque"]], over[:, at["torque"]] / ease[:, at["torque"]])
    free = np.concatenate([at["contact"], at["cone"]])  # what is left is a combination of their rows
    for k in range(len(x)):
        left = slope[k] - A[k, free].T @ np.linalg.lstsq(A[k, free].T, slope[k])[0]
        assert np.abs(left).max() < 1e-4
