"""The operational-space law: tracking, null space, limits, paths, grasps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import bough
from bough import zoo
from bough.control import (
    CubicPath,
    Gains,
    LimitMonitor,
    PosePath,
    Reference,
    Stabiliser,
    TaskController,
    share_wrench,
)
from bough.control.paths import Spin
from bough.errors import ShapeError, TaskError
from bough.opspace import OperationalSpace, center_of_mass, joint, momentum, orientation, pose, position, relative
from bough.opspace.hierarchy import Hierarchy
from bough.opspace.tracking import Tracker
from bough.simulate import rollout
from bough.spatial import rotation_vector


def matrix(R, p):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def test_cubic_path_is_a_clamped_spline():
    times, points = [0.0, 1.0, 2.5, 3.0], np.random.default_rng(0).normal(size=(4, 3))
    path, spline = CubicPath(times, points), CubicSpline(times, points, bc_type="clamped")
    for t in np.linspace(0.01, 2.99, 37):
        for k, value in enumerate(path(t)):
            np.testing.assert_allclose(value, spline(t, k), atol=1e-12)
    for t, end in ((-1.0, 0), (5.0, -1)):
        np.testing.assert_array_equal(path(t)[0], points[end])
        assert not path(t)[1].any()


def test_a_pause_is_a_pause():
    path = CubicPath([0, 1, 2, 3], [[0.0], [1.0], [1.0], [0.0]])
    for t in np.linspace(1, 2, 9):
        np.testing.assert_allclose(path(t)[0], 1.0)


def test_pose_path_has_consistent_derivatives():
    rng = np.random.default_rng(0)
    keys = [matrix(Rotation.random(random_state=k).as_matrix(), rng.normal(size=3)) for k in range(3)]
    path, h = PosePath([0.0, 1.0, 2.0], keys), 1e-5
    np.testing.assert_allclose(path(1.0).position, keys[1], atol=1e-12)
    for t in (0.3, 0.8, 1.4):
        a, b, c = path(t - h), path(t), path(t + h)
        turn = rotation_vector(c.position[:3, :3] @ a.position[:3, :3].T) / (2 * h)
        np.testing.assert_allclose(b.velocity[3:], turn, atol=1e-6)
        np.testing.assert_allclose(b.velocity[:3], (c.position - a.position)[:3, 3] / (2 * h), atol=1e-6)
        np.testing.assert_allclose(b.acceleration, (c.velocity - a.velocity) / (2 * h), atol=1e-5)


def test_rotation_vectors():
    for k in range(20):
        R = Rotation.random(random_state=k)
        np.testing.assert_allclose(rotation_vector(R.as_matrix()), R.as_rotvec(), atol=1e-9)
        np.testing.assert_allclose(
            Spin(R.as_rotvec())(0.5), Rotation.from_rotvec(R.as_rotvec() / 2).as_matrix(), atol=1e-12
        )
    half = rotation_vector(np.diag([-1.0, 1.0, -1.0]))
    np.testing.assert_allclose(np.abs(half), [0, np.pi, 0], atol=1e-12)
    assert not rotation_vector(np.eye(3)).any()


@pytest.mark.parametrize("reference", ["local", "local_world_aligned"])
def test_errors_are_integrals_of_the_rows(reference):
    """A small step changes each error by -J times the step."""
    model, h = zoo.humanoid(), 1e-6
    tasks = [
        pose("left_hand", reference, point=(0.1, 0, 0)),
        position("right_foot", reference),
        orientation("left_foot", reference),
        relative("left_hand", "right_hand", reference),
        center_of_mass(),
        joint(model.joint_names[4]),
    ]
    space = OperationalSpace(model, tasks, general=True)
    tracker, rng = Tracker(space), np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    targets = tracker.positions(q)
    np.testing.assert_allclose(tracker.errors(q, targets), 0, atol=1e-12)
    moved = tracker.errors(model.integrate(q, h * v), targets)
    np.testing.assert_allclose(moved / h, -space.jacobian(q) @ v, atol=1e-4)


def controlled(posture_shift=0.0, **options):
    model = zoo.arm(9)
    space = OperationalSpace(model, [pose("hand")], general=True)
    q = model.random_configuration(np.random.default_rng(3))
    here = Tracker(space).positions(q)["pose(hand)"]
    there = matrix(Rotation.from_rotvec([0.1, 0.2, 0.1]).as_matrix() @ here[:3, :3], here[:3, 3] + [0.05, 0.02, -0.04])
    path = PosePath([0.0, 0.5], [here, there])
    posture = q + posture_shift
    return model, q, TaskController(space, {"pose(hand)": path}, posture=posture, **options), path


def test_tracking_and_null_space():
    model, q, controller, path = controlled(posture_shift=0.2, gains=Gains(900.0))
    recording = rollout(model, q, np.zeros(9), duration=0.5, dt=1e-3, tau=lambda t, q, v: controller(t, q, v).tau)
    tracker = controller.tracker
    for t, x in zip(recording.time, recording.q, strict=True):
        error = tracker.errors(x, {"pose(hand)": path(t).position})
        assert np.abs(error).max() < 1e-3
    q, v = recording.q[-1], recording.v[-1]
    op = controller.space(q, v)
    disturbance = op.J @ np.linalg.solve(
        controller.space.mass_matrix(q), op.nullspace.T @ controller.posture_torque(q, v)
    )
    assert np.abs(disturbance).max() < 1e-8


def test_prioritised_control_equals_plain_control_where_nothing_conflicts():
    _, q, plain, path = controlled()
    ranked = TaskController(plain.space, {"pose(hand)": path}, posture=q, hierarchy=Hierarchy(plain.space))
    v = np.random.default_rng(0).normal(size=9)
    np.testing.assert_allclose(ranked(0.1, q, v).tau, plain(0.1, q, v).tau, rtol=1e-6)


def test_limits_are_reported_and_torques_clipped():
    builder, up = bough.Builder("weak"), "world"
    for k in range(6):
        limits = {"effort": 1.0, "lower": -0.5, "upper": 0.5, "velocity": 2.0}
        axis = np.eye(3)[k % 3]
        up = builder.add_body(f"l{k}", up, "revolute", (0.1, 0, 0.2), axis=axis, mass=1.0, inertia=np.eye(3), **limits)
    model = builder.build()
    space = OperationalSpace(model, [position("l5")], general=True)
    q, v = np.full(6, 0.3), np.zeros(6)
    q[2], v[3] = 0.7, 3.0
    command = TaskController(space, {"position(l5)": Reference(np.ones(3))}, clip=True)(0.0, q, v)
    assert command.limits.position == ("l2",)
    assert command.limits.velocity == ("l3",)
    assert command.limits.torque_ratio > 1.0
    assert command.limits.torque
    assert np.abs(command.tau).max() <= 1.0
    assert LimitMonitor(model)(np.zeros(6), np.zeros(6), np.zeros(6)) == ((), (), (), 0.0)


def test_shared_wrench_adds_up():
    points, wrench = [[0, 0.2, 0], [0.1, -0.2, 0]], np.arange(6.0)
    shares = share_wrench(points, wrench)
    moment = sum(share[3:] + np.cross(p, share[:3]) for p, share in zip(points, shares, strict=True))
    np.testing.assert_allclose(shares[:, :3].sum(axis=0), wrench[:3], atol=1e-12)
    np.testing.assert_allclose(moment, wrench[3:])


def test_stabiliser_pulls_back():
    model = zoo.humanoid()
    space = OperationalSpace(model, [relative("left_hand", "right_hand")], general=True)
    q = model.random_configuration(np.random.default_rng(0))
    stabiliser = Stabiliser(space, q, rate=10.0)
    np.testing.assert_allclose(stabiliser(q, np.zeros(model.nv)), 0, atol=1e-10)
    step = 1e-5 * np.random.default_rng(1).normal(size=model.nv)
    np.testing.assert_allclose(
        stabiliser(model.integrate(q, step), np.zeros(model.nv)), -100 * space.jacobian(q) @ step, atol=1e-6
    )


def test_bad_input():
    space = OperationalSpace(zoo.arm(7), [pose("hand"), momentum("linear")], general=True)
    with pytest.raises(TaskError, match="reference for 'hand'"):
        TaskController(space, {"hand": Reference()})
    with pytest.raises(TaskError, match="no position to reach"):
        Tracker(space).errors(np.zeros(7), {"momentum(linear)": np.zeros(3)})
    with pytest.raises(TaskError, match=r"\(4, 4\)"):
        Tracker(space).errors(np.zeros(7), {"pose(hand)": np.zeros(5)})
    turned = Tracker(OperationalSpace(zoo.arm(7), [orientation("hand")], general=True))
    whole = turned.positions(np.ones(7))["orientation(hand)"]
    by_rotation, by_placement = (turned.errors(np.zeros(7), {"orientation(hand)": T}) for T in (whole[:3, :3], whole))
    np.testing.assert_array_equal(by_rotation, by_placement)
    with pytest.raises(TaskError, match=r"a rotation \(3, 3\)"):
        turned.errors(np.zeros(7), {"orientation(hand)": np.zeros(3)})
    with pytest.raises(ShapeError, match="ascend"):
        CubicPath([0.0, 0.0], [[0.0], [1.0]])
    with pytest.raises(ShapeError, match="points"):
        CubicPath([0.0], [[0.0]])
    with pytest.raises(ShapeError, match=r"\(k, 4, 4\)"):
        PosePath([0.0, 1.0], np.zeros((2, 3)))


def test_references_are_those_of_whole_body_control():
    """A position alone is a reference, and what fits no task is refused by name."""
    arm, q = zoo.arm(6), np.array([0.1, 0.4, -0.6, 0.5, 0.3, -0.2])
    space, v = OperationalSpace(arm, [position("link6", name="hand")]), np.zeros(6)
    goal = space.dynamics.placement(q, "link6")[:3, 3] + [0.1, 0.0, 0.0]
    plain, named = (TaskController(space, {"hand": x}) for x in (goal, Reference(goal)))
    np.testing.assert_array_equal(plain(0.0, q, v).tau, named(0.0, q, v).tau)
    np.testing.assert_allclose(plain(0.0, q, v).error, [0.1, 0.0, 0.0], atol=1e-12)
    with pytest.raises(ShapeError, match=r"velocity of the reference of 'hand' is a number or \(3,\)"):
        TaskController(space, {"hand": Reference(goal, velocity=np.zeros(2))})(0.0, q, v)
