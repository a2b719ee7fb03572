"""Closed loops: forces from the dense constrained solution, loops that stay closed."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive import Closure, QuasiStatics, relative_joint
from bough.build import Builder
from bough.zoo import bicycle_chain

DT = 0.01


def four_bar():
    """Two cranks and a coupler in the plane, the last tip pinned back to the ground: redundant in space."""
    builder = Builder("four-bar", gravity=(0, -9.81, 0))
    inertia = np.diag([0.02, 0.03, 0.04])
    at, parent = None, "world"
    for k, length in enumerate([1.0, 1.5, 1.2]):
        parent = builder.add_body(
            f"bar{k}", parent, "revolute", at, axis=(0, 0, 1), mass=1.0, com=(length / 2, 0, 0), inertia=inertia
        )
        at = (length, 0, 0)
    builder.add_frame("tip", parent, (1.2, 0, 0))
    return builder


def closed_four_bar():
    """A configuration in which the tip is at (1, -0.5, 0), found by Newton's method."""
    target, q = np.array([1.0, -0.5]), np.array([0.9, -1.4, -1.2])
    lengths = np.array([1.0, 1.5, 1.2])

    def tip(q):
        angle = np.cumsum(q)
        return np.array([lengths @ np.cos(angle), lengths @ np.sin(angle)])

    for _ in range(50):
        J = np.array([(tip(q + 1e-6 * e) - tip(q - 1e-6 * e)) / 2e-6 for e in np.eye(3)]).T
        q = q - np.linalg.pinv(J) @ (tip(q) - target)
    builder = four_bar()
    builder.add_frame("pin", "world", (1.0, -0.5, 0.0))
    return builder.build(), q, J


@pytest.mark.parametrize("method", ["dca", "adaptive"])
def test_accelerations_are_those_of_the_constrained_dense_solution(method):
    model, q, J = closed_four_bar()
    sim = QuasiStatics(model, method=method, closures=[Closure("pin", "tip")])
    sim.configuration = q
    sim.apply_force("bar1", [0.3, 2.0, 0.0])
    found = sim.accelerations()
    assert np.abs(J @ found).max() < 1e-6  # the tip stays; J by differences
    plain = QuasiStatics(model, method="aba")
    plain.configuration = q
    plain.apply_force("bar1", [0.3, 2.0, 0.0])
    free = plain.accelerations()
    M = np.empty((3, 3))
    for k in range(3):  # columns of the inverse mass matrix, from unit torques
        plain.set_torque(None, np.eye(3)[k])
        M[:, k] = plain.accelerations() - free
    force = np.linalg.solve(J @ M @ J.T, -J @ free)
    np.testing.assert_allclose(found, free + M @ J.T @ force, atol=1e-6)


def test_a_loop_stays_closed_over_many_steps():
    model, q, _ = closed_four_bar()
    sim = QuasiStatics(model, relative_joint(1e-3), "adaptive", closures=[Closure("pin", "tip")])
    sim.configuration = q
    sim.run(300, DT)
    assert np.abs(sim.configuration - q).max() > 0.01
    np.testing.assert_allclose(sim.positions(["tip"])[0], [1.0, -0.5, 0.0], atol=1e-5)
    assert sim._loops.opening() < 1e-5


def test_a_bicycle_chain_closed_on_itself_is_pulled_taut():
    """A ring of links pinned at one end: both ends of the chain meet again."""
    model = bicycle_chain(links=12)
    sim = QuasiStatics(
        model, relative_joint(1e-4), "auto", closures=[Closure("world", model.body_names[-1], "spherical")]
    )
    sim.gravity = (0, 0, 0)
    q = np.full(model.nq, 2 * np.pi / model.nq)
    sim.configuration = q
    sim.apply_force(model.body_names[5], [0.0, 0.01, 0.0])
    sim.run(100, 1e-3)
    assert sim._loops.opening() < 1e-6
    assert np.abs(sim.configuration - q).max() > 1e-4
