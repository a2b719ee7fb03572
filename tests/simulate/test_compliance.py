"""Contacts that give way: how far they sink and bounce, beside closed forms, and that they feed no energy in."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough.errors import ModelError
from bough.simulate import ContactPoint, Contacts, Ensemble, HeightField, Plane, rollout

R, SOFT, G = 0.1, 1e-4, 9.81
FOOT = [ContactPoint("ball", radius=R)]


@pytest.fixture(scope="module")
def ball():
    builder = bough.Builder("ball")
    builder.add_body("ball", joint="floating", mass=1.0, inertia=np.eye(3) * 0.4 * R**2)
    return builder.build()


def at(ball, height):
    q = ball.neutral.copy()
    q[2] = height
    return q


def test_a_ball_bounces_as_on_a_spring(ball):
    """From 0.2 m: as deep as a spring of 1 / compliance is pressed, back for half a period, and nearly as high."""
    motion = rollout(ball, at(ball, 0.3), np.zeros(6), duration=0.6, dt=1e-4, contacts=Contacts(FOOT, compliance=SOFT))
    z = motion.q[:, 2]
    omega, sag, speed = np.sqrt(1 / SOFT), G * SOFT, np.sqrt(2 * G * 0.2)
    np.testing.assert_allclose(R - z.min(), sag + np.hypot(sag, speed / omega), rtol=1e-2)
    inside = motion.time[z < R]
    np.testing.assert_allclose(np.ptp(inside), (np.pi + 2 * np.arctan(sag * omega / speed)) / omega, rtol=2e-2)
    assert 0.95 * 0.2 < z[np.argmin(z) :].max() - R < 0.2
    energy = motion.energy() + 0.5 * np.maximum(R - z, 0.0) ** 2 / SOFT
    assert np.diff(energy).max() < 1e-12


def test_damping_takes_the_bounce_out_and_leaves_the_sag(ball):
    motion = rollout(
        ball, at(ball, 0.3), np.zeros(6), duration=0.8, dt=1e-3, contacts=Contacts(FOOT, compliance=SOFT, damping=200.0)
    )
    z = motion.q[:, 2]
    assert z[np.argmin(z) :].max() < R
    np.testing.assert_allclose(R - z[-1], G * SOFT, rtol=1e-6)
    np.testing.assert_allclose(motion.extra["contact_force"][-1, 0], [0, 0, G], atol=1e-6)
    assert np.diff(motion.energy() + 0.5 * np.maximum(R - z, 0.0) ** 2 / SOFT).max() < 1e-12


def test_hardly_soft_is_hard_and_all_roads_agree(ball):
    q, v = at(ball, 0.12), [1.0, 0, 0, 0, 0, 0]
    options = {"duration": 0.3, "dt": 1e-3}
    hard, nearly = (rollout(ball, q, v, contacts=Contacts(FOOT, compliance=c), **options) for c in (0.0, 1e-12))
    np.testing.assert_allclose(hard.q, nearly.q, atol=1e-5)
    level = HeightField(np.zeros((3, 3)), 1.0, (-1, -1))
    soft = {"compliance": SOFT, "damping": 20.0, "friction": 0.3}
    field, plane = (rollout(ball, q, v, contacts=Contacts(FOOT, g, **soft), **options).q for g in (level, Plane()))
    np.testing.assert_allclose(field, plane, atol=1e-9)
    runs = Ensemble(ball, np.tile(q, (3, 1)), np.tile(v, (3, 1)), dt=1e-3, contacts=Contacts(FOOT, **soft))
    runs.step(300)
    np.testing.assert_allclose(runs.q, np.tile(plane[-1], (3, 1)), atol=1e-9)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"compliance": -1.0}, "compliance of contacts is a number from zero"),
        ({"compliance": np.inf}, "compliance of contacts is a number from zero"),
        ({"compliance": 1e-4, "damping": -1.0}, "damping of contacts is a number from zero"),
        ({"damping": 5.0}, "contacts with a compliance"),
    ],
)
def test_nonsense_is_refused(options, match):
    with pytest.raises(ModelError, match=match):
        Contacts(["ball"], **options)
