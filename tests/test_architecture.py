"""The page on architecture is true: all packages are drawn, walks exist and go down; errata that are cited exist."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import bough
from bough import adaptive, zoo

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
LEGS = [
    re.findall(r"^- `([\w.]+)`$", leg, re.MULTILINE)
    for walk in re.findall(r"<!-- begin \w+ -->\n(.*?)<!-- end", PAGE, re.DOTALL)
    for leg in walk.split("\n\n")
]


def drawing():
    spec = importlib.util.spec_from_file_location("draw_packages", ROOT / "docs" / "draw_packages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYER = {package: depth for depth, row in enumerate(drawing().layers()) for package in row}


def find(name):
    parts = ["bough", *name.split(".")]
    for split in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def test_there_are_four_walks():
    assert len(LEGS) == 7
    assert all(len(leg) >= 3 for leg in LEGS)


@pytest.mark.parametrize("leg", LEGS, ids=lambda leg: leg[0])
def test_walks_exist_and_go_down(leg):
    for name in leg:
        assert callable(find(name)) or isinstance(find(name), property) or hasattr(find(name), "func"), name
    depths = [LAYER[name.split(".")[0]] for name in leg]
    assert depths == sorted(depths)


def torque():
    model = bough.load(ROOT / "examples" / "arm.urdf")
    bough.Dynamics(model).inverse_dynamics(model.neutral, *np.zeros((2, model.nv)))


def jbar():
    model = zoo.arm(4)
    space = bough.OperationalSpace(model, [bough.position("hand")])
    assert space.method
    assert space(np.full(4, 0.3)).jbar.shape == (4, 3)


def step():
    sim = adaptive.QuasiStatics(zoo.chain(8), adaptive.relative_joint(1e-3), "adaptive")
    sim.apply_force(7, (1.0, 2.0, 3.0))
    sim.step(1e-3)


def motion():
    sim = adaptive.Dynamics(zoo.chain(8), adaptive.rms_acceleration(1e-3), "adaptive")
    sim.apply_force(7, (1.0, 2.0, 3.0))
    sim.step(1e-3)


def code(name):
    """What runs when this is called."""
    found = find(name)
    for way in ("fget", "func", "__wrapped__"):
        found = getattr(found, way, found)
    return (found.__init__ if isinstance(found, type) else found).__code__


@pytest.mark.native("what is compiled is what is walked through")
@pytest.mark.parametrize(
    ("walk", "legs"), [(torque, LEGS[:3]), (jbar, LEGS[3:5]), (step, LEGS[5:6]), (motion, LEGS[6:])]
)
def test_walks_are_what_is_called(walk, legs, tmp_path, monkeypatch):
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))  # where no choice of a method is known
    if walk in (step, motion):
        monkeypatch.setenv("BOUGH_INTERPRET", "1")  # its kernels are not traced
    called, before = [], sys.getprofile()
    sys.setprofile(lambda frame, event, arg: called.append(frame.f_code) if event == "call" else None)
    try:
        walk()
    finally:
        sys.setprofile(before)
    for leg in legs:
        calls = iter(called)
        assert [name for name in leg if code(name) not in calls] == []  # one after another


def test_the_picture_has_every_package():
    drawn = re.findall(r"<text[^>]*>(\w+) <tspan>\d+</tspan></text>", (ROOT / "docs" / "packages.svg").read_text())
    assert sorted(drawn) == sorted(LAYER)


def test_arrows_point_down():
    pytest.importorskip("grimp")
    for a, b in drawing().imports(list(LAYER)):
        assert LAYER[a] < LAYER[b], f"{a} imports {b}"


def test_cited_errata_are_listed():
    listed = set(re.findall(r"^\| (E\d+) \|", (ROOT / "docs" / "errata.md").read_text(), re.MULTILINE))
    cited = set()
    for path in (*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/*.py")):
        cited |= set(re.findall(r"(?:ERRATA|[Ee]rratum) (E\d+)", path.read_text()))
    assert {"E1", "E11"} <= cited <= listed
