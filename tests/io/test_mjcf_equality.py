"""Equalities of MJCF: joints follow others, connects and welds close loops, the rest is refused or dropped by name."""

from __future__ import annotations

import numpy as np
import pytest

from bough import doctor, load
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, OptionError
from bough.opspace import Loops

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0.05"/>'
TREE = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="a"><joint name="one" axis="0 0 1" ref="0.3"/>{GEOM}
  <body name="b" pos="0.3 0 0"><joint name="two" axis="0 1 0" ref="-0.2"/>{GEOM}<site name="tip" pos="0.2 0 0"/></body>
  <body name="c" pos="0 0.3 0"><joint name="out" type="slide" axis="1 0 0" ref="0.1"/>{GEOM}
    <site name="end" pos="0 0 0.1" euler="0 0 1"/></body>
</body>
<body name="d" pos="0 1 0"><joint name="ball" type="ball"/>{GEOM}</body></worldbody>
<equality>{{}}</equality><tendon><fixed name="t"><joint joint="one" coef="1"/></fixed></tendon></mujoco>"""


def test_a_joint_follows_another() -> None:
    """On the manifold that the model moves on, MuJoCo's constraint is met, for any references."""
    text = TREE.format('<joint joint1="two" joint2="one" polycoef="0.4 -1.5 0 0 0"/>')
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    assert model.joint_names == ("one", "out", "ball")
    data = mujoco.MjData(reference)
    for x in (-0.7, 0.0, 0.9):
        (tie,) = model.couplings
        data.qpos[:3] = x, tie.ratio * x + tie.offset, 0.2
        mujoco.mj_forward(reference, data)
        rows = data.efc_type[: data.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        np.testing.assert_allclose(data.efc_pos[: data.nefc][rows], 0, atol=1e-14)
        q = np.array([x, 0.2, 0, 0, 0, 1])
        np.testing.assert_allclose(
            Dynamics(model, general=True).placement(q, "b")[:3, 3], data.body("b").xpos, atol=1e-14
        )
    assert load(text, mimic="independent").nv == 6


def test_chains_and_second_leaders() -> None:
    """A joint that follows already leads the next, by the inverse."""
    first = '<joint joint1="two" joint2="one" polycoef="0 2 0 0 0"/>'
    model = load(TREE.format(first + '<joint joint1="two" joint2="out" polycoef="0.1 4 0 0 0"/>'))
    assert model.joint_names == ("one", "ball")
    ties = {c.follower: c for c in model.couplings}
    two = ties["two"].ratio * 0.5 + ties["two"].offset
    out = ties["out"].ratio * 0.5 + ties["out"].offset
    np.testing.assert_allclose([two + 0.2, two + 0.2], [2 * (0.5 - 0.3), 0.1 + 4 * (out - 0.1)])


@pytest.mark.parametrize("second", ['joint2="one" polycoef="0.25 0 0 0 0"', 'polycoef="0.25 1 0 0 0"'])
def test_a_joint_held_still_is_welded(second: str) -> None:
    model = load(TREE.format(f'<joint name="hold" joint1="two" {second}/>'))
    assert model.joint_names == ("one", "out", "ball")
    assert "joint 'two' is held at 0.05 by the equality 'hold': it is welded" in model.notes
    free = load(TREE.format(""))
    q, whole = np.array([0.4, 0.1, 0, 0, 0, 1]), np.array([0.4, 0.05, 0.1, 0, 0, 0, 1])
    expected = Dynamics(free, general=True).placement(whole, "b")
    np.testing.assert_allclose(Dynamics(model, general=True).placement(q, "b"), expected, atol=1e-14)


LOOPS = {
    "connect": '<connect name="loop" body1="b" body2="c" anchor="0.1 0 0"/>',
    "weld": '<weld name="loop" body1="b" body2="c" anchor="0.3 0.2 0.1"/>',
    "sites": '<connect name="loop" site1="tip" site2="end"/>',
}
REFUSED = {
    "joint": '<joint name="loop" joint1="two" joint2="one" polycoef="0 1 0.5 0 0"/>',
    "tendon": '<tendon name="loop" tendon1="t"/>',
    "joint 'loop' of 'one'": '<joint joint1="two" joint2="one"/><joint name="loop" joint1="one" joint2="two"/>',
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_tree_can_keep_is_refused_or_dropped_by_name(what: str) -> None:
    text = TREE.format(REFUSED[what])
    with pytest.raises(ModelError, match=r"'loop'.*equality=\"drop\""):
        load(text)
    assert any(what.split(" of")[0] in f.what for f in doctor(text) if f.severity == "error")
    model = load(text, equality="drop")
    assert any(note.startswith("dropped the equality") and "'loop'" in note for note in model.notes)
    assert not [f for f in doctor(text, equality="drop") if f.severity == "error"]


def test_inactive_equalities_are_named() -> None:
    model = load(TREE.format('<weld name="off" body1="b" body2="c" active="false"/>'))
    assert "dropped the equality 'off', which is not active" in model.notes


def test_equality_takes_two_words() -> None:
    with pytest.raises(OptionError, match="no equality='ignore'; expected one of honour, drop"):
        load(TREE.format(""), equality="ignore")


@pytest.mark.parametrize("what", LOOPS)
def test_loops_are_dropped_by_name_when_asked(what: str) -> None:
    model = load(TREE.format(LOOPS[what]), equality="drop")
    assert not model.closures
    assert any(note.startswith("dropped the equality") and "'loop'" in note for note in model.notes)


@pytest.mark.parametrize("what", LOOPS)
def test_frames_of_closures_meet_where_mujoco_closes_them(what: str) -> None:
    """At the reference configuration, which is how MuJoCo reads anchors and relative poses."""
    text = TREE.format(LOOPS[what])
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    (closure,) = model.closures
    assert closure.kind == ("weld" if what == "weld" else "connect")
    assert any("Dynamics ignores 1 closure" in note for note in model.notes)
    assert not [f for f in doctor(text) if f.severity == "error"]
    q, dynamics = np.array([0.3, -0.2, 0.1, 0, 0, 0, 1]), Dynamics(model, general=True)
    first, second = dynamics.placement(q, closure.frame), dynamics.placement(q, closure.other)
    if what == "sites":
        data = mujoco.MjData(reference)
        mujoco.mj_forward(reference, data)
        np.testing.assert_allclose(first[:3, 3], data.site("tip").xpos, atol=1e-12)
        np.testing.assert_allclose(second[:3, 3], data.site("end").xpos, atol=1e-12)
        return
    np.testing.assert_allclose(first[:3, 3], second[:3, 3], atol=1e-12)
    if what == "weld":
        np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize("what", LOOPS)
def test_gaps_and_their_rates_are_mujocos(what: str) -> None:
    """The gap of the points, and the Jacobian of its rate."""
    text = TREE.format(LOOPS[what])
    model, reference = load(text), mujoco.MjModel.from_xml_string(text)
    data, loops = mujoco.MjData(reference), Loops(model, dynamics=Dynamics(model, general=True))
    data.qpos[:3] = 0.35, -0.1, 0.2
    mujoco.mj_forward(reference, data)
    q = np.array([*data.qpos[:3], 0, 0, 0, 1])
    np.testing.assert_allclose(loops.gap(q)[:3], data.efc_pos[:3], atol=1e-12)
    if what != "sites":  # where the loop is closed, rows are the same, too
        data.qpos[:3] = 0.3, -0.2, 0.1
        mujoco.mj_forward(reference, data)
        theirs = data.efc_J.reshape(data.nefc, reference.nv)
        np.testing.assert_allclose(loops.space.jacobian([0.3, -0.2, 0.1, 0, 0, 0, 1])[:3], theirs[:3], atol=1e-12)


def test_a_loop_within_one_body_is_refused() -> None:
    text = TREE.format(LOOPS["connect"])
    with pytest.raises(ModelError, match=r"closure 'loop'.*both fixed to one body.*drop"):
        load(text, weld=["two", "out"])
