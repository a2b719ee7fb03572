"""Helping threads: results, errors, and jobs that are taken back."""

import threading
import time

import pytest

from bough.compile import helpers
from bough.compile.helpers import Counter, Helper


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
    """However late the helper comes, it finds nothing to do, and serves the next job."""
    helper = Helper()
    done = []
    for k in range(200):
        helper.start(lambda k=k: done.append(k))
        if helper.finish() is None and k not in done:
            assert not helper._job
    helper.start(lambda: "next")
    begun(helper)
    assert helper.finish() == "next"


def test_dismissed_helpers_are_hired_again():
    first = helpers.hire(3)
    assert len(set(first)) == 3
    helpers.dismiss(first)
    assert set(helpers.hire(3)) == set(first)
    helpers.dismiss(first)


def test_a_count_is_waited_for_as_often_as_it_rises():
    count = Counter()
    for _ in range(3):
        count.up()
    for _ in range(3):
        count.wait()
    late = threading.Timer(0.01, count.up)
    late.start()
    count.wait()
    assert count._word.value == count._seen == 4
