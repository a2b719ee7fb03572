"""Inverse dynamics with loops and contacts: closed forms, round trips, weights, and motions that cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import ShapeError
from bough.opspace import (
    ConstrainedDynamics,
    ConstrainedInverseDynamics,
    OperationalSpace,
    close_loops,
    closure_tasks,
)

CRANK, RODLEN, G = 0.3, 1.0, 9.81
MASS = (1.0, 1.0, 2.0)
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def slider_crank(gravity=(-G, 0.0, 0.0)):
    """Only the crank has a motor; gravity along the slide."""
    builder = bough.Builder("slider-crank", gravity)
    rod = {"axis": (0, 1, 0), "mass": 1.0, "inertia": np.diag([0.01, 0.02, 0.015])}
    builder.add_body("crank", com=(CRANK / 2, 0, 0), **rod)
    builder.add_body("rod", "crank", placement=(CRANK, 0, 0), com=(RODLEN / 2, 0, 0), actuated=False, **rod)
    builder.add_body("slider", joint="prismatic", axis=(1, 0, 0), mass=2.0, actuated=False)
    builder.add_closure("rod", "slider", point=(RODLEN, 0, 0), name="wrist pin")
    return builder.build()


def closed(model, angle):
    turn = -np.arcsin(CRANK / RODLEN * np.sin(angle))
    return close_loops(model, [angle, turn - angle, CRANK * np.cos(angle) + RODLEN], hold=["crank"]).q


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5])
def test_a_slider_crank_is_held_by_the_torque_that_virtual_work_asks_for(angle):
    model = slider_crank()
    q = closed(model, angle)
    inverse = ConstrainedInverseDynamics(OperationalSpace(model, closure_tasks(model)))
    found = inverse(q, np.zeros(3), np.zeros(3))
    # V = g sum of m x, sin(phi) = crank / rod sin(angle)
    sine = CRANK / RODLEN * np.sin(angle)
    turn = sine * CRANK / RODLEN * np.cos(angle) / np.sqrt(1 - sine**2)  # -d cos(phi) / d angle
    slope = np.array([-CRANK / 2 * np.sin(angle), -CRANK * np.sin(angle) - RODLEN / 2 * turn,
                      -CRANK * np.sin(angle) - RODLEN * turn])  # fmt: skip
    np.testing.assert_allclose(found.tau, [G * slope @ MASS, 0, 0], atol=1e-8)
    assert found.residual < 1e-8
    assert found.violation < 1e-12


def test_forward_after_inverse_with_a_loop_and_in_a_batch():
    model = slider_crank((0.0, 0.0, -G))
    space = OperationalSpace(model, closure_tasks(model))
    forward, inverse = ConstrainedDynamics(space), ConstrainedInverseDynamics(space)
    rng, rows = np.random.default_rng(0), []
    for angle in rng.uniform(0.2, 2.8, 5):
        q = closed(model, angle)
        v = np.linalg.svd(space.jacobian(q))[2][-1]
        tau = np.array([rng.normal(), 0.0, 0.0])
        qdd = forward(q, v, tau).qdd
        found = inverse(q, v, qdd)
        np.testing.assert_allclose(found.tau, tau, atol=1e-7)
        assert max(found.residual, found.violation) < 1e-6
        rows.append((q, v, qdd, found.tau))
    Q, V, A, T = (np.array(x) for x in zip(*rows, strict=True))
    many = inverse(Q, V, A)
    np.testing.assert_allclose(many.tau, T, atol=1e-9)
    assert many.residual.shape == (5,)


@pytest.fixture(scope="module")
def standing():
    model = bough.zoo.quadruped()
    q = model.rest_configuration.copy()
    q[2] = 0.34
    return model, OperationalSpace(model, [bough.position(foot) for foot in FEET]), q


def test_a_robot_on_its_feet_chooses_by_weights(standing):
    model, space, q = standing
    rest = np.zeros(model.nv)
    lazy = ConstrainedInverseDynamics(space)(q, rest, rest)
    gentle = ConstrainedInverseDynamics(space, torque_weights=1e-6, force_weights=1.0)(q, rest, rest)
    for found in (lazy, gentle):
        assert found.residual < 1e-8
        np.testing.assert_allclose(found.force.reshape(4, 3).sum(axis=0), [0, 0, model.total_mass * G], atol=1e-6)
        np.testing.assert_allclose(found.tau[:6], 0)
        np.testing.assert_allclose(ConstrainedDynamics(space)(q, rest, found.tau).qdd, 0, atol=1e-5)
    assert np.linalg.norm(lazy.tau) < np.linalg.norm(gentle.tau)
    assert np.linalg.norm(gentle.force) < np.linalg.norm(lazy.force)
    # the least norm of forces alone: the dense oracle
    J, need = space.jacobian(q), space.dynamics.inverse_dynamics(q, rest, rest)
    np.testing.assert_allclose(gentle.force, np.linalg.lstsq(J[:, :6].T, need[:6], rcond=None)[0], atol=1e-3)
    dear = np.ones(12)
    dear[:3] = 1e6  # the left fore foot is to carry nothing
    spared = ConstrainedInverseDynamics(space, torque_weights=1e-9, force_weights=dear)(q, rest, rest)
    assert np.abs(spared.force[:3]).max() < 1e-2


def test_a_motion_that_cannot_be_shows_in_the_residual(standing):
    model, space, q = standing
    rest, up = np.zeros(model.nv), np.zeros(model.nv)
    held = ConstrainedInverseDynamics(OperationalSpace(model, [bough.position("lf_foot")]))(q, rest, rest)
    assert held.residual > 1.0  # one foot cannot hold it level
    up[2] = 1.0
    assert ConstrainedInverseDynamics(space)(q, rest, up).violation > 1.0


def test_nonsense_is_refused(standing):
    _, space, _ = standing
    with pytest.raises(ShapeError, match="numbers above zero, one or 12"):
        ConstrainedInverseDynamics(space, force_weights=np.ones(5))
    with pytest.raises(ShapeError, match="torque_weights are numbers above zero"):
        ConstrainedInverseDynamics(space, torque_weights=-1.0)


def test_rows_that_cannot_be_stop_no_others(standing):
    model, space, q = standing
    inverse = ConstrainedInverseDynamics(space)
    Q, V, A = np.tile(q, (5, 1)), np.zeros((5, model.nv)), np.zeros((5, model.nv))
    expected = inverse(q, V[0], A[0])
    V[1, 3], A[2, 2], V[4, 4] = np.nan, 1.0, 1e200  # no number, up from feet that are held, and too fast
    found, status = inverse.with_status(Q, V, A)
    assert status.tolist() == [0, 2, 4, 0, 3]
    assert found.violation[2] > 1.0
    assert np.isnan(found.tau[1]).all()
    for row in (0, 3):
        np.testing.assert_allclose(found.tau[row], expected.tau, atol=1e-9)
        np.testing.assert_allclose(found.force[row], expected.force, atol=1e-6)
    alone, status = inverse.with_status(q, V[0], A[0])
    assert (alone.tau.shape, status.shape, int(status)) == ((model.nv,), (), 0)
    one = ConstrainedInverseDynamics(OperationalSpace(model, [bough.position("lf_foot")]))
    assert one.with_status(q, V[0], A[0])[1] == 4  # one foot cannot hold it level
    with pytest.raises(ShapeError, match="one size"):
        inverse.with_status(Q, V[:3], A)
    nothing, status = inverse.with_status(Q[1:2], V[1:2], A[1:2])
    assert status.tolist() == [2]
    assert np.isnan(nothing.residual).all()
