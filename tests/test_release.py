"""What a release says of itself agrees: versions, requirements of the recipe, pinned actions, former names."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import bough

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [name for name in PROJECT["classifiers"] if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)]
CHANGES = (ROOT / "CHANGELOG.md").read_text()


def test_the_version_is_the_same_everywhere():
    version = bough.__version__
    assert PROJECT["version"] == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text()
    assert f'version = "{version}"' in (ROOT / "conda" / "meta.yaml").read_text()
    assert re.search(r"^## (\d\S*)$", CHANGES, re.MULTILINE)[1] == version


def test_the_recipe_requires_what_the_package_does():
    run = (ROOT / "conda" / "meta.yaml").read_text().split("  run:\n")[1].split("\n\n")[0]
    required = {line.strip("- ").replace(" ", "") for line in run.splitlines()}
    assert required == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}


def test_the_readme_of_a_package_index_points_at_nothing_that_is_not_there():
    shown = (ROOT / "README.md").read_text()
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    for rule in hook["fancy-pypi-readme"]["substitutions"]:
        shown = re.sub(rule["pattern"], rule["replacement"], shown)
    assert "](" not in shown
    assert "Overview · Install · Tutorials" in shown
    assert "```python\nimport bough" in shown


def test_badges_are_true():
    badges = re.findall(
        r"<text[^>]*>([^<]+)</text><text[^>]*>([^<]+)</text>", (ROOT / "docs" / "badges.svg").read_text()
    )
    found = dict(badges)
    first, last = (name.rsplit(" ", 1)[1] for name in (PYTHONS[0], PYTHONS[-1]))
    assert found["python"] == f"{first} to {last}"
    assert found["licence"] == PROJECT["license"]
    assert any(name.endswith(found["status"].capitalize()) for name in PROJECT["classifiers"])
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"][found["typing"]] is True


def test_actions_are_pinned():
    found = re.findall(r"uses: (\S+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert found
    assert [use for use in found if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", use)] == []


def warnings_of_former_names():
    """Messages of all DeprecationWarnings in the source: text, or the part of it that is the same for all."""
    for path in sorted((ROOT / "src" / "bough").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and "DeprecationWarning" in [getattr(x, "id", "") for x in node.args]:
                yield pytest.param(node, id=f"{path.stem} {node.lineno}")


@pytest.mark.parametrize("call", [*warnings_of_former_names()])
def test_former_names_warn_where_they_are_used_and_stand_in_the_changelog(call):
    assert any(keyword.arg == "stacklevel" for keyword in call.keywords)
    message = call.args[0]
    if isinstance(message, ast.Constant):
        former = re.search(r"\w+", message.value.split(" is ")[0].rstrip(".)").split(".")[-1])[0]
        assert former in CHANGES.split("These work no longer")[0]


def test_former_names_of_packages_warn():
    former = {
        "adaptive": ["Settled"], "opspace": ["Innovations", "UnitInnovations"], "simulate": ["GroundedEnsemble"],
        "convert": ["PinocchioMap"], "joints": ["Abroad"], "sweep": ["Executor", "GivenRows"],
    }  # fmt: skip
    for package, name in [(package, name) for package, names in former.items() for name in names]:
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(getattr(bough, package), name)
