"""Contacts: sliding, falling, rolling and standing, beside closed forms and MuJoCo; energy; rows that fail."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bough
from bough.errors import ModelError, ShapeError, TaskError, UnknownNameError
from bough.simulate import ContactPoint, Contacts, Ensemble, HeightField, Plane, rollout
from sizes import size

H, MASS, G = 0.1, 2.0, 9.81
BOTTOM = [ContactPoint("box", (x * H, y * H, -H)) for x in (-1, 1) for y in (-1, 1)]
CORNERS = [ContactPoint("box", tuple(H * np.array(s))) for s in itertools.product((-1, 1), repeat=3)]


@pytest.fixture(scope="module")
def box():
    builder = bough.Builder("box")
    builder.add_body("box", joint="floating", mass=MASS, inertia=np.eye(3) * MASS * (2 * H) ** 2 / 6)
    return builder.build()


def at(model, height, turn=(0, 0, 0, 1)):
    q = model.neutral.copy()
    q[2], q[3:] = height, np.array(turn) / np.linalg.norm(turn)
    return q


@pytest.mark.parametrize("sweeps", [None, 4])
@pytest.mark.parametrize("radius", [0.0, 0.02])
def test_points_of_one_frame_move_as_those_of_frames_of_their_own(box, sweeps, radius):
    """Many points on a frame are rows of its six velocities, few are rows of their own; on two planes at once."""
    model, rng = box, np.random.default_rng(0)
    for k, corner in enumerate(CORNERS):
        model = model.with_frame(f"corner{k}", "box", corner.point)
    q = np.tile(at(model, 2 * H, (0.2, -0.1, 0.3, 1)), (4, 1))
    v, grounds = rng.normal(size=(4, 6)), [Plane(), Plane((0.3, 0, 0), (-1.0, 0.1, 0.3))]
    of_one = [ContactPoint("box", corner.point, radius) for corner in CORNERS]
    of_many = [ContactPoint(f"corner{k}", radius=radius) for k in range(len(CORNERS))]
    runs = [
        Ensemble(model, q, v, dt=1e-3, contacts=Contacts(points, grounds, sweeps=sweeps))
        for points in (of_one, of_many)
    ]
    for each in runs:
        each.step(250)
    assert runs[0].touching.any(axis=0).sum() > 2
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)


@pytest.mark.parametrize("friction", [0.2, 0.7])
def test_a_sliding_block_stops_after_v2_over_2_mu_g(box, friction):
    dt, speed = 1e-3, 1.5
    motion = rollout(
        box, at(box, H), [speed, 0, 0, 0, 0, 0], duration=1.2, dt=dt, contacts=Contacts(BOTTOM, friction=friction)
    )
    expected = speed**2 / (2 * friction * G)
    assert abs(motion.q[-1, 0] - expected) < speed * dt
    np.testing.assert_allclose(motion.v[-1], 0, atol=1e-9)
    np.testing.assert_allclose(motion.q[:, 2], H, atol=1e-9)
    force = motion.extra["contact_force"]
    np.testing.assert_allclose(force[:, :, 2].sum(axis=1), MASS * G, rtol=1e-6)
    np.testing.assert_allclose(force[10, :, 0].sum(), -friction * MASS * G, rtol=1e-6)
    assert np.diff(motion.energy()).max() <= 1e-12
    assert motion.extra["contact_residual"].max() < 1e-9


@pytest.mark.parametrize(("friction", "slides"), [(0.45, True), (0.55, False)])
def test_a_block_on_a_slope_slides_beyond_the_angle_of_friction(box, friction, slides):
    """tan(angle) = 0.5."""
    angle = np.arctan(0.5)
    slope = Plane(normal=(-np.sin(angle), 0, np.cos(angle)))
    q = box.neutral.copy()
    q[:3], q[3:] = H * np.array(slope.normal), [0, -np.sin(angle / 2), 0, np.cos(angle / 2)]
    motion = rollout(box, q, np.zeros(6), duration=0.5, dt=1e-3, contacts=Contacts(BOTTOM, [slope], friction))
    pull = G * (np.sin(angle) - friction * np.cos(angle)) if slides else 0.0
    np.testing.assert_allclose(np.linalg.norm(motion.v[-1, :3]), 0.5 * pull, atol=1e-6)


def test_a_box_that_falls_lands_without_going_in_and_never_gains_energy(box):
    q, v = at(box, 0.6, (0.3, 0.5, 0.1, 1)), [1.0, 0.2, 0, 2, 3, 1]
    dt = size(1e-3, 4e-3)
    motion = rollout(box, q, v, duration=1.5, dt=dt, contacts=Contacts(CORNERS, friction=0.6))
    dynamics = bough.Dynamics(box, general=True)
    T = dynamics.placements(motion.q)[:, box.frame("box")]
    heights = np.stack([T[:, 2, 3] + T[:, 2, :3] @ np.array(c.point) for c in CORNERS])
    assert heights.min() > -2e-4
    energy, free = motion.energy(), rollout(box, q, v, duration=0.2, dt=dt).energy()
    noise = np.abs(np.diff(free)).max()  # of the integrator on a body that turns freely
    assert np.diff(energy).max() < 2 * noise + 1e-9
    np.testing.assert_allclose(motion.v[-1], 0, atol=1e-6)
    np.testing.assert_allclose(motion.q[-1, 2], H, atol=1e-5)


def test_beside_mujoco_on_a_falling_box(box):
    """Landing flat, sliding and coming to rest at the same place, within the softness of its contacts."""
    mujoco = pytest.importorskip("mujoco")
    text = f"""<mujoco><option timestep="0.001" cone="elliptic" impratio="100"/><worldbody>
    <geom type="plane" size="5 5 1" friction="0.5 0 0" solref="0.004 1"/><body name="box" pos="0 0 0.15"><freejoint/>
    <geom type="box" size="{H} {H} {H}" mass="{MASS}" friction="0.5 0 0" solref="0.004 1"/></body>
    </worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qvel[0] = 1.0
    for _ in range(1000):
        mujoco.mj_step(theirs, data)
    motion = rollout(
        box, at(box, 0.15), [1.0, 0, 0, 0, 0, 0], duration=1.0, dt=1e-3, contacts=Contacts(BOTTOM, friction=0.5)
    )
    np.testing.assert_allclose(motion.q[-1, :3], data.qpos[:3], atol=0.01)


