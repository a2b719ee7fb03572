"""Every kernel, executed every way, against Pinocchio on models of every joint type."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from models import EXECUTIONS, JOINT_TYPES, general, random_state, random_twin, specialised
from quantities import QUANTITIES, State, by_pinocchio, error

BRANCHES = [-1, 0, 1, 1, 0, 4, 5, 5, 0, 8, 9]
MIXED = ["floating", "revolute", "spherical", "prismatic", "universal", "revolute", "fixed", "helical", "cylindrical",
         "planar", "continuous"]  # fmt: skip


def _large(seed):
    """60 degrees of freedom: bodies not in depth-first order, several of each type, welds between."""
    rng = np.random.default_rng(seed)
    joints = ["floating", *JOINT_TYPES[:-1] * 3, *["revolute"] * 15, "fixed", "fixed"]
    order = [0, *rng.permutation(np.arange(1, len(joints)))]
    return [-1, *(int(rng.integers(max(0, i - 6), i)) for i in range(1, len(joints)))], [joints[k] for k in order]


CASES = {
    "chain of all types": (range(-1, 8), JOINT_TYPES, False),
    "mixed floating": (BRANCHES, MIXED, True),
    "forest": ([-1, 0, -1, 2, 2, -1, 5], [*JOINT_TYPES[:6], "floating"], False),
    "scrambled": ([-1, 0, 0, 1, 2, 1, 4, 3], ["spherical", *["revolute", "prismatic"] * 3, "universal"], True),
    "60 DoF": (*_large(1), True),
}
TOLERANCE = {np.float64: 1e-11, np.float32: 1e-4}
# compiling for one model takes its time: two models that have all joint types are enough
RUNS = [(x, name) for x in EXECUTIONS for name in CASES if x is not specialised or name in [*CASES][:2]]


@cache
def case(name):
    parent, joints, armature = CASES[name]
    twin = random_twin(len(name), list(parent), joints, armature)
    state, frame = State(*random_state(twin.model, 7)), f"f{len(joints) - 1}"
    return twin, state, frame, by_pinocchio(twin, state, frame)


def test_sizes():
    assert case("60 DoF")[0].model.nv >= 60
    assert {j for parent, joints, _ in CASES.values() for j in joints} == {*JOINT_TYPES, "fixed"}


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("execution", "name"), RUNS)
def test_agrees(execution, name, quantity):
    twin, state, frame, expected = case(name)
    actual = QUANTITIES[quantity].by(execution, twin.model, state, frame)
    assert error(actual, expected[quantity], state) < TOLERANCE[np.float64]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_agrees_in_single_precision(quantity):
    twin, state, frame, expected = case("mixed floating")
    actual = QUANTITIES[quantity].by(specialised, twin.model, state, frame, np.float32)
    assert actual.dtype == np.float32
    assert error(actual, expected[quantity], state) < TOLERANCE[np.float32]


@pytest.mark.parametrize("quantity", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "jacobian world"])
def test_general_agrees_in_single_precision(quantity):
    twin, state, frame, expected = case("60 DoF")
    actual = QUANTITIES[quantity].by(general, twin.model, state, frame, np.float32)
    assert actual.dtype == np.float32
    assert error(actual, expected[quantity], state) < TOLERANCE[np.float32]
