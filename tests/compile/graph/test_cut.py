"""A program cut in two computes what the whole does."""

import numpy as np
import pytest
from hypothesis import given, settings

from bough import zoo
from bough.compile.executions import traced
from bough.compile.graph import twins
from bough.compile.graph.cut import BETWEEN, MARGIN, cut
from bough.compile.graph.evaluate import evaluate
from bough.compile.graph.expr import ADD, FUNCTIONS
from bough.dynamics.aba import ABA
from bough.model import mark_limbs
from compile.programs import random_inputs, random_programs


def run(program, inputs):
    return [np.array(x) for x in evaluate(twins.settle(program), [np.ravel(x).tolist() for x in inputs], FUNCTIONS)]


def operations(program):
    return sum(program.graph.op[i] >= ADD for i in program.graph.live(program.flat_roots()))


@settings(max_examples=30)
@given(random_programs(max_operations=60))
def test_the_halves_of_a_program_compute_what_it_does(program):
    if operations(program) < 10:
        return
    inputs = random_inputs(program, seed=0)
    first, second = cut(program)
    assert second.inputs == (*program.inputs, first.outputs[0])
    for found, expected in zip(run(second, [*inputs, *run(first, inputs)]), run(program, inputs), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("model", [zoo.quadruped(), zoo.humanoid()], ids=lambda model: model.name)
def test_limbs_stay_twins_on_both_sides(model):
    program = traced(ABA, (model.grouped,), model.sizes, mark_limbs)
    rng = np.random.default_rng(0)
    inputs = [model.random_configuration(rng), *rng.normal(size=(2, model.nv))]
    first, second = cut(program)
    assert first.outputs[0].name == BETWEEN
    assert min(operations(first), operations(second)) > 0.5 * MARGIN * operations(program)
    between = run(first, inputs)
    np.testing.assert_allclose(run(second, [*inputs, *between])[0], run(program, inputs)[0], rtol=1e-12)
    units = [len(twins.find_units(half, 4)[1]) for half in (first, second)]
    assert sum(units) < 0.5 * (operations(first) + operations(second)), units