def test_a_height_field_is_the_plane_it_samples(box):
    heights = 0.5 * np.arange(-3, 4)[:, None] * 0.3 + np.zeros((7, 7))
    field, plane = HeightField(heights, 0.3, (-0.9, -0.9)), Plane(normal=(-0.5, 0, 1))
    points = np.random.default_rng(0).uniform(-0.8, 0.8, size=(50, 3))
    for ours, theirs in zip(field.distance(points), plane.distance(points), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    far = field.distance(np.array([[5.0, 0, 0.0]]))
    np.testing.assert_allclose(far[0], -heights.max(), atol=1e-12)
    np.testing.assert_allclose(far[1], [[0, 0, 1]], atol=1e-12)


def test_many_states_are_as_one_and_a_failed_row_stops_no_other(box):
    q = np.stack([at(box, 0.2), at(box, 0.3, (0.1, 0.2, 0, 1)), at(box, H)])
    v = np.zeros((3, 6))
    contacts = Contacts(CORNERS)
    many = rollout(box, q, v, duration=0.3, dt=2e-3, contacts=contacts)
    for r in range(3):
        one = rollout(box, q[r], v[r], duration=0.3, dt=2e-3, contacts=contacts)
        np.testing.assert_allclose(many.q[:, r], one.q, atol=1e-6)
    torque = lambda t, q, v: np.array([[0.0] * 6, [1e300] * 6, [0.0] * 6])  # noqa: E731
    found = rollout(box, q, v, duration=0.3, dt=2e-3, contacts=contacts, tau=torque, failures="record")
    force = found.extra["contact_force"][-1].sum(axis=1)
    np.testing.assert_allclose(force[2], [0, 0, MASS * G], atol=1e-6)
    assert np.isnan(force[1]).all()
    assert found.ok.tolist() == [True, False, True]
    np.testing.assert_allclose(found.q[-1, 2], many.q[-1, 2], atol=1e-6)


@pytest.mark.parametrize("ground", [Plane(), HeightField(np.zeros((3, 3)), 1.0, (-1, -1))])
def test_rows_without_a_state_harm_no_other(box, ground):
    """A row that is no number, and one that overflows, before one that rests."""
    q, v = np.tile(at(box, H), (4, 1)), np.zeros((4, 6))
    v[1, 0], q[2, 2] = 1e200, np.nan
    runs = Ensemble(box, q, v, dt=1e-3, contacts=Contacts(CORNERS, ground))
    runs.step(5)
    assert runs.failed.tolist() == [False, True, True, False]
    np.testing.assert_allclose(runs.q[[0, 3], 2], H, atol=1e-9)
    found = rollout(box, q, v, duration=5e-3, dt=1e-3, contacts=Contacts(CORNERS, ground), failures="record")
    assert found.ok.tolist() == [True, False, False, True]


def quadruped():
    builder = bough.Builder("quadruped")
    builder.add_body("trunk", joint="floating", mass=8.0, inertia=np.diag([0.1, 0.3, 0.35]))
    for name, x, y in (("lf", 0.2, 0.1), ("rf", 0.2, -0.1), ("lh", -0.2, 0.1), ("rh", -0.2, -0.1)):
        leg = {"axis": (0, 1, 0), "com": (0, 0, -0.1), "inertia": np.eye(3) * 2e-3, "friction": 0.01, "damping": 6.0}
        builder.add_body(f"{name}_thigh", "trunk", placement=(x, y, 0), mass=0.8, lower=-1.5, upper=1.5, **leg)
        builder.add_body(f"{name}_shank", f"{name}_thigh", placement=(0, 0, -0.2), mass=0.3, **leg)
        builder.add_frame(f"{name}_foot", f"{name}_shank", (0, 0, -0.2))
    return builder.build()


def test_a_quadruped_stands_on_its_feet():
    model = quadruped()
    feet = [name for name in model.frame_names if name.endswith("foot")]
    home = model.neutral.copy()
    home[7::2], home[8::2] = 0.6, -1.2
    home[2] = 0.4 * np.cos(0.6)

    def hold(t, q, v):
        tau = np.zeros(v.shape)
        tau[..., 6:] = 200.0 * (home[7:] - q[..., 7:])  # damped by its joints, implicitly
        return tau

    contacts = Contacts([ContactPoint(foot, radius=0.0) for foot in feet], friction=0.7)
    motion = rollout(model, home, np.zeros(model.nv), duration=1.0, dt=2e-3, tau=hold, contacts=contacts)
    assert motion.q[-1, 2] > 0.28
    np.testing.assert_allclose(motion.v[-1], 0, atol=1e-3)
    weight = model.total_mass * G
    np.testing.assert_allclose(motion.extra["contact_force"][-1].sum(axis=0), [0, 0, weight], atol=1e-2 * weight)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Contacts("box"), "a list of points"),
        (lambda: Contacts([]), "a list of points"),
        (lambda: Contacts(["box"], friction=-0.1), "coefficient from zero"),
        (lambda: Contacts([ContactPoint("box", (0, 0))]), "contact at 'box'"),
        (lambda: Contacts([ContactPoint("box", radius=-1.0)]), "radius from zero"),
        (lambda: Contacts(["box"], sweeps=2.5), "whole number from one"),
        (lambda: Contacts(["box"], sweeps="many"), "whole number from one"),
        (lambda: Contacts(["box"], []), "a Plane, a HeightField or a list"),
        (lambda: Contacts(["box"], "floor"), "a Plane, a HeightField or a list"),
        (lambda: Plane(normal=(0, 0, 0)), "not zero"),
        (lambda: HeightField([[0.0]]), "at least 2 x 2"),
        (lambda: HeightField(np.zeros((2, 2)), np.inf), "spacing above zero"),
        (lambda: HeightField(np.zeros((2, 2)), origin=(0.0, np.nan)), "an origin"),
        (lambda: HeightField(np.zeros((2, 2)), origin=(0.0, 0.0, 0.0)), "an origin"),
        (lambda: Contacts(["box"], sweeps=True), "whole number from one"),
    ],
)
def test_nonsense_is_refused(make, match):
    with pytest.raises(ModelError, match=match):
        make()


