"""Inverse kinematics: answers are where forward kinematics says they should be, and honest where there are none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import bough
from bough.compile.run.libraries import on_host
from bough.control.ik.objectives import away_from_singularity
from bough.control.ik.problem import Bounds
from bough.control.ik.search import Search
from bough.errors import NonFiniteError, OptionError, ShapeError, TaskError, UnknownNameError
from bough.opspace import TaskSet, joint, posture
from gpu import on_hardware, to_gpu

ARM = bough.zoo.arm(7)
HAND = ARM.body_names[-1]
DYN = bough.Dynamics(ARM)


def reachable(model, frame, count, seed=0):
    q = model.random_configuration(np.random.default_rng(seed), count)
    return q, bough.Dynamics(model).placement(q, frame)


def test_a_batch_of_poses_is_reached():
    _, T = reachable(ARM, HAND, 200)
    found = bough.ik.solve(ARM, {HAND: T})
    assert found.success.mean() >= 0.995
    assert np.abs(DYN.placement(found.q, HAND) - T)[found.success].max() < 2e-6
    assert (found.error <= 1e-6).tolist() == found.success.tolist()
    assert found.iterations.shape == found.starts.shape == (200,)


def test_the_answer_is_what_pinocchio_places_there():
    pin = pytest.importorskip("pinocchio")
    from robots import urdfs

    path = next(p for name, p in urdfs().items() if p.name == "panda.urdf")
    model, other = bough.load(path), pin.buildModelFromUrdf(str(path), mimic=True)
    data, rng = other.createData(), np.random.default_rng(3)
    wanted = bough.Dynamics(model).placement(model.random_configuration(rng, 20), "panda_hand")
    found = bough.ik.solve(model, {"panda_hand": wanted})
    assert found.success.all()
    for q, T in zip(found.q, wanted, strict=True):
        pin.framesForwardKinematics(other, data, q)
        assert data.oMf[other.getFrameId("panda_hand")].homogeneous == pytest.approx(T, abs=2e-6)
    lower, upper = model.limits.lower, model.limits.upper
    assert ((found.q >= lower) & (found.q <= upper)).all()


def test_one_target_gives_plain_results():
    q, T = reachable(ARM, HAND, 1)
    found = bough.ik.solve(ARM, {HAND: T[0]}, q[0])
    assert (found.success, found.q.shape, found.starts, found.iterations) == (True, (7,), 1, 1)
    assert found.q == pytest.approx(q[0])


def test_one_alone_is_what_it_is_in_a_batch():
    """A single target goes by code of its own: same steps, same answer, and other starts where the first fails."""
    _, T = reachable(ARM, HAND, 12, seed=3)
    together = bough.ik.solve(ARM, {HAND: T}, starts=1, iterations=2)
    assert 0 < together.success.sum() < 12
    for k in range(12):
        alone = bough.ik.solve(ARM, {HAND: T[k]}, starts=1, iterations=2)
        assert (alone.success, alone.iterations) == (together.success[k], together.iterations[k])
        assert alone.q == pytest.approx(together.q[k], abs=1e-6)
    lost = int(np.flatnonzero(~together.success)[0])
    again = bough.ik.solve(ARM, {HAND: T[lost]}, iterations=2)
    assert again.success
    assert again.starts > 1


def test_what_cannot_be_reached_is_a_status():
    T = np.tile(np.eye(4), (3, 1, 1))
    T[:, :3, 3] = [[1e3, 0, 0], [0, 1e6, 0], [0, 0, 1e12]]
    found = bough.ik.solve(ARM, {HAND: T}, starts=2)
    assert not found.success.any()
    assert np.isfinite(found.q).all()
    assert np.isfinite(found.error).all()
    alone = bough.ik.solve(ARM, {bough.position(HAND): T[0]}, starts=2)
    assert 0.9e3 < alone.error < 1e3  # stretched out towards it


def test_one_bad_row_leaves_the_others_alone():
    _, T = reachable(ARM, HAND, 6, seed=1)
    expected = bough.ik.solve(ARM, {HAND: T[[0, 4]]})
    T[1, 0, 3], T[2, :3, 3], T[3, :3, :3] = np.nan, [50.0, 0.0, 0.0], 2.0 * np.eye(3)
    T[5, 2, 3] = 1e300
    found, status = bough.ik.with_status(ARM, {HAND: T}, starts=4)
    assert status.tolist() == [0, 2, 4, 2, 0, 2]
    assert found.success.tolist() == [True, False, False, False, True, False]
    np.testing.assert_array_equal(found.q[[0, 4]], expected.q)
    assert np.isfinite(found.q[2]).all()
    assert 45.0 < found.error[2] < 50.0
    assert np.isnan(found.q[[1, 3, 5]]).all()
    q0 = np.zeros((6, 7))
    q0[4, 2] = np.inf
    assert bough.ik.with_status(ARM, {HAND: T}, q0, starts=1)[1].tolist() == [0, 2, 4, 2, 2, 2]
    assert bough.ik.with_status(ARM, {HAND: T[0]}, q0, starts=1)[1].tolist() == [0, 0, 0, 0, 2, 0]
    alone, status = bough.ik.with_status(ARM, {HAND: T[1]})
    assert (alone.q.shape, alone.success, int(status)) == ((7,), False, 2)
    assert bough.ik.with_status(ARM, {HAND: T[:0]})[0].q.shape == (0, 7)
    with pytest.raises(ShapeError, match="placement"):
        bough.ik.with_status(ARM, {HAND: np.zeros((2, 5))})
    with pytest.raises(ShapeError, match="q0"):
        bough.ik.with_status(ARM, {HAND: T}, np.zeros(3))


def test_a_start_that_is_no_rotation_stops_no_other():
    model = bough.zoo.floating_chain(3)
    frame, q0 = model.body_names[-1], np.tile(model.neutral, (3, 1))
    q0[1, 3:7] = 0.0
    T = bough.Dynamics(model, general=True).placement(model.neutral, frame)
    found, status = bough.ik.with_status(model, {frame: T}, q0)
    assert status.tolist() == [0, 2, 0]
    assert np.isnan(found.q[1]).all()


def test_numbers_for_one_joint_are_as_many_targets():
    first = ARM.joint_names[0]
    found = bough.ik.solve(ARM, {joint(first): [0.1, 0.2, 0.3]})
    assert found.q[:, ARM.joint(first).q.start] == pytest.approx([0.1, 0.2, 0.3])
    found, status = bough.ik.with_status(ARM, {joint(first): [0.1, np.nan, 0.3]})
    assert status.tolist() == [0, 2, 0]
    for given in (0.1, [0.1]):
        assert bough.ik.solve(ARM, {joint(first): given}).q.shape == (7,)


def test_extreme_questions():
    assert bough.ik.solve(ARM, {HAND: np.zeros((0, 4, 4))}).q.shape == (0, 7)
    assert bough.ik.solve(ARM, {HAND: np.zeros((1, 3))}).q.shape == (1, 7)
    with pytest.raises(TaskError, match="beyond"):
        bough.ik.solve(ARM, {HAND: [1e300, 0.0, 0.0]})
    with pytest.raises(ShapeError, match="posture"):
        bough.ik.solve(ARM, {HAND: np.zeros(3)}, posture=np.zeros((2, 7)))
    far = bough.ik.solve(ARM, {HAND: [1e49, 0.0, 0.0]}, starts=2)
    assert not far.success
    assert np.isfinite(far.q).all()


def test_singular_starts_give_no_nan():
    """A stretched arm cannot move along itself: all freedoms of rows at once are lost."""
    planar = bough.Builder("planar")
    last = "world"
    for k in range(3):
        planar.add_body(f"l{k}", last, "revolute", axis=(0, 0, 1), placement=(float(k > 0), 0, 0),
                        mass=1.0, inertia=np.eye(3))  # fmt: skip
        last = f"l{k}"
    planar.add_frame("tip", last, (1, 0, 0))
    model = planar.build()
    found = bough.ik.solve(model, {"tip": np.array([[1.0, 0.0, 0.0], [3.0, 0, 0], [0, 0, 0], [5.0, 0, 0]])})
    assert found.success.tolist() == [True, True, True, False]
    assert found.error[3] == pytest.approx(2.0, abs=1e-3)


def test_limits_hold_and_can_be_left_out():
    model = bough.Builder("one")
    model.add_body("link", "world", "revolute", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3), lower=-0.5, upper=0.5)
    model.add_frame("tip", "link", (1, 0, 0))
    model = model.build()
    target = {"tip": [np.cos(1.0), np.sin(1.0), 0.0]}
    held, free = bough.ik.solve(model, target), bough.ik.solve(model, target, limits=False)
    assert not held.success
    assert held.q == pytest.approx([0.5])
    assert free.success
    assert free.q == pytest.approx([1.0], abs=1e-5)


def test_weights_decide_between_targets_that_contradict():
    x = {bough.position(HAND): [0.2, 0.0, 0.3], bough.position(HAND, name="other"): [0.4, 0.0, 0.3]}
    dear = bough.ik.solve(ARM, x, weights={"other": 10.0}, starts=1, iterations=200)
    assert DYN.placement(dear.q, HAND)[:3, 3] == pytest.approx([0.4 - 0.2 / 101, 0.0, 0.3], abs=1e-4)


def test_priorities_are_strict():
    x = {bough.position(HAND): [0.2, 0.0, 0.3], bough.position(HAND, name="other"): [0.4, 0.0, 0.3]}
    found = bough.ik.solve(ARM, x, priorities={"other": 1}, weights={"other": 100.0})
    assert found.success.tolist() == [True, False]
    assert found.error[1] == pytest.approx(0.2, abs=2e-6)
    assert DYN.placement(found.q, HAND)[:3, 3] == pytest.approx([0.2, 0.0, 0.3], abs=2e-6)


def test_every_priority_is_reached_where_all_can_be():
    """Position first, then orientation, of poses that exist."""
    _, T = reachable(ARM, HAND, 200)
    place, turn = bough.position(HAND), bough.orientation(HAND)
    found = bough.ik.solve(ARM, {place: T[:, :3, 3], turn: T}, priorities={turn: 1})
    assert found.success.shape == found.error.shape == (200, 2)
    assert found.success.mean(axis=0).tolist() == [1.0, 1.0]
    assert np.abs(DYN.placement(found.q, HAND) - T).max() < 3e-6
    alone = bough.ik.solve(ARM, {place: T[0, :3, 3], turn: T[0, :3, :3]}, priorities={turn: 1})
    assert alone.success.tolist() == [True, True]
    status = bough.ik.with_status(ARM, {place: T[:2, :3, 3], turn: T[:2, :3, :3]}, priorities={turn: 1})[1]
    assert status.tolist() == [0, 0]


def narrow():
    """The arm with joints that turn little, so that many are at their limits."""
    builder, parent = bough.Builder("narrow"), "world"
    for k in range(7):
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[k % 3]
        builder.add_body(f"l{k}", parent, "revolute", (0.1, 0, 0.2), axis=axis, mass=1.0, inertia=np.eye(3),
                         lower=-0.8, upper=0.5)  # fmt: skip
        parent = f"l{k}"
    return builder.build()


def test_lower_priorities_are_at_their_optimum_within_the_limits():
    """From each answer SLSQP finds no orientation that is nearer, with the position kept and the limits."""
    from scipy.optimize import minimize

    model, rng = narrow(), np.random.default_rng(2)
    dyn = bough.Dynamics(model)
    places, turns = (dyn.placement(model.random_configuration(rng, 10), "l6") for _ in range(2))
    place, turn = bough.position("l6"), bough.orientation("l6")
    found = bough.ik.solve(model, {place: places[:, :3, 3], turn: turns}, priorities={turn: 1}, iterations=100)
    assert found.success[:, 0].all()
    assert found.success[:, 1].mean() < 0.5
    assert ((found.q <= -0.8) | (found.q >= 0.5)).any(axis=1).mean() > 0.5
    for q, p, T, error in zip(found.q, places[:, :3, 3], turns, found.error[:, 1], strict=True):

        def away(x, T=T):
            return turn.error(dyn, x, T)

        keep = {"type": "eq", "fun": lambda x, p=p: place.error(dyn, x, p), "jac": lambda x: -dyn.jacobian(x, "l6")[:3]}
        better = minimize(
            lambda x: 0.5 * away(x) @ away(x), q, jac=lambda x: -dyn.jacobian(x, "l6")[3:].T @ away(x),
            method="SLSQP", bounds=[(-0.8, 0.5)] * 7, constraints=[keep], options={"ftol": 1e-13, "maxiter": 200},
        )  # fmt: skip
        assert error == pytest.approx(np.linalg.norm(away(q)), abs=1e-9)
        assert np.linalg.norm(away(better.x)) > error - 1e-4


def test_frames_by_name_and_rotations():
    _, T = reachable(ARM, HAND, 2)
    solver = bough.ik.InverseKinematics(ARM, [HAND], weights={HAND: 2.0})
    by_frame, by_task = solver.solve({HAND: T}), solver.solve({f"pose({HAND})": T})
    assert by_frame.success.all()
    np.testing.assert_array_equal(by_frame.q, by_task.q)
    with pytest.raises(TaskError, match="are a list"):
        bough.ik.InverseKinematics(ARM, HAND)
    with pytest.raises(UnknownNameError, match="is missing or no task"):
        solver.solve({"elbow": T})
    with pytest.raises(TaskError, match="two targets"):
        solver.solve({HAND: T, f"pose({HAND})": T})
    with pytest.raises(TaskError, match="expected tasks or names"):
        bough.ik.InverseKinematics(ARM, [[HAND]])
    turned = bough.ik.solve(ARM, {HAND: T[:, :3, :3]})
    assert np.abs(DYN.placement(turned.q, HAND)[:, :3, :3] - T[:, :3, :3]).max() < 2e-6
    alone = bough.ik.solve(ARM, {bough.orientation(HAND): T[0, :3, :3]})
    assert alone.q.shape == (7,)
    assert alone.success
    with pytest.raises(ShapeError, match="may be meant, or three points"):
        bough.ik.solve(ARM, {HAND: T[0, :3, :3]})
    assert bough.ik.solve(ARM, {HAND: 0.3 * np.eye(3)}, starts=1).q.shape == (3, 7)
    with pytest.raises(TaskError, match="no rotation"):
        bough.ik.solve(ARM, {bough.orientation(HAND): 2.0 * np.eye(3)})


def test_the_posture_is_approached_as_far_as_the_task_leaves_it():
    _, T = reachable(ARM, HAND, 1, seed=5)
    p, rest = T[0][:3, 3], ARM.random_configuration(np.random.default_rng(9))
    plain = bough.ik.solve(ARM, {HAND: p})
    near = bough.ik.solve(ARM, {HAND: p}, posture=rest, iterations=300)
    assert near.success
    assert DYN.placement(near.q, HAND)[:3, 3] == pytest.approx(p, abs=2e-6)
    assert np.linalg.norm(ARM.difference(near.q, rest)) < np.linalg.norm(ARM.difference(plain.q, rest))
    # nothing is left that would bring it nearer: the rest of the way is in the span of J'
    J = DYN.jacobian(near.q, HAND)[:3]
    way = ARM.difference(near.q, rest)
    assert way - np.linalg.pinv(J) @ (J @ way) == pytest.approx(np.zeros(7), abs=1e-4)


def test_manipulability_grows_and_the_slope_is_its_own():
    p = DYN.placement(ARM.random_configuration(np.random.default_rng(5)), HAND)[:3, 3]

    def measure(q):
        J = DYN.jacobian(q, HAND)[:3]
        return np.log(np.linalg.det(J @ J.T)) / 2

    objective = away_from_singularity(TaskSet(ARM, [bough.position(HAND)]), 1e-3)
    q, e = ARM.random_configuration(np.random.default_rng(6)), 1e-6
    slope = [(measure(q + e * d) - measure(q - e * d)) / (2 * e) for d in np.eye(7)]
    assert 1e3 * objective(q[None])[0] == pytest.approx(slope, abs=1e-6)
    plain = bough.ik.solve(ARM, {HAND: p})
    better = bough.ik.solve(ARM, {HAND: p}, manipulability=0.2, iterations=200)
    assert better.success
    assert measure(better.q) > measure(plain.q) + 0.01
    with pytest.raises(TaskError, match="at most as many rows"):
        bough.ik.solve(ARM, {HAND: np.eye(4), posture(): np.zeros(7)}, manipulability=0.1)


def test_many_kinds_of_tasks_at_once_on_a_floating_base():
    model = bough.zoo.humanoid()
    rng, dyn = np.random.default_rng(2), bough.Dynamics(model)
    goal = model.integrate(model.neutral, 0.2 * rng.normal(size=model.nv))
    frames = [n for n in model.body_names if not len(model.tree.children(model.body_names.index(n)))][:3]
    tasks = [bough.pose(frames[0]), bough.orientation(frames[1]), bough.relative(frames[2], frames[0]),
             bough.center_of_mass(), joint(model.joint_names[-1])]  # fmt: skip
    found = bough.ik.solve(model, {t: t.position(dyn, goal) for t in tasks})
    assert found.success
    for t in tasks:
        assert t.error(dyn, found.q, t.position(dyn, goal)) == pytest.approx(0.0, abs=2e-6)


def test_more_rows_than_freedoms():
    goal = ARM.random_configuration(np.random.default_rng(4))
    T = DYN.placement(goal, HAND)
    found = bough.ik.solve(ARM, {HAND: T, posture(): goal})
    assert found.success
    assert found.q == pytest.approx(goal, abs=1e-5)


def test_servoing_arrives_within_velocity_limits():
    model = bough.Builder("two")
    for k, parent in enumerate(["world", "l0"]):
        model.add_body(f"l{k}", parent, "revolute", axis=(0, 0, 1), placement=(float(k), 0, 0), mass=1.0,
                       inertia=np.eye(3), velocity=0.5)  # fmt: skip
    model.add_frame("tip", "l1", (1, 0, 0))
    model = model.build()
    q, target = np.array([0.1, 0.5]), {"tip": [0.5, 1.2, 0.0]}
    for _ in range(1000):
        step = bough.ik.step(model, target, q, gain=5.0, dt=0.02)
        assert (np.abs(step.velocity) <= 0.5 + 1e-12).all()
        assert step.q == pytest.approx(model.integrate(q, 0.02 * step.velocity))
        q = step.q
    assert step.error < 1e-6


def test_bad_questions_are_refused_in_one_sentence():
    T = np.eye(4)
    for given, words, error in (
        ({}, "at least one", TaskError),
        ({"nowhere": T}, "nowhere", UnknownNameError),
        ({HAND: np.zeros(5)}, "placement", ShapeError),
        ({3: T}, "frame's name", TaskError),
        ({bough.momentum(): np.zeros(6)}, "no aim", TaskError),
        ({HAND: [[1, 2], [3]]}, "ragged", ShapeError),
        ({HAND: T * 1j}, "real numbers", ShapeError),
        ({HAND: np.vstack([T[:3], [0.1, 0.2, 0.3, 1.0]])}, "last row not 0 0 0 1", TaskError),  # transposed
    ):
        with pytest.raises(error, match=words):
            bough.ik.solve(ARM, given)
    for options, words, error in (
        ({"q0": np.zeros(3)}, "q0", ShapeError),
        ({"q0": np.full(7, np.nan)}, "q0", NonFiniteError),
        ({"weights": {HAND: -1.0}}, "weight", TaskError),
        ({"weights": {"foot": 1.0}}, "no target", TaskError),
        ({"priorities": {HAND: -1}}, "priority", TaskError),
        ({"tolerance": 0.0}, "tolerance", TaskError),
        ({"tolerance": "small"}, "tolerance", TaskError),
        ({"iterations": 1.5}, "iterations", TaskError),
        ({"seed": -1}, "seed", TaskError),
        ({"limits": "no"}, "limits", TaskError),
        ({"manipulability": "yes"}, "manipulability", TaskError),
        ({"weights": {HAND: "big"}}, "weight", ShapeError),
        ({"q0": "home"}, "q0 must be an array of real numbers", ShapeError),
        ({"q0": np.zeros((3, 7)), "seed": 1}, "batches", ShapeError),
    ):
        with pytest.raises(error, match=words):
            bough.ik.solve(ARM, {HAND: np.tile(T, (2, 1, 1))}, **options)


SMALL = bough.zoo.arm(4)


@pytest.mark.parametrize("priorities", [False, True])
def test_targets_on_a_gpu_give_answers_there(gpu, priorities):
    """The same descents as on the CPU; starts after the first are drawn otherwise."""
    hand = SMALL.body_names[-1]
    _, T = reachable(SMALL, hand, on_hardware(3000, 20))
    tasks = {bough.position(hand): T[:, :3, 3]} | ({bough.orientation(hand): T[:, :3, :3]} if priorities else {})
    ranks = {task: k for k, task in enumerate(tasks)}
    found = bough.ik.solve(SMALL, {t: to_gpu(x) for t, x in tasks.items()}, priorities=ranks, device="cuda", starts=4)
    assert all(type(x) is type(to_gpu(T)) for x in found)
    q, success, error, iterations, starts = (np.asarray(on_host(x)) for x in found)
    assert q.shape == (len(T), 4)
    assert success.mean() > 0.9
    assert ((error <= 1e-6) == success).all()
    assert starts.max() > 1
    assert iterations.min() >= 1
    gap = bough.Dynamics(SMALL).placement(q, hand) - T
    reached = success.reshape(len(T), -1).all(axis=1).astype(bool)
    assert np.abs(gap[reached, :3, 3]).max() < 2e-6
    if priorities:
        assert np.abs(gap[reached]).max() < 3e-6
    again = bough.ik.solve(SMALL, tasks, q, priorities=ranks, starts=1)
    assert again.success[reached].all()
    assert (again.iterations[reached] == 1).all()


def test_what_a_gpu_does_not_take(gpu):
    T = np.tile(np.eye(4), (2, 1, 1))
    for device, targets, words in (
        ("cuda", T, "on the host"),
        ("cpu", to_gpu(T), "on a GPU"),
        (None, to_gpu(T.astype(np.float32)), "float64"),
        ("tpu", T, "no device 'tpu'"),
    ):
        with pytest.raises(bough.BoughError, match=words):
            bough.ik.solve(ARM, {HAND: targets}, device=device)
    with pytest.raises(TaskError, match="are for the CPU"):
        bough.ik.solve(ARM, {HAND: to_gpu(T)}, posture=np.zeros(7))


def test_the_nearest_point_to_a_target_out_of_reach():
    """Twenty points beyond the reach of the arm: no point of it is nearer, by SLSQP from the answer."""
    from scipy.optimize import minimize

    goals = 3.0 * reachable(ARM, HAND, 20, seed=8)[1][:, :3, 3]
    found = bough.ik.solve(ARM, {HAND: goals})
    assert found.success.mean() < 0.5
    for q, goal, error in zip(found.q, goals, found.error, strict=True):

        def distance(x, goal=goal):
            return np.linalg.norm(DYN.placement(x, HAND)[:3, 3] - goal)

        bounds = [*zip(ARM.limits.lower, ARM.limits.upper, strict=True)]
        assert minimize(distance, q, method="SLSQP", bounds=bounds).fun > error - 1e-3


def test_the_nearest_configuration_out_of_reach_is_a_minimum_within_the_limits():
    """No slope is left in any joint, but outwards at a limit."""
    builder = bough.Builder("planar")
    for k in range(4):
        parent = {"parent": f"l{k - 1}", "placement": (1.0, 0.0, 0.0)} if k else {}
        builder.add_body(
            f"l{k}",
            joint="revolute",
            **parent,
            axis=(0, 0, 1),
            mass=1.0,
            inertia=0.1 * np.eye(3),
            lower=-1.0,
            upper=1.0,
        )
    builder.add_frame("tip", "l3", (1.0, 0.0, 0.0))
    arm = builder.build()
    dyn, rng = bough.Dynamics(arm), np.random.default_rng(0)
    targets = 1.6 * dyn.placement(arm.random_configuration(rng, 40), "tip")[:, :3, 3]
    found = bough.ik.solve(arm, {"tip": targets})
    far = ~found.success
    assert far.sum() > 20
    angle = np.cumsum(found.q, axis=1)
    gap = targets[:, :2] - np.stack([np.cos(angle).sum(1), np.sin(angle).sum(1)], axis=1)
    for k in range(4):
        J = np.stack([-np.sin(angle[:, k:]).sum(1), np.cos(angle[:, k:]).sum(1)], axis=1)
        slope = (J * gap).sum(1)
        free = np.where(slope > 0, found.q[:, k] < 1.0, found.q[:, k] > -1.0)
        assert np.abs(slope[far & free]).max() < 1e-3


@pytest.mark.native("takes long")
def test_a_batch_gives_what_its_rows_give_alone():
    """Also where starts are drawn: neither the number of rows nor those that fail beside one change its answer."""
    rng, count = np.random.default_rng(6), 12
    (_, T), q0 = reachable(ARM, HAND, count, seed=5), ARM.random_configuration(rng, count)
    place, turn = bough.position(HAND), bough.orientation(HAND)
    p, R = T[:, :3, 3] * np.where(np.arange(count) % 3, 1.0, 2.5)[:, None], T[:, :3, :3]
    hard, last = {place: p, turn: R}, {"priorities": {turn: 1}}
    for targets, how in (({place: T[:, :3, 3], turn: R}, {"iterations": 8}), (hard, {}), (hard, last)):
        whole = bough.ik.solve(ARM, targets, q0, **how)
        assert whole.starts.max() > 1
        for k in range(count):
            one = bough.ik.solve(ARM, {task: x[k] for task, x in targets.items()}, q0[k], **how)
            np.testing.assert_allclose(one.error, whole.error[k], atol=1e-6)
            assert one.starts == whole.starts[k]
            if np.all(one.success):
                np.testing.assert_allclose(one.q, whole.q[k], atol=1e-6)


def test_an_unknown_option_is_refused():
    with pytest.raises(OptionError, match="unexpected keyword argument 'tol'"):
        bough.ik.solve(ARM, {HAND: np.eye(4)}, tol=1e-3)


def test_starts_of_a_wave_differ():
    """However many there are."""
    bounds = Bounds(ARM)
    search = Search(bounds, None, (1e-6, 10, 512), 0)
    goals = SimpleNamespace(target=np.full((300, 1, 7), 0.1))
    drawn = search._drawn(np.zeros((300, ARM.nq)), goals, 300, np.random.default_rng(0))
    assert len(np.unique(drawn, axis=0)) == 300
