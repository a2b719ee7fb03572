"""Turns as kernels: beside SciPy's rotations and the exponential of a 4 x 4 matrix, at small and large angles."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from bough import zoo
from bough.joints import quaternion as Q

M = zoo.arm(1).mechanism
TURNS = [np.array([0.3, -0.2, 0.5]), np.array([1e-9, 0.0, 2e-9]), np.array([0.0, 3.1, 0.0]), np.array([-2.0, 1.0, 1.5])]
START = np.array([0.1, -0.7, 0.3, 0.6])


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_rotation_of_a_quaternion_of_any_length(length):
    R = Q.quaternion_rotation(*(length * START), 1.0)
    np.testing.assert_allclose(np.reshape(R, (3, 3)), Rotation.from_quat(START).as_matrix(), atol=1e-15)


@pytest.mark.parametrize("turn", TURNS)
def test_a_turn_and_the_way_back(turn):
    out = np.zeros(4)
    Q.turn_quaternion(M, 0, tuple(turn), START, out)
    wanted = Rotation.from_quat(START) * Rotation.from_rotvec(turn)
    np.testing.assert_allclose(Rotation.from_quat(out).as_matrix(), wanted.as_matrix(), atol=1e-15)
    assert np.linalg.norm(out) == pytest.approx(1.0, abs=1e-15)
    v, w, square, ratio = Q.turn_between(M, 0, START / np.linalg.norm(START), out)
    np.testing.assert_allclose(2.0 * ratio * np.array(v), turn, atol=1e-15)
    assert square + w * w == pytest.approx(1.0, abs=1e-15)


def test_the_rate_of_a_quaternion_is_the_limit_of_turns():
    q, step, out = START / np.linalg.norm(START), 1e-6, np.zeros((2, 4))
    N = np.zeros((4, 3))
    free = zoo.humanoid().mechanism
    Q.quaternion_rate(free._replace(v_index=np.arange(3)), q, 0, 0, N)
    for k, axis in enumerate(np.eye(3)):
        for row, sign in enumerate((1.0, -1.0)):
            Q.turn_quaternion(M, 0, tuple(sign * step * axis), q, out[row])
        np.testing.assert_allclose(N[:, k], (out[0] - out[1]) / (2.0 * step), atol=1e-10)


@pytest.mark.parametrize("turn", TURNS)
def test_screws(turn):
    l = np.array([0.4, -1.0, 0.2])
    x, y, z = turn
    T = expm(np.array([[0, -z, y, l[0]], [z, 0, -x, l[1]], [-y, x, 0, l[2]], [0, 0, 0, 0]]))
    p = Q.screw_step(M, tuple(l), tuple(turn))
    np.testing.assert_allclose(p, T[:3, 3], atol=1e-14)
    q = Rotation.from_rotvec(turn).as_quat()
    between = Q.turn_between(M, 0, np.array([0.0, 0.0, 0.0, 1.0]), q)
    np.testing.assert_allclose(Q.screw_between(M, between, p), l, atol=1e-13)
