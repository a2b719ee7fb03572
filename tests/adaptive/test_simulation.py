"""What both kinds of simulation promise: answers for the present inputs, whole steps, one thread, bits after resume."""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pytest

from bough import adaptive, zoo
from bough.errors import SettingError


@pytest.mark.parametrize("method", ["auto", "adaptive", "dca", "aba"])
@pytest.mark.parametrize("by", ["force", "load"])
def test_accelerations_answer_the_present_forces(method, by):
    model = zoo.molecule(60)
    sim = adaptive.QuasiStatics(model, adaptive.energy(0.1), method)
    sim.gravity = np.zeros(3)
    force, load = sim.apply_force(59, [1.0, 0.0, 0.0]), sim.loads([30])
    sim.step(1e-3)
    first = sim.accelerations()
    if by == "force":
        sim.change_force(force, [-2.0, 0.0, 0.0])
    else:
        sim.change_force(force, [0.0, 0.0, 0.0])
        load.values[0] = [0.0, 3.0, 0.0]
    found = sim.accelerations()
    other = adaptive.QuasiStatics(model, method="aba")
    other.gravity, other.configuration = np.zeros(3), sim.configuration
    other.apply_force(*((59, [-2.0, 0.0, 0.0]) if by == "force" else (30, [0.0, 3.0, 0.0])))
    exact = other.accelerations()
    assert np.abs(found - exact).max() < 0.5 * np.abs(exact).max()
    assert np.abs(found - first).max() > 0.1 * np.abs(exact).max()


def interrupted(sim, **options):
    """Run until a timer interrupts it."""

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            sim.run(10**9, 1e-5, **options)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.native("interpreted steps take too long")
@pytest.mark.parametrize("kind", ["adaptive", "aba", "zero", "auto", "dynamics"])
def test_an_interrupted_run_ends_after_a_whole_step(kind):
    model, record = zoo.molecule(80), adaptive.Recorder([0, 79], every=1, configuration=True)

    def make():
        if kind == "dynamics":
            sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.01))
        elif kind == "zero":
            sim = adaptive.QuasiStatics(model, adaptive.relative_joint(1e-3), "adaptive", culled="zero")
        else:
            sim = adaptive.QuasiStatics(model, adaptive.energy(0.1), kind)
        sim.apply_force(79, [1.0, 0.0, 0.0])
        return sim

    make().run(40, 1e-5)  # compiled
    sim = make()
    interrupted(sim, record=record)
    assert sim.steps > 0
    assert len(record.samples) == sim.steps
    assert np.array_equal(record.samples[-1]["q"], sim.configuration)
    assert record.samples[-1]["time"] == sim.time == pytest.approx(1e-5 * sim.steps)
    again = make()
    again.run(sim.steps, 1e-5, record=adaptive.Recorder([], every=1))
    assert np.array_equal(again.configuration, sim.configuration)


