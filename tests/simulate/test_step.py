"""One step as one kernel: straight-line and general code beside a dense oracle, for robots of many kinds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import bough
from bough.compile.routine import interpret
from bough.errors import ModelError
from bough.simulate import ContactPoint, Contacts, Ensemble, Plane, rollout
from bough.simulate.constrained_stepper import GENERAL, LOCKED, STICKING, SWEPT, ConstrainedStepper
from bough.simulate.contact_step import CONTACT_STEP
from bough.simulate.integration import step_function
from bough.simulate.step_kernels import SWEEPS
from bough.simulate.stops import WATCHED

SLOPE = Plane((0.0, 0.0, -0.1), (0.2, -0.1, 1.0))


def hopper(limits=True, friction=0.02):
    builder = bough.Builder("hopper")
    builder.add_body("trunk", joint="floating", mass=4.0, inertia=np.diag([0.1, 0.12, 0.08]))
    leg = {"axis": (0, 1, 0), "com": (0, 0, -0.1), "mass": 0.5, "inertia": np.eye(3) * 2e-3, "damping": 0.5}
    leg |= {"stiffness": 20.0, "rest": 0.3, "friction": friction}
    leg |= {"lower": -0.2, "upper": 0.9} if limits else {}
    for side, y in (("left", 0.1), ("right", -0.1)):
        builder.add_body(f"{side}_thigh", "trunk", placement=(0, y, 0), **leg)
        builder.add_body(f"{side}_shank", f"{side}_thigh", placement=(0, 0, -0.2), **leg)
        builder.add_frame(f"{side}_foot", f"{side}_shank", (0, 0, -0.2))
    return builder.build()


def stepper(model, ground, **options):
    dynamics = bough.Dynamics(model, general=options.pop("general", False))
    points = [
        ContactPoint("left_foot", (0.02, 0, 0), 0.03),
        ContactPoint("right_foot"),
        ContactPoint("trunk", (0, 0, 0.1)),
    ]
    without = options.pop("without", ())
    return ConstrainedStepper(dynamics, Contacts(points, ground, **options), without)


def states(model, count=6):
    """Upright, more or less, with the lower foot a millimetre above the ground, coming down."""
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng, count), rng.normal(size=(count, model.nv))
    q[:, :7] = rng.normal(size=(count, 7)) * [0.1, 0.1, 0, 0.1, 0.1, 0.1, 0] + [0, 0, 0, 0, 0, 0, 1]
    q = model.integrate(q, np.zeros_like(v))
    feet = bough.Dynamics(model, general=True).placements(q)[:, [model.frame("left_foot"), model.frame("right_foot")]]
    q[:, 2] += 1e-3 - (feet[..., 2, 3] - [0.055, 0.0]).min(axis=1)
    v[:, 2] -= 1.0
    return q, v, rng.normal(size=(count, model.nv))


@pytest.mark.parametrize(
    ("model", "ground"),
    [
        (hopper(), Plane()),
        (hopper(), [Plane(), SLOPE]),
        (hopper(friction=0.0), Plane()),
        (hopper(limits=False), Plane()),
    ],
)
def test_straight_line_and_general_code_agree(model, ground):
    q, v, tau = states(model)
    straight, general = stepper(model, ground), stepper(model, ground, general=True)
    assert straight._ways
    assert not general._ways
    for _ in range(3):
        ours, theirs = straight.advance(q, v, tau, 2e-3), general.advance(q, v, tau, 2e-3)
        np.testing.assert_allclose(ours[1], theirs[1], atol=2e-7)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-8)
        np.testing.assert_allclose(straight.force, general.force, atol=1e-3)
        q, v = ours
    assert np.abs(straight.force).max() > 1.0


@pytest.mark.interpreted
def test_interpreted_alike():
    model = hopper(limits=False, friction=0.0)
    found = stepper(model, Plane())
    q, v, tau = states(model, 1)
    inputs = (q[0], v[0], tau[0], np.full(3, 0.8), np.zeros(9), np.array([2e-3]))
    routine = CONTACT_STEP.without("target", "kp", "kd", "lead", "axes", "height")
    for ours, theirs in zip(
        interpret(routine, found.kernels.constants(SWEEPS, stops=WATCHED), found.kernels.sizes, *inputs),
        found.kernels.bind(CONTACT_STEP, SWEEPS, stops=WATCHED).call(*inputs),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_a_fixed_number_of_sweeps_says_what_it_leaves():
    model = hopper()
    q, v, tau = states(model)
    few, all_of_them = stepper(model, Plane(), sweeps=1), stepper(model, Plane())
    few.advance(q, v, tau, 2e-3)
    all_of_them.advance(q, v, tau, 2e-3)
    assert few.residual.max() > 1e-6 > all_of_them.residual.max()
    with pytest.raises(ModelError, match="whole number from one"):
        Contacts(["trunk"], sweeps=0)


def test_energy_never_grows_from_contact():
    """Without gravity, springs and motors: whatever the states, kinetic energy only falls."""
    model = hopper(limits=False, friction=0.0)
    q, v, _ = states(model, 64)
    found = stepper(model, [Plane(), SLOPE], without=("springs", "damping"))
    dynamics = bough.Dynamics(model, general=True)
    tau = dynamics.bias_force(q, v)
    free = step_function(model, "semi_implicit_euler", ("springs", "damping", "limits")).call(q, v, tau, [1e-3])
    ends = [in_axes_of_the_start(q, *end) for end in (free, found.advance(q, v, tau, 1e-3))]
    energy = [dynamics.kinetic_energy(q, end) for end in ends]
    assert (energy[1] < energy[0] - 1e-3).any()
    assert (energy[1] - energy[0]).max() < 1e-9


def test_a_start_deep_in_the_ground_gains_hardly_any_energy():
    """Stops cut moves out of the ground short, and legs fold on the way: at most 0.05 of some 28 J a step."""
    model = hopper()
    rng, N = np.random.default_rng(0), 24
    q, v = model.random_configuration(rng, N), rng.normal(size=(N, model.nv))
    q[:, :3] = rng.normal(size=(N, 3)) * [0, 0, 0.1] + [0, 0, 0.25]
    q[:, 7:] = rng.uniform(-0.2, 0.9, (N, 4))
    points = ["left_foot", "right_foot", ContactPoint("trunk", (0, 0, 0.1)), ContactPoint("trunk", (0, 0, -0.05))]
    runs = Ensemble(model, q, v, dt=2e-3, contacts=Contacts(points))
    dynamics = bough.Dynamics(model, general=True)

    def energy():
        stretch = model.difference(np.tile(model.rest_configuration, (N, 1)), runs.q)
        springs = 0.5 * (model.stiffness * stretch**2).sum(axis=1)
        return dynamics.kinetic_energy(runs.q, runs.v) + dynamics.potential_energy(runs.q) + springs

    before = energy()
    for _ in range(60):
        runs.step()
        after = energy()
        assert (after - before).max() < 0.05
        before = after


def in_axes_of_the_start(q, q_after, v):
    """Velocities of a floating base (batch, nv) after a step, in its axes before."""
    turn = [Rotation.from_quat(x[:, 3:7]) for x in (q, q_after)]
    back, found = turn[0].inv() * turn[1], v.copy()
    found[:, :3], found[:, 3:6] = back.apply(v[:, :3]), back.apply(v[:, 3:6])
    return found


def test_a_level_field_is_a_plane():
    model = hopper()
    heights = bough.simulate.HeightField(np.zeros((3, 3)), 1.0, (-1, -1))
    q, v, _ = states(model)
    flat = [
        rollout(model, q, v, duration=0.02, dt=2e-3, contacts=Contacts(["left_foot", "right_foot"], ground))
        for ground in (heights, Plane())
    ]
    np.testing.assert_allclose(flat[0].q, flat[1].q, atol=1e-7)


def test_stops_by_straight_line_and_general_code():
    """The same motion by both, and no joint passes a stop."""
    model = hopper(friction=0.0)
    q, v, tau = states(model)
    v[:, 6:] *= 8.0
    straight, general = stepper(model, Plane()), stepper(model, Plane(), general=True)
    assert straight._ways == {STICKING, SWEPT, STICKING | LOCKED, SWEPT | LOCKED}
    stopped = False
    for _ in range(20):
        ours, theirs = straight.advance(q, v, tau, 2e-3), general.advance(q, v, tau, 2e-3)
        np.testing.assert_allclose(ours[1], theirs[1], atol=2e-6)
        q, v = ours
        assert q[:, 7:].min() > -0.2 - 1e-9
        assert q[:, 7:].max() < 0.9 + 1e-9
        stopped |= bool((np.minimum(q[:, 7:] + 0.2, 0.9 - q[:, 7:]) < 1e-9).any())
    assert stopped


def test_a_kernel_is_made_once_for_a_dynamics_and_not_for_other_contacts():
    model = hopper()
    dynamics = bough.Dynamics(model)

    def kernel(friction, *, radius=0.0, without=()):
        contacts = Contacts([ContactPoint("left_foot", radius=radius)], friction=friction)
        return ConstrainedStepper(dynamics, contacts, without)._kernel(SWEPT)

    assert kernel(0.5) is kernel(0.8)  # friction is an input
    assert kernel(0.5) is not kernel(0.5, radius=0.1)
    assert kernel(0.5) is not kernel(0.5, without=("damping",))


def test_general_code_serves_what_sweeps_leave():
    """A step of general code from any start ends with impulses that obey their laws."""
    model = hopper()
    q, v, tau = states(model, 32)
    v[:, 6:] *= 8.0
    found = stepper(model, [Plane(), SLOPE])
    ways = []
    kernel = found._kernel
    found._kernel = lambda way: ways.append(way) or kernel(way)
    for _ in range(10):
        q, v = found.advance(q, v, tau, 2e-3)
    assert GENERAL in ways
    assert found.residual.max() < 1e-8


def test_every_step_of_sinking_quadrupeds_is_solved():
    """Feet slip, legs are at their stops: a stop that locks its joint may pull, and released the joint passes it."""
    model, rng, batch = bough.zoo.quadruped(), np.random.default_rng(3), 48
    joints, limits = model.scalar_joints, model.limits
    q = np.tile(model.rest_configuration, (batch, 1))
    q[:, 2] = 0.25
    v = rng.normal(size=(batch, model.nv)) * np.repeat([0.5, 1.0, 3.0], [3, 3, model.nv - 6])
    q[:, joints.q] += 0.3 * rng.normal(size=(batch, len(joints.q)))
    q[:, joints.q] = np.clip(q[:, joints.q], limits.lower[joints.v], limits.upper[joints.v])
    feet = Contacts(["lf_foot", "rf_foot", "lh_foot", "rh_foot"])
    runs = Ensemble(model, q, v, dt=2e-3, contacts=feet, dynamics=bough.Dynamics(model, general=True))
    for _ in range(500):
        runs.step()
        assert runs.residual.max() < 1e-7
    assert (runs.q[:, 2] < 0.0).any()


def test_hardly_any_step_of_lying_quadrupeds_is_left_unsolved():
    """Twelve points on twelve joints: rows are redundant and, on bodies that turn, contradict each other slightly."""
    model, rng, batch = bough.zoo.quadruped(), np.random.default_rng(5), 24
    joints, limits = model.scalar_joints, model.limits
    q = np.tile(model.rest_configuration, (batch, 1))
    q[:, 2] = 0.3 + 0.1 * rng.random(batch)
    v = rng.normal(size=(batch, model.nv)) * np.repeat([0.5, 1.0, 3.0], [3, 3, model.nv - 6])
    q[:, joints.q] += 0.3 * rng.normal(size=(batch, len(joints.q)))
    q[:, joints.q] = np.clip(q[:, joints.q], limits.lower[joints.v], limits.upper[joints.v])
    points = [f"{leg}_{part}" for part in ("foot", "shank", "thigh") for leg in ("lf", "rf", "lh", "rh")]
    runs, left = Ensemble(model, q, v, dt=2e-3, contacts=Contacts(points)), 0
    for _ in range(400):
        runs.step()
        left += np.count_nonzero(runs.residual > 1e-7)
    assert left <= 3
    assert (runs.q[:, 2] < 0.1).any()


@pytest.mark.parametrize("sweeps", [None, 8])
def test_lifting_points_leaves_joints_within_their_stops(sweeps):
    builder = bough.Builder("lever")
    builder.add_body("base", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=0.1 * np.eye(3))
    arm = {"mass": 1.0, "com": (0.3, 0, 0), "inertia": 0.05 * np.eye(3), "lower": -0.2, "upper": 0.0}
    builder.add_body("arm", "base", "revolute", axis=(0, 1, 0), **arm)
    builder.add_body("fore", "arm", "revolute", (0.6, 0, 0), axis=(0, 1, 0), **arm)
    contacts = Contacts([ContactPoint("fore", (0.4, 0, 0)), ContactPoint("arm", (0.6, 0, 0))], sweeps=sweeps)
    rng = np.random.default_rng(0)
    q = np.stack([rng.uniform(-0.1, 0.1, 40), *rng.uniform(-0.2, 0.0, (2, 40))], axis=1)
    runs = Ensemble(builder.build(), q, 3.0 * rng.normal(size=(40, 3)), dt=2e-3, contacts=contacts)
    for _ in range(50):
        runs.step()
        assert runs.q[:, 1:].max() <= 1e-6
        assert runs.q[:, 1:].min() >= -0.2 - 1e-6
