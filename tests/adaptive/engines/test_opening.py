"""Clusters opened in shares: those that one row opens, and the same bits on every number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from bough import adaptive, zoo
from bough.adaptive.engines import opening, side_by_side
from bough.adaptive.engines import tree as engine
from sizes import size

JOINTS = size(700, 500)


def opened(model, error, few, threads, monkeypatch, steps=0):
    """What a pass opens, accelerations, what waits, and its bound."""
    monkeypatch.setattr(engine, "FEW", few)
    monkeypatch.setattr(side_by_side, "LARGE", 100)
    monkeypatch.setattr(side_by_side, "threads", lambda: threads)
    sim = adaptive.QuasiStatics(model, error, "adaptive", culled="zero")
    rng = np.random.default_rng(1)
    for body in range(20, JOINTS - 100, JOINTS // 12):
        sim.apply_force(body, rng.normal(size=3))
    sim.run(steps, h=1e-9) if steps else None
    tree = sim.solver.assemble()
    accelerations, waiting = sim.accelerations(), int(tree.front.count[0])
    nodes = tree.front.done[: tree.opened].copy()
    return nodes, accelerations, tree.front.key[:waiting].copy(), sim.configuration, sim.stats.bound


@pytest.mark.parametrize(
    "error", [adaptive.relative_joint(1e-2), adaptive.absolute_joint(0.5), adaptive.absolute_joint(0.01)]
)
@pytest.mark.parametrize("floating", [False, True])
def test_shares_open_what_one_row_does(error, floating, monkeypatch):
    model = zoo.molecule(JOINTS, floating=floating)
    row, shares = (opened(model, error, few, 1, monkeypatch) for few in (10**9, 16))
    assert len(row[0]) > 100
    if error.name.startswith("relative"):  # shares know the largest acceleration found before them: they may open more
        assert {*row[0]} <= {*shares[0]}
        assert shares[4] <= row[4] <= error.eps
        return
    np.testing.assert_array_equal(np.sort(shares[0]), np.sort(row[0]))
    np.testing.assert_array_equal(shares[1], row[1])
    np.testing.assert_array_equal(np.sort(shares[2]), np.sort(row[2]))
    assert shares[4] == pytest.approx(row[4], rel=1e-12)


@pytest.mark.parametrize("make", [zoo.chain, zoo.molecule])
def test_every_number_of_threads_opens_the_same(make, monkeypatch):
    model = make(JOINTS)
    found = [opened(model, adaptive.relative_joint(1e-3), 16, n, monkeypatch, 3) for n in (1, 2, 3)]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_heap_is_one_afterwards(monkeypatch):
    key = opened(zoo.molecule(JOINTS), adaptive.relative_joint(0.1), 16, 2, monkeypatch)[2]
    assert len(key) > 10
    child = np.arange(1, len(key))
    assert (key[(child - 1) // 2] >= key[child]).all()
    assert opening.FEW >= 1000  # few clusters are not worth a thread
