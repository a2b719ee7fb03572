"""Environments: Gymnasium's own checker, seeds, ends, truncation, failures and parameters row by row."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import bough
from bough.compile.run.libraries import on_host
from bough.errors import ModelError, NonFiniteError, OptionError, ShapeError
from bough.simulate import ContactPoint, Contacts
from gpu import a_gpu, starfish, to_gpu

gymnasium = pytest.importorskip("gymnasium")
FEET = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]


def stance(model, height=0.34):
    q = model.rest_configuration.copy()
    q[2] = height
    return q


def envs(count=3, **options):
    model = bough.zoo.quadruped()
    given = {"start": stance(model), "servo": (60.0, 1.5), "contacts": Contacts(FEET, friction=0.8, sweeps=8)}
    return bough.env.RobotVectorEnv(model, count, **(given | options))


@pytest.fixture(scope="module")
def arm():
    builder = bough.Builder("arm")
    for k, up in enumerate(("world", "link0")):
        builder.add_body(
            f"link{k}", up, placement=(0, 0, 0.3 * k), axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.15),
            inertia=np.eye(3) * 0.01, effort=5.0,
        )  # fmt: skip
    return builder.build()


def test_gymnasium_checks_one_robot(arm):
    from gymnasium.utils.env_checker import check_env

    start = lambda rng, count: (rng.uniform(-0.1, 0.1, (count, 2)), np.zeros((count, 2)))  # noqa: E731
    check_env(bough.env.RobotEnv(arm, start=start, reward=lambda s: -np.abs(s.q).sum(axis=1)), skip_render_check=True)


def test_spaces_seeds_and_rows():
    model = bough.zoo.quadruped()

    def start(rng, count):
        q = np.tile(stance(model), (count, 1))
        q[:, 2] += rng.uniform(0.0, 0.05, count)
        return q, np.zeros((count, model.nv))

    one, other = envs(start=start), envs(start=start)
    seen, info = one.reset(seed=3)
    np.testing.assert_array_equal(seen, other.reset(seed=3)[0])
    assert one.observation_space.contains(seen)
    assert len({*seen[:, 2].tolist()}) == 3
    assert not info["failed"].any()
    one.action_space.seed(0)
    for _ in range(3):
        action = one.action_space.sample()
        found, again = one.step(action), other.step(action)
        for a, b in zip(found[:4], again[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.observation_space.contains(found[0])


def test_it_stands_by_its_servos_and_feels_the_ground():
    heights = []
    env = envs(
        observe=lambda s: np.concatenate([s.q[:, 2:3], s.force[:, :, 2]], axis=1),
        reward=lambda s: s.q[:, 2],
        horizon=30,
    )
    env.reset(seed=0)
    for _ in range(30):
        seen, reward, ended, cut, info = env.step(np.zeros((3, 12)))
        heights.append(seen[:, 0])
        np.testing.assert_allclose(reward, seen[:, 0], rtol=1e-6)
    assert min(map(min, heights)) > 0.25
    np.testing.assert_allclose(seen[:, 1:].sum(axis=1), 14.4 * 9.81, rtol=0.2)
    assert cut.all()
    assert not ended.any()
    assert info["contact_residual"].max() < 1e-3
    seen, reward, ended, cut, _ = env.step(np.zeros((3, 12)))  # rows that are over start anew
    np.testing.assert_allclose(seen[:, 0], 0.34)
    assert not np.concatenate([reward, ended, cut]).any()


def test_rows_end_alone_and_start_anew(arm):
    env = bough.env.RobotVectorEnv(arm, 2, ended=lambda s: s.q[:, 0] > 0.05)
    env.reset(seed=0)
    push = np.array([[1.0, 0.0], [0.0, 0.0]])
    ends = [env.step(push)[2] for _ in range(20)]
    assert ends[0].tolist() == [False, False]
    assert any(e[0] for e in ends)
    assert not any(e[1] for e in ends)
    first = next(k for k, e in enumerate(ends) if e[0])
    assert not ends[first + 1][0]


def test_a_row_that_fails_ends_with_its_last_finite_observation(arm):
    def start(rng, count):
        v = np.zeros((count, 2))
        v[:1] = 1e200
        return np.zeros((count, 2)), v

    env = bough.env.RobotVectorEnv(arm, 3, start=start, dtype=np.float64)
    seen, _ = env.reset(seed=0)
    found, _, ended, _, info = env.step(np.zeros((3, 2)))
    assert info["failed"].tolist() == [True, False, False]
    assert ended.tolist() == [True, False, False]
    assert np.isfinite(found[1:]).all()
    np.testing.assert_array_equal(found[0], seen[0])


def test_friction_is_drawn_for_each_row():
    env = envs(friction=lambda rng, count: rng.uniform(0.2, 1.0, count))
    env.reset(seed=1)
    first = env.robots.friction.copy()
    assert len({*first.tolist()}) == 3
    env.reset(seed=2, options={"reset_mask": np.array([True, False, False])})
    assert env.robots.friction[0] != first[0]
    np.testing.assert_array_equal(env.robots.friction[1:], first[1:])


@pytest.mark.parametrize("grounded", [True, False])
def test_a_row_that_never_was_a_state_is_named_and_starts_anew(grounded):
    model, asked = bough.zoo.quadruped(), []

    def start(rng, count):
        q = np.tile(stance(model), (count, 1))
        q[0] = np.nan if len(asked) == 1 else q[0]
        asked.append(count)
        return q, np.zeros((count, model.nv))

    env = envs(start=start, **({} if grounded else {"contacts": None}))
    assert env.reset(seed=0)[1]["failed"].tolist() == [True, False, False]
    _, reward, ended, _, info = env.step(np.zeros((3, 12)))
    assert ended.tolist() == info["failed"].tolist() == [True, False, False]
    assert np.isfinite(reward).all()
    seen, _, ended, _, info = env.step(np.zeros((3, 12)))
    assert np.isfinite(seen).all()
    assert not ended.any()
    assert not info["failed"].any()


@pytest.mark.parametrize("grounded", [True, False])
def test_inertias_differ_from_row_to_row_and_are_drawn_at_reset(grounded):
    """With and without contacts: each row moves as a robot of its own would."""
    model = bough.zoo.quadruped()
    heavy = lambda x: np.array(model.inertias) * x  # noqa: E731
    drawn = []

    def draw(rng, count):
        drawn.append(rng.uniform(0.8, 1.5, count))
        return np.stack([heavy(x) for x in drawn[-1]])

    more = {} if grounded else {"contacts": None}
    env = envs(2, parameters={"inertia": draw}, dtype=np.float64, **more)
    env.reset(seed=0)
    for _ in range(3):
        seen = env.step(np.full((2, 12), 0.3))[0]
    assert len(drawn) == 1
    alone = bough.env.RobotVectorEnv(
        model.with_inertias(heavy(drawn[0][1])), 1, start=stance(model), servo=(60.0, 1.5), dtype=np.float64,
        contacts=Contacts(FEET, friction=0.8, sweeps=8) if grounded else None,
    )  # fmt: skip
    alone.reset(seed=0)
    for _ in range(3):
        other = alone.step(np.full((1, 12), 0.3))[0]
    np.testing.assert_allclose(seen[1], other[0], atol=1e-8)
    assert not np.allclose(seen[0], seen[1], atol=1e-5)
    env.reset(options={"reset_mask": np.array([False, True])})
    assert len(drawn[1]) == 1


def test_nonsense_is_refused(arm):
    with pytest.raises(ModelError, match="gains from zero"):
        bough.env.RobotVectorEnv(arm, 2, servo=(-1.0, 0.0))
    with pytest.raises(ModelError, match=r"gains from zero: numbers, \(2,\)"):
        bough.env.RobotVectorEnv(arm, 2, servo=(np.ones(5), 0.0))
    with pytest.raises(ShapeError, match="coefficient from zero"):
        envs(friction=-1.0).reset()
    with pytest.raises(ShapeError, match="a value for each of 3 rows"):
        envs(friction=[0.5, 0.6]).reset()
    with pytest.raises(ShapeError, match="inertia must have shape"):
        envs(parameters={"inertia": np.ones((3, 2))}).reset()
    with pytest.raises(ShapeError, match=r"reset_mask has shape \(3,\), got \(2,\)"):
        envs().reset(options={"reset_mask": [True, False]})
    with pytest.raises(OptionError, match="actions must be Array, got 'up'"):
        envs().step("up")
    with pytest.raises(ShapeError, match="reach must be positive"):
        envs(reach=np.nan)
    with pytest.raises(ShapeError, match=r"given start \(4,\)"):
        envs(start=np.zeros(4))
    with pytest.raises(ModelError, match="mass"):
        envs(parameters={"inertia": -np.array(bough.zoo.quadruped().inertias)}).reset()
    with pytest.raises(OptionError, match="no quantity is called 'mass'"):
        envs(parameters={"mass": 1.0})
    with pytest.raises(ModelError, match="no effort to take shares of"):
        bough.env.RobotVectorEnv(bough.zoo.arm(3), 2)
    with pytest.raises(ShapeError, match="at least 1"):
        bough.env.RobotVectorEnv(arm, 0)
    env = bough.env.RobotVectorEnv(arm, 2)
    env.reset()
    with pytest.raises(NonFiniteError, match="actions must be finite"):
        env.step(np.full((2, 2), np.nan))
    with pytest.raises(ShapeError, match="reward returned shape"):
        bough.env.RobotVectorEnv(arm, 2, reward=lambda s: np.zeros(5)).step(np.zeros((2, 2)))


def test_what_is_too_large_for_an_observation_has_failed(arm):
    env = bough.env.RobotVectorEnv(arm, 2, observe=lambda s: 1e39 * (s.q[:, :1] > 0.01), horizon=100)
    env.reset(seed=0)
    for _ in range(30):
        seen, _, ended, _, info = env.step(np.array([[1.0, 0.0], [0.0, 0.0]]))
        assert np.isfinite(seen).all()
        if ended.any():
            break
    assert ended.tolist() == info["failed"].tolist() == [True, False]


def test_a_start_too_large_for_an_observation_has_failed_whenever_it_is_taken(arm):
    def start(rng, count):
        return np.zeros((count, 2)), np.full((count, 2), 1e39)  # finite, but not in float32

    env = bough.env.RobotVectorEnv(arm, 2, start=start)
    seen, info = env.reset(seed=0)
    for _ in range(4):
        assert info["failed"].tolist() == (~np.isfinite(seen).all(1)).tolist() == [True, True]
        seen, *_, info = env.step(np.zeros((2, 2)))


def test_a_picture_of_the_robot(arm):
    env = bough.env.RobotEnv(arm, render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render((64, 40)).shape == (40, 64, 3)
    assert np.ptp(env.render((64, 40))) > 0
    with pytest.raises(bough.BoughError, match="render_mode"):
        bough.env.RobotEnv(arm, render_mode="human")


@pytest.mark.parametrize("contacts", [None, Contacts(FEET, friction=0.8, sweeps=8)], ids=["in the air", "on feet"])
def test_environments_can_be_pickled(contacts):
    """In the middle of a motion; both go on alike."""
    env = envs(contacts=contacts, horizon=4, parameters={"inertia": draw_inertia})
    env.reset(seed=3)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    copy = pickle.loads(pickle.dumps(env))
    for _ in range(6):  # rows start anew in between
        action = env.action_space.sample()
        for x, y in zip(env.step(action)[:4], copy.step(action)[:4], strict=True):
            np.testing.assert_array_equal(x, y)


def draw_inertia(rng, count):
    return bough.zoo.quadruped().inertias * rng.uniform(0.9, 1.1, (count, 1, 1))


def test_one_robot_can_be_pickled(arm):
    env = bough.env.RobotEnv(arm)
    env.reset(seed=0)
    copy = pickle.loads(pickle.dumps(env))
    np.testing.assert_array_equal(env.step([0.5, -0.5])[0], copy.step([0.5, -0.5])[0])


def test_actions_that_do_not_fit():
    env = envs()
    with pytest.raises(ShapeError, match=r"actions have shape \(3, 12\), got \(2, 12\)"):
        env.step(np.zeros((2, 12)))
    actions = np.zeros((3, 12))
    actions[1, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r"actions must be finite, got .* in row 1"):
        env.step(actions)


@pytest.mark.native("compiles CUDA text")
def test_on_a_gpu_as_on_the_cpu():
    """Rows that restart, draw friction and inertias, and end: the same with tensors on the GPU."""
    model = starfish()
    points = Contacts([ContactPoint(f"leg{k}", (0.0, 0.0, -0.4)) for k in range(4)], sweeps=4)

    def start(rng, count):
        q = np.tile(model.neutral, (count, 1))
        q[:, 2], q[:, 7:] = 0.4, rng.uniform(-0.2, 0.2, (count, 4))
        return q, np.zeros((count, model.nv))

    how = {
        "start": start, "contacts": points, "friction": lambda rng, count: rng.uniform(0.3, 1.0, count),
        "parameters": {"inertia": lambda rng, count: model.inertias * rng.uniform(0.9, 1.1, (count, 1, 1))},
        "servo": (40.0, 1.0), "reward": lambda s: s.v[:, 0] - 0.1 * ((s.action - s.previous) ** 2).sum(1),
        "ended": lambda s: s.q[:, 2] < 0.36, "horizon": 5, "substeps": 4, "dtype": np.float64,
    }  # fmt: skip
    with a_gpu():
        cpu = bough.env.RobotVectorEnv(model, 3, **how)
        gpu = bough.env.RobotVectorEnv(model, 3, device="cuda", **how)
        np.testing.assert_allclose(on_host(gpu.reset(seed=1)[0]), cpu.reset(seed=1)[0], atol=1e-12)
        rng, over = np.random.default_rng(0), 0
        for _ in range(12):
            action = rng.uniform(-1.5, 1.5, (3, 4))
            *expected, info = cpu.step(action)
            *found, told = gpu.step(to_gpu(action))
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(on_host(a), b, atol=1e-8)
            np.testing.assert_array_equal(on_host(told["failed"]), info["failed"])
            np.testing.assert_allclose(on_host(gpu.robots.friction)[:, 0], cpu.robots.friction)
            over += expected[2].sum() + expected[3].sum()
        assert over >= 6
        with pytest.raises(ShapeError, match="actions have shape"):
            gpu.step(to_gpu(np.zeros((2, 4))))
        with pytest.raises(OptionError, match="cannot be pickled"):
            pickle.dumps(gpu)
        with pytest.raises(OptionError, match="for the CPU"):
            bough.env.RobotEnv(model, device="cuda", **how)


def test_rows_are_those_of_gymnasium_one_by_one():
    """The same observations, rewards and flags as single environments that gymnasium steps and restarts in turn."""
    model = bough.zoo.quadruped()
    given = {
        "start": stance(model), "servo": (60.0, 1.5), "contacts": Contacts(FEET, friction=0.8, sweeps=8), "horizon": 7,
        "reward": lambda s: s.v[:, 0] - (s.action**2).sum(1), "ended": lambda s: s.v[:, 0] > 0.1,
    }  # fmt: skip
    rows, alone = (
        bough.env.RobotVectorEnv(model, 3, **given),
        gymnasium.vector.SyncVectorEnv([lambda: bough.env.RobotEnv(model, **given)] * 3),
    )
    rng, flags = np.random.default_rng(0), np.zeros(2)
    np.testing.assert_array_equal(rows.reset(seed=3)[0], alone.reset(seed=3)[0])
    for _ in range(30):
        actions = rng.uniform(-1.0, 1.0, rows.action_space.shape)
        found, expected = rows.step(actions), alone.step(actions)
        for mine, own in zip(found[:2], expected[:2], strict=True):
            np.testing.assert_allclose(mine, own, atol=1e-6)
        for mine, own in zip(found[2:4], expected[2:4], strict=True):
            np.testing.assert_array_equal(mine, own)
        flags += found[2].sum(), found[3].sum()
    assert (flags > 0).all()
