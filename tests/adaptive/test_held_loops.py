"""Loops of moving linkages: closed while they move, as in `simulate`; on contracted trees, too."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import adaptive
from bough.errors import ModelError
from bough.opspace import Loops


def garland(links, kind="connect"):
    """A chain in a plane, its last link pinned where it is at the start."""
    builder, up = bough.Builder("garland"), "world"
    for k in range(links):
        up = builder.add_body(
            f"link{k}", up, placement=(0.2, 0, 0) if k else (0, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.1, 0, 0),
            inertia=np.diag([1e-3, 2e-3, 2e-3]),
        )  # fmt: skip
    builder.add_frame("end", up, (0.2, 0, 0))
    q = np.zeros(links)
    q[: links // 2] = 0.3
    model = builder.build()
    x = adaptive.Dynamics(model)
    x.configuration = q
    builder.add_frame("peg", "world", x.positions(["end"])[0])
    builder.add_closure("end", "peg", kind, name="pin")
    return builder.build(), q


def test_a_loop_accelerates_as_its_dense_equations_say():
    """From rest: M qdd + g = J' lam, J qdd = 0."""
    model, q = garland(5)
    dyn, J, h = bough.Dynamics(model, general=True), Loops(model).space.jacobian(q), 1e-7
    M, g = dyn.mass_matrix(q), dyn.gravity(q)
    Y = np.linalg.solve(M, J.T)
    free = -np.linalg.solve(M, g)
    expected = free - Y @ (np.linalg.pinv(J @ Y, rcond=1e-10) @ (J @ free))
    sim = adaptive.Dynamics(model, method="full")
    sim.configuration = q
    sim.step(h)
    assert np.allclose(sim.velocity / h, expected, atol=1e-5 * np.abs(expected).max())


def test_a_loop_stays_closed_and_keeps_its_energy():
    model, q = garland(5)
    drift = []
    for dt in (1e-3, 2.5e-4):
        sim = adaptive.Dynamics(model, method="full")
        sim.configuration = q
        before = sim.energy
        sim.run(round(0.2 / dt), dt)
        drift.append(abs(sim.energy - before))
        assert sim.opening() < 10.0 * dt**2
        assert sim.stats.kinetic_energy > 0.2
    assert drift[1] < 0.5 * drift[0] < 0.01


def test_loops_on_a_contracted_tree():
    model, q = garland(24)
    sims = []
    for method, eps in (("full", 0.0), ("adaptive", 1.0)):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(eps), method, every=5)
        sim.gravity = np.zeros(3)
        sim.configuration = q
        sim.velocity = np.where(np.arange(24) < 3, 0.2, 0.0)
        sim.run(60, 1e-3)
        sims.append(sim)
    full, few = sims
    assert few.stats.active < 24
    assert few.opening() < 1e-4
    moved = np.abs(full.configuration - q).max()
    assert np.abs(full.configuration - few.configuration).max() < 0.05 * moved


def test_a_loop_within_a_rigid_cluster_stays_closed():
    model, q = garland(24)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0), "adaptive")
    sim.gravity = np.zeros(3)
    sim.configuration = q
    sim.run(10, 1e-3)
    assert sim.active == 0
    assert np.array_equal(sim.configuration, q)


def test_resuming_with_loops_is_exact(tmp_path):
    model, q = garland(8)
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.1), "adaptive", every=4)
    sim.configuration = q
    sim.run(10, 1e-3)
    sim.checkpoint(tmp_path / "loops")
    again = adaptive.Dynamics.resume(model, tmp_path / "loops")
    for each in (sim, again):
        each.run(10, 1e-3)
    assert np.array_equal(sim.configuration, again.configuration)


def drifts(integrator, steps, method="full"):
    """Of energy, and how far the loop is open, after 0.1 s."""
    model, q = garland(5)
    sim = adaptive.Dynamics(model, method=method, integrator=integrator)
    sim.configuration = q
    before = sim.energy
    sim.run(steps, 0.1 / steps)
    assert sim.stats.kinetic_energy > 0.2
    return abs(sim.energy - before), sim.opening(), sim.configuration


def test_loops_in_steps_of_fourth_order():
    coarse, fine = drifts("rk4", 25), drifts("rk4", 50)
    assert fine[0] < coarse[0] / 6.0
    assert fine[0] < 1e-6
    assert fine[1] < 1e-6
    first = drifts("semi_implicit", 2000)
    assert np.allclose(first[2], fine[2], atol=2e-4)


def test_a_free_ring_keeps_its_momentum():
    """Six links in a ring, two of them closed by a loop: impulses there are internal."""
    builder = bough.Builder("ring", gravity=(0, 0, 0))
    up = builder.add_body("link0", joint="floating", mass=1.0, com=(0.1, 0, 0), inertia=0.01 * np.eye(3))
    for k in range(1, 6):
        up = builder.add_body(
            f"link{k}", up, placement=(0.2, 0, 0), axis=(0, 0, 1), mass=1.0, com=(0.1, 0, 0), inertia=0.01 * np.eye(3)
        )
    builder.add_frame("end", up, (0.2, 0, 0))
    builder.add_frame("begin", "link0", (0.0, 0, 0))
    builder.add_closure("end", "begin", "connect", name="ring")
    model = builder.build()
    q = np.array(model.neutral)
    q[-5:] = np.pi / 3
    sim = adaptive.Dynamics(model, method="full", integrator="momentum")
    v = np.zeros(model.nv)
    v[:6] = (0.1, 0.2, 3.0, 0.5, 0.3, 0.1)
    v[-5:] = (1.0, -1.0, 0.0, 1.0, -1.0)
    sim.configuration, sim.velocity = q, v
    before = sim.momentum
    sim.run(200, 5e-4)
    assert np.abs(sim.momentum - before).max() <= 1e-10 * np.abs(before).max()
    assert sim.opening() < 1e-5
    assert np.abs(sim.configuration[-5:] - q[-5:]).max() > 0.02


@pytest.mark.parametrize("integrator", ["rk4", "momentum"])
def test_loops_of_other_integrators_on_a_contracted_tree(integrator):
    model, q = garland(24)
    sims = []
    for method, eps in (("full", 0.0), ("adaptive", 1.0)):
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(eps), method, every=5, integrator=integrator)
        sim.gravity = np.zeros(3)
        sim.configuration = q
        sim.velocity = np.where(np.arange(24) < 3, 0.2, 0.0)
        sim.run(40, 1e-3)
        sims.append(sim)
    full, few = sims
    assert few.stats.active < 24
    assert few.opening() < 1e-4
    assert np.abs(full.configuration - few.configuration).max() < 0.05 * np.abs(full.configuration - q).max()


def test_what_does_not_go_with_loops_is_refused_by_name():
    model, _ = garland(4)
    rough = bough.Builder("rough")
    rough.add_body("a", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3), friction=1.0)
    rough.add_frame("tip", "a", (0.2, 0, 0))
    rough.add_frame("peg", "world", (0.2, 0, 0))
    rough.add_closure("tip", "peg", "connect", name="pin")
    with pytest.raises(ModelError, match=r"'tip' to 'peg'.*dry friction and limits"):
        adaptive.Dynamics(rough.build())
    adaptive.Dynamics(model, integrator="rk4", without="closures")
