"""Every kernel, interpreted, against the naive definitions on random trees of every joint type."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from models import JOINT_TYPES, interpreted, random_state, random_twin
from quantities import QUANTITIES, State, by_definition, error
from strategies import regular_parents, seeds


@st.composite
def twins(draw, max_size=8):
    parent = draw(regular_parents(max_size))
    types = st.sampled_from([*JOINT_TYPES, "fixed"])
    joints = [draw(st.sampled_from(JOINT_TYPES)), *(draw(types) for _ in parent[1:])]
    return random_twin(draw(seeds), parent, joints, armature=draw(st.booleans()), gravity=(1.0, -2.0, -9.0))


@given(twins(), seeds)
@settings(max_examples=40)
def test_agrees_with_the_definitions(twin, seed):
    state = State(*random_state(twin.model, seed))
    body = seed % len(twin.bodies)
    expected = by_definition(twin, state, body)
    assert expected.keys() == QUANTITIES.keys()
    for name, quantity in QUANTITIES.items():
        actual = quantity.by(interpreted, twin.model, state, f"f{body}")
        assert error(actual, expected[name], state) < 1e-10, name
