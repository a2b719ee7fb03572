"""Integrators converge at their order, conserve what they should, and recordings survive the disk."""

from __future__ import annotations

import numpy as np
import pytest

import bough
from bough import zoo
from bough.errors import ModelError, NumericalError, ShapeError
from bough.simulate import Recording, rollout
from bough.simulate.integrators import INTEGRATORS


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


@pytest.mark.parametrize(("integrator", "order"), [("semi_implicit_euler", 1), ("lie_midpoint", 2), ("rk4", 4)])
def test_order_of_convergence(integrator, order):
    model = floating_top()
    q, v = spinning(model)

    def end(dt, method):
        return rollout(model, q, v, duration=0.4, dt=dt, integrator=method, motion=motion(model))

    exact = end(0.4 / 512, "rk4")
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

    assert run("rk4", 2e-3).drift()["momentum"] < 1e-7
    assert run("rk4", 2e-3).drift()["energy"] < 1e-7
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

    options = {"duration": 0.1, "dt": 0.01, "integrator": "rk4", "every": 3, "motion": motion(model)}
    recording = rollout(model, np.zeros(2), np.zeros(2), torque=torque, **options)
    np.testing.assert_allclose(calls, np.arange(10) * 0.01)
    np.testing.assert_allclose(recording.time, [0, 0.03, 0.06, 0.09, 0.1])
    assert (recording.tau == 1).all()


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_recordings_are_saved(tmp_path, suffix):
    model = zoo.arm(3)
    recording = rollout(model, np.zeros(3), np.zeros(3), duration=0.02, dt=0.01, motion=motion(model))
    recording.extra["error"] = np.arange(3.0)
    path = recording.save(tmp_path / f"motion{suffix}")
    if suffix == ".npz":
        again = Recording.load(path, model)
        np.testing.assert_array_equal(again.q, recording.q)
        np.testing.assert_array_equal(again.extra["error"], recording.extra["error"])
        with pytest.raises(ModelError, match="not the same model"):
            Recording.load(path, zoo.arm(3, seed=1))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(path)
        assert table.num_rows == 3
        assert table.schema.metadata[b"model_hash"].decode() == model.hash
        np.testing.assert_array_equal(table["q2"], recording.q[:, 2])


def test_progress_is_shown(capsys):
    model = zoo.arm(1)
    rollout(model, np.zeros(1), np.zeros(1), duration=0.02, dt=0.01, progress=True, motion=motion(model))
    assert "simulating" in capsys.readouterr().out


def test_bad_input(tmp_path):
    model = zoo.arm(2)
    start = {"q": np.zeros(2), "v": np.zeros(2)}
    with pytest.raises(ShapeError, match="integrator"):
        rollout(model, **start, duration=1, dt=0.1, integrator="leapfrog")
    with pytest.raises(ShapeError, match="0 < dt"):
        rollout(model, **start, duration=0.1, dt=0.2)
    with pytest.raises(NumericalError, match="infinite"):
        rollout(model, **start, duration=1, dt=0.1, motion=lambda q, v, tau: np.full(2, np.inf))
    with pytest.raises(ShapeError, match="npz"):
        rollout(model, **start, duration=0.1, dt=0.1, motion=motion(model)).save(tmp_path / "motion.csv")
