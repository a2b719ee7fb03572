"""Robots on the ground side by side: as rollouts, with friction of their own, failed and reset row by row."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import KernelError, ModelError, ShapeError
from bough.simulate import ContactPoint, Contacts, Ensemble, HeightField, Plane, rollout
from bough.simulate.constrained_stepper import ConstrainedStepper

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
    runs = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    runs.step(200)
    motion = rollout(box, q, v, duration=0.2, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    np.testing.assert_allclose(runs.q, motion.q[-1], atol=1e-12)
    np.testing.assert_allclose(runs.force[:, :, 2].sum(axis=1), 2.0 * 9.81, rtol=1e-6)
    assert runs.residual.max() < 1e-8
    assert runs.time == pytest.approx(0.2)


def test_friction_differs_from_row_to_row(box):
    q, v = states(box, 3)
    friction = np.array([0.2, 0.4, 0.8])
    runs = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM), friction=friction)
    runs.step(600)
    np.testing.assert_allclose(runs.q[:, 0], 1.0 / (2 * friction * 9.81), atol=1e-3)


def test_a_failed_row_is_said_to_be_and_starts_anew(box):
    q, v = states(box, 3)
    runs = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    tau = np.zeros((3, 6))
    tau[1] = 1e305
    runs.step(3, tau=tau)
    assert runs.failed.tolist() == [False, True, False]
    runs.step(10, tau=np.zeros(6))
    assert runs.failed.tolist() == [False, True, False]
    runs.reset(runs.failed)
    assert not runs.failed.any()
    runs.step(10)
    np.testing.assert_allclose(runs.q[1, 0], q[1, 0] + 0.01, atol=1e-3)
    assert runs.q[0, 0] > runs.q[1, 0]


def test_a_kernel_that_cannot_be_compiled_is_no_failed_row(box, monkeypatch):
    def fail(*_):
        raise KernelError("no such kernel")

    monkeypatch.setattr(ConstrainedStepper, "_kernel", fail)
    q, v = states(box, 2)
    with pytest.raises(KernelError, match="no such kernel"):
        Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM)).step()
    with pytest.raises(KernelError, match="no such kernel"):
        rollout(box, q, v, duration=0.01, dt=1e-3, contacts=Contacts(BOTTOM), failures="record")


def test_nonsense_is_refused(box):
    q, v = states(box, 2)
    good = {"dt": 1e-3, "contacts": Contacts(BOTTOM)}
    with pytest.raises(ShapeError, match=r"coefficient from zero, got -0\.2 in row 1"):
        Ensemble(box, q, v, friction=[0.1, -0.2], **good)
    with pytest.raises(ShapeError, match="q must have shape"):
        Ensemble(box, q[0], v, **good)
    with pytest.raises(ShapeError, match="dt must be positive"):
        Ensemble(box, q, v, dt=0.0, contacts=Contacts(BOTTOM))
    uneven = Contacts(BOTTOM, HeightField(np.zeros((2, 2))))
    with pytest.raises(ModelError, match="takes placements from row to row on planes only"):
        Ensemble(box, q, v, dt=1e-3, contacts=uneven, inputs=("placement",))
    with pytest.raises(ShapeError, match="tau must have shape"):
        Ensemble(box, q, v, **good).step(tau=np.zeros(5))


def test_forces_that_are_omitted_stay_as_they_were(box):
    q, v = states(box, 2)
    runs = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    runs.step(5, tau=[3.0, 0, 0, 0, 0, 0])
    runs.step(5)
    other = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5))
    other.step(10, tau=[3.0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(runs.q, other.q)


def test_height_fields_are_as_planes(box):
    q, v = states(box, 2)
    grounds = Plane(), HeightField(np.zeros((3, 3)), 10.0, (-10, -10))
    plane, field = (Ensemble(box, q, v, dt=1e-3, contacts=Contacts(BOTTOM, g, friction=0.5)) for g in grounds)
    for runs in (plane, field):
        runs.step(100)
    np.testing.assert_allclose(field.q, plane.q, atol=1e-8)
    field.v[1] = np.nan
    field.step(2)
    assert field.failed.tolist() == [False, True]
    field.reset(field.failed)
    field.step(2)
    assert not field.failed.any()


@pytest.mark.parametrize("ground", [Plane(), HeightField(np.zeros((3, 3)), 10.0, (-10, -10))])
def test_servos_on_the_ground_are_implicit(ground):
    """A rod on a box that stands: explicit damping of this size would be unstable."""
    builder = bough.Builder("box")
    builder.add_body("box", joint="floating", mass=2.0, inertia=np.eye(3) * 0.0133)
    law = {"mass": 0.3, "com": (0, 0, 0.1), "inertia": np.eye(3) * 1e-3, "effort": 3.0}
    builder.add_body("rod", "box", placement=(0, 0, 0.05), axis=(0, 1, 0), **law)
    model = builder.build()
    q, v = np.tile(model.neutral, (2, 1)), np.zeros((2, 7))
    q[:, 2] = H
    options = {"contacts": Contacts(BOTTOM, ground, friction=0.5), "servo": (400.0, 20.0)}
    runs = Ensemble(model, q, v, dt=1e-3, **options)
    runs.step(300, target=np.array([0.0] * 6 + [0.05]))
    np.testing.assert_allclose(runs.q[:, 7], 0.05, atol=1e-3)
    found = rollout(model, q, v, duration=0.05, dt=1e-3, target=np.array([0.0] * 6 + [0.05]), **options)
    start = Ensemble(model, q, v, dt=1e-3, **options)
    start.step(50, target=np.array([0.0] * 6 + [0.05]))
    np.testing.assert_allclose(found.q[-1], start.q, atol=1e-9)


def test_the_old_name_is_the_same_class():
    with pytest.warns(DeprecationWarning, match="simulate.Ensemble"):
        assert bough.simulate.GroundedEnsemble is Ensemble
