"""Damping, friction, springs and motors of joints: what the builder takes, and what a mimic joint hands on."""

import pickle

import numpy as np
import pytest

from bough import Builder
from bough.errors import ModelError
from models import JOINT_TYPES

SOLID = {"mass": 1.0, "inertia": np.eye(3)}


def one(joint="revolute", **options):
    builder = Builder()
    builder.add_body("a", joint=joint, **SOLID, **({"pitch": 0.1} if joint == "helical" else {}), **options)
    return builder.build()


def test_numbers_or_one_for_each_freedom():
    model = one(
        "universal", damping=2.0, friction=[1.0, 0.5], stiffness=(3, 4), rest=[0.1, -0.2], actuated=[True, False]
    )
    assert model.damping.tolist() == [2.0, 2.0]
    assert model.friction.tolist() == [1.0, 0.5]
    assert model.stiffness.tolist() == [3.0, 4.0]
    assert model.rest.tolist() == model.rest_configuration.tolist() == [0.1, -0.2]
    assert model.actuated.tolist() == [True, False]


@pytest.mark.parametrize("joint", JOINT_TYPES)
def test_nothing_given_is_nothing(joint):
    model = one(joint)
    assert not np.any(model.passive)
    assert np.array_equal(model.rest_configuration, model.neutral)
    assert model.actuated.all() == (joint not in ("floating", "spherical"))


def test_only_joints_on_the_world_are_bases():
    builder = Builder()
    builder.add_body("ground", joint="fixed")
    builder.add_body("a", "ground", "spherical", **SOLID)
    builder.add_body("b", "a", "spherical", **SOLID)
    builder.add_body("c", "b", "floating", **SOLID)
    builder.add_body("d", joint="floating", actuated=True, **SOLID)
    assert builder.build().actuated.tolist() == [False] * 3 + [True] * 15


BAD = {
    "damping": (-1.0, "damping must not be negative"),
    "friction": ([0.1], None),
    "stiffness": (float("inf"), "stiffness must be a number, and finite"),
    "rest": ([0.1, 0.2], "rest must be a number, and finite"),
    "actuated": (1, "actuated must be True or False, got 1"),
}


@pytest.mark.parametrize("key", BAD)
def test_refused(key):
    value, message = BAD[key]
    if message is None:
        assert one(**{key: value}).passive._asdict()[key].tolist() == value
        return
    with pytest.raises(ModelError, match=message):
        one(**{key: value})


@pytest.mark.parametrize("key", ["damping", "friction", "stiffness"])
@pytest.mark.parametrize("value", [-1e-300, float("nan"), "much", True, [[1.0]], {}])
def test_what_is_no_number_or_negative_is_refused(key, value):
    with pytest.raises(ModelError, match=f"body 'a': {key} must"):
        one(**{key: value})


def test_springs_that_have_no_one_meaning_are_refused():
    for joint in ("planar", "floating"):
        with pytest.raises(ModelError, match=f"a {joint} joint takes no stiffness"):
            one(joint, stiffness=1.0)
        with pytest.raises(ModelError, match="rests at its neutral configuration"):
            one(joint, rest=0.1)
    with pytest.raises(ModelError, match="one stiffness for all axes"):
        one("spherical", stiffness=[1.0, 1.0, 2.0])
    assert one("spherical", stiffness=2.0).stiffness.tolist() == [2.0] * 3


def coupled(ratio, offset, **options):
    builder = Builder()
    builder.add_body("a", damping=1.0, friction=0.3, stiffness=2.0, rest=0.4, actuated=False, **SOLID)
    builder.add_body("b", "a", mimic=("a", ratio, offset), **options, **SOLID)
    return builder


@pytest.mark.parametrize("ratio", [-2.5, 0.0, 0.5])
def test_a_follower_is_felt_by_its_leader(ratio):
    """Power and energy are those of the two joints when each has a freedom of its own."""
    options = {"damping": 0.7, "friction": 0.2, "stiffness": 5.0, "rest": -0.3}
    builder = coupled(ratio, 0.1, **options)
    tied, free = builder.build(), builder.build(mimic="independent")
    rng = np.random.default_rng(0)
    base = None
    for x, v in rng.normal(size=(5, 2)):
        both, rates = np.array([x, ratio * x + 0.1]), np.array([v, ratio * v])
        assert np.isclose(tied.damping @ np.array([v]) ** 2, free.damping @ rates**2)
        assert np.isclose(tied.friction @ np.abs([v]), free.friction @ np.abs(rates))
        energy = tied.stiffness @ (tied.difference(tied.rest_configuration, [x])) ** 2
        gap = free.stiffness @ free.difference(free.rest_configuration, both) ** 2 - energy
        base = gap if base is None else base
        assert np.isclose(gap, base)  # the energies differ by a constant
    assert not tied.actuated.any()


def test_a_motor_on_a_follower_drives_the_leader():
    assert coupled(1.0, 0.0, actuated=True).build().actuated.all()


def test_part_of_the_identity_and_kept_by_pickling():
    plain = one()
    for options in ({"damping": 1.0}, {"friction": 1.0}, {"stiffness": 1.0}, {"rest": 1.0}, {"actuated": False}):
        model = one(**options)
        assert model != plain
        assert pickle.loads(pickle.dumps(model)) == model
        assert not pickle.loads(pickle.dumps(model)).actuated.flags.writeable


def test_printed_when_present():
    assert repr(one()).endswith("mass 1 kg)")
    text = repr(one(damping=1.0, friction=1.0, stiffness=1.0, actuated=False))
    assert text.endswith("mass 1 kg, 1 damped, 1 with friction, 1 sprung, 1 not actuated)")


def pair(leader, follower, ratio, offset):
    """Limits of two joints, the second tied to the first."""
    builder = Builder()
    builder.add_body("a", joint_name="first", **SOLID, **leader)
    builder.add_body("b", "a", joint_name="second", **SOLID, **follower, mimic=("first", ratio, offset))
    return builder.build()


def test_limits_of_a_mimic_joint_are_felt_by_its_leader():
    """-2 x + 0.5 within [-1, 1] is x within [-0.25, 0.75]; at 3 rad/s of the follower the leader has 1.5."""
    limited = {"lower": -1.0, "upper": 1.0, "velocity": 3.0}
    model = pair({"lower": -1.0, "upper": 0.5, "velocity": 2.0}, limited, -2.0, 0.5)
    assert [model.limits.lower[0], model.limits.upper[0], model.limits.velocity[0]] == [-0.25, 0.5, 1.5]
    free = pair({}, limited, -2.0, 0.5)
    assert [free.limits.lower[0], free.limits.upper[0], free.limits.velocity[0]] == [-0.25, 0.75, 1.5]
    assert model.notes == free.notes == ()
    still = pair({"upper": 2.0}, limited, 0.0, 0.5)
    assert (still.limits.lower[0], still.limits.upper[0]) == (-np.inf, 2.0)


def test_limits_of_a_mimic_joint_that_cannot_be_kept_are_noted():
    model = pair({"lower": 0.0, "upper": 1.0}, {"lower": 5.0, "upper": 6.0, "effort": 3.0}, 1.0, 0.0)
    assert (model.limits.lower[0], model.limits.upper[0], model.limits.effort[0]) == (0.0, 1.0, np.inf)
    assert model.notes == (
        "dropped the limits of mimic joint 'second': they leave 'first' no room",
        "dropped the effort of mimic joints, because their leaders are driven: second",
    )
