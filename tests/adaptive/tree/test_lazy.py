"""Lazy updates: right after many steps, only where something moved, and catching up."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive.linkages import dense, relative, start
from bough.adaptive import QuasiStatics, absolute_joint, relative_joint
from bough.zoo import chain, molecule
from sizes import size

DT = 0.01


@pytest.mark.parametrize("seed", range(4))
def test_a_long_adaptive_run_refined_to_zero_error_equals_a_fresh_solution(seed):
    twin, sim, forces = start(seed, error=relative_joint(1e-2))
    sim.run(size(300, 40), DT)
    sim.refine()
    assert relative(sim.accelerations(), dense(twin, sim.configuration, np.zeros(twin.model.nv), forces)) < 1e-9


def test_only_the_ways_to_moving_and_loaded_bodies_are_touched():
    model = chain(2000)
    sim = QuasiStatics(model, relative_joint(1e-3), "adaptive", culled="zero", catch_up=False)
    sim.gravity = (0, 0, 0)
    sim.apply_force(1000, [1.0, 2.0, 3.0])
    sim.run(10, DT)
    assert sim.stats.joints < 200
    assert sim.stats.full_nodes <= sim.stats.joints
    sim.clear_forces()
    sim.apply_force(1000, [0.0, 0.0, 1e-9], frame="body")
    sim.error = absolute_joint(1.0)
    sim.run(3, DT)
    assert sim.stats.full_nodes == 0
    assert sim.stats.linear_nodes == 0  # forces that turn with their body change nothing where nothing moves


def test_catching_up_keeps_the_configuration_closer():
    joints = size(400, 100)
    model, errors = molecule(joints), {}
    exact = QuasiStatics(model, method="aba")
    for sim, name in [(exact, "exact")] + [
        (QuasiStatics(model, relative_joint(0.2), "adaptive", catch_up=c, culled="zero"), c) for c in (False, True)
    ]:
        sim.gravity = (0, 0, 0)
        sim.apply_force(joints // 2, [5.0, 0.0, 1.0])
        sim.run(size(100, 30), DT)
        errors[name] = np.abs(sim.configuration - exact.configuration).max()
    assert errors[True] < 0.5 * errors[False]


def test_the_certificate_bounds_the_motion_left_out_of_one_step():
    _, sim, _ = start(0, 60, error=relative_joint(0.3))
    q, exact = sim.configuration, None
    exact = start(0, 60, method="aba")[1]
    exact.step(DT)
    sim.step(DT)
    missed = np.linalg.norm(sim.model.difference(sim.configuration, exact.configuration))
    assert missed <= sim.stats.certificate * (1 + 1e-6) + 1e-14
    assert np.linalg.norm(sim.model.difference(q, exact.configuration)) > missed