@pytest.fixture
def interrupts():
    """SIGINT raises KeyboardInterrupt, also where a process in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_inside_a_callback_comes_at_once():
    sim, calls = adaptive.Dynamics(zoo.chain(5), method="full"), []

    def load(_):
        calls.append(sim.steps)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
            calls.append("after")

    with pytest.raises(KeyboardInterrupt):
        sim.run(10, 1e-3, load=load)
    assert calls == [0, 1, 2]
    assert sim.steps == 2


def test_a_simulation_is_used_by_one_thread_at_a_time():
    sim, found, started, end = adaptive.QuasiStatics(zoo.chain(5)), [], threading.Event(), threading.Event()

    def load(_):
        started.set()
        end.wait(10.0)

    worker = threading.Thread(target=lambda: sim.run(1, 1e-3, load=load))
    worker.start()
    assert started.wait(10.0)
    for ask in (sim.accelerations, lambda: sim.step(1e-3), sim.positions):
        with pytest.raises(SettingError, match="another thread uses this simulation"):
            ask()
        found.append(ask)
    end.set()
    worker.join()
    sim.step(1e-3)
    assert sim.steps == 2


def test_simulations_say_what_they_are():
    sim = adaptive.QuasiStatics(zoo.chain(5), adaptive.relative_joint(1e-3))
    assert repr(sim) == "QuasiStatics of 'chain': 5 joints, method 'auto', relative_joint(0.001), 0 steps"
    assert repr(adaptive.Dynamics(zoo.chain(5))) == "Dynamics of 'chain': 5 joints, method 'auto', exact, 0 steps"


@pytest.mark.parametrize("every", [10.0, 0, -1, 2.5, "often"])
def test_every_is_a_whole_number(every):
    for make in (adaptive.QuasiStatics, adaptive.Dynamics):
        with pytest.raises(SettingError, match="every"):
            make(zoo.chain(5), every=every)


CHANGES = {
    "force": lambda sim, number, load: sim.change_force(number, [0.3, -2.0, 0.5]),
    "load": lambda sim, number, load: load.values.__setitem__(0, [0.3, -2.0, 0.5]),
    "torque": lambda sim, number, load: sim.set_torque(sim.model.joint_names[3], 0.4),
    "gravity": lambda sim, number, load: setattr(sim, "gravity", [1.0, 0.0, -3.0]),
    "more": lambda sim, number, load: sim.apply_force(5, [0.3, -2.0, 0.5]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["adaptive", "auto", "zero", "dynamics"])
def test_inputs_changed_before_a_checkpoint_are_changed_after_it(change, kind, tmp_path):
    model = zoo.molecule(60)
    if kind == "dynamics":
        sim = adaptive.Dynamics(model, adaptive.body_acceleration(0.01), "adaptive")
    elif kind == "zero":
        sim = adaptive.QuasiStatics(model, adaptive.relative_joint(1e-2), "adaptive", culled="zero")
    else:
        sim = adaptive.QuasiStatics(model, adaptive.energy(0.5), kind)
    number, load = sim.apply_force(59, [1.0, 0.5, 0.2]), sim.loads([20, 40])
    load.values[:] = 0.3
    sim.run(13, 1e-3)
    CHANGES[change](sim, number, load)
    sim.checkpoint(tmp_path / "c.npz")
    other = type(sim).resume(model, tmp_path / "c.npz")
    for each in (sim, other):
        each.run(25, 1e-3)
    assert np.array_equal(sim.configuration, other.configuration)
    assert sim.stats.memory > 0


def test_a_callback_may_take_the_simulation_to_the_tree():
    model = zoo.molecule(100)
    sim = adaptive.QuasiStatics(model, adaptive.energy(0.2))
    goal, load = sim.positions([99]) + 0.05, sim.loads([99])

    def pull(_):
        d = goal - sim.positions([99])
        load.values[:] = 10.0 * d
        return 5.0 * float((d * d).sum())

    sim.run(15, 1e-3, load=pull)
    assert sim.steps == 15


@pytest.mark.parametrize("changes", [False, True])
def test_gravity_assigned_at_every_step_does_not_begin_anew_at_every_step(changes, monkeypatch):
    model, begun = zoo.chain(1200), []
    sim = adaptive.Dynamics(model, adaptive.body_acceleration(1.0))
    begin = adaptive.active.evaluated.EvaluatedRegion.begin
    monkeypatch.setattr(adaptive.active.evaluated.EvaluatedRegion, "begin", lambda *a: (begun.append(1), begin(*a)))
    for k in range(40):
        sim.gravity = [0.0, 0.0, -9.81 - (1e-3 * k if changes else 0.0)]
        sim.step(1e-5)
    assert len(begun) <= (6 if changes else 1)


def test_a_recording_is_written_as_it_grows(tmp_path):
    sim, path = adaptive.QuasiStatics(zoo.chain(5)), tmp_path / "run.npz"
    record = adaptive.Recorder([4], path=path, source="zoo:chain")
    for n in range(1, 41):
        sim.run(1, 1e-3, record=record)
        with np.load(path) as found:
            assert n / 1.1 - 1 <= len(found["step"]) <= n
            assert found["positions"].shape[1:] == (1, 3)
    record.save(path)
    with np.load(path) as found:
        assert found["step"].tolist() == list(range(1, 41))
    with pytest.raises(SettingError, match=r"saved as \.npz or \.parquet"):
        adaptive.Recorder(path="run.txt")


# Python functions that a step may call: 44 to 167 of them were most of the time of a step of 60 joints
STEPS = {"full": 15, "aba": 36, "relative_joint": 44, "energy": 60}


@pytest.mark.native("counts calls of functions that are compiled")
@pytest.mark.parametrize("kind", STEPS)
def test_an_ordinary_step_calls_few_functions(kind):
    model, step = zoo.molecule(400), 1e-6
    if kind == "full":
        sim = adaptive.Dynamics(model, method="full")
    elif kind == "aba":
        sim = adaptive.QuasiStatics(model, method="aba")
    else:
        sim = adaptive.QuasiStatics(model, getattr(adaptive, kind)(0.05), "adaptive")
    sim.apply_force(200, [1.0, 0.0, 0.0])
    for _ in range(6):
        sim.step(step)
    called = []
    sys.setprofile(lambda frame, event, arg: called.append(frame.f_code) if event == "call" else None)
    try:
        sim.step(step)
    finally:
        sys.setprofile(None)
    assert len(called) <= STEPS[kind], [code.co_qualname for code in called]
