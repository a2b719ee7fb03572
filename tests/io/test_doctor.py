"""The doctor: each ailment is found, with the link's name and a remedy."""

from __future__ import annotations

import numpy as np
import pytest

from bough import Builder, doctor, load

GOOD = {"mass": 1, "ixx": 0.1, "iyy": 0.1, "izz": 0.1, "com": "0 0 0", "axis": "0 0 1", "inside": ""}


def urdf(kind: str = "revolute", **change: object) -> str:
    v = GOOD | change
    return f"""<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="{v["com"]}"/>
    <mass value="{v["mass"]}"/><inertia ixx="{v["ixx"]}" iyy="{v["iyy"]}" izz="{v["izz"]}"/></inertial></link>
    <link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    <joint name="shoulder" type="{kind}"><parent link="base"/><child link="arm"/><axis xyz="{v["axis"]}"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>{v["inside"]}</joint>
    <joint name="wrist" type="revolute"><parent link="arm"/><child link="tip"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


CASES = {
    "healthy": ({}, None),
    "negative mass": ({"mass": -1}, ("arm", "error", "mass is -1 kg")),
    "far": ({"com": "0 0 700"}, ("arm", "warning", "centre of mass is at")),
    "triangle": ({"izz": 0.3}, ("arm", "warning", "triangle inequality")),
    "not positive": ({"izz": -0.3}, ("arm", "warning", "not positive")),
    "point": ({"ixx": 0, "iyy": 0, "izz": 0}, ("arm", "warning", "a point mass")),
    "no mass": ({"mass": 0}, ("arm", "warning", "an inertia but no mass")),
    "huge": ({"ixx": 90, "iyy": 90, "izz": 90}, ("arm", "warning", "radius")),
    "axis": ({"axis": "0 0 2"}, ("shoulder", "note", "length 2")),
    "zero axis": ({"axis": "0 0 0"}, ("shoulder", "error", "axis is zero")),
    "nearly parallel": ({"axis": "0 1e-4 1"}, ("wrist", "note", "degrees off the axis before it")),
    "nearly perpendicular": ({"axis": "1 0 1e-5"}, ("wrist", "note", "off a right angle")),
    "friction": ({"inside": '<dynamics friction="1"/>'}, ("r", "note", "dry friction of 1 joint")),
    "mimic": ({"inside": '<mimic joint="wrist"/>'}, ("shoulder", "note", "mimics 'wrist'")),
    "dangling mimic": ({"inside": '<mimic joint="ghost"/>'}, ("r", "error", "no moving joint 'ghost'")),
}


@pytest.mark.parametrize("what", CASES)
def test_findings(what: str) -> None:
    change, expected = CASES[what]
    found = doctor(urdf(**change))
    if expected is None:
        assert [str(f) for f in found] == [
            "note: r: Dynamics ignores the limits of 2 joints; simulate and control use them; for your information"
        ]
        return
    link, severity, words = expected
    hits = [f for f in found if f.link == link and words in f.what]
    assert hits, found
    assert hits[0].severity == severity
    assert hits[0].remedy


LIMITS = {
    'lower="2" upper="1" effort="1" velocity="1"': "lower limit 2 exceeds",
    'lower="1" upper="1" effort="1" velocity="1"': "both its limits are 1",
    'lower="-1" upper="1" effort="0" velocity="1"': "effort limit is 0",
    'lower="-1" upper="1" effort="1" velocity="0"': "velocity limit is 0",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits(limit: str) -> None:
    text = urdf().replace('<limit lower="-1" upper="1" effort="1" velocity="1"/>', f"<limit {limit}/>", 1)
    assert [(f.link, f.severity) for f in doctor(text)] == [("shoulder", "warning"), ("r", "note")]
    assert LIMITS[limit] in doctor(text)[0].what


def test_massless_leaves_and_bare_robots() -> None:
    leaf = '<robot name="r"><link name="base"/><link name="arm"/>{}</robot>'
    joint = '<joint name="j" type="{}"><parent link="base"/><child link="arm"/></joint>'
    (found,) = doctor(leaf.format(joint.format("revolute")))
    assert (found.link, found.severity) == ("arm", "error")
    assert "weld=['j']" in found.remedy
    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    (bare,) = doctor(
        leaf.format(joint.format("fixed")).replace('<link name="arm"/>', f'<link name="arm">{solid}</link>')
    )
    assert (bare.remedy, bare.severity) == ("load with floating_base=True", "error")


def test_worst_comes_first() -> None:
    found = doctor(urdf(mass=-1, axis="0 0 2", inside='<dynamics friction="1"/>'))
    order = [f.severity for f in found]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    assert str(found[0]).startswith("error: arm: its mass is -1 kg; ")


def test_models_can_be_examined() -> None:
    assert doctor(load(urdf())) == doctor(urdf())
    builder = Builder("m", check=False)
    builder.add_body("flat", mass=1.0, inertia=np.diag([1.0, 1.0, 3.0]), com=(1, 2, 3), effort=0.0)
    assert {f.link for f in doctor(builder.build()) if f.severity == "warning"} == {"flat"}


def test_a_broken_tree_does_not_hide_what_else_is_wrong():
    text = urdf(mass=-1).replace('<link name="tip">', '<link name="alone"/><link name="tip">')  # two roots
    text = text.replace("</robot>", '<link name="odd"><inertial><mass value="heavy"/></inertial></link></robot>')
    found = doctor(text)
    assert found[0].severity == "error"
    assert "root links" in found[0].what
    assert any(f.link == "arm" and "mass is -1 kg" in f.what for f in found)
    assert any("heavy" in f.what and f.severity == "error" for f in found)
    with pytest.raises(Exception, match="root links"):
        load(text)
