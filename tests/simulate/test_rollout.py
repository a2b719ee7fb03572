"""Integrators converge at their order, conserve what they should, and recordings survive the disk."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.dynamics.stepping import INTEGRATORS
from bough.errors import NonFiniteError, NumericalError, OptionError, ShapeError, UnknownNameError
from bough.simulate import rollout
from opspace.mechanisms import four_bar


def floating_top():
    """A free body and a ball joint in space: no gravity, so that momentum and energy are constant."""
    builder = bough.Builder("top", gravity=(0, 0, 0))
    builder.add_body("body", "world", "floating", mass=2.0, com=(0.1, 0, 0), inertia=np.diag([1.0, 2.0, 2.5]))
    builder.add_body(
        "arm", "body", "spherical", (0.5, 0, 0), mass=1.0, com=(0, 0.3, 0), inertia=np.diag([0.2, 0.3, 0.4])
    )
    builder.add_body("plate", "arm", "planar", (0, 0.3, 0), mass=1.0, com=(0, 0, 0.1), inertia=np.diag([0.2, 0.3, 0.4]))
    return builder.build()


def spinning(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng), rng.normal(size=model.nv)


@pytest.mark.parametrize(
    ("integrator", "order"), [("semi_implicit_euler", 1), ("lie_midpoint", 2), ("runge_kutta_4", 4)]
)
def test_order_of_convergence(integrator, order):
    model = floating_top()
    q, v = spinning(model)

    def end(dt, method):
        return rollout(model, q, v, duration=0.4, dt=dt, integrator=method, motion=motion(model))

    exact = end(0.4 / 512, "runge_kutta_4")
    errors = []
    for dt in (0.4 / 16, 0.4 / 32):
        r = end(dt, integrator)
        gap = model.difference(exact.q[-1], r.q[-1])
        errors.append(max(np.abs(gap).max(), np.abs(r.v[-1] - exact.v[-1]).max()))
    assert np.log2(errors[0] / errors[1]) > order - 0.35


def motion(model):
    return bough.Dynamics(model, general=True).forward_dynamics


def test_midpoint_keeps_energy_and_rk4_momentum():
    model = floating_top()
    q, v = spinning(model)

    def run(method, dt):
        return rollout(model, q, v, duration=1.0, dt=dt, integrator=method, motion=motion(model), every=10)

    assert run("runge_kutta_4", 2e-3).drift()["momentum"] < 1e-7
    assert run("runge_kutta_4", 2e-3).drift()["energy"] < 1e-7
    rough, fine = (run("lie_midpoint", dt).drift()["energy"] for dt in (2e-3, 1e-3))
    assert fine < rough / 3


def test_many_states_roll_out_like_one():
    model = zoo.arm(3)
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng, 4), rng.normal(size=(4, 3))
    for integrator in INTEGRATORS:
        options = {"duration": 0.05, "dt": 0.01, "integrator": integrator, "motion": motion(model)}
        many = rollout(model, q, v, **options)
        assert many.q.shape == (6, 4, 3)
        one = rollout(model, q[2], v[2], **options)
        np.testing.assert_allclose(many.q[:, 2], one.q, atol=1e-12)
        assert many.energy().shape == (6, 4)


def test_torque_is_asked_once_a_step_and_held():
    model, calls = zoo.arm(2), []

    def torque(t, q, v):
        calls.append(t)
        return np.ones(2)

    options = {"duration": 0.1, "dt": 0.01, "integrator": "runge_kutta_4", "every": 3, "motion": motion(model)}
    recording = rollout(model, np.zeros(2), np.zeros(2), tau=torque, **options)
    np.testing.assert_allclose(calls, np.arange(10) * 0.01)
    np.testing.assert_allclose(recording.time, [0, 0.03, 0.06, 0.09, 0.1])
    assert (recording.tau == 1).all()


def test_progress_is_shown_where_it_takes_long(capsys, monkeypatch):
    monkeypatch.setattr("bough.record.progress.PATIENCE", -1.0)
    model = zoo.arm(1)
    rollout(model, np.zeros(1), np.zeros(1), duration=0.02, dt=0.01, progress=True, motion=motion(model))
    assert "simulating" in capsys.readouterr().err


def test_bad_input():
    model = zoo.arm(2)
    start = {"q": np.zeros(2), "v": np.zeros(2)}
    with pytest.raises(OptionError, match="integrator"):
        rollout(model, **start, duration=1, dt=0.1, integrator="leapfrog")
    with pytest.raises(ShapeError, match="0 < dt"):
        rollout(model, **start, duration=0.1, dt=0.2)
    for every in (1.5, 0, "2"):
        with pytest.raises(ShapeError, match="a whole number every >= 1"):
            rollout(model, **start, duration=0.2, dt=0.1, every=every)
    with pytest.raises(NumericalError, match=r"became infinite.*smaller step"):
        rollout(model, **start, duration=1, dt=0.1, motion=lambda q, v, tau: np.full(2, np.inf))
    for found, words in ((None, "has None"), (np.zeros(5), r"has shape \(5,\)"), ("fast", "has 'fast'")):
        with pytest.raises(ShapeError, match=f"the acceleration {words}"):
            rollout(model, **start, duration=1, dt=0.1, motion=lambda q, v, tau, found=found: found)


@pytest.mark.parametrize(("duration", "dt"), [(1.0, 0.3), (1.0, 0.1), (0.35, 0.1), (1.0, 1.0), (0.1, 0.1 / 3)])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
def test_a_rollout_ends_exactly_at_its_duration(duration, dt, integrator):
    """A free fall: after the last step, short or not, the speed is g times the duration."""
    builder = bough.Builder("drop")
    builder.add_body("mass", "world", "prismatic", axis=(0, 0, 1), mass=1.0)
    model = builder.build()
    options = {"duration": duration, "dt": dt, "integrator": integrator, "motion": motion(model)}
    end = rollout(model, np.zeros(1), np.zeros(1), **options)
    assert end.time[-1] == duration
    assert (np.diff(end.time) > 0.0).all()
    assert len(end.time) == np.ceil(round(duration / dt, 9)) + 1
    np.testing.assert_allclose(end.v[-1], -9.81 * duration, rtol=1e-12)


def lame(model):
    """A law that has no finite answer for states beyond q = 1."""
    dynamics = bough.Dynamics(model, general=True)

    def law(q, v, tau):
        qdd = dynamics.forward_dynamics(q, v, tau)
        return np.where(np.abs(q[..., :1]) > 1.0, np.inf, qdd)

    return law


def test_a_row_that_fails_is_named_and_does_not_stop_the_others():
    model = zoo.arm(2)
    q, v = np.zeros((4, 2)), np.zeros((4, 2))
    v[2, 0] = 50.0
    options = {"duration": 0.1, "dt": 0.01, "motion": lame(model)}
    with pytest.raises(NumericalError, match=r"row 2 of the batch became infinite.*smaller step"):
        rollout(model, q, v, **options)
    found = rollout(model, q, v, failures="record", **options)
    assert found.ok.tolist() == [True, True, False, True]
    assert 0.0 < found.failed_at[2] < 0.1
    assert np.isfinite(found.q).all()
    alone = rollout(model, q[0], v[0], **options)
    np.testing.assert_allclose(found.q[:, 3], alone.q, atol=1e-14)
    np.testing.assert_array_equal(found.q[-1, 2], found.q[-2, 2])  # it stays where it was
    assert "1 failed" in repr(found)
    single = rollout(model, q[2], v[2], failures="record", **options)
    assert single.ok is False
    all_lost = rollout(model, q[2:3], v[2:3], failures="record", **options)
    assert all_lost.ok.tolist() == [False]


def test_shapes_of_states_and_torques_are_checked():
    model = zoo.arm(2)
    with pytest.raises(ShapeError, match=r"expected q \(2,\) and v \(2,\)"):
        rollout(model, np.zeros(3), np.zeros(2), duration=0.1, dt=0.1)
    with pytest.raises(ShapeError, match=r"tau returned shape \(3,\) at t = 0 s"):
        rollout(model, np.zeros(2), np.zeros(2), duration=0.1, dt=0.1, tau=lambda t, q, v: np.zeros(3))
    with pytest.raises(OptionError, match="no effect 'drag'"):
        rollout(model, np.zeros(2), np.zeros(2), duration=0.1, dt=0.1, without=["drag"])
    with pytest.raises(OptionError, match="failures is 'raise' or 'record', got 'ignore'"):
        rollout(model, np.zeros(2), np.zeros(2), duration=0.1, dt=0.1, failures="ignore")


def test_external_forces_push_frames():
    """A box in flight: a force at a point of it, by closed form; as a function, for a batch, and on the ground."""
    builder = bough.Builder("box", (0.0, 0.0, 0.0))
    builder.add_body("box", joint="floating", mass=2.0, inertia=0.1 * np.eye(3))
    builder.add_frame("corner", "box", (0.0, 0.5, 0.0))
    box = builder.build()
    push = {"corner": [4.0, 0, 0, 0, 0, 0]}
    start = {"q": box.neutral, "v": np.zeros(6), "dt": 1e-3}
    motion = rollout(box, **start, duration=1e-3, forces=push)
    speed = bough.Dynamics(box).velocity(motion.q[-1], motion.v[-1], "box")
    np.testing.assert_allclose(speed, [2e-3, 0, 0, 0, 0, -20e-3], atol=1e-12)
    np.testing.assert_allclose(motion.tau, 0)
    straight = rollout(box, **start, duration=0.1, forces=lambda t, q, v: {"box": [4.0 * (t < 0.05), 0, 0, 0, 0, 0]})
    np.testing.assert_allclose(straight.v[-1, :3], [0.1, 0, 0], atol=1e-9)
    many = {"q": np.tile(box.neutral, (2, 1)), "v": np.zeros((2, 6)), "dt": 1e-3}
    each = np.array([[2.0, 0, 0, 0, 0, 0], [0, 6.0, 0, 0, 0, 0]])
    found = rollout(box, **many, duration=0.1, forces={"box": each})
    np.testing.assert_allclose(found.v[-1, :, :2], [[0.1, 0], [0, 0.3]], atol=1e-9)
    with pytest.raises(bough.errors.UnknownNameError, match="corner"):
        rollout(box, **start, duration=1e-3, forces={"cornr": [0.0] * 6})
    with pytest.raises(bough.errors.ShapeError, match="leave motion= out"):
        rollout(box, **start, duration=1e-3, forces=push, motion=lambda q, v, tau: v)
    with pytest.raises(bough.errors.ShapeError, match="a dictionary of frames and wrenches"):
        rollout(box, **start, duration=1e-3, forces=[1.0])


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "runge_kutta_4"])
@pytest.mark.parametrize("what", ["q", "v", "tau", "forces"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_nonsense_from_the_start_stops_no_other(integrator, what, bad):
    model = zoo.arm(3)
    q, v, tau = np.full((3, 3), 0.2), np.zeros((3, 3)), np.zeros((3, 3))
    push = np.zeros((3, 6))
    {"q": q, "v": v, "tau": tau, "forces": push}[what][1, 0] = bad
    options = {"duration": 0.02, "dt": 1e-3, "integrator": integrator}
    options |= {"tau": lambda t, q, v: tau[: len(q)], "forces": {model.body_names[-1]: push}}
    motion = rollout(model, q, v, failures="record", **options)
    assert motion.ok.tolist() == [True, False, True]
    assert motion.failed_at[1] == 0.0
    assert np.isfinite(motion.q[-1, [0, 2]]).all()
    assert np.isfinite(motion.energy()[:, [0, 2]]).all()
    with pytest.raises((NumericalError, NonFiniteError)):
        rollout(model, q, v, **options)


def test_a_quaternion_of_zeros_and_an_open_loop_never_start():
    builder = bough.Builder("ball")
    builder.add_body("ball", joint="floating", mass=1.0, inertia=np.eye(3))
    ball = builder.build()
    q = np.tile(ball.neutral, (2, 1))
    q[1, 3:] = 0.0
    motion = rollout(ball, q, np.zeros((2, 6)), duration=0.01, dt=1e-3, failures="record")
    assert motion.ok.tolist() == [True, False]
    loop = four_bar()
    closed = bough.close_loops(loop, [0.6, -0.5, -1.5]).q
    Q = np.stack([closed, closed + 0.1])
    for integrator in ("semi_implicit_euler", "runge_kutta_4"):
        motion = rollout(loop, Q, np.zeros((2, 3)), duration=0.01, dt=1e-3, failures="record", integrator=integrator)
        assert motion.ok.tolist() == [True, False]
    assert not rollout(loop, Q[1], np.zeros(3), duration=0.01, dt=1e-3, failures="record").ok


def test_wrenches_are_checked_by_name_and_shape():
    model = zoo.arm(3)
    start = {"q": np.zeros(3), "v": np.zeros(3), "duration": 0.01, "dt": 1e-3, "failures": "record"}
    with pytest.raises(UnknownNameError, match="did you mean"):
        rollout(model, **start, forces={model.body_names[-1] + "x": np.zeros(6)})
    with pytest.raises(ShapeError, match=r"must have shape \(6,\)"):
        rollout(model, **start, forces={model.body_names[-1]: np.zeros(3)})


def test_controllers_see_states_that_they_cannot_write_to():
    def reach(t, q, v):
        q -= 1.0
        return np.zeros(2)

    with pytest.raises(ValueError, match="read-only"):
        rollout(zoo.arm(2), np.zeros(2), np.zeros(2), duration=0.1, dt=0.1, tau=reach)


def test_a_controller_that_fills_its_own_array_is_recorded():
    own = np.zeros(2)

    def ramp(t, q, v):
        own[:] = t
        return own

    found = rollout(zoo.arm(2), np.zeros(2), np.zeros(2), duration=0.03, dt=0.01, tau=ramp)
    np.testing.assert_allclose(found.tau[:, 0], [0.0, 0.01, 0.02, 0.02])


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, r"tau returned None at t = 0.02 s"),
        (np.array([0.0, np.nan]), r"not finite at t = 0.02 s"),
        (np.zeros(3), r"tau returned shape \(3,\) at t = 0.02 s"),
        ("strong", r"tau returned 'strong' at t = 0.02 s"),
        (np.zeros(2) + 1j, r"tau returned array\(.*1.j.* at t = 0.02 s"),
    ],
)
def test_a_controller_without_an_answer_is_named_with_the_time(answer, sentence):
    law = lambda t, q, v: answer if t > 0.015 else np.zeros(2)  # noqa: E731
    with pytest.raises(bough.BoughError, match=sentence):
        rollout(zoo.arm(2), np.zeros(2), np.zeros(2), duration=0.1, dt=0.01, tau=law)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, "returned None at t = 0.01 s"),
        ((0.0, 1.0, 2.0, 3.0), "returned 4 things at t = 0.01 s"),
        ((0.0, np.nan), "not finite at t = 0.01 s"),
        ((0.0, [1.0, 2.0]), r"returned shape \(2,\) at t = 0.01 s"),
        ([0.0, 0.0], r"returned shape \(2,\) at t = 0.01 s"),
        (np.inf, "not finite at t = 0.01 s"),
    ],
)
def test_prescribed_motion_without_an_answer_is_named_with_the_time(answer, sentence):
    model = zoo.arm(2)
    with pytest.raises(bough.BoughError, match=sentence):
        rollout(model, np.zeros(2), np.zeros(2), duration=0.1, dt=0.01, motion={model.joint_names[0]: lambda t: answer})


def test_tau_is_a_function_or_an_array():
    model, start = zoo.arm(2), (np.zeros(2), np.zeros(2))
    by_array = rollout(model, *start, duration=0.05, dt=0.01, tau=[1.0, 2.0])
    by_function = rollout(model, *start, duration=0.05, dt=0.01, tau=lambda t, q, v: [1.0, 2.0])
    np.testing.assert_array_equal(by_array.q, by_function.q)
    with pytest.warns(DeprecationWarning, match="tau="):
        old = rollout(model, *start, duration=0.05, dt=0.01, torque=lambda t, q, v: [1.0, 2.0])
    np.testing.assert_array_equal(by_array.q, old.q)


def test_the_last_sample_has_the_torque_of_the_last_step():
    model = zoo.arm(2)
    motion = rollout(
        model, model.neutral, np.zeros(2), duration=0.05, dt=1e-3, every=10, tau=lambda t, q, v: np.full(2, t)
    )
    np.testing.assert_allclose(motion.tau[:, 0], [0.0, 0.01, 0.02, 0.03, 0.04, 0.049], atol=1e-12)
