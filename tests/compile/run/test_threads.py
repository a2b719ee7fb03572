"""Batches over several threads: the same results, whatever the arrays, the code and the interruptions."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graphs
from bough import zoo
from bough.compile import settings
from bough.compile.run import threads
from bough.compile.run.gate import OK, Signature, WorkQueue, make_gate
from bough.dynamics.dynamics import Dynamics
from bough.errors import NonFiniteError, SettingError, ShapeError
from compile.programs import arm, program, random_inputs
from graphs import specialise


@pytest.fixture(autouse=True)
def no_batch_is_short(monkeypatch):
    monkeypatch.setattr(threads, "WAKE_SECONDS", 1e-12)


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_threads_give_the_same(workers):
    p = arm(6)
    f = specialise("arm", p)
    inputs = random_inputs(p, 1003)
    want = graphs.evaluate(p, inputs)
    for _ in range(2):
        for x, y in zip(f(*inputs, threads=workers), want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11)
    inputs[1][1000, 3] = np.nan
    with pytest.raises(NonFiniteError, match=r"v\[\(1000, 3\)\]"):
        f(*inputs, threads=workers)


def test_rows_of_a_pile_are_taken_once():
    """Two gates on one queue: what the first leaves is done by the second, and nothing twice."""
    f = specialise("count", program(lambda x: ([x[0] + 1.0],), {"x": (1,)}, {"y": (1,)}))
    f(np.zeros((2, 1)))
    of_this = Signature(f.inputs, f.outputs, f.dtype, True)
    queue = WorkQueue()
    first, second = (make_gate(of_this, f._codes[True].address, queue=queue) for _ in range(2))
    x, y = np.zeros((100, 1)), np.full((100, 1), -1.0)
    queue.fill(32)
    assert queue.take() == slice(0, 32)
    assert first(x, y) == OK
    assert (y[:32] == -1.0).all()
    assert (y[32:] == 1.0).all()
    assert second(x, np.full((100, 1), -1.0)) == OK
    assert queue.take().start >= 100


def test_nothing_is_measured_for_one_thread():
    """Whether by argument or by setting: batches that fit then go to the code as they are."""
    batches = threads.Batches(lambda *arrays: OK, lambda queue: None, 64)
    assert batches.will_probe(1000, 2)
    assert not batches.will_probe(1000, 1)
    with settings.most_threads(1):
        assert not batches.will_probe(1000, None)


def test_as_many_threads_as_pay(monkeypatch):
    monkeypatch.undo()
    assert threads.useful_threads(0.0, 16) == 1
    assert threads.useful_threads(20e-6, 16) == 1  # two would save 10 and cost 6 us: not worth a core
    assert threads.useful_threads(100e-6, 16) == 4
    assert threads.useful_threads(1.2e-3, 16) == 14  # 4,096 of 0.29 us
    assert threads.useful_threads(20e-3, 16) == 16
    assert threads.useful_threads(20e-3, 2) == 2
    for seconds in (1e-3, 1e-2):
        took = [seconds / k + threads.WAKE_SECONDS * (k - 1) for k in range(1, 65)]
        chosen = threads.useful_threads(seconds, 64)
        assert took[chosen - 1] <= 1.15 * min(took)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_numbers_of_threads_that_are_none(wrong):
    f = specialise("arm", arm(3))
    with pytest.raises(SettingError, match="threads must be a whole number"):
        f(*random_inputs(arm(3), 100), threads=wrong)


def test_turns_are_short_but_whole_vectors():
    assert threads.rows_per_turn(4096, 2, 256) == 96
    assert threads.rows_per_turn(100_000, 2, 256) == 256
    assert threads.rows_per_turn(40, 2, 256) == 16
    assert threads.rows_per_turn(7, 2, 256) == 4
    assert threads.rows_per_turn(1, 8, 256) == 1


def test_less_than_one_thread_is_refused():
    f = specialise("arm", arm(3))
    with pytest.raises(ValueError, match="threads must be a whole number, at least 1, got -1"):
        f(*random_inputs(arm(3), 100), threads=-1)


def test_each_thread_of_general_code_has_its_own_scratch():
    model, rng = zoo.humanoid(), np.random.default_rng(0)
    q, (v, tau) = model.random_configuration(rng, batch=300), rng.normal(size=(2, 300, model.nv))
    forward = Dynamics(model, general=True)._library.function("forward_dynamics", "aba").call
    for _ in range(3):
        np.testing.assert_array_equal(forward(q, v, tau, threads=4), forward(q, v, tau, threads=1))


@pytest.mark.parametrize("measured", [False, True])
def test_an_output_that_overlaps_an_input(measured):
    """Shifted by as many rows as are run apart to measure them."""
    f = specialise("twice", program(lambda x: ([2.0 * x[0]],), {"x": (1,)}, {"y": (1,)}))
    f(np.ones((200 if measured else 2, 1)), threads=2)
    memory = np.arange(300.0).reshape(300, 1)
    f(memory[:200], out=memory[threads.PROBE_ROWS : threads.PROBE_ROWS + 200], threads=2)
    np.testing.assert_array_equal(memory[threads.PROBE_ROWS : threads.PROBE_ROWS + 200, 0], 2.0 * np.arange(200))


@pytest.mark.parametrize("measured", [False, True])
def test_arrays_of_different_lengths_leave_the_output_alone(measured):
    f = specialise("sum", program(lambda x, z: ([x[0] + z[0]],), {"x": (1,), "z": (1,)}, {"y": (1,)}))
    f(np.ones((200 if measured else 2, 1)), np.ones((200 if measured else 2, 1)), threads=2)
    out = np.full((100, 1), 7.0)
    with pytest.raises(ShapeError, match="80 rows"):
        f(np.ones((100, 1)), np.ones((80, 1)), out=out, threads=2)
    assert (out == 7.0).all()


@pytest.fixture
def helpers_in_python(monkeypatch):
    """As on systems where no one can sleep in native code."""
    monkeypatch.setattr(threads, "serve", lambda: None)


@pytest.mark.usefixtures("helpers_in_python")
def test_helpers_in_python_give_the_same():
    p = arm(5)
    f, inputs = specialise("arm", p), random_inputs(p, 700)
    for _ in range(3):
        for x, y in zip(f(*inputs, threads=3), graphs.evaluate(p, inputs), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11)


@pytest.mark.usefixtures("helpers_in_python")
def test_an_interrupt_leaves_no_one_at_work_for_the_next_batch(monkeypatch):
    """Whoever was interrupted while waiting gives the team away: another thread may still be taking rows."""
    p = arm(4)
    f, inputs = specialise("arm", p), random_inputs(p, 500)
    want = f(*inputs, threads=4)[0]

    def interrupted(part):
        raise KeyboardInterrupt

    teams, before = list(f._batches._idle), threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(threads, "_status", interrupted)
        for _ in range(30):
            with pytest.raises(KeyboardInterrupt):
                f(*inputs, threads=4)
    assert not set(f._batches._idle) & set(teams)
    assert threading.active_count() <= before + os.cpu_count()
    np.testing.assert_array_equal(f(*inputs, threads=4)[0], want)


@pytest.mark.usefixtures("helpers_in_python")
def test_where_no_thread_can_be_started_one_does_it_all(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    p = arm(3)
    f, inputs = specialise("arm", p), random_inputs(p, 500)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    np.testing.assert_array_equal(f(*inputs, threads=4)[0], f(*inputs, threads=1)[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_has_helpers_of_its_own():
    p = arm(3)
    f = specialise("arm", p)
    inputs = random_inputs(p, 500)
    want = f(*inputs, threads=2)[0]
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(f(*inputs, threads=2)[0], want) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_block_may_limit_the_threads(monkeypatch):
    monkeypatch.setenv("BOUGH_NUM_THREADS", "4")
    with settings.most_threads(2):
        assert settings.threads() == 2
        with settings.most_threads(8):
            assert settings.threads() == 4
    assert settings.threads() == 4
