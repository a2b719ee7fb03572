"""Robots on the ground side by side: as rollouts, with friction of their own, failed and reset row by row."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import ModelError, ShapeError
from bough.simulate import ContactPoint, Contacts, GroundedEnsemble, HeightField, rollout

H = 0.1
BOTTOM = [ContactPoint("box", (x * H, y * H, -H)) for x in (-1, 1) for y in (-1, 1)]


@pytest.fixture(scope="module")
def box():
    builder = bough.Builder("box")
    builder.add_body("box", joint="floating", mass=2.0, inertia=np.eye(3) * 0.0133)
    return builder.build()


def states(box, batch):
    q, v = np.tile(box.neutral, (batch, 1)), np.zeros((batch, 6))
    q[:, 2], v[:, 0] = H, 1.0
    return q, v


def test_as_a_rollout(box):
    q, v = states(box, 3)
    v[:, 0] = [0.5, 1.0, 1.5]
    runs = GroundedEnsemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    runs.step(200)
    motion = rollout(box, q, v, duration=0.2, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    np.testing.assert_allclose(runs.q, motion.q[-1], atol=1e-12)
    np.testing.assert_allclose(runs.force[:, :, 2].sum(axis=1), 2.0 * 9.81, rtol=1e-6)
    assert runs.residual.max() < 1e-8
    assert runs.time == pytest.approx(0.2)


def test_friction_differs_from_row_to_row(box):
    q, v = states(box, 3)
    friction = np.array([0.2, 0.4, 0.8])
    runs = GroundedEnsemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM), friction=friction)
    runs.step(600)
    np.testing.assert_allclose(runs.q[:, 0], 1.0 / (2 * friction * 9.81), atol=1e-3)


def test_a_failed_row_is_said_to_be_and_starts_anew(box):
    q, v = states(box, 3)
    runs = GroundedEnsemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    tau = np.zeros((3, 6))
    tau[1] = 1e305
    runs.step(3, tau=tau)
    assert runs.failed.tolist() == [False, True, False]
    runs.step(10)
    assert runs.failed.tolist() == [False, True, False]
    runs.reset(runs.failed)
    assert not runs.failed.any()
    runs.step(10)
    np.testing.assert_allclose(runs.q[1, 0], q[1, 0] + 0.01, atol=1e-3)
    assert runs.q[0, 0] > runs.q[1, 0]


def test_nonsense_is_refused(box):
    q, v = states(box, 2)
    good = {"dt": 1e-3, "contacts": Contacts(BOTTOM)}
    with pytest.raises(ShapeError, match="one for each of 2 rows"):
        GroundedEnsemble(box, q, v, friction=[0.1, -0.2], **good)
    with pytest.raises(ShapeError, match="q must have shape"):
        GroundedEnsemble(box, q[0], v, **good)
    with pytest.raises(ShapeError, match="dt must be positive"):
        GroundedEnsemble(box, q, v, dt=0.0, contacts=Contacts(BOTTOM))
    with pytest.raises(ModelError, match="rollout takes them all"):
        GroundedEnsemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, HeightField(np.zeros((2, 2)))))
    with pytest.raises(ShapeError, match="tau must have shape"):
        GroundedEnsemble(box, q, v, **good).step(tau=np.zeros(5))
