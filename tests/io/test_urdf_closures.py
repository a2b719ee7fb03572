"""Loops of URDF files: in the file and beside it, as `Builder.add_closure` makes them; nonsense by name."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bough
from bough.errors import BoughError
from opspace.mechanisms import four_bar

LINK = """<link name="{0}"><inertial><origin xyz="{1} 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{0}"/><origin xyz="{2} 0 0"/>
<axis xyz="0 1 0"/></joint>"""
PIN = """<constraint name="pin" type="connect"><link1 link="coupler" xyz="0.9 0 0"/>
<link2 link="rocker" xyz="0.6 0 0"/></constraint>"""


def urdf(more=PIN):
    links = "".join(LINK.format(*x) for x in (("crank", 0.15), ("coupler", 0.45), ("rocker", 0.3)))
    joints = "".join(JOINT.format(*x) for x in (("crank", "base", 0), ("coupler", "crank", 0.3), ("rocker", "base", 1)))
    return f'<robot name="four-bar"><link name="base"/>{links}{joints}{more}</robot>'


SIDE = [{"frame": "coupler", "other": "rocker", "point": [0.9, 0, 0], "other_point": [0.6, 0, 0], "name": "pin"}]


def test_a_loop_in_the_file_and_beside_it(tmp_path):
    ours = four_bar()
    path = tmp_path / "loops.json"
    path.write_text(json.dumps(SIDE))
    q = np.array([0.6, -0.5, -1.5])
    expected = bough.close_loops(ours, q, hold=["crank"]).q
    for model in (bough.load(urdf()), bough.load(urdf(""), closures=SIDE), bough.load(urdf(""), closures=path)):
        assert [(c.name, c.kind) for c in model.closures] == [("pin", "connect")]
        assert not [note for note in model.notes if "constraint" in note]
        np.testing.assert_allclose(bough.close_loops(model, q, hold=["crank"]).q, expected, atol=1e-9)


def test_a_weld_has_a_rotation():
    weld = PIN.replace("connect", "weld").replace('xyz="0.6 0 0"', 'xyz="0.6 0 0" rpy="0 0.5 0"')
    model = bough.load(urdf(weld))
    assert model.closures[0].kind == "weld"
    place = model.frames.R[model.frame(model.closures[0].other)]
    other = model.frames.R[model.frame("rocker")]
    np.testing.assert_allclose((other.T @ place)[0], [np.cos(0.5), 0, np.sin(0.5)], atol=1e-12)


def test_loops_are_dropped_where_asked_and_said_to_be():
    model = bough.load(urdf(), equality="drop")
    assert not model.closures
    assert any("dropped the equality" in note for note in model.notes)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        (PIN.replace("connect", "glue"), "unknown type 'glue'"),
        (PIN.replace("link2", "link3"), 'no <link2 link="...">'),
        (PIN.replace('link="rocker"', 'link="rockr"'), "did you mean 'rocker'"),
        (PIN + PIN, "2 <constraint> elements are called 'pin'"),
        (PIN.replace("0.9 0 0", "0.9 zero 0"), "constraint 'pin'"),
    ],
)
def test_nonsense_in_the_file(more, match):
    with pytest.raises(BoughError, match=match):
        bough.load(urdf(more))


@pytest.mark.parametrize(
    ("closures", "match"),
    [
        ([{"frame": "coupler", "twist": 3}], "unknown entry 'twist'"),
        ([{"other": "rocker"}], "names no frame"),
        ({"frame": "coupler"}, "expected a list of closures"),
        ("nowhere.json", "cannot be read"),
        ([{"frame": "couple", "other": "rocker"}], "did you mean 'coupler'"),
    ],
)
def test_nonsense_beside_it(closures, match):
    with pytest.raises(BoughError, match=match):
        bough.load(urdf(""), closures=closures)
