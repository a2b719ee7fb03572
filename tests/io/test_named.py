"""Models by name."""

import sys
import types

import pytest

import bough
from bough import zoo
from bough.errors import BoughError, ModelError
from bough.io import named
from robots import URDF


@pytest.mark.parametrize(
    "text", ["zoo:chain:5:1", "zoo:chain?n=5&seed=1", "zoo:chain?seed=1&n=5", "zoo:chain:5?seed=1"]
)
def test_arguments_by_place_and_by_name(text):
    assert named.zoo_model(text).hash == zoo.chain(5, 1).hash


def test_words_and_other_characters():
    assert named.zoo_model("zoo:asimo?variant=+6 HF").nv == zoo.asimo("+6 HF").nv
    assert named.zoo_model("zoo:asimo?variant=%2B6%20HF").nv == zoo.asimo("+6 HF").nv
    assert named.zoo_model("zoo:molecule?n=3&floating=yes").nv == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zoo:humanoidd", "the zoo has no mechanism 'humanoidd'; did you mean 'humanoid'?"),
        ("zoo:", "the zoo has no mechanism ''"),
        ("zoo:chain:abc", "n must be a whole number, got 'abc'; expected zoo:chain:n:seed"),
        ("zoo:chain:3:1:random:9", "too many arguments"),
        ("zoo:chain?n=3&sed=1", "there is no parameter 'sed'; expected"),
        ("zoo:chain?n=3&n=4", "n is given twice"),
        ("zoo:chain:3?n=4", "multiple values for argument 'n'"),
        ("zoo:chain?n", "'n' is not NAME=VALUE"),
        ("zoo:chain?n=", "n must be a whole number"),
        ("zoo:chain?n=3&&seed=1", "'' is not NAME=VALUE"),
        ("zoo:molecule:3:1:maybe", "floating must be yes or no"),
        ("zoo:chain:1000000000", "more than 10,000,000 bodies"),
        ("zoo:chain?n=" + "9" * 5000, "n must be a whole number"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(BoughError) as error:
        named.zoo_model(text)
    assert words in str(error.value)


def test_robots_need_their_package(monkeypatch):
    monkeypatch.setattr(named, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'bough\[robots\]'"):
        named.robot_file("robot:g1")


@pytest.fixture
def robots(monkeypatch, urdf):
    """A package like robot_descriptions, which fetches when a robot is imported."""
    package = types.ModuleType("robot_descriptions")
    listed = types.ModuleType("robot_descriptions._descriptions")
    listed.DESCRIPTIONS = {"g1_description": 0, "h1_mj_description": 0, "broken_description": 0}
    monkeypatch.setitem(sys.modules, "robot_descriptions", package)
    monkeypatch.setattr(named, "find_spec", lambda name: object())
    fetched = []

    def import_module(name):
        if name == "robot_descriptions._descriptions":
            return listed
        if "broken" in name:
            raise OSError("no network")
        fetched.append(name)
        print("Cloning ...")
        kind = "MJCF_PATH" if "_mj_" in name else "URDF_PATH"
        return types.SimpleNamespace(**{kind: str(urdf)})

    monkeypatch.setattr(named, "import_module", import_module)
    return fetched


def test_robots_are_fetched_when_asked_for(robots, urdf, capsys):
    assert named.robot_file("robot:g1") == str(urdf)
    assert robots == ["robot_descriptions.g1_description"]
    printed = capsys.readouterr()
    assert printed.out == ""  # what the package prints must not spoil JSON
    named.robot_file("robot:h1")
    named.robot_file("robot:h1_mj_description")
    assert len(robots) == 3


def test_robots_that_are_not_there(robots):
    with pytest.raises(KeyError, match="has no robot 'gg1'; did you mean 'g1'"):
        named.robot_file("robot:gg1")
    assert robots == []
    with pytest.raises(ModelError, match="could not be fetched: no network"):
        named.robot_file("robot:broken")


def test_a_robot_by_name_is_a_model(robots):
    assert bough.load("robot:g1").nv == bough.load(URDF).nv


def test_completion(robots, urdf, monkeypatch):
    monkeypatch.chdir(urdf.parent)
    assert named.complete("zoo:hum") == ["zoo:humanoid"]
    assert named.complete("twol") == ["twolink.urdf"]
    assert named.complete("robot:g") == ["robot:g1"]
    assert robots == []


def test_load_knows_the_names_of_the_command_line():
    assert bough.load("zoo:chain?n=5&seed=1").hash == zoo.chain(5, 1).hash
    with pytest.raises(ModelError, match=r"zoo:arm is made, not read: options of files \(floating_base\)"):
        bough.load("zoo:arm", floating_base=True)
    with pytest.raises(BoughError, match="did you mean 'humanoid'"):
        bough.load("zoo:humanoidd")
