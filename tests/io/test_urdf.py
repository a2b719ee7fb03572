"""URDF: what is read, what is dropped, and one clear error for each kind of broken file."""

from __future__ import annotations

import numpy as np
import pytest

from bough import doctor, load
from bough.dynamics.dynamics import Dynamics
from bough.errors import BoughError, FileFormatError, ModelError, UnknownNameError

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


ARM = (link("base"), link("upper"), link("lower"), joint("a", "base", "upper"), joint("b", "upper", "lower"))


def test_order_is_depth_first_in_the_order_of_the_file() -> None:
    links = [link(name) for name in "abcde"]
    joints = [joint("z", "a", "b"), joint("y", "a", "c"), joint("x", "c", "e"), joint("w", "b", "d")]
    assert load(robot(*links, *joints)).joint_names == ("z", "w", "y", "x")


def test_root_is_welded_or_floats() -> None:
    assert load(robot(*ARM)).nv == 2
    floating = load(robot(*ARM), floating_base=True)
    assert floating.joint_names == ("root_joint", "a", "b")
    assert (floating.nq, floating.nv) == (9, 8)
    assert floating.joint("root_joint").body == "base"


def test_a_root_called_world_is_the_world() -> None:
    text = robot(
        link("world", ""), link("base"), link("arm"), joint("w", "world", "base", "fixed"), joint("a", "base", "arm")
    )
    assert load(text).joint_names == ("a",)
    assert load(text, floating_base=True).joint_names == ("root_joint", "a")


LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


@pytest.mark.parametrize("extra", [(), (link("world_link"), joint("e", "arm", "world_link", inside=LIMIT))])
def test_a_root_called_world_that_carries_moving_links_floats_itself(extra) -> None:
    """As in Pinocchio; the name belongs to the world, so it gets another, and a note says so."""
    pin = pytest.importorskip("pinocchio")
    links = (link("world"), link("arm"), link("other"), *extra)
    two = robot(*links, joint("a", "world", "arm", inside=LIMIT), joint("b", "world", "other", inside=LIMIT))
    model, reference = load(two, floating_base=True), pin.buildModelFromXML(two, pin.JointModelFreeFlyer())
    name = "world_link_" if extra else "world_link"
    assert model.joint("root_joint").body == name
    assert f"the root link 'world' floats, and is called {name!r}" in model.notes
    q = model.neutral + np.concatenate([np.zeros(7), np.linspace(0.1, 0.3, model.nq - 7)])
    H = pin.crba(reference, reference.createData(), q)
    np.testing.assert_allclose(np.triu(Dynamics(model, general=True).mass_matrix(q)), np.triu(H), atol=1e-12)
    assert "the mass of the root link 'world'" in load(two).notes[0]
    assert "mass" not in "".join(model.notes)


def test_every_link_stays_a_frame() -> None:
    at = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    model = load(robot(*ARM, link("tool", ""), joint("t", "lower", "tool", "fixed", at)))
    assert model.frame_names == ("world", "base", "upper", "lower", "tool")
    T = Dynamics(model, general=True).placement(model.neutral, "tool")
    np.testing.assert_allclose(T[:3, 3], [1, 2, 3], atol=1e-15)
    np.testing.assert_allclose(T[:3, 0], [0, 1, 0], atol=1e-15)


def test_limits_damping_and_notes() -> None:
    inside = '<limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="0.5" friction="0.1"/>'
    turning = '<limit velocity="3" effort="4"/>'
    text = robot(
        link("base"), link("one"), link("two"), joint("a", "base", "one", "revolute", inside),
        joint("b", "one", "two", "continuous", turning), '<transmission name="t"/><gazebo/><gazebo/>',
    )  # fmt: skip
    model = load(text)
    assert [column.tolist() for column in model.limits] == [[-1, -np.inf], [2, np.inf], [3, 3], [4, 4]]
    assert model.damping.tolist() == [0.5, 0]
    assert model.friction.tolist() == [0.1, 0]
    assert model.notes == (
        "dropped 1 <transmission>",
        "dropped 2 <gazebo>",
        "Dynamics ignores damping of 1 joint; simulate uses it",
        "Dynamics ignores dry friction of 1 joint; simulate uses it",
        "Dynamics ignores the limits of 2 joints; simulate and control use them",
    )


