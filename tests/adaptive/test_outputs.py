"""What comes back for some bodies, against the dense oracle."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from adaptive.linkages import dense, random_forces, random_linkage, simulate, world_wrench
from bough.adaptive import Dynamics, QuasiStatics, relative_joint
from bough.errors import ShapeError
from bough.zoo import chain, molecule

METHODS = ("aba", "dca", "adaptive", "auto")


def start(seed, method):
    twin = random_linkage(seed, 20, floating=seed % 2 == 1)
    rng = np.random.default_rng(seed)
    forces = random_forces(twin, rng)
    error = relative_joint(0.3) if method in ("adaptive", "auto") else None
    sim = simulate(twin.model, twin.model.random_configuration(rng), forces, None, error, method)
    sim.run(3, 1e-3)
    nothing = np.zeros(twin.model.nv)
    world = naive.Mechanism(twin.bodies, sim.configuration, nothing)
    return twin, sim, world, dense(twin, sim.configuration, nothing, forces), rng


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_poses_accelerations_and_velocities_are_those_of_the_dense_oracle(seed, method):
    twin, sim, world, qdd, rng = start(seed, method)
    accelerations = sim.accelerations()
    some = [7, twin.model.body_names[3], "world", 7]
    numbers, points = [7, 3, None, 7], rng.normal(size=(4, 3))
    placed, found, rates = sim.poses(some), sim.body_accelerations(some), sim.velocities(some, points)
    scale = np.abs(qdd).max()
    for k, body in enumerate(numbers):
        R, p = (np.eye(3), np.zeros(3)) if body is None else world.placement[body]
        np.testing.assert_allclose(
            placed[k], np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]), atol=1e-9
        )
        a = np.zeros(6) if body is None else world.J[body] @ qdd  # angular, linear at the world's origin
        linear = a[3:] + np.cross(a[:3], p)
        np.testing.assert_allclose(found[k], np.concatenate([linear, a[:3]]), atol=1e-8 * scale)
        np.testing.assert_allclose(rates[k], linear + np.cross(a[:3], R @ points[k]), atol=1e-8 * scale)
    assert sim.poses().shape == (20, 4, 4)
    assert sim.body_accelerations().shape == (20, 6)
    np.testing.assert_array_equal(sim.accelerations(), accelerations)  # asking changes nothing
    q = sim.configuration
    sim.step(1e-3)
    other = start(seed, method)[1]
    other.step(1e-3)
    np.testing.assert_array_equal(other.configuration, sim.configuration)
    assert not np.array_equal(q, sim.configuration)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_constraint_forces_are_those_of_the_dense_oracle(seed, method):
    """What moves a body and all beyond it, less what else acts on them."""
    twin, sim, world, qdd, _ = start(seed, method)
    forces = random_forces(twin, np.random.default_rng(seed))
    parent = [b.parent for b in twin.bodies]
    gravity = np.concatenate([np.zeros(3), world.gravity])
    left = [world.I[b] @ (world.J[b] @ qdd - gravity) for b in range(20)]
    for body, force, point, frame in forces:
        left[body] = left[body] - world_wrench(world.placement[body], force, point, frame)
    before = sim.accelerations()
    found = sim.constraint_forces()
    some = sim.constraint_forces([7, twin.model.joint_names[3]])
    for b in range(20):
        total = sum(left[k] for k in naive.subtree(parent, b))  # about the world's origin, angular first
        expected = np.concatenate([total[3:], total[:3] - np.cross(world.placement[b][1], total[3:])])
        np.testing.assert_allclose(found[b], expected, atol=1e-8 * np.abs(left).max())
    np.testing.assert_allclose(some, found[[7, 3]], atol=1e-8 * np.abs(left).max())
    np.testing.assert_array_equal(sim.accelerations(), before)


def test_points_are_checked():
    sim = start(0, "aba")[1]
    with pytest.raises(ShapeError, match=r"points: expected shape \(2, 3\)"):
        sim.velocities([0, 1], [0.0, 0.0, 0.0])


def changed(before, after):
    return np.abs(before - after).max(axis=(1, 2)) > 0.0


def test_moved_names_the_bodies_and_pairs_whose_poses_changed():
    model = molecule(300, seed=1).with_gravity((0, 0, 0))
    sim = QuasiStatics(model, relative_joint(0.2), "adaptive")
    sim.apply_force(290, [0.0, 0.1, 1.0])
    poses, pairs = {0: sim.poses()}, np.random.default_rng(0).integers(0, 300, (200, 2))
    for n in (1, 3, 10):
        sim.run(n, 1e-2)
        poses[sim.steps] = sim.poses()
    for since, before in poses.items():
        moved = sim.moved(since)
        assert not (changed(before, sim.poses()) & ~moved).any()
        between = [np.linalg.inv(x[pairs[:, 0]]) @ x[pairs[:, 1]] for x in (before, sim.poses())]
        far = np.abs(between[0] - between[1]).max(axis=(1, 2)) > 1e-12
        assert not (far & ~sim.moved(since, pairs)).any()
    assert not sim.moved(sim.steps).any()
    assert 0 < sim.moved(4).sum()
    assert 0 < sim.moved(0, pairs).sum() < 200  # something stood still
    sim.configuration = sim.configuration
    assert sim.moved(sim.steps).all()


def test_plain_steps_move_everything():
    sim = QuasiStatics(chain(5), method="aba")
    assert not sim.moved(0).any()
    sim.run(3, 1e-2)
    assert sim.moved(2).all()
    assert not sim.moved(3).any()
    assert sim.moved(2, [(0, 1), ("world", 3), (2, 2)]).tolist() == [True, True, False]


@pytest.mark.parametrize("face", [QuasiStatics, Dynamics])
def test_forces_on_points_do_the_work_of_joint_torques(face):
    model = random_linkage(5, 20, floating=True).model
    rng = np.random.default_rng(5)
    sim = face(model)
    sim.configuration = model.random_configuration(rng)
    sim.step(1e-3)
    points = [(model.body_names[k], rng.normal(size=3)) for k in (3, 11, 3)]
    q, F = sim.configuration, rng.normal(size=(3, 3))

    def work(q):
        sim.configuration = q
        places = sim.poses([name for name, _ in points])
        return sum(f @ (T[:3, :3] @ at + T[:3, 3]) for f, T, (_, at) in zip(F, places, points, strict=True))

    tau, h = sim.generalized_forces(points, F), 1e-6
    rates = [(work(model.integrate(q, h * e)) - work(model.integrate(q, -h * e))) / (2 * h) for e in np.eye(model.nv)]
    np.testing.assert_allclose(tau, rates, atol=1e-8 * np.abs(tau).max())
