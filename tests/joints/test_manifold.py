"""Moving on the manifold of configurations and back: integrate and difference, beside Pinocchio, in every execution."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import bough
import graphs
from bough.compile.routine import trace
from bough.joints.manifold import DIFFERENCE, INTEGRATE
from graphs import jacobian
from models import EXECUTIONS, JOINT_TYPES, general, random_twin, specialised

pin = pytest.importorskip("pinocchio")

STEPS = [0.0, 1e-300, 1e-20, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]
QUATERNIONS = {"spherical": slice(0, 4), "floating": slice(3, 7)}


@pytest.fixture(scope="module")
def twin():
    """One body with each type of joint."""
    return random_twin(1, range(-1, len(JOINT_TYPES) - 1), JOINT_TYPES)


def steps(model, size, seed=0, count=20):
    """Configurations and velocities that move them by at most `size`, no rotation by more than half a turn."""
    rng = np.random.default_rng(seed)
    return model.random_configuration(rng, batch=count), size * rng.uniform(-1, 1, (count, model.nv))


def turned(model, angle, rng):
    """The neutral configuration and one with every quaternion turned from it by `angle`, and everything else moved."""
    q = model.random_configuration(rng)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    for joint in model.joints:
        if joint.type in QUATERNIONS:
            q[joint.q][QUATERNIONS[joint.type]] = [*(np.sin(angle / 2) * axis), np.cos(angle / 2)]
    return model.neutral, q, axis


@pytest.mark.parametrize("size", STEPS)
def test_difference_undoes_integrate(twin, size):
    """To rounding of q, of which 1 is the size: a small step is not lost in a large formula."""
    q, v = steps(twin.model, size)
    np.testing.assert_allclose(twin.model.difference(q, twin.model.integrate(q, v)), v, rtol=1e-14, atol=1e-15)


def test_no_difference_is_exactly_zero(twin):
    q, _ = steps(twin.model, 0.0)
    assert not twin.model.difference(q, q).any()


@pytest.mark.parametrize("size", STEPS)
def test_agrees_with_pinocchio(twin, size):
    # Pinocchio takes the angle of a planar joint from its cosine, in which a small one does not show
    compared = [j.v for j in twin.model.joints if j.type != "planar" or size >= 0.1]
    for q, v in zip(*steps(twin.model, size, seed=1), strict=True):
        moved = twin.model.integrate(q, v)
        by_pin = pin.integrate(twin.pin, twin.q_to_pin(q), twin.v_to_pin(v))
        np.testing.assert_allclose(twin.q_to_pin(moved), by_pin, rtol=0, atol=1e-14)
        found, expected = twin.model.difference(q, moved), pin.difference(twin.pin, twin.q_to_pin(q), by_pin)
        for joint in compared:
            np.testing.assert_allclose(found[joint], twin.from_pin(expected)[joint], rtol=0, atol=1e-12)


@pytest.mark.parametrize("short_of_pi", [0.0, 1e-18, 1e-15, 1e-12, 1e-8, 1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("side", [1, -1])
def test_half_turns(twin, short_of_pi, side):
    """Rotations just below and just above pi, which is where the shortest way changes sides."""
    model = twin.model
    q0, q1, axis = turned(model, np.pi - side * short_of_pi, np.random.default_rng(2))
    found = model.difference(q0, q1)
    expected = twin.from_pin(pin.difference(twin.pin, twin.q_to_pin(q0), twin.q_to_pin(q1)))
    ball = model.joints[JOINT_TYPES.index("spherical")]
    np.testing.assert_allclose(np.abs(found[ball.v]), (np.pi - short_of_pi) * np.abs(axis), rtol=1e-15, atol=1e-15)
    for joint in model.joints:
        if joint.type in QUATERNIONS:
            way = 1.0 if short_of_pi > 1e-15 else np.sign(found[joint.v][-3:] @ expected[joint.v][-3:])
            np.testing.assert_allclose(found[joint.v][-3:], way * expected[joint.v][-3:], rtol=0, atol=1e-14)
    back = model.integrate(q0, found)
    for joint in model.joints:
        if joint.type in QUATERNIONS:
            part = QUATERNIONS[joint.type]
            there, here = (Rotation.from_quat(q[joint.q][part]).as_matrix() for q in (q1, back))
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-14)
            np.testing.assert_allclose(back[joint.q][: part.start], q1[joint.q][: part.start], rtol=0, atol=1e-14)


def test_a_quaternion_and_its_negative_are_one_rotation(twin):
    model = twin.model
    rng = np.random.default_rng(3)
    q0, q1 = model.random_configuration(rng, batch=50), model.random_configuration(rng, batch=50)
    other = q1.copy()
    for joint in model.joints:
        if joint.type in QUATERNIONS:
            other[:, joint.q][:, QUATERNIONS[joint.type]] *= -3.0  # the length does not matter either
    found = model.difference(q0, q1)
    np.testing.assert_allclose(model.difference(q0, other), found, rtol=1e-13, atol=1e-13)
    ball = model.joints[JOINT_TYPES.index("spherical")]
    turns = Rotation.from_quat(q0[:, ball.q]).inv() * Rotation.from_quat(q1[:, ball.q])
    np.testing.assert_allclose(found[:, ball.v], turns.as_rotvec(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("routine", [INTEGRATE, DIFFERENCE], ids=lambda routine: routine.name)
def test_executions(twin, execution, routine):
    model = twin.model
    q, v = (x[0] for x in steps(model, 0.7))
    moved = model.integrate(q, v)
    given, expected = ((q, v), moved) if routine is INTEGRATE else ((q, moved), v)
    np.testing.assert_allclose(execution(routine, model, (), *given), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("execution", [general, specialised])
def test_single_precision(twin, execution):
    q, v = (x.astype(np.float32) for x in steps(twin.model, 0.7))
    found = execution(DIFFERENCE, twin.model, (), q, twin.model.integrate(q, v))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, v, rtol=2e-6, atol=2e-6)


def test_one_configuration_against_many(twin):
    q, v = steps(twin.model, 0.7)
    together = twin.model.difference(q[0], q)
    assert together.shape == v.shape
    np.testing.assert_allclose(together[3], twin.model.difference(q[0], q[3]), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("angle", [0.0, 1e-4, 0.3, 2.0, np.pi - 1e-6])
def test_derivatives(twin, mode, angle):
    """Of difference with respect to its second argument, against the complex step."""
    model = twin.model
    program = trace(DIFFERENCE, (model.mechanism,), model.sizes)
    q0, q1, _ = turned(model, angle, np.random.default_rng(4))
    (found,) = graphs.evaluate(jacobian(program, 0, [1], mode), [q0, q1])
    step = 1e-30
    columns = [graphs.evaluate(program, [q0, q1 + 1j * step * e])[0].imag / step for e in np.eye(model.nq)]
    np.testing.assert_allclose(found, np.array(columns).T, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0.5, np.inf),
        (-np.inf, -0.5),
        (50.0, np.inf),
        (-np.inf, -50.0),
        (-1e6, np.inf),
        (-0.2, 0.1),
        (-1.7e308, 1.7e308),
    ],
)
def test_random_configurations_keep_to_one_limit(joint, lower, upper):
    builder = bough.Builder("one")
    limit = dict(zip(("lower", "upper"), (lower, upper), strict=True))
    builder.add_body("a", mass=1.0, inertia=np.eye(3), joint=joint, **limit)
    q = builder.build().random_configuration(np.random.default_rng(0), batch=300)
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert np.abs(q).max() <= 50.0 + np.pi
    assert np.ptp(q) > 0.2


@pytest.mark.parametrize("size", [1.4e154, 2e154, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("shape", [(0.5, 0.5, 0.5, 0.5), (0.8, 0.0, 0.0, 0.6), (0.0, 0.0, 0.8, 0.6)])
def test_quaternions_too_large_for_their_squares_are_refused(size, shape):
    model = bough.zoo.floating_chain(2)
    dynamics = bough.Dynamics(model)
    q, zero = np.array(model.neutral), np.zeros(model.nv)
    q[3:7] = size * np.array(shape)
    with pytest.raises(bough.errors.NumericalError, match="overflow"):
        dynamics.forward_dynamics(q, zero, zero)
    with pytest.raises(bough.errors.NumericalError, match="overflow"):
        dynamics.placements(q)
    for call in (lambda: model.integrate(q, zero), lambda: model.difference(q, q)):
        with pytest.raises(bough.errors.NumericalError):
            call()
