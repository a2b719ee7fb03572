"""Contracted trees: forces on bodies act on the clusters that bear them as they did, however these turn."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from adaptive.linkages import random_forces, random_linkage, simulate
from bough.adaptive import energy
from bough.adaptive.tree.contract import Applied, cluster_loads, gather, load_body, load_clusters


@pytest.mark.interpreted
def test_five_forces_stand_for_all_on_a_piece():
    rng = np.random.default_rng(1)
    body, world = np.array([0, 1, 2, 2, 3, 4]), np.array([True, False, True, False, True, True])
    force, moment, point = rng.normal(size=(3, 6, 3))
    loads, _ = gather(Applied(body, world, force, moment, point), np.zeros(5, np.int32))
    carrier = np.array([0, 0, 1, 1, -1])  # of the five bodies; the last is part of the ground
    place = [(Rotation.random(random_state=k).as_matrix(), rng.normal(size=3)) for k in range(5)]
    clusters = SimpleNamespace(carrier=carrier, pose=np.array([[*R.ravel(), *p] for R, p in place]))
    found = cluster_loads(carrier, 2)
    load_clusters(loads, clusters, found)
    for k, cluster in enumerate(found.body):
        turn, out = Rotation.random(random_state=9 + k).as_matrix(), np.zeros((2, 6))
        load_body(out, found, k, tuple(turn.ravel()))
        expected = np.zeros(6)
        for b, (f, n, r, fixed) in zip(body, zip(force, moment, point, world, strict=True), strict=True):
            if carrier[b] == cluster:
                R, p = place[b]
                f, n = (turn.T @ x if fixed else R @ x for x in (f, n))
                expected += np.concatenate([n + np.cross(p + R @ r, f), f])
        np.testing.assert_allclose(out[cluster], expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_pieces_weigh_what_their_bodies_do(seed):
    twin = random_linkage(seed, 20, floating=True, forest=False)
    rng = np.random.default_rng(seed)
    q = twin.model.random_configuration(rng)
    sim = simulate(twin.model, q, random_forces(twin, rng), None, energy(0.3), culled="rigid")
    sim.accelerations()
    contracted = sim.solver.region.linkage.mechanism
    assert len(contracted.parent) < len(twin.model.mechanism.parent)
    assert contracted.inertia[:, 9].sum() == pytest.approx(twin.model.total_mass, rel=1e-12)
