"""Loops of moving linkages: closed while they move, with friction and limits, as in `simulate`; on contracted trees."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from adaptive.trials import step_residual
from bough import adaptive
from bough.errors import SettingError
from bough.opspace import ConstrainedDynamics, Loops
from bough.simulate import rollout
from sizes import size


def garland(links, kind="connect", **options):
    """A chain in a plane, its last link pinned where it is at the start."""
    builder, up = bough.Builder("garland"), "world"
    for k in range(links):
        up = builder.add_body(
            f"link{k}", up, placement=(0.2, 0, 0) if k else (0, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.1, 0, 0),
            inertia=np.diag([1e-3, 2e-3, 2e-3]), **options,
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


def shaken(model, q, seed=0):
    """A velocity that leaves the loops closed."""
    J, v = Loops(model).space.jacobian(q), np.random.default_rng(seed).normal(size=model.nv)
    return v - np.linalg.pinv(J) @ (J @ v)


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_accelerations_in_motion_are_those_of_constrained_dynamics(kind):
    """Two other ways to the same numbers, velocities and dampers included; forces in the loop balance the equations."""
    model, q = garland(7, kind)
    v = shaken(model, q)
    tau = np.random.default_rng(1).normal(size=7)
    expected = ConstrainedDynamics(Loops(model).space)(q, v, tau).qdd
    sim = adaptive.Dynamics(model, method="full")
    sim.configuration, sim.velocity = q, v
    sim.set_torque(None, tau)
    assert np.allclose(sim.accelerations(), expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    moments = sim.constraint_forces()[:, 3:]  # the axes are all y
    assert np.allclose(moments[:, 1], tau, rtol=0, atol=1e-8 * np.abs(moments).max())


def ladder(rungs, **options):
    """A chain held to the ground at every other link: loops beside loops."""
    builder, up = bough.Builder("ladder"), "world"
    for k in range(2 * rungs):
        up = builder.add_body(
            f"link{k}", up, placement=(0.2, 0, 0) if k else (0, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.1, 0, 0.02),
            inertia=np.diag([1e-3, 2e-3, 2e-3]), **options,
        )  # fmt: skip
        if k % 2:
            at = (0.2 * (k + 1), 0, 0)
            builder.add_body(f"rod{k}", up, placement=(0.2, 0, 0), axis=(0, 1, 0), mass=0.2, com=(0, 0, 0.1),
                             inertia=1e-3 * np.eye(3), **options)  # fmt: skip
            builder.add_frame(f"tip{k}", f"rod{k}", (0, 0, 0.2))
            builder.add_frame(f"peg{k}", "world", (at[0], 0, 0.2))
            builder.add_closure(f"tip{k}", f"peg{k}", "connect", name=f"pin{k}")
    return builder.build()


def test_many_loops_in_motion():
    model = ladder(size(12, 3))
    q, v = np.array(model.neutral), shaken(model, np.zeros(model.nv))
    expected = ConstrainedDynamics(Loops(model).space)(q, v, np.zeros(model.nv)).qdd
    sim = adaptive.Dynamics(model, method="full", integrator="rk4")
    sim.configuration, sim.velocity = q, v
    assert np.allclose(sim.accelerations(), expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    before = sim.energy
    sim.run(40, 5e-4)
    assert sim.opening() < 1e-8
    assert abs(sim.energy - before) < 1e-6 * abs(before)
    assert np.abs(sim.configuration - q).max() > 0.01


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "momentum"])
def test_friction_within_loops_is_that_of_simulate(integrator):
    """All joints of a garland rub: the same law, there by one dense program for each step."""
    model, q = garland(5, friction=0.15, damping=0.01)
    dt, ends = 2.5e-4, []
    found = rollout(model, q, np.zeros(5), duration=0.15, dt=dt / 4, dynamics=bough.Dynamics(model, general=True))
    sim = adaptive.Dynamics(model, method="full", integrator=integrator)
    sim.configuration = q
    energy = sim.energy
    for _ in range(6):
        sim.run(100, dt)
        assert sim.energy < energy
        energy = sim.energy
        ends.append(sim.opening())
    assert max(ends) < 1e-6
    moved = np.abs(found.q[-1] - q).max()
    assert moved > 0.02
    assert np.abs(sim.configuration - found.q[-1]).max() < 0.03 * moved


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "momentum"])
def test_a_loop_that_friction_holds_stays_where_it_is(integrator):
    model, q = garland(5, friction=50.0)
    sim = adaptive.Dynamics(model, method="full", integrator=integrator)
    sim.configuration = q
    sim.run(50, 1e-3)
    assert np.abs(sim.configuration - q).max() < 1e-9
    assert not sim.velocity.any()
    assert np.abs(sim.accelerations()).max() < 1e-4


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_limits_within_loops(integrator):
    """The first link falls onto its stop: it reaches it, and goes no further; the loop stays closed."""
    model, q = garland(5, upper=0.35)
    sim = adaptive.Dynamics(model, method="full", integrator=integrator)
    sim.configuration = q
    before, highest = sim.energy, 0.0
    for _ in range(20):
        sim.run(10, 1e-3)
        highest = max(highest, sim.configuration.max())
        assert sim.opening() < 2e-5
    beyond = 2e-4 if integrator == "rk4" else 1e-12  # of the order of dt^2, or none
    assert 0.35 - 1e-6 < highest < 0.35 + beyond
    assert sim.energy < before


def test_friction_and_limits_within_loops_on_a_contracted_tree(tmp_path):
    model, q = garland(24, friction=0.02, upper=0.6)
    full, few = (adaptive.Dynamics(model, adaptive.body_acceleration(eps), method, every=5)
                 for method, eps in (("full", 0.0), ("adaptive", 1.0)))  # fmt: skip
    for sim in (full, few):
        sim.gravity = np.zeros(3)
        sim.configuration, sim.velocity = q, np.where(np.arange(24) < 3, 0.2, 0.0)
        sim.apply_force(model.body_names[2], (0, 0, 1.0))
        sim.run(30, 1e-3)
    assert few.stats.active < 24
    moved = np.abs(full.configuration - q).max()
    assert np.abs(full.configuration - few.configuration).max() < 0.05 * moved
    few.checkpoint(tmp_path / "loops")
    again = adaptive.Dynamics.resume(model, tmp_path / "loops")
    for sim in (few, again):
        sim.run(20, 1e-3)
    assert np.array_equal(few.configuration, again.configuration)
    assert np.array_equal(few.velocity, again.velocity)
    assert few.stats.acceleration_error == again.stats.acceleration_error


def test_locking_joints_of_a_loop_takes_energy():
    """It is a projection together with the loops."""
    model, q = garland(24)
    sim = adaptive.Dynamics(model.with_gravity((0, 0, 0)), adaptive.body_acceleration(3.0), "adaptive", every=2)
    sim.configuration, sim.velocity = q, 0.3 * shaken(model, q)
    energy = sim.energy
    for _ in range(30):
        sim.run(2, 1e-3)
        assert sim.energy <= energy * (1.0 + 1e-3)
        energy = sim.energy
    assert sim.energy_lost >= 0.0
    assert sim.active < 24


def test_a_motion_begins_with_closed_loops():
    model, q = garland(5)
    sim = adaptive.Dynamics(model, method="full")
    sim.configuration = q + np.array([0.1, 0, 0, 0, 0])
    with pytest.raises(SettingError, match=r"the loop 'end' to 'peg' is open by 0\.\d+ m or rad.*close_loops"):
        sim.step(1e-3)
    sim.configuration = bough.close_loops(model, sim.configuration).q
    sim.step(1e-3)
    assert sim.opening() < 1e-5


@pytest.mark.parametrize("seed", [0, 4, 5, 17, 19])
def test_a_step_with_friction_limits_and_loops_solves_the_dense_program(seed):
    """From closed loops the law of one step is that of `simulate`; in some of these guesses change one by one."""
    model, q = garland(8, friction=0.6, damping=0.01, upper=0.305, lower=-0.3)
    v = shaken(model, q, seed) * np.random.default_rng(seed).choice([0, 1e-3, 0.1, 2.0])
    sim = adaptive.Dynamics(model, method="full")
    sim.configuration, sim.velocity = q, v
    sim.step(1e-3)
    found = rollout(model, q, v, duration=1e-3, dt=1e-3, dynamics=bough.Dynamics(model, general=True))
    assert np.allclose(sim.velocity, found.v[-1], rtol=0, atol=1e-5 * (np.abs(v).max() + np.abs(found.v[-1]).max()))


@pytest.mark.parametrize(
    ("make", "links", "friction", "upper", "seed", "speed"),
    [
        (garland, 15, 3.0, np.inf, 55, 0.0), (garland, 14, 3.0, 0.305, 159, 1e-3), (garland, 13, 0.6, 0.305, 299, 0.0),
        (ladder, 3, 3.0, 1e-4, 223, 1e-3), (ladder, 4, 0.1, 1e-4, 246, 0.1), (ladder, 2, 0.6, 1e-4, 424, 2.0),
    ],
)  # fmt: skip
def test_modes_are_found_where_guesses_go_round_in_circles(make, links, friction, upper, seed, speed):
    """Redundant loops of joints most of which stick: some ended so by three times their friction."""
    built = make(links, friction=friction, damping=0.01, upper=upper, lower=-0.3)
    model, q = built if make is garland else (built, np.array(built.neutral))
    residual = step_residual(model, q, speed * shaken(model, q, seed), (), Loops(model).space.jacobian(q), 1e-3)
    assert residual <= 2e-6