def test_nothing_is_dropped_in_silence() -> None:
    """Elements that are not read, and elements that come twice, are named."""
    inside = '<safety_controller/><axis xyz="0 0 1"/><axis xyz="1 0 0"/>'
    inertial = INERTIAL.replace("</inertial>", "<density/></inertial>")
    model = load(robot(link("base"), link("arm", inertial + INERTIAL), joint("a", "base", "arm", inside=inside)))
    assert model.notes == (
        "dropped 1 <inertial/density>",
        "dropped 1 <joint/safety_controller>",
        "link 'arm': read the first of 2 <inertial>, dropped the others",
        "joint 'a': read the first of 2 <axis>, dropped the others",
    )
    fixed = joint("f", "arm", "hand", "fixed", MIMIC.format("a"))
    more = robot(link("base"), link("arm"), link("hand"), joint("a", "base", "arm"), fixed)
    assert load(more).notes == ("dropped the mimic of the fixed joint 'f'",)
    loose = robot(link("base"), link("arm"), joint("a", "base", "arm", "floating", "<limit effort='1'/>"))
    assert load(loose).notes == ("dropped the limits of the floating joint 'a'",)


def test_planar_and_floating_joints() -> None:
    """The axis of a planar joint is its normal: motion stays across it, rotation turns about it."""
    axis = '<axis xyz="1 0 0"/>'
    text = robot(
        link("base"), link("p"), link("f"), joint("a", "base", "p", "planar", axis), joint("b", "p", "f", "floating")
    )
    model = load(text)
    assert (model.nq, model.nv) == (10, 9)
    q = model.neutral.copy()
    q[:3] = [0.3, 0.4, 0.5]
    T = Dynamics(model, general=True).placement(q, "p")
    np.testing.assert_allclose(T[0, 3], 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(T[:3, 3]), 0.5)
    np.testing.assert_allclose(T[:3, 0], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(T[1, 1], np.cos(0.5))


def test_inertial_origin_turns_the_inertia() -> None:
    turned = (
        '<inertial><origin xyz="0 0 0" rpy="0 0 1.5707963267948966"/><mass value="1"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    model = load(robot(link("base"), link("arm", turned), joint("a", "base", "arm", inside='<axis xyz="1 0 0"/>')))
    np.testing.assert_allclose(Dynamics(model, general=True).mass_matrix(model.neutral), [[2.0]], atol=1e-15)


def test_geometry_is_never_looked_at() -> None:
    """A broken or missing mesh has nothing to do with dynamics."""
    mesh = '<visual><geometry><mesh filename="package://nowhere/x.stl" scale="broken"/></geometry></visual>'
    assert load(robot(*ARM[:2], link("lower", INERTIAL + mesh), *ARM[3:])).nv == 2


MIMIC = '<mimic joint="{}" multiplier="-2" offset="0.5"/>'


def test_mimic_is_honoured_or_freed() -> None:
    text = robot(*ARM[:3], joint("a", "base", "upper", inside=MIMIC.format("b")), joint("b", "upper", "lower"))
    tied, free = load(text), load(text, mimic="independent")
    assert (tied.joint_names, free.joint_names) == (("b",), ("a", "b"))
    assert tied.couplings == (("a", "b", -2.0, 0.5),)
    G, q = np.array([[-2.0], [1.0]]), np.array([0.3])
    H = Dynamics(free, general=True).mass_matrix(np.array([-2 * 0.3 + 0.5, 0.3]))
    np.testing.assert_allclose(Dynamics(tied, general=True).mass_matrix(q), G.T @ H @ G)


def test_weld_fixes_a_joint_at_zero() -> None:
    model = load(robot(*ARM), weld=["b"])
    assert model.joint_names == ("a",)
    assert "lower" in model.frame_names
    with pytest.raises(UnknownNameError, match="did you mean 'b'"):
        load(robot(*ARM), weld=["bb"])
    with pytest.raises(ModelError, match=r"write weld=\['b'\]"):
        load(robot(*ARM), weld="b")


BOMB = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
BROKEN = {
    "no XML": ("<robot name='r'><link", FileFormatError, "no well-formed XML"),
    "entities": (BOMB + '<robot name="r"><link name="&b;"/></robot>', FileFormatError, "entities are refused"),
    "depth": ("<robot>" + "<a>" * 2000 + "</a>" * 2000 + "</robot>", FileFormatError, "more than 1000 deep"),
    "other root": ("<html/>", FileFormatError, "begins with <html>"),
    "no link": ('<robot name="r"/>', FileFormatError, "has no <link>"),
    "joint type": (robot(*ARM[:4], joint("b", "upper", "lower", "bendy")), FileFormatError, "unknown type 'bendy'"),
    "two roots": (robot(*ARM, link("spare")), FileFormatError, "2 root links, 'base', 'spare'"),
    "loop": (
        robot(*ARM, link("c"), link("d"), joint("x", "c", "d"), joint("y", "d", "c")),
        FileFormatError,
        "'x', 'y' form a loop",
    ),
    "no root": (robot(link("c"), link("d"), joint("x", "c", "d"), joint("y", "d", "c")), FileFormatError, "loop"),
    "two parents": (robot(*ARM, joint("c", "base", "lower")), FileFormatError, "'lower' has two parents"),
    "same link": (robot(*ARM, link("upper")), FileFormatError, "2 <link> elements are called 'upper'"),
    "same joint": (robot(*ARM, link("x"), joint("a", "base", "x")), FileFormatError, "2 <joint> .* called 'a'"),
    "no name": (robot(*ARM, "<link/>"), FileFormatError, "a <link> has no name"),
    "dangling": (robot(*ARM, joint("c", "lower", "ghost")), FileFormatError, "link 'ghost', which is not in the file"),
    "no child": (
        robot(*ARM, '<joint name="c" type="fixed"><parent link="base"/></joint>'),
        FileFormatError,
        "joint 'c' names no child",
    ),
    "number": (
        robot(*ARM, link("x"), joint("c", "lower", "x", inside='<origin xyz="1 2"/>')),
        FileFormatError,
        "joint 'c': <origin> has xyz='1 2'; expected three numbers, finite",
    ),
    "not finite": (
        robot(*ARM, link("x", INERTIAL.replace('value="1"', 'value="nan"')), joint("c", "lower", "x")),
        FileFormatError,
        "link 'x': <mass> has value='nan'",
    ),
    "missing moment": (
        robot(*ARM, link("x", INERTIAL.replace('izz="1"', "")), joint("c", "lower", "x")),
        FileFormatError,
        "<inertia> has no attribute 'izz'",
    ),
    "negative mass": (
        robot(*ARM, link("x", INERTIAL.replace('value="1"', 'value="-1"')), joint("c", "lower", "x")),
        ModelError,
        "'x': mass must be finite and not negative",
    ),
    "negative inertia": (
        robot(*ARM, link("x", INERTIAL.replace('izz="1"', 'izz="-1"')), joint("c", "lower", "x")),
        ModelError,
        "'x', with all that is welded to it: the inertia matrix is not positive",
    ),
    "massless leaf": (robot(*ARM, link("x", ""), joint("c", "lower", "x")), ModelError, "'x' moves on joint 'c'"),
    "zero axis": (
        robot(*ARM, link("x"), joint("c", "lower", "x", inside='<axis xyz="0 0 0"/>')),
        ModelError,
        "'x': the axis of its revolute joint is zero",
    ),
    "nothing moves": (robot(link("base")), ModelError, "has no moving body"),
    "mimics nothing": (
        robot(*ARM[:4], joint("b", "upper", "lower", inside=MIMIC.format("aa"))),
        UnknownNameError,
        "joint 'b' mimics 'aa': .* did you mean 'a'",
    ),
    "mimics itself": (
        robot(
            *ARM[:3],
            joint("a", "base", "upper", inside=MIMIC.format("b")),
            joint("b", "upper", "lower", inside=MIMIC.format("a")),
        ),
        ModelError,
        "in a circle: 'a', 'b'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_are_refused(what: str) -> None:
    text, kind, sentence = BROKEN[what]
    with pytest.raises(kind, match=sentence):
        load(text)
    assert any(f.severity == "error" or "floating" in f.remedy for f in doctor(text))


def test_missing_file(tmp_path) -> None:
    with pytest.raises(FileFormatError, match=r"there is no file .*ghost\.urdf"):
        load(tmp_path / "ghost.urdf")
    with pytest.raises(FileFormatError, match="cannot be read"):
        load(tmp_path)


def test_encodings_cannot_hide_entities(tmp_path) -> None:
    path = tmp_path / "sneaky.urdf"
    path.write_bytes((BOMB + "<robot/>").replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16"))
    with pytest.raises(BoughError, match="entities are refused"):
        load(path)


def test_too_large_a_file(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("bough.io.xml.LARGEST_FILE", 100)
    path = tmp_path / "big.urdf"
    path.write_text(robot(*ARM))
    with pytest.raises(FileFormatError, match="more than 100 bytes"):
        load(path)


def test_welded_parts_may_make_up_for_each_other() -> None:
    """A negative moment of a link that is welded to a heavy one does no harm, and the doctor tells."""
    bad = INERTIAL.replace('izz="1"', 'izz="-0.01"')
    text = robot(*ARM, link("x", bad), joint("c", "lower", "x", "fixed"))
    assert load(text).nv == 2
    assert [f.link for f in doctor(text) if f.severity == "warning"] == ["x"]


def test_limits_of_urdf_1_2_that_nothing_uses_are_named() -> None:
    limit = '<limit lower="-1" upper="1" effort="5" velocity="6" acceleration="10" deceleration="8" jerk="100"/>'
    model = load(robot(link("base"), link("arm"), joint("a", "base", "arm", inside=limit)))
    assert model.limits.velocity == 6.0
    assert {f"dropped 1 <limit {word}>" for word in ("acceleration", "deceleration", "jerk")} <= {*model.notes}


def test_a_xacro_file_is_refused_with_what_expands_it() -> None:
    text = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="a" value="1"/></robot>'
    with pytest.raises(FileFormatError, match=r"is a xacro file.*xacrodoc"):
        load(text)
