"""Turns from rotations without a branch: beside SciPy's, near none, near half a turn, about any axis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from bough import zoo
from bough.opspace.sweeps.errors import turn_of

M = zoo.arm(1).mechanism


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-12, 1e-6, 0.1, 1.0, 3.0, np.pi - 1e-6]))
def test_beside_scipy(seed, angle):
    axis = np.random.default_rng(seed).normal(size=3)
    turn = angle * axis / np.linalg.norm(axis)
    found = turn_of(M, tuple(Rotation.from_rotvec(turn).as_matrix().ravel()))
    np.testing.assert_allclose(found, turn, atol=2e-9)


@pytest.mark.parametrize("axis", [*np.eye(3), (0.6, 0.0, -0.8), (-0.36, 0.48, 0.8)])
def test_half_a_turn_is_as_long_as_it_is(axis):
    found = np.array(turn_of(M, tuple(Rotation.from_rotvec(np.pi * np.array(axis)).as_matrix().ravel())))
    assert np.linalg.norm(found) == pytest.approx(np.pi, abs=1e-7)
    assert np.linalg.norm(np.cross(found, axis)) < 1e-7


def test_no_turn_is_none():
    assert np.abs(turn_of(M, tuple(np.eye(3).ravel()))).max() < 1e-15
