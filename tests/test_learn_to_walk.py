"""A quadruped learns to walk: rewards, the replay of a policy on the CPU, and one iteration of learning."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium")
FOLDER = Path(__file__).parents[1] / "examples"


@pytest.fixture
def demo(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("learn_to_walk")


def test_a_robot_that_stands_is_rewarded_less_than_one_that_walks(demo):
    env = demo.environment(2)
    env.reset(seed=0)
    seen, _, ended, cut, info = env.step(np.zeros((2, 12)))
    assert seen.shape == (2, 47)
    assert not (ended | cut | info["failed"]).any()
    state = env._state(env._action)
    fast = state._replace(v=np.tile(np.eye(demo.MODEL.nv)[0] * demo.SPEED, (2, 1)))
    assert (demo.reward(fast) > demo.reward(state._replace(v=0 * fast.v)) + 0.5).all()
    assert not demo.fallen(state).any()
    assert demo.fallen(state._replace(q=state.q - np.eye(demo.MODEL.nq)[2] * 0.2)).all()


def test_a_replay_observes_as_the_environment_does(demo):
    """The first observation and its action are the same, so that a policy meets what it has learned from."""
    env = demo.environment(1)
    env.start = lambda rng, count: (demo.stance()[None], np.zeros((1, demo.MODEL.nv)))
    seen = env.reset(seed=0)[0][0]
    q, v = demo.stance(), np.zeros(demo.MODEL.nv)
    np.testing.assert_allclose(seen, demo.observation(np, q, v, np.zeros(12), np.asarray(0.0)), atol=1e-6)


def test_the_policy_of_the_examples_walks(demo):
    """By `rollout` on the CPU: at its speed, upright, feet in turn."""
    motion = demo.walk(dict(np.load(FOLDER / "walk" / "policy.npz")), duration=5.0)
    later = motion.time > 1.0
    assert (motion.q[-1, 0] - motion.q[later][0, 0]) / 4.0 == pytest.approx(demo.SPEED, abs=0.15)
    assert abs(motion.q[-1, 1]) < 0.5
    assert motion.q[:, 2].min() > 0.25
    assert demo.upward(motion.q)[2].min() > 0.95
    touches = motion.extra["contact_force"][later, :, 2] > 1.0
    assert (touches.mean(axis=0) < 0.9).all()  # every foot is lifted
    assert (np.abs(np.diff(touches.astype(int), axis=0)).sum(axis=0) > 8).all()


def test_it_learns_and_writes(demo, tmp_path, capsys):
    pytest.importorskip("torch")
    assert demo.main([str(tmp_path), "--robots", "8", "--iterations", "2"]) == 0
    assert len(json.loads((tmp_path / "curve.json").read_text())["curve"]["reward"]) == 2
    assert (tmp_path / "walk.html").stat().st_size > 10_000
    assert demo.main([str(tmp_path), "--replay"]) == 0
    first, second = (line for line in capsys.readouterr().out.splitlines() if "forwards" in line)
    assert first == second
