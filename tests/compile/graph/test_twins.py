"""Limbs side by side: what is found to be alike, and that nothing but the order of the work changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough import zoo
from bough.compile.graph import schedule, twins
from bough.compile.graph.expr import ADD, CONST, DIV, PARAMETERS, Graph
from bough.compile.graph.passes import drop_dead_code, operands
from bough.compile.graph.program import Array, Program
from bough.compile.graph.twins import settle, side_by_side
from bough.compile.routine import operations, trace
from bough.dynamics.aba import ABA
from bough.dynamics.crba import CRBA
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.engine import bind
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.dynamics.rnea import BIAS
from bough.errors import ModelError, NumericalError
from bough.model.builder import Builder
from bough.model.limbs import find_limbs, identical_limbs, mark_limbs
from compile.emit.test_llvm import run
from graphs import evaluate
from models import JOINT_TYPES, random_twin
from strategies import regular_parents, seeds

FORWARD = ABA


def marked_program(model, routine=FORWARD):
    found = mark_limbs((model.grouped,))
    return trace(routine, found.constants, model.sizes, axes=found.axes)


def insect(legs, joints=3):
    """Equal numbers of joints in all legs, but no two dimensions equal."""
    parent = [-1] + [0 if k == 0 else leg * joints + k for leg in range(legs) for k in range(joints)]
    return random_twin(legs, parent, ["floating"] + ["revolute"] * legs * joints).model


@st.composite
def bushes(draw):
    """Random trees with twins: few joint types make them likely, a second copy makes them sure."""
    half = draw(regular_parents(5))
    types = draw(st.lists(st.sampled_from(JOINT_TYPES), min_size=len(half), max_size=len(half)))
    n = len(half)
    parent = [-1, *(0 if p < 0 else p + 1 for p in half), *(0 if p < 0 else p + 1 + n for p in half)]
    return random_twin(draw(seeds), parent, ["floating", *types, *types]).model


def inputs_of(model, program, seed=0, batch=2):
    rng = np.random.default_rng(seed)
    return [
        model.random_configuration(rng, batch=batch) if a.name == "q" else rng.normal(size=(batch, *a.shape))
        for a in program.inputs
    ]


def test_four_limbs_of_a_humanoid():
    limb, place = find_limbs(zoo.humanoid().mechanism)
    assert limb[0] == ()
    assert all(len(one) == 1 for one in limb[1:])
    assert len(set(limb[1:])) == 4
    for k in range(1, 7):
        assert len({place[k + 6 * side] for side in range(4)}) == 1
    assert len(set(place)) == 7


def test_limbs_are_counted_by_kind():
    assert identical_limbs(zoo.humanoid().mechanism) == [(4, 6)]
    assert identical_limbs(zoo.asimo().mechanism) == [(2, 9), (2, 6)]
    assert identical_limbs(zoo.chain(5).mechanism) == []


def test_limbs_of_limbs():
    """Two arms with three fingers each: the fingers of both hands are twins of each other."""
    parent = [-1, 0, 1, 1, 1, 0, 5, 5, 5]
    builder = Builder("hands")
    for i, p in enumerate(parent):
        kind = "floating" if p < 0 else "revolute"
        builder.add_body(f"b{i}", f"b{p}" if p >= 0 else "world", kind, mass=1.0, inertia=np.eye(3))
    limb, place = find_limbs(builder.build().mechanism)
    assert limb[1] != limb[5]
    assert len(set(limb[2:5] + limb[6:9])) == 6
    assert all(x[:1] == limb[1] and len(x) == 2 for x in limb[2:5])
    assert len(set(place[2:5] + place[6:9])) == 1


def test_a_chain_has_no_twins():
    assert not identical_limbs(zoo.chain(9).mechanism)
    assert mark_limbs((zoo.chain(9).mechanism,)) is None


def test_joints_of_other_types_are_no_twins():
    builder = Builder("uneven")
    builder.add_body("trunk", "world", "floating", mass=1.0, inertia=np.eye(3))
    builder.add_body("left", "trunk", "revolute", mass=1.0, inertia=np.eye(3))
    builder.add_body("right", "trunk", "prismatic", mass=1.0, inertia=np.eye(3))
    assert not identical_limbs(builder.build().mechanism)


@pytest.mark.parametrize(
    ("routine", "most"),
    [(FORWARD, 3100), (CRBA, 1400), (BIAS, 1400), (INVERSE_MASS_MATRIX, 4600)],
)
def test_instructions_on_the_humanoid(routine, most):
    """Four limbs at once: a third of the operations. In H^-1 pairs of limbs are alike, too."""
    program = schedule.optimise(marked_program(zoo.humanoid(), routine))
    assert twins.cost(*side_by_side(program, 8)) <= most


@pytest.mark.parametrize("legs", [3, 4, 5, 6, 7, 8])
def test_instructions_hardly_grow_with_the_number_of_legs(legs):
    two = twins.cost(*side_by_side(marked_program(insect(2)), 8))
    assert twins.cost(*side_by_side(marked_program(insect(legs)), 8)) < 1.3 * two


@settings(max_examples=40, deadline=None)
@given(bushes(), st.sampled_from([1, 2, 4, 8]))
def test_units_hold_every_operation_once_after_its_operands(model, width):
    arranged, units = side_by_side(marked_program(model), width)
    graph, done = arranged.graph, set()
    for unit in units:
        assert len(unit) in (1, 2, 4, 8)
        assert len(unit) <= width
        assert len({graph.op[i] for i in unit}) == 1
        for i in unit:
            assert all(x in done for x in operands(graph, i) if graph.op[x] >= ADD)
        assert not done & set(unit)
        done |= set(unit)
    assert done == {i for i in graph.live(arranged.flat_roots()) if graph.op[i] >= ADD}


@settings(max_examples=15, deadline=None)
@given(bushes(), st.sampled_from([2, 4, 8]), st.sampled_from([7, 60, 2000]), st.sampled_from([np.float64, np.float32]))
def test_random_mechanisms(model, width, chunk, dtype):
    """Any joint types, cut into chunks of any size, with any number of lanes."""
    for routine in (CRBA, FORWARD) if dtype == np.float64 else (CRBA,):
        agree(model, marked_program(model, routine), dtype, width, chunk)


@pytest.mark.parametrize("legs", [2, 3, 4, 5, 6, 8, 9])
def test_any_number_of_legs(legs):
    model = insect(legs)
    agree(model, marked_program(model), np.float64, 8, 100)


def agree(model, program: Program, dtype, width, chunk):
    inputs = inputs_of(model, program)
    expected = evaluate(program, inputs)
    arranged, units = side_by_side(schedule.optimise(program), width)
    found = run(arranged, inputs, dtype, 1, chunk, width, units)
    tolerance = 1e-10 if dtype == np.float64 else 1e-2
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())


@pytest.mark.parametrize("seed", range(5))
def test_marks_that_are_wrong_cost_speed_only(seed):
    """Real marks on other inputs: the values are still right."""
    model = zoo.asimo()
    right = marked_program(model)
    shuffled = np.random.default_rng(seed).permutation(len(right.marks))
    wrong = dict(zip(right.marks, [list(right.marks.values())[k] for k in shuffled], strict=True))
    agree(model, replace(right, marks=wrong), np.float64, 8, 2000)


def test_a_division_by_zero_is_not_folded():
    graph = Graph()
    x, zero = graph.input(PARAMETERS, 0), graph.input(PARAMETERS, 1)
    program = Program(graph, (), (Array("y", (2,)),), (((x / zero).id, (x * zero).id),), (2.0, 0.0))
    first, second = settle(program).flat_roots()
    assert settle(program).graph.op[first] == DIV
    assert settle(program).graph.op[second] == CONST


def with_points(joint, limbs):
    """A trunk with points of mass on the joints' axes, which they cannot turn."""
    builder = Builder("singular")
    builder.add_body("trunk", "world", "floating", mass=1.0, inertia=np.eye(3))
    for k in range(limbs):
        builder.add_body(f"limb{k}", "trunk", joint, (1.0, k, 0.0), mass=1.0)
    return builder


