"""Every pass leaves the value of a program as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphs
from bough.compile.graph import passes, schedule
from bough.compile.graph.expr import ATAN, COS, DIV, SIN, SQRT
from bough.compile.graph.program import OperationCount, count
from compile.programs import arm, cholesky_solve, program, random_inputs, random_programs

PASSES = [
    passes.drop_dead_code,
    passes.share_reciprocals,
    schedule.schedule,
    schedule.optimise,
]


def assert_same_value(before, after, tolerance):
    inputs = random_inputs(before, batch=3)
    for x, y in zip(graphs.evaluate(before, inputs), graphs.evaluate(after, inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rewrite", PASSES)
@given(data=st.data())
def test_passes_preserve_the_value_of_random_programs(rewrite, data):
    before = data.draw(random_programs())
    assert_same_value(before, rewrite(before), 1e-10)


@pytest.mark.parametrize("rewrite", PASSES)
@pytest.mark.parametrize("make", [arm, cholesky_solve])
def test_passes_preserve_the_value_of_large_programs(rewrite, make):
    before = make()
    assert_same_value(before, rewrite(before), 1e-9)


def operations(p, op):
    return sum(p.graph.op[i] == op for i in p.graph.live(p.flat_roots()))


def test_dead_code_is_dropped():
    p = program(lambda x: ([(x[0] * x[1], x[0] + x[1])[1]],), {"x": (2,)}, {"y": (1,)})
    assert len(passes.drop_dead_code(p).graph) == 3 < len(p.graph)


def test_repeated_divisor_is_inverted_once():
    p = program(lambda x: ([x[0] / x[2], x[1] / x[2], x[0] / x[1]],), {"x": (3,)}, {"y": (3,)})
    shared = passes.share_reciprocals(p)
    assert operations(shared, DIV) == 2
    assert count(shared.graph, shared.flat_roots()).mul == 2


def test_every_function_is_counted_in_its_own_column():
    p = program(lambda x: ([x[0].unary(op) for op in (SQRT, SIN, COS, ATAN)],), {"x": (1,)}, {"y": (4,)})
    counted = count(p.graph, p.flat_roots())
    assert counted == OperationCount(sqrt=1, sincos=1, atan=1)
    assert counted.total == 0
    assert str(counted) == "1sqrt + 1sincos + 1atan"


def test_evaluate_takes_single_batched_and_complex_inputs():
    p = program(lambda x, y: ([x[0] * y[0], 2.0],), {"x": (1,), "y": (1,)}, {"z": (2,)})
    assert graphs.evaluate(p, [[3.0], [4.0]])[0].tolist() == [12.0, 2.0]
    assert graphs.evaluate(p, [[[3.0], [5.0]], [4.0]])[0].tolist() == [[12.0, 2.0], [20.0, 2.0]]
    assert graphs.evaluate(p, [np.zeros((0, 1)), [4.0]])[0].shape == (0, 2)
    assert graphs.evaluate(p, [[1j], [2.0]])[0].tolist() == [2j, 2.0]


def test_schedule_lowers_the_peak_of_live_values():
    """Forty products that are all made first and summed last are made one by one instead."""

    def function(x):
        squares = [a * a for a in x]
        total = squares[-1]
        for s in reversed(squares[:-1]):
            total = total + s
        return ([total],)

    p = program(function, {"x": (40,)}, {"y": (1,)})
    after = schedule.schedule(p)
    assert schedule.peak_live(p, p.graph.live(p.flat_roots())) == 40
    assert schedule.peak_live(after, after.graph.live(after.flat_roots())) <= 2


@given(random_programs())
def test_schedule_keeps_every_operation_once(p):
    live = p.graph.live(p.flat_roots())
    order = schedule.late_order(p)
    assert sorted(order) == live
    position = {i: k for k, i in enumerate(order)}
    assert all(position[x] < position[i] for i in order for x in passes.operands(p.graph, i))


def test_a_good_order_is_kept():
    p = passes.drop_dead_code(program(lambda x: ([x[0] * x[1] + x[2]],), {"x": (3,)}, {"y": (1,)}))
    assert schedule.schedule(p) is p
