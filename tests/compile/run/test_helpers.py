"""Helping threads: results, errors, and jobs that are taken back."""

import threading
import time

import pytest

from bough.compile.run import helpers
from bough.compile.run.helpers import Helper, SharedCount


@pytest.fixture
def helper():
    (hired,) = helpers.hire(1)
    yield hired
    helpers.dismiss([hired])


def begun(helper):
    """Wait until the helper has taken its job."""
    while helper._job:
        time.sleep(1e-4)


def test_jobs_one_after_another(helper):
    for k in range(300):
        helper.start(lambda k=k: k * k)
        begun(helper)
        assert helper.finish() == k * k


@pytest.mark.parametrize("looks", [0, 100_000])
def test_awake_or_asleep(helper, looks, monkeypatch):
    monkeypatch.setattr(helpers, "LOOKS", looks)
    for k in range(20):
        time.sleep(1e-3)
        helper.start(lambda k=k: threading.current_thread().name)
        begun(helper)
        assert helper.finish() == "bough helper"


def test_an_error_reaches_the_caller_once(helper):
    helper.start(lambda: 1 // 0)
    begun(helper)
    with pytest.raises(ZeroDivisionError):
        helper.finish()
    helper.start(lambda: "well")
    begun(helper)
    assert helper.finish() == "well"


def test_a_job_that_has_not_begun_is_taken_back():
    """It never runs, and the helper serves the next one."""
    helper, gate, done = Helper(), threading.Event(), []
    helper.start(gate.wait)
    begun(helper)
    helper.start(lambda: done.append("late"))
    assert helper.finish() is None
    gate.set()
    assert helper.finish() is True
    helper.start(lambda: "next")
    begun(helper)
    assert helper.finish() == "next"
    assert not done


def test_fewer_helpers_where_no_thread_can_be_started(monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    kept = helpers.hire(1)
    helpers.dismiss(kept)
    idle = len(helpers._idle)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    found = helpers.hire(idle + 3)
    helpers.dismiss(found)
    assert len(found) == idle


def test_a_helper_that_leaves_finishes_its_job_and_ends():
    helper, gate, done = Helper(), threading.Event(), []
    helper.start(lambda: (gate.wait(), done.append(threading.current_thread())))
    begun(helper)
    helper.leave()
    gate.set()
    while not done:
        time.sleep(1e-3)
    done[0].join(240)
    assert not done[0].is_alive()


def test_dismissed_helpers_are_hired_again():
    first = helpers.hire(3)
    assert len(set(first)) == 3
    helpers.dismiss(first)
    assert set(helpers.hire(3)) == set(first)
    helpers.dismiss(first)


def test_a_count_is_waited_for_as_often_as_it_rises():
    count = SharedCount()
    for _ in range(3):
        count.up()
    for _ in range(3):
        count.wait()
    late = threading.Timer(0.01, count.up)
    late.start()
    count.wait()
    assert count._word.value == count._seen == 4
