"""Bad input is refused with one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest

from bough.adaptive import Closure, Dynamics, QuasiStatics, Recorder, absolute_joint, relative_joint, relative_linkage
from bough.errors import (
    CheckpointError,
    ModelError,
    NonFiniteError,
    NumericalError,
    OptionError,
    SettingError,
    ShapeError,
    UnknownNameError,
)
from bough.model.builder import Builder
from bough.zoo import arm, chain


@pytest.mark.parametrize("eps", [-1.0, np.nan, np.inf, "small"])
@pytest.mark.parametrize("measure", [relative_joint, absolute_joint, relative_linkage])
def test_eps_must_be_a_number_that_is_not_negative(measure, eps):
    with pytest.raises(ValueError, match="eps must be a finite number"):
        measure(eps)


@pytest.fixture
def sim():
    return QuasiStatics(chain(6), relative_joint(0.1), "adaptive")


def test_forces_on_unknown_bodies_are_refused(sim):
    with pytest.raises(UnknownNameError, match="no frame 'nobody'"):
        sim.apply_force("nobody", [1, 0, 0])
    with pytest.raises(UnknownNameError, match="there is no body 6"):
        sim.apply_force(6, [1, 0, 0])
    with pytest.raises(UnknownNameError, match="moves nothing"):
        sim.apply_force("world", [1, 0, 0])
    with pytest.raises(UnknownNameError, match="no force number 3"):
        sim.change_force(3, [1, 0, 0])
    with pytest.raises(UnknownNameError, match="no force number 3"):
        sim.remove_force(3)


def test_vectors_are_checked(sim):
    with pytest.raises(ShapeError, match=r"force: expected shape \(3,\)"):
        sim.apply_force(0, [1, 0])
    with pytest.raises(NonFiniteError, match="force: must be finite"):
        sim.apply_force(0, [1, 0, np.nan])
    with pytest.raises(ShapeError, match="point"):
        sim.apply_force(0, [1, 0, 0], point=[1])
    with pytest.raises(ValueError, match="no frame 'tool'"):
        sim.apply_force(0, [1, 0, 0], frame="tool")
    with pytest.raises(ShapeError, match="torque"):
        sim.set_torque(None, [1.0])
    with pytest.raises(UnknownNameError, match="no joint"):
        sim.set_torque("none", [1.0])
    with pytest.raises(ShapeError, match="configuration"):
        sim.configuration = [0.0]
    with pytest.raises(NonFiniteError, match="gravity"):
        sim.gravity = [0.0, 0.0, np.inf]


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, np.inf])
def test_time_steps_are_positive(sim, dt):
    with pytest.raises(ValueError, match="dt must be"):
        sim.step(dt)
    with pytest.raises(ValueError, match="must not be negative"):
        sim.run(-1, 0.1)


def test_methods_and_options_are_known():
    with pytest.raises(ValueError, match="no method 'fast'"):
        QuasiStatics(chain(3), method="fast")
    with pytest.raises(ValueError, match="refresh"):
        QuasiStatics(chain(3), refresh=0)
    with pytest.raises(ValueError, match="every"):
        Recorder(every=0)
    with pytest.raises(ValueError, match=r"\.npz or \.parquet"):
        Recorder().save("run.txt")
    with pytest.raises(ValueError, match="refine continues"):
        QuasiStatics(chain(3), method="dca").refine()


def test_a_metric_must_be_positive_definite():
    model = chain(4)
    with pytest.raises(ModelError, match="finite and positive"):
        QuasiStatics(model, metric=[1.0, 1.0, -1.0, 1.0])
    with pytest.raises(ShapeError, match="metric"):
        QuasiStatics(model, metric=[1.0])
    with pytest.raises(ModelError, match="not symmetric and positive definite"):
        QuasiStatics(model, metric={model.joint_names[1]: [[0.0]]})
    with pytest.raises(ShapeError, match="expected a matrix"):
        QuasiStatics(model, metric={model.joint_names[1]: np.eye(2)})
    with pytest.raises(ValueError, match="a metric is"):
        QuasiStatics(model, metric="heavy")


def test_bodies_without_invertible_inertia_are_named():
    builder = Builder()
    builder.add_body("bead", joint="cylindrical", mass=1.0, com=(1, 0, 0))
    model = builder.build()
    with pytest.raises(ModelError, match="body 'bead' has a singular inertia"):
        QuasiStatics(model, method="adaptive")
    sim = QuasiStatics(model, relative_joint(0.1))
    sim.run(5, 0.01)
    assert sim.stats.method == "aba"


def test_forces_on_massless_parts_of_joints_are_refused_by_the_tree():
    builder = Builder()
    box = dict(mass=1.0, com=(0.3, 0.1, 0.0), inertia=np.diag([0.1, 0.2, 0.25]))
    builder.add_body("arm", axis=(0, 0, 1), **box)
    builder.add_body("cross", "arm", "revolute", (1, 0, 0), axis=(0, 1, 0))
    builder.add_body("hand", "cross", "revolute", (0.5, 0, 0), axis=(1, 0, 0.3), **box)
    model = builder.build()
    sims = {method: QuasiStatics(model, relative_joint(0.1), method) for method in ("aba", "auto", "dca", "adaptive")}
    for method, sim in sims.items():
        sim.configuration = [0.3, 0.4, 0.5]
        sim.accelerations()
        np.testing.assert_allclose(sim.positions(["cross"])[0], [np.cos(0.3), np.sin(0.3), 0.0], atol=1e-15)
        sim.apply_force("cross", [1.0, 2.0, 3.0])
        if method in ("dca", "adaptive"):
            with pytest.raises(ModelError, match="body 'cross' has no mass"):
                sim.run(1, 0.01)
        else:
            sim.run(9, 0.01)
    np.testing.assert_array_equal(sims["auto"].configuration, sims["aba"].configuration)


def test_closures_that_are_none_are_refused():
    model = arm(7)
    with pytest.raises(OptionError, match="no joint '"):
        Closure("a", "b", "glue")
    with pytest.raises(ModelError, match="holds nothing"):
        QuasiStatics(model, closures=[Closure("world", "world")])


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_forces_beyond_numbers_are_noticed(method):
    sim = QuasiStatics(chain(6), relative_joint(0.1), method)
    sim.apply_force(3, [1e308, 1e308, 1e308], point=[1e10, 0, 0])
    with pytest.raises(NumericalError, match="not finite"):
        sim.accelerations()


@pytest.mark.parametrize("method", ["aba", "auto", "adaptive"])
def test_mimic_joints_are_refused_by_name(method):
    builder = Builder("coupled")
    solid = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": 0.1 * np.eye(3)}
    builder.add_body("a", "world", "revolute", joint_name="first", **solid)
    builder.add_body("b", "a", "revolute", (1.0, 0.0, 0.0), joint_name="second", mimic=("first", -2.0, 0.0), **solid)
    with pytest.raises(ModelError, match="'second' mimics another"):
        QuasiStatics(builder.build(), method=method)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: Dynamics(m).step("soon"), "positive, finite time dt"),
        (lambda m: Dynamics(m).run(2.5, 1e-3), "whole number"),
        (lambda m: Dynamics(m, every="often"), "every"),
        (lambda m: Dynamics(m, most="few"), "most"),
        (lambda m: Dynamics(m, max_turn="much"), "max_turn"),
    ],
)
def test_settings_of_a_motion_that_are_no_numbers(call, message):
    with pytest.raises(SettingError, match=message):
        call(chain(4))


def test_what_is_no_number_is_refused_and_changes_nothing():
    sim = QuasiStatics(chain(4), 0.1)
    load, joints = sim.loads([0, 1]), sim.model.joint_names
    before = sim.accelerations()
    for bad in ("x", 1j, None):
        with pytest.raises(ShapeError, match="load: forces are numbers"):
            load.values[:] = bad
        with pytest.raises(ShapeError, match="expected numbers, one for each joint"):
            sim.set_potential(joints, lambda x, _, bad=bad: (x, bad, x))
    for options in ({"steps": -3}, {"steps": 2.5}):
        with pytest.raises(SettingError, match="steps: at least 1"):
            sim.minimize(**options)
    with pytest.raises(SettingError, match="every: the active joints"):
        QuasiStatics(chain(4), 0.1, every=2.5)
    np.testing.assert_array_equal(sim.accelerations(), before)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda s: s.refine(-1), SettingError, "refine: budget is a whole number"),
        (lambda s: s.refine(2.5), SettingError, "refine: budget is a whole number"),
        (lambda s: s.refine(microseconds=np.nan), SettingError, "refine: microseconds"),
        (lambda s: s.moved(3), SettingError, "since is a step that was taken, 0 to 2, got 3"),
        (lambda s: s.moved(-1), SettingError, "since is a step that was taken"),
        (lambda s: s.moved(0.5), SettingError, "since is a step that was taken"),
        (lambda s: s.loads("link3"), UnknownNameError, r"bodies are given as a list, \['link3'\]"),
        (lambda s: s.positions("link3"), UnknownNameError, "bodies are given as a list"),
        (
            lambda s: s.checkpoint("no/such/folder.npz"),
            CheckpointError,
            "'no/such/folder.npz' cannot be written: No such",
        ),
    ],
)
def test_questions_that_make_no_sense(sim, call, kind, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim.run(2, 1e-3)
    before = sim.configuration
    with pytest.raises(kind, match=message):
        call(sim)
    np.testing.assert_array_equal(sim.configuration, before)
    assert sim.moved(2).shape == (6,)
    assert not any(tmp_path.iterdir())


def test_numbers_of_any_precision_are_errors_in_energy():
    for eps in (0.25, np.float32(0.25), np.float64(0.25)):
        assert QuasiStatics(chain(4), eps).error.eps == 0.25
    assert QuasiStatics(chain(4), 1).error.eps == QuasiStatics(chain(4), np.int64(1)).error.eps == 1.0
