"""Times of contestants: the best and the median of bursts that alternate."""

from __future__ import annotations

from benchmarks.timing import Timing
from bough.app.bench.timing import Times, contest


def test_contestants_alternate():
    order = []
    found = contest({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0.0, burst=0.0)
    assert found.keys() == found.median.keys() == {"a", "b"}
    assert order[-2:] == ["a", "b"]
    assert all(found[name] <= found.median[name] for name in found)


def test_times_of_rows_of_a_batch():
    times = Times({"a": 8.0, "b": 4.0}, {"a": 16.0, "b": 8.0})
    assert times.per(4) == {"a": 2.0, "b": 1.0}
    assert times.per({"a": 8, "b": 1}).median == {"a": 2.0, "b": 8.0}
    assert (times | Times({"c": 1.0}, {"c": 2.0})).median == {"a": 16.0, "b": 8.0, "c": 2.0}


def test_rows_keep_medians_and_say_who_is_left_out():
    row = Timing("group", "model", "case", Times({"bough": 1.0}, {"bough": 2.0}))
    assert row.median == {"bough": 2.0}
    assert row.noted({"drake": "no wheel"}).note == "without drake: no wheel"
    assert row.noted({}).note == ""


def test_states_are_taken_in_turn():
    order = []
    contest({"a": [lambda: order.append(1), lambda: order.append(2)]}, seconds=0.0, burst=1e-4)
    assert len(order) % 2 == 0
    assert order == [1, 2] * (len(order) // 2)
