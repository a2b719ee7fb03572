"""The demonstration: the box gets to the floor, linkages settle, and the page holds it all."""

import re
import shlex
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from bough.app.story import box, page, runs
from bough.errors import MissingExtraError

pytest.importorskip("qpsolvers")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def carried():
    return box.carry()


def test_the_box_goes_to_the_floor_and_back(carried):
    at = carried.model.joint("box").q
    middle = carried.q[:, at][:, :3]
    np.testing.assert_allclose(middle[0], box.START, atol=1e-9)
    np.testing.assert_allclose(middle[len(middle) // 2], box.FLOOR, atol=1e-3)
    np.testing.assert_allclose(middle[-1], box.START, atol=1e-3)
    assert carried.box_error.max() < 1e-3
    assert carried.q[-1, 2] - carried.q[:, 2].min() > 0.25


def test_the_feet_push_and_torques_hold(carried):
    assert carried.effort.max() < 1.0
    assert carried.forces[:, :, 2].min() > 0.0
    weight = 9.81 * carried.model.total_mass
    assert carried.forces[len(carried.q) // 2, :, 2].sum() == pytest.approx(weight, rel=0.02)
    sideways = np.linalg.norm(carried.forces[:, :, :2], axis=-1)
    assert (sideways <= 0.7 * carried.forces[:, :, 2] + 1e-6).all()


def test_the_pulled_atom_moves_outwards_and_few_joints_are_computed(monkeypatch):
    monkeypatch.setattr(runs, "SAMPLES", 8)
    scene, numbers = runs.pull(2000)
    at = [scene.placements(q)[scene.arrows.body[0], :3, 3] for q in scene.motion.q[[0, -1]]]
    assert (at[1] - at[0]) @ scene.arrows.force[0] > 0.0
    assert 0 < numbers["computed"] < 500
    assert (scene.motion.tracks["error bound"] <= runs.EPS).all()
    assert scene.motion.adaptive
    assert len(scene.motion.time) == 8


def test_quadrupeds_stand_on_the_ground():
    scene, numbers = runs.fall(26)
    one = scene.model.nq
    assert scene.motion.q.shape[1] == 25 * one  # those that are shown
    height = scene.motion.q[:, 2::one]
    assert (height[0] > 0.39).all()
    assert ((height[-1] > 0.2) & (height[-1] < 0.4)).all()
    assert numbers["residual"] < 1e-6


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
    monkeypatch.setattr(runs.pull, "__defaults__", (300,))
    monkeypatch.setattr(runs, "SAMPLES", 3)
    monkeypatch.setattr(runs.fall, "__defaults__", (4,))
    said = []
    path, numbers = page.write(tmp_path / "demo", said.append)
    assert {name: bool(found) for name, found in numbers.items()} == {
        "humanoid": True,
        "molecule": True,
        "quadrupeds": True,
    }
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


def test_bars_are_linear_and_times_have_units():
    shown = page.bars({"Bough <b>": 1e-6, "other": 4e-6})
    assert re.findall(r"width:([\d.]+)%", shown) == ["25.0", "100.0"]
    assert "Bough &lt;b&gt;" in shown
    assert [page.time(x) for x in (8.61e-7, 0.01119, 2.5)] == ["0.861 us", "11.2 ms", "2.5 s"]


@pytest.mark.parametrize("text", [page.HUMANOID, page.MOLECULE, page.QUADRUPEDS])
def test_code_of_the_page_runs(text):
    exec(text, {})


def test_without_the_extra_the_humanoid_stands(monkeypatch):
    monkeypatch.setattr(page, "SECONDS", 0.0)
    monkeypatch.setattr(page, "BATCH", 8)
    monkeypatch.setattr(box, "carry", lambda: (_ for _ in ()).throw(MissingExtraError("install <it>")))
    said = []
    found, numbers = page.carrying(said.append, {"humanoid": {"Bough": 1e-6}})
    assert numbers["left_out"] == "install <it>"
    assert "A humanoid" in found["humanoid_scene"]
    assert "   it does not move: install <it>" in said