@pytest.mark.parametrize("joint", ["spherical", "planar"])
def test_limbs_that_nothing_keeps_from_turning_are_not_built(joint):
    with pytest.raises(ModelError, match="resists no turning"):
        with_points(joint, 2).build()


@pytest.mark.parametrize("limbs", [1, 2])
def test_limbs_that_are_singular_everywhere_are_refused(limbs):
    dynamics = Dynamics(with_points("cylindrical", limbs).build())
    state = dynamics.model.neutral, np.zeros(dynamics.model.nv), np.ones(dynamics.model.nv)
    for method in ("aba", "crba", "auto"):
        with pytest.raises(NumericalError, match="singular"):
            dynamics.forward_dynamics(*state, method=method)


def test_settled_parameters_fold_like_constants():
    """For batches nothing is lost but a screw that was made as general as its twins."""
    model = zoo.humanoid()
    plain = operations(trace(FORWARD, (model.grouped,), model.sizes))
    settled = operations(drop_dead_code(twins.settle(marked_program(model))))
    assert settled.total <= plain.total + 4


def test_single_and_batch_agree():
    model = insect(6)
    forward = bind(FORWARD, model)
    q, v, tau = inputs_of(model, marked_program(model), batch=5)
    rows = np.array([forward(*row) for row in zip(q, v, tau, strict=True)])
    np.testing.assert_allclose(rows, forward(q, v, tau), rtol=0, atol=1e-12 * np.abs(rows).max())
