"""The documentation is true: names exist, code runs, links lead somewhere."""

import inspect
import re
import shlex
import shutil
import subprocess
from importlib.metadata import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bough
from bough.app import cli
from bough.bench import report, summary

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMED = [
    (p.name, name) for p in PAGES for name in sorted(set(re.findall(r"\bbough(?:\.[A-Za-z_]\w*)+", p.read_text())))
]
COMMAND = re.compile(r"`(bough [^`]+)`|^(bough [^#\n]+)", re.MULTILINE)
COMMANDS = sorted({(a or b).strip() for page in PAGES for a, b in COMMAND.findall(page.read_text())})
SLOW_COMMANDS = ("bough demo", "bough bench", "bough reproduce", "bough cache warm")  # here their --help


@pytest.mark.parametrize(("page", "name"), NAMED)
def test_names_exist_at_the_doors(page, name):
    """`bough.x` is in `bough.__all__`, `bough.room.x` in that of the room, and what follows is an attribute."""
    found, (_, *parts) = bough, name.split(".")
    for part in parts:
        if hasattr(found, "__all__"):
            assert part in found.__all__, f"{page}: {name}"
        try:
            found = getattr(found, part, None) or inspect.get_annotations(found).get(part)
        except bough.errors.MissingExtraError as error:
            pytest.skip(str(error))
        assert found is not None, f"{page}: {name}"


def test_the_notation_is_not_empty():
    assert sum(page == "notation.md" for page, _ in NAMED) > 15


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def with_python(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the robot that the docs load."""
    pytest.importorskip("pinocchio")
    robots = [Path(str(f.locate())) for f in files("example-robot-data") or [] if f.name == "g1_29dof_rev_1_0.urdf"]
    shutil.copy(robots[0], tmp_path / "g1.urdf")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if with_python(page)], ids=lambda p: p.name)
def test_examples_run(page, folder):
    """All blocks of a page, one after the other, as a reader would type them."""
    exec("\n".join(with_python(page)), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, folder, monkeypatch):
    if command.startswith("bough cache"):
        monkeypatch.setenv("BOUGH_CACHE_DIR", str(folder / "cache"))
    words = ["g1.urdf" if word in ("FILE", "my.urdf") else word for word in shlex.split(command)[1:]]
    if command.startswith(SLOW_COMMANDS):
        words = [*words[: 2 if words[0] == "cache" else 1], "--help"]
    result = CliRunner().invoke(cli.app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_commands_are_found():
    assert len(COMMANDS) >= 4


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_c_example_compiles_and_runs(tmp_path):
    page = (ROOT / "docs" / "exporting.md").read_text()
    python, program = (re.search(rf"```{kind}\n(.*?)```", page, re.DOTALL)[1] for kind in ("python", "c"))
    exec(python.replace('"arm.c"', repr(str(tmp_path / "arm.c"))), {"bough": bough})
    (tmp_path / "main.c").write_text(program)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
    subprocess.run(["gcc", *flags, "main.c", "arm.c", "-lm", "-o", "arm"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./arm"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    model = bough.zoo.arm(6)
    dyn = bough.Dynamics(model)
    q, v = model.neutral.copy(), model.neutral * 0
    q[:3] = 0.3, -0.2, 0.5
    for _ in range(1000):
        v = v + 1e-3 * dyn.forward_dynamics(q, v, 0 * v, method="aba")
        q = q + 1e-3 * v
    assert [float(line) for line in printed.split()] == pytest.approx(q.tolist(), abs=2e-6)


@pytest.mark.parametrize("record", sorted((ROOT / "docs" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_tables_of_measurements_are_those_recorded(record):
    assert between(ROOT / "docs" / "performance.md", record.stem) == report.markdown(record)


def test_summaries_are_made_from_the_records():
    results = ROOT / "docs" / "results"
    assert between(ROOT / "README.md", "forward dynamics") == summary.front_table(results)
    assert between(ROOT / "docs" / "performance.md", "losses") == summary.losses(results)


def test_no_other_number_of_microseconds_in_the_readme():
    prose = re.sub(r"<!-- begin .*?<!-- end", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert not re.search(r"\d\s*(us|ms|ns|microseconds|milliseconds|times faster)\b", prose)


def between(page, section):
    """What stands between the marks of a section."""
    return page.read_text().split(f"<!-- begin {section} -->\n")[1].split(f"\n<!-- end {section} -->")[0]
