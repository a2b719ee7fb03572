"""Rollouts of mechanisms with loops: they stay closed, keep their energy, and meet limits and the ground together."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import close_loops
from bough.errors import ShapeError
from bough.opspace import ConstrainedDynamics, Loops, OperationalSpace, closure_tasks
from bough.simulate import ContactPoint, Contacts, rollout
from bough.simulate.cone import TOLERANCES
from opspace.mechanisms import four_bar, slider_crank
from sizes import size


@pytest.mark.parametrize("make", [four_bar, slider_crank])
def test_loops_stay_closed_and_keep_their_energy(make):
    model = make()
    start = [0.6, -0.5, -1.5] if make is four_bar else [0.6, -0.6, 0.9]
    q = close_loops(model, start).q
    motion = rollout(model, q, np.zeros(3), duration=1.0, dt=1e-3)
    loops = Loops(model)
    assert np.abs(loops.gap(motion.q)).max() < 1e-7
    assert np.ptp(motion.q[:, 0]) > 0.3  # it swings
    energy = motion.energy()
    scale = np.ptp(bough.Dynamics(model).potential_energy(motion.q))
    assert np.abs(energy - energy[0]).max() < 0.02 * scale


def test_steps_agree_with_accelerations():
    """The first step of a rollout is that of ConstrainedDynamics."""
    model = four_bar()
    q = close_loops(model, [0.6, -0.5, -1.5]).q
    qdd = ConstrainedDynamics(OperationalSpace(model, closure_tasks(model)))(q, np.zeros(3), np.zeros(3)).qdd
    motion = rollout(model, q, np.zeros(3), duration=1e-6, dt=1e-6)
    np.testing.assert_allclose(motion.v[-1] / 1e-6, qdd, rtol=1e-6)


def test_loops_can_be_left_out_and_contacts_need_their_integrator():
    model = four_bar()
    q = close_loops(model, [0.6, -0.5, -1.5]).q
    free = rollout(model, q, np.zeros(3), duration=0.2, dt=1e-3, without=["closures"])
    assert np.abs(Loops(model).gap(free.q[-1])).max() > 1e-2
    ground = Contacts([ContactPoint("crank", (0.3, 0, 0))])
    with pytest.raises(ShapeError, match="contacts are held by the integrator"):
        rollout(model, q, np.zeros(3), duration=0.1, dt=1e-3, integrator="lie_midpoint", contacts=ground)


def test_a_loop_a_limit_and_the_ground_at_once():
    """The crank's tip comes to rest on the ground, with the loop closed."""
    model = four_bar()
    q = close_loops(model, [-0.6, 0.5, -1.5], hold=["crank"]).q
    ground = Contacts([ContactPoint("crank", (0.3, 0, 0))], friction=0.5)
    motion = rollout(model, q, np.zeros(3), duration=size(1.5, 0.28), dt=size(1e-3, 4e-3), contacts=ground)
    tip = -0.3 * np.sin(motion.q[:, 0])
    assert tip.min() > -1e-4
    assert abs(tip[-1]) < 1e-3
    assert np.abs(Loops(model).gap(motion.q)).max() < 1e-6


@pytest.mark.parametrize("reach", [[0.3], [0.3, 0.25]])
def test_impulses_of_a_loop_at_rest_on_the_ground_are_found(reach):
    """Also of points that share a load."""
    model = four_bar()
    q = close_loops(model, [-0.6, 0.5, -1.5], hold=["crank"]).q
    ground = Contacts([ContactPoint("crank", (x, 0, 0)) for x in reach], friction=0.5)
    motion = rollout(model, q, np.zeros(3), duration=size(0.4, 0.3), dt=4e-3, contacts=ground)
    assert abs(motion.q[-1, 0]) < 1e-3
    assert motion.extra["contact_residual"].max() <= TOLERANCES[8]


def test_a_loop_that_is_open_at_the_start_is_refused():
    model = four_bar()
    closed = close_loops(model, [0.6, -0.5, -1.5]).q
    with pytest.raises(ShapeError, match=r"row 1 of the batch .* open by .* bough\.close_loops"):
        rollout(model, np.stack([closed, closed + 0.1]), np.zeros((2, 3)), duration=0.1, dt=1e-3)
