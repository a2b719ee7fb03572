"""Joints fixed at a position: the rest moves as if they stood there."""

from __future__ import annotations

import numpy as np
import pytest

from bough import load
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, UnknownNameError

SOLID = '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="1"/><inertia ixx="1" iyy="2" izz="2" ixy="0.1"/></inertial>'
HALF = float(np.sqrt(0.5))
KINDS = {
    "revolute": 0.5,
    "continuous": -2.0,
    "prismatic": 0.3,
    "planar": [0.3, -0.2, 0.7],
    "floating": [0.1, 0.2, 0.3, 0.0, HALF, 0.0, HALF],
}


def text(kind: str, mimic: str = "") -> str:
    def joint(name: str, up: str, down: str, kind: str, inside: str = "") -> str:
        return f"""<joint name="{name}" type="{kind}"><parent link="{up}"/><child link="{down}"/>
        <origin xyz="0.3 0.1 -0.2" rpy="0.1 0.2 0.3"/><axis xyz="0.6 0 0.8"/>{inside}</joint>"""

    links = "".join(f'<link name="{name}">{SOLID}</link>' for name in "abcd")
    joints = joint("one", "a", "b", "revolute"), joint("two", "b", "c", kind), joint("six", "c", "d", "revolute", mimic)
    return f'<robot name="r">{links}{"".join(joints)}</robot>'


@pytest.mark.parametrize("kind", KINDS)
def test_welded_at_a_position(kind: str) -> None:
    """Placements and the mass matrix are those of the free mechanism with the joint at that position."""
    free, fixed = load(text(kind)), load(text(kind), weld={"two": KINDS[kind]})
    assert fixed.joint_names == ("one", "six")
    q = np.array([0.4, -0.9])
    whole = np.concatenate([q[:1], np.atleast_1d(KINDS[kind]), q[1:]])
    kept = [0, free.nv - 1]
    of_free, of_fixed = Dynamics(free, general=True), Dynamics(fixed, general=True)
    np.testing.assert_allclose(of_fixed.placement(q, "d"), of_free.placement(whole, "d"), atol=1e-14)
    H = of_free.mass_matrix(whole)[np.ix_(kept, kept)]
    np.testing.assert_allclose(of_fixed.mass_matrix(q), H, atol=1e-13)


def test_followers_stand_where_their_leader_puts_them() -> None:
    mimic = '<mimic joint="two" multiplier="-2" offset="0.25"/>'
    fixed = load(text("revolute", mimic), weld={"two": 0.5})
    assert fixed.joint_names == ("one",)
    by_hand = load(text("revolute"), weld={"two": 0.5, "six": -0.75})
    assert fixed.hash == by_hand.hash
    assert load(text("revolute", mimic), weld=["two"]).joint_names == ("one",)
    assert load(text("revolute", mimic), weld={"two": 0.5}, mimic="independent").joint_names == ("one", "six")
    assert load(text("revolute", mimic), weld={"six": 0.1}).joint_names == ("one", "two")


def test_a_list_means_zero() -> None:
    assert load(text("revolute"), weld=["two"]).hash == load(text("revolute"), weld={"two": 0}).hash
    assert load(text("floating"), weld=("two",)).joint_names == ("one", "six")
    assert load(text("fixed"), weld=["two"]).joint_names == ("one", "six")


@pytest.mark.parametrize(
    ("weld", "kind", "words"),
    [
        ("two", "revolute", r"write weld=\['two'\]"),
        (7, "revolute", "list of joint names"),
        ({"two": "x"}, "revolute", "'two' needs a finite number, got 'x'"),
        ({"two": [1, 2]}, "revolute", "'two' needs a finite number"),
        ({"two": np.nan}, "revolute", "'two' needs a finite number"),
        ({"two": 0.5}, "floating", "'two' needs 7 finite numbers"),
        ({"two": [0] * 7}, "floating", "ends in a quaternion"),
        ({"two": 0.5}, "fixed", "'two' is fixed already"),
    ],
)
def test_refused(weld, kind: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        load(text(kind), weld=weld)


@pytest.mark.parametrize("weld", [["tow"], {"tow": 1.0}, [None], [["two"]]])
def test_unknown_names(weld) -> None:
    with pytest.raises(UnknownNameError, match="has no joint"):
        load(text("revolute"), weld=weld)
