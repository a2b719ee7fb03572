"""Inputs that outputs feel: a number that is not finite never hides."""

import numpy as np
import pytest
from hypothesis import given, settings

from bough.compile.graph.expr import ATAN, COS, SIN, SQRT, STEP, Expr, Graph
from bough.compile.graph.passes import unchecked_inputs
from bough.compile.graph.program import Array, Program
from compile.programs import random_inputs, random_programs
from graphs import evaluate

BAD = (np.inf, -np.inf, np.nan)


def of(make):
    """A program of one output from two inputs of one number each."""
    graph = Graph()
    x, y = graph.input(0, 0), graph.input(1, 0)
    result: Expr = make(x, y)
    root = result.id
    return Program(graph, (Array("x", (1,)), Array("y", (1,))), (Array("z", (1,)),), ((root,),))


@settings(max_examples=100, deadline=None)
@given(random_programs())
def test_what_is_felt_shows(p):
    """Put infinities and NaN into every number of the arrays that are unchecked, one at a time."""
    for k in unchecked_inputs(p):
        for column in range(p.inputs[k].size):
            inputs = random_inputs(p, len(BAD))
            inputs[k].reshape(len(BAD), -1)[:, column] = BAD
            with np.errstate(all="ignore"):
                found = [x.reshape(len(BAD), -1) for x in evaluate(p, inputs)]
            assert not np.isfinite(np.concatenate(found, axis=1)).all(axis=1).any()


@pytest.mark.parametrize(
    ("make", "unchecked"),
    [
        (lambda x, y: x + y, {0, 1}),
        (lambda x, y: x * y - 2.0 * y, {0, 1}),
        (lambda x, y: x / y, {0}),  # 1 / inf is 0
        (lambda x, y: y.unary(SIN) + x.unary(COS), {0, 1}),
        (lambda x, y: x.unary(ATAN) + y.unary(SQRT), {1}),
        (lambda x, y: x.unary(STEP) * y, {1}),
        (lambda x, y: -x, {0}),  # y is not read at all
    ],
)
def test_by_operation(make, unchecked):
    assert unchecked_inputs(of(make)) == unchecked


def test_an_array_with_a_number_that_is_not_read_is_not_felt():
    graph = Graph()
    root = (graph.input(0, 0) * graph.input(0, 2)).id
    assert unchecked_inputs(Program(graph, (Array("x", (3,)),), (Array("z", (1,)),), ((root,),))) == frozenset()
