"""Choosing what is active: locking is a projection, and errors and budgets are kept."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.motion.witness import CASES, Witness, kicked
from bough import adaptive
from bough.adaptive.active.choice import Rule


@pytest.mark.parametrize(("size", "seed", "floating", "armature"), CASES)
def test_locking_is_the_projection_in_the_mass_metric(size, seed, floating, armature):
    w = Witness(seed, size, floating=floating, armature=armature)
    before, v = w.sim.momentum, w.sim.velocity
    region = w.region(Rule(1e300, 1e300, 1.0, 1.0, 1 << 60, 0))  # closes whatever may be closed
    free = np.sort(region.engine.mechanism.v_index)
    after = w.sim.velocity
    expected = np.zeros_like(v)
    expected[free] = np.linalg.solve(w.M[np.ix_(free, free)], (w.M @ v)[free])
    assert np.allclose(after, expected, atol=1e-10 * np.abs(v).max())
    loss = 0.5 * (v - after) @ w.M @ (v - after)
    assert loss > 0.0
    assert region.energy_lost == pytest.approx(loss, rel=1e-9)
    assert region.energy_lost == pytest.approx(0.5 * v @ w.M @ v - 0.5 * after @ w.M @ after, rel=1e-9)
    if floating and w.model.tree.parent.tolist().count(-1) == 1:
        assert np.allclose(w.sim.momentum, before, atol=1e-10 * np.abs(before).max())


def test_an_error_of_all_bodies_is_met():
    sim = kicked(bough.zoo.chain(64), adaptive.rms_acceleration(0.05), every=20)
    for _ in range(10):
        sim.run(20, 1e-3)
        assert sim.solver.region.age in (0, 20)
        assert sim.acceleration_error <= 0.05


@pytest.mark.parametrize("measure", [adaptive.body_acceleration, adaptive.rms_acceleration, adaptive.joint_motion])
def test_at_most_so_many_are_active(measure):
    model = bough.zoo.chain(64)
    free, few = kicked(model, measure(0.01)), kicked(model, measure(0.01), most=12)
    for sim in (free, few):
        sim.run(40, 1e-3)
    assert few.active <= 12 < free.active
    assert few.refine() == few.acceleration_error  # refinement ends at the budget
    assert few.active <= 12


def test_what_must_be_open_is_so_whatever_the_budget():
    sim = kicked(bough.zoo.molecule(40, floating=True), adaptive.body_acceleration(0.1), most=1)
    sim.run(5, 1e-3)
    assert sim.active == 1


def test_regions_by_the_metrics_of_joints():
    model = bough.zoo.chain(64)
    whole = kicked(model, None, "full", integrator="rk4")
    whole.run(100, 1e-3)
    errors = []
    for eps in (100.0, 1.0, 0.03):
        sim = kicked(model, adaptive.joint_motion(eps), integrator="rk4")
        sim.run(100, 1e-3)
        assert 0 < sim.active < 64
        errors.append(np.abs(sim.positions() - whole.positions()).max())
    assert errors[0] >= errors[1] > 2 * errors[2]
    # clusters left closed would not exceed eps
    sim.error = adaptive.joint_motion(5.0)
    sim.solver.region.ready(0.0, keep=False)
    sim.solver.engine.accelerate(sim.inputs.forces.loads(), 1e-3)
    still = np.setdiff1d(np.arange(64), sim.solver.region.engine.mechanism.v_index)
    assert np.abs(sim.solver.motion.qdd[still]).max() <= 5.0
