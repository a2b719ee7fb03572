"""The page on architecture is true: all rooms are drawn, walks exist and go down; errata that are cited exist."""

from __future__ import annotations

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
LEGS = [
    re.findall(r"^- `([\w.]+)`$", leg, re.MULTILINE)
    for walk in re.findall(r"<!-- begin \w+ -->\n(.*?)<!-- end", PAGE, re.DOTALL)
    for leg in walk.split("\n\n")
]


def drawing():
    spec = importlib.util.spec_from_file_location("draw_rooms", ROOT / "docs" / "draw_rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYER = {room: depth for depth, row in enumerate(drawing().layers()) for room in row}


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


def test_there_are_three_walks():
    assert len(LEGS) == 6
    assert all(len(leg) >= 3 for leg in LEGS)


@pytest.mark.parametrize("leg", LEGS, ids=lambda leg: leg[0])
def test_walks_exist_and_go_down(leg):
    for name in leg:
        assert callable(find(name)) or isinstance(find(name), property) or hasattr(find(name), "func"), name
    depths = [LAYER[name.split(".")[0]] for name in leg]
    assert depths == sorted(depths)


def test_the_picture_has_every_room():
    drawn = re.findall(r"<text[^>]*>(\w+)</text>", (ROOT / "docs" / "rooms.svg").read_text())
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
