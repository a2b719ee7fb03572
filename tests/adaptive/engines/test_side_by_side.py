"""Trees redone on several threads: the same bits as on one."""

from __future__ import annotations

import numpy as np
import pytest

from bough import adaptive, zoo
from bough.adaptive.engines import side_by_side
from bough.adaptive.engines.side_by_side import subtrees
from bough.compile.settings import most_threads


@pytest.mark.parametrize("make", [zoo.chain, zoo.molecule, zoo.random_tree])
def test_every_number_of_threads_gives_the_same_bits(make, monkeypatch):
    model = make(600)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(side_by_side, "threads", lambda count=count: count)
        monkeypatch.setattr(side_by_side, "LARGE", 100)
        sim = adaptive.QuasiStatics(model, adaptive.energy(0.1), "adaptive")
        sim.configuration = model.random_configuration(np.random.default_rng(0))
        sim.apply_force(400, (0.3, 0.2, 0.1))
        sim.run(4, h=1e-6)
        tree = sim.solver.assemble()
        exact = adaptive.QuasiStatics(model, method="dca")
        exact.apply_force(400, (0.3, 0.2, 0.1))
        found.append((tree.state.record.copy(), sim.configuration, exact.accelerations(), sim.stats.full_nodes))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_subtrees_are_disjoint_and_cover_what_is_below():
    plan = adaptive.QuasiStatics(zoo.molecule(500), method="dca").solver.assemble().plan
    groups, above = subtrees(plan.up, 8)
    together = np.concatenate([*groups, above])
    np.testing.assert_array_equal(np.sort(together), np.arange(len(plan.up)))
    assert max(map(len, groups)) <= len(plan.up) // 8
    assert len(above) < len(plan.up) // 8
    for nodes in groups:
        top = nodes[-1]
        assert np.isin(plan.up[nodes[:-1]], nodes).all()
        assert plan.up[top] not in nodes


def test_small_trees_and_few_threads_go_alone():
    assert side_by_side.workers(100) == 1
    with most_threads(1):
        assert side_by_side.workers(10**6) == 1
