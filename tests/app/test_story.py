"""The demonstration: the box gets to the floor, linkages settle, and the page holds it all."""

import re
import shlex
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from bough.app.story import box, drawings, page, settling
from bough.errors import MissingExtraError

pytest.importorskip("qpsolvers")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def carried():
    return box.carry()


def test_the_box_is_put_on_the_floor_and_the_robot_stands_up(carried):
    at = carried.model.joint("box").q
    middle = carried.q[:, at][:, :3]
    np.testing.assert_allclose(middle[0], box.START, atol=1e-9)
    np.testing.assert_allclose(middle[-1], box.FLOOR, atol=1e-3)
    assert carried.box_error.max() < 1e-3
    assert carried.q[-1, 2] - carried.q[:, 2].min() > 0.25


def test_the_feet_push_and_torques_hold(carried):
    assert carried.effort.max() < 1.0
    assert carried.forces[:, :, 2].min() > 0.0
    alone = 9.81 * (carried.model.total_mass - box.MASS)
    assert carried.forces[-1, :, 2].sum() == pytest.approx(alone, rel=0.02)
    sideways = np.linalg.norm(carried.forces[:, :, :2], axis=-1)
    assert (sideways <= 0.7 * carried.forces[:, :, 2] + 1e-6).all()


def test_adaptive_steps_end_where_plain_ones_do():
    for case in (settling.millipede(6), settling.bridge(60)):
        found = settling.beside(case._replace(steps=80))
        assert found.apart < 0.1
        assert 0 < found.joints <= len(case.model.joints)
        scene = settling.shown(found)
        assert scene.motion.adaptive
        assert len(scene.motion.time) == len(found.recorder.samples)


class Balanced(HTMLParser):
    open: list

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone(monkeypatch, tmp_path, carried):
    monkeypatch.setattr(page, "SECONDS", 0.0)
    monkeypatch.setattr(page, "BATCH", 8)
    monkeypatch.setattr(box, "carry", lambda: carried)
    monkeypatch.setattr(settling.millipede, "__defaults__", (4,))
    monkeypatch.setattr(settling.bridge, "__defaults__", (40,))
    said = []
    path, numbers = page.write(tmp_path / "demo", said.append)
    assert {name: bool(found) for name, found in numbers.items()} == {"carry": True, "settle": True, "cost": True}
    text = path.read_text()
    parser = Balanced()
    parser.open = []
    parser.feed(text)
    assert parser.open == []
    assert text.count('class="bough-scene') == 3
    assert set(re.findall(r"https?:[^\"'` ]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert len(said) >= 5


def test_what_to_try_next_works_in_a_shell_that_does_not_know_the_environment(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "activate").write_text("")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr(page, "which", lambda name: None)
    assert page.next_steps()[0][0] == f"source {tmp_path}/bin/activate"
    monkeypatch.setattr(page, "which", lambda name: str(tmp_path / "bin" / name))
    assert page.next_steps() == [*page.NEXT]


def test_what_to_try_next_names_extras_before_they_are_needed(run, monkeypatch):
    """And no option that is not there."""
    commands = [command for command, _ in page.NEXT]
    install = next(k for k, command in enumerate(commands) if command.startswith("pip"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*re.search(r"\[(.*)\]", commands[install])[1].split(",")} <= {*extras}
    for k, command in enumerate(commands):
        words = shlex.split(command)
        if words[0] == "bough":
            shown = run(words[1], "--help")
            assert all(word in shown for word in words if word.startswith("--"))
            assert k > install or words[1] != "view" or "--html" in words


def test_numbers_and_ticks():
    assert [drawings.three(x) for x in (0.0, 12345.6, 0.01234, 1e-9)] == ["0", "12,300", "0.0123", "1.00e-09"]
    assert drawings.round_ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert drawings.decades(np.array([3.0, 400.0])) == [1.0, 10.0, 100.0, 1000.0]
    assert "&lt;b&gt;" in drawings.table(["<b>"], [["1"]])


def test_without_the_extra_the_first_part_is_left_out(monkeypatch):
    monkeypatch.setattr(box, "carry", lambda: (_ for _ in ()).throw(MissingExtraError("install <it>")))
    said = []
    found, numbers = page.carrying(said.append)
    assert numbers == {"left_out": "install <it>"}
    assert "install &lt;it&gt;" in found["carry_scene"]
    assert said[-1] == "   left out: install <it>"