def test_what_cannot_be_stepped_is_refused(box):
    start = {"q": at(box, H), "v": np.zeros(6), "duration": 0.01, "dt": 1e-3}
    with pytest.raises(UnknownNameError, match="did you mean 'box'"):
        rollout(box, **start, contacts=Contacts(["bax"]))
    with pytest.raises(TaskError, match="'world' is fixed to the world"):
        rollout(box, **start, contacts=Contacts(["world"]), failures="record")
    with pytest.raises(ShapeError, match="semi_implicit_euler"):
        rollout(box, **start, contacts=Contacts(["box"]), integrator="runge_kutta_4")
    with pytest.raises(ShapeError, match=r"bough\.simulate\.Contacts"):
        rollout(box, **start, contacts=["box"])
    with pytest.raises(ShapeError, match="leave motion= out"):
        rollout(box, **start, contacts=Contacts(["box"]), motion=lambda q, v, tau: v)


def test_lifting_a_robot_out_of_the_ground_strains_no_springs():
    """A quadruped with springs that starts 17 cm too low: no step adds more energy than gravity does in one of them."""
    model = bough.zoo.quadruped(stiffness=60.0, damping=2.0)
    feet = [ContactPoint(f"{leg}_foot", radius=0.02) for leg, *_ in bough.zoo.robots.LEGS]
    dyn, q = bough.Dynamics(model, general=True), model.rest_configuration.copy()
    q[2] = min(dyn.placement(q, foot.frame)[2, 3] for foot in feet) * -1.0 - 0.15
    found = rollout(model, q, np.zeros(model.nv), duration=0.5, dt=2e-3, contacts=Contacts(feet), dynamics=dyn)
    springs = (found.q[:, 7:] - model.rest_configuration[7:]) ** 2 @ model.stiffness[6:] / 2
    energy = dyn.kinetic_energy(found.q, found.v) + dyn.potential_energy(found.q) + springs
    assert np.diff(energy).max() < 0.01
    for foot in feet:
        assert dyn.placement(found.q[-1], foot.frame)[2, 3] > dyn.placement(q, foot.frame)[2, 3]
