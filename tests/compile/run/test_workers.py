"""Workers in native code: awake or asleep, shared by threads, interrupted, forked."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from bough.compile.run import threads, workers
from bough.compile.run.gate import serve
from bough.errors import NonFiniteError
from compile.programs import arm, random_inputs
from graphs import specialise

pytestmark = pytest.mark.skipif(not workers.are_possible(), reason="needs Linux")
ROWS = 700


@pytest.fixture(autouse=True)
def no_batch_is_short(monkeypatch):
    monkeypatch.setattr(threads, "WAKE_SECONDS", 1e-12)


@pytest.fixture(scope="module")
def job():
    """A function, inputs and what it gives on one thread."""
    p = arm(4)
    f, inputs = specialise("arm", p), random_inputs(p, ROWS)
    return f, inputs, f(*inputs, threads=1)[0]


@pytest.mark.parametrize("pause", [0.0, 2e-3])
def test_awake_or_asleep(job, pause):
    f, inputs, want = job
    for k in range(40):
        time.sleep(pause)
        np.testing.assert_array_equal(f(*inputs, threads=2 + k % 4)[0], want)


def test_helpers_are_kept(job):
    f, inputs, _ = job
    f(*inputs, threads=4)
    before, seated = threading.active_count(), set(workers._idle)
    assert len(seated) >= 3
    for _ in range(50):
        f(*inputs, threads=4)
    assert threading.active_count() == before
    assert set(workers._idle) == seated


def test_a_bad_row_is_found_by_whoever_has_it(job):
    f, inputs, want = job
    for row in (70, 350, ROWS - 1):
        wrong = [x.copy() for x in inputs]
        wrong[1][row, 2] = np.inf
        for _ in range(5):
            with pytest.raises(NonFiniteError, match=rf"\({row}, 2\)"):
                f(*wrong, threads=3)
    np.testing.assert_array_equal(f(*inputs, threads=3)[0], want)


def test_many_callers_at_once(job):
    f, inputs, want = job
    failed = []

    def call(seed):
        rng = random.Random(seed)
        for _ in range(40):
            rows = rng.randrange(66, ROWS)
            got = f(*(x[:rows] for x in inputs), threads=rng.randrange(1, 5))[0]
            if not np.array_equal(got, want[:rows]):
                failed.append(rows)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(240)
    assert not failed
    assert not any(caller.is_alive() for caller in callers)


def test_interrupts_leave_neither_threads_nor_wrong_results(job):
    f, inputs, want = job
    f(*inputs, threads=3)
    before, caught = threading.active_count(), 0

    def interrupt(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 + 1e-5 * k)
                for _ in range(1000):
                    f(*inputs, threads=3)
            except KeyboardInterrupt:
                caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert caught > 30
    assert threading.active_count() <= before + 3
    np.testing.assert_array_equal(f(*inputs, threads=3)[0], want)


def test_a_forked_child_has_helpers_of_its_own(job):
    f, inputs, want = job
    f(*inputs, threads=3)
    child = os.fork()
    if child == 0:
        good = not workers._idle and np.array_equal(f(*inputs, threads=3)[0], want)
        os._exit(0 if good and len(workers._idle) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_fewer_helpers_where_no_thread_can_be_started(job, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    f, inputs, want = job
    kept, workers._idle[:] = list(workers._idle), []
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert workers.take(3, serve()) == []
    np.testing.assert_array_equal(f(*inputs, threads=4)[0], want)
    workers._idle[:] = kept
