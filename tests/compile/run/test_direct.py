"""KernelNeeds called as they are, on arrays, numbers and named tuples."""

import gc
import threading
from collections import namedtuple

import numpy as np
import pytest

from bough.compile.kernel import inlined, loop_kernel
from bough.compile.run import direct

Plan = namedtuple("Plan", ["weight", "index"])
Order = namedtuple("Order", ["what", "factor", "plan"])


@loop_kernel
def fill(x, value):
    for k in range(len(x)):
        x[k] = value


@loop_kernel
def length(x):
    return len(x)


def arguments(dtype=np.int64):
    plan = Plan(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1], dtype))
    return plan, Order(7, 0.5, plan), np.arange(3.0).reshape(3, 1)[:, :1].copy(), 3


@inlined
@loop_kernel
def weigh(plan, x, k):
    return plan.weight[k] * x[plan.index[k], 0]


@loop_kernel
def summed(plan, order, x, count):
    found = 0.0
    for k in range(count):
        found += weigh(plan, x, k) * order.factor
    x[0, 0] = order.what
    return found + order.plan.weight[0]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
def test_tuples_numbers_and_results(dtype):
    want = arguments(dtype)
    expected = summed(*want)
    got = arguments(dtype)
    assert direct.call(summed, *got) == expected
    np.testing.assert_array_equal(got[2], want[2])
    assert got[2][0, 0] == 7.0


def test_whole_numbers_and_nothing_as_results():
    x = np.zeros(5, np.int32)
    assert direct.call(fill, x, 3) == 0.0
    assert (x == 3).all()
    assert direct.call(length, x) == 5.0


@loop_kernel
def dot(pair, x):
    return pair[0] * x[0] + pair[1]


def test_tuples_without_names():
    assert direct.call(dot, (2.0, 3), np.array([5.0])) == 13.0


def test_arrays_that_are_not_contiguous_are_refused():
    with pytest.raises(ValueError, match="C-contiguous"):
        direct.call(fill, np.zeros(6)[::2], 1.0)


def test_read_only_arrays_are_read():
    x = np.zeros(4)
    x.flags.writeable = False
    assert direct.call(length, x) == 4.0


def test_tuples_are_forgotten_with_their_arrays():
    before = len(direct._tuples)
    plan, order, x, count = arguments()
    direct.call(summed, plan, order, x, count)
    assert len(direct._tuples) > before
    del plan, order
    gc.collect()
    assert len(direct._tuples) == before


def test_a_tuple_in_the_place_of_another_is_not_taken_for_it():
    _, order, x, count = arguments()
    for k in range(200):
        plan = Plan(np.array([float(k), 0.0, 0.0]), np.array([1, 1, 1]))
        x[1, 0] = 1.0
        assert direct.call(summed, plan, order, x, count) == 0.5 * k + 1.0
        del plan


def test_threads_call_at_once():
    wrong = []

    def work(k):
        for _ in range(200):
            x = np.zeros(50)
            direct.call(fill, x, float(k))
            if not (x == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_kinds_that_come_at_once_have_numbers_of_their_own(monkeypatch):
    monkeypatch.setattr(direct, "_kinds", {})
    others = []

    class Kind:
        def __hash__(self):  # while it is looked up, another thread comes with a kind of its own
            others.append(threading.Thread(target=direct._number, args=(f"another {len(others)}",)))
            others[-1].start()
            others[-1].join(0.05)
            return 0

    direct._number(Kind())
    for t in others:
        t.join()
    assert sorted(direct._kinds.values()) == list(range(1 + len(others)))
