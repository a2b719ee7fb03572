"""Conversion to MuJoCo's and Drake's layouts: printed examples, round trips, and derivatives that stay derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, convert
from bough.errors import ModelError, NonFiniteError, ShapeError

JOINTS = ("floating", "revolute", "spherical", "planar", "cylindrical", "floating", "prismatic")
TO = {"mujoco": convert.to_mujoco, "drake": convert.to_drake}
FROM = {"mujoco": convert.from_mujoco, "drake": convert.from_drake}


@pytest.fixture(scope="module")
def model():
    builder = Builder("zoo")
    for k, joint in enumerate(JOINTS):
        parent = "world" if k in (0, 5) else f"b{k - 1}"
        placement = None if joint == "floating" else (0.1 * k, 0.2, 0.3)
        builder.add_body(f"b{k}", parent, joint, placement, mass=1.0, inertia=np.eye(3))
    return builder.build()


@pytest.mark.parametrize("engine", TO)
def test_a_floating_joint_that_starts_elsewhere_is_refused(engine: str) -> None:
    """Its q is a pose in the world there, and in the joint's frame here."""
    builder = Builder("placed")
    builder.add_body("base", "world", "floating", (0.1, 0.2, 0.3), mass=1.0, inertia=np.eye(3))
    model = builder.build()
    for way in (TO[engine], FROM[engine]):
        with pytest.raises(ModelError, match="'base' does not start from the world's frame"):
            way(model, model.neutral)
    with pytest.raises(ModelError, match="'base' is floating from a frame in 'world'"):
        model.to_mjcf()


def test_floating_base_by_hand() -> None:
    """A base turned by 90 degrees about z, moving forward: +x of the body is +y of the world."""
    builder = Builder()
    builder.add_body("base", joint="floating", mass=1.0, inertia=np.eye(3))
    base = builder.build()
    h = np.sqrt(0.5)
    q, v = [1, 2, 3, 0, 0, h, h], [1, 0, 0, 0.1, 0.2, 0.3]
    q_mujoco, v_mujoco = convert.to_mujoco(base, q, v)
    np.testing.assert_allclose(q_mujoco, [1, 2, 3, h, 0, 0, h])
    np.testing.assert_allclose(v_mujoco, [0, 1, 0, 0.1, 0.2, 0.3], atol=1e-15)
    q_drake, v_drake = convert.to_drake(base, q, v)
    np.testing.assert_allclose(q_drake, [h, 0, 0, h, 1, 2, 3])
    np.testing.assert_allclose(v_drake, [-0.2, 0.1, 0.3, 0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("engine", TO)
@pytest.mark.parametrize("batch", [None, 1, 4])
def test_round_trip(model, engine: str, batch: int | None) -> None:
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch)
    v, a = rng.normal(size=(2, *q.shape[:-1], model.nv))
    there = TO[engine](model, q, v, a)
    back = FROM[engine](model, *there)
    sign = np.sign((q * back[0]).sum(-1, keepdims=True))  # a quaternion and its negative are one rotation
    assert np.all(sign > 0) or engine == "drake"
    np.testing.assert_allclose(model.difference(q, back[0]), 0, atol=1e-12)
    np.testing.assert_allclose(back[1], v, atol=1e-12)
    np.testing.assert_allclose(back[2], a, atol=1e-12)
    np.testing.assert_array_equal(TO[engine](model, q), there[0])


@pytest.mark.parametrize("engine", TO)
def test_batches_are_rows(model, engine: str) -> None:
    rng = np.random.default_rng(1)
    q, v = model.random_configuration(rng, 3), rng.normal(size=(3, model.nv))
    together = TO[engine](model, q, v)
    for k in range(3):
        for whole, row in zip(together, TO[engine](model, q[k], v[k]), strict=True):
            np.testing.assert_allclose(whole[k], row, atol=1e-14)


@pytest.mark.parametrize("engine", TO)
def test_accelerations_are_derivatives(model, engine: str) -> None:
    """Along a motion with constant v', the converted acceleration is the derivative of the converted velocity."""
    rng = np.random.default_rng(2)
    q, v, a = model.random_configuration(rng), *rng.normal(size=(2, model.nv))
    step = 1e-4

    def velocity(t: float) -> np.ndarray:
        return TO[engine](model, model.integrate(q, v * t + a * t * t / 2), v + a * t)[1]

    slope = (velocity(step) - velocity(-step)) / (2 * step)
    np.testing.assert_allclose(TO[engine](model, q, v, a)[2], slope, atol=1e-6)


@pytest.mark.parametrize("engine", TO)
def test_positions_move_with_the_linear_velocity(model, engine: str) -> None:
    """In both engines x y z of a floating base, and x y angle of a planar joint, change at the rates in v."""
    rng = np.random.default_rng(3)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    step = 1e-6
    ahead, behind = (TO[engine](model, model.integrate(q, s * step * v)) for s in (1, -1))
    slope = (ahead - behind) / (2 * step)
    v_there = TO[engine](model, q, v)[1]
    xyz, linear = (slice(0, 3), slice(0, 3)) if engine == "mujoco" else (slice(4, 7), slice(3, 6))
    np.testing.assert_allclose(slope[xyz], v_there[linear], atol=1e-8)
    start = 12 if engine == "mujoco" else 11  # Drake's ball joint has three q
    np.testing.assert_allclose(slope[start : start + 3], v_there[model.joint("b3").v], atol=1e-8)


def test_drake_ball_is_roll_pitch_yaw(model) -> None:
    q = model.neutral.copy()
    q[8:12] = [np.sin(0.2), 0, 0, np.cos(0.2)]
    there = convert.to_drake(model, q)
    assert len(there) == model.nq - 1
    np.testing.assert_allclose(there[8:11], [0.4, 0, 0], atol=1e-15)


def test_bad_input(model) -> None:
    q, v = model.neutral, np.zeros(model.nv)
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        convert.to_mujoco(model, [1, 2, 3])
    with pytest.raises(ShapeError, match="equal batches"):
        convert.to_mujoco(model, np.stack([q, q]), v)
    with pytest.raises(ShapeError, match="give v"):
        convert.to_mujoco(model, q, None, v)
    with pytest.raises(NonFiniteError, match="v is not finite"):
        convert.to_drake(model, q, v * np.nan)
    with pytest.raises(NonFiniteError, match="cannot be normalised"):
        convert.to_mujoco(model, 0 * q, v)


@pytest.mark.parametrize("engine", TO)
def test_mimic_joints_are_refused_by_name(engine: str) -> None:
    builder = Builder("gripper")
    builder.add_body("left", joint="prismatic", joint_name="left_slide", mass=1.0)
    builder.add_body("right", joint="prismatic", joint_name="right_slide", mass=1.0, mimic=("left_slide", -1.0, 0.0))
    model = builder.build()
    for way in (TO[engine], FROM[engine]):
        with pytest.raises(ModelError, match=r"'gripper' has mimic joints \('right_slide'\)"):
            way(model, model.neutral)
