"""The command: each subcommand once, exit codes, and errors as one line."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from bough import __version__, zoo
from bough.app import cli, demo, show
from bough.tree.tree import Tree

SOLID = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
URDF = f"""<robot name="twolink"><link name="base"/><link name="arm">{SOLID.format("1")}</link><gazebo/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
<limit lower="-1" upper="1" effort="5" velocity="6"/></joint></robot>"""


@pytest.fixture(autouse=True)
def wide(monkeypatch) -> None:
    monkeypatch.setattr(cli, "out", Console(width=200))


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "twolink.urdf"
    path.write_text(URDF)
    return path


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(cli.app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def run_main(monkeypatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["bough", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_version() -> None:
    assert run("--version").strip() == f"bough {__version__}"


def test_info_on_a_file(urdf) -> None:
    text = run("info", urdf)
    for words in ("shoulder", "revolute", "arm", "D1", "density", "forward dynamics, ABA", "note: dropped 1 <gazebo>"):
        assert words in text
    assert "root_joint" in run("info", urdf, "--floating-base")


def test_info_on_the_zoo() -> None:
    assert "1,039" in run("info", "zoo:humanoid")
    assert "chain" in run("info", "zoo:chain:30")


def test_doctor_exit_codes(urdf) -> None:
    assert "0 errors, 0 warnings, 2 notes" in run("doctor", urdf)
    urdf.write_text(URDF.replace('effort="5"', 'effort="0"'))
    assert "effort limit is 0" in run("doctor", urdf)
    run("doctor", urdf, "--strict", code=1)
    urdf.write_text(URDF.replace('mass value="1"', 'mass value="-1"'))
    assert "its mass is -1 kg" in run("doctor", urdf, code=1)
    urdf.write_text("<robot")
    assert "no well-formed XML" in run("doctor", urdf, code=1)
    assert "0 errors" in run("doctor", "zoo:humanoid")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("info", "ghost.urdf"), "there is no file ghost.urdf"),
        (("doctor", "ghost.urdf"), "there is no file ghost.urdf"),
        (("info", "zoo:humanoidd"), "the zoo has no mechanism 'humanoidd'; did you mean 'humanoid'?"),
        (("info", "zoo:chain"), "expected zoo:chain:n:seed"),
        (("info", "zoo:chain:abc"), "n must be a whole number, got 'abc'; expected zoo:chain:n:seed"),
        (("doctor", "zoo:chain:abc"), "n must be a whole number"),
        (("info", "zoo:chain:3:1:random:9"), "too many arguments"),
        (("info", "zoo:molecule:3:1:maybe"), "floating must be yes or no"),
        (("info", "zoo:chain:1000000000"), "more than 10,000,000 bodies"),
        (("info", "x" * 100_000), "there is no file x"),
        (("doctor", "x" * 100_000), "there is no file x"),
    ],
)
def test_errors_are_one_line_and_exit_2(monkeypatch, capsys, arguments, words: str) -> None:
    assert run_main(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.startswith("error: ")
    assert len(error.splitlines()) == 1
    assert len(error) < 2500


def test_doctor_takes_the_options_of_load(urdf) -> None:
    """Exit code 1 is what keeps `load`, and so `info`, from reading the file with the same options."""
    urdf.write_text(URDF.replace("revolute", "fixed"))
    assert "load with floating_base=True" in run("doctor", urdf, code=1)
    run("doctor", urdf, "--floating-base")
    urdf.write_text(URDF)
    assert "has no joint 'elbow'" in run("doctor", urdf, "--weld", "elbow", code=1)
    assert "has no moving body" in run("doctor", urdf, "--weld", "shoulder=0.5", code=1)
    assert "NAME=POSITION" in str(CliRunner().invoke(cli.app, ["info", str(urdf), "--weld", "a=b"]).exception)
    urdf.write_text(URDF.replace('iyy="1"', 'iyy="9"'))
    run("doctor", urdf)
    assert "no body has principal moments" in run("doctor", urdf, "--check", code=1)


def test_loops_of_mjcf_can_be_left_out(tmp_path) -> None:
    pytest.importorskip("mujoco")
    path, solid = tmp_path / "m.xml", '<joint/><geom size="1"/>'
    path.write_text(f"""<mujoco><worldbody><body name="a">{solid}</body><body name="b">{solid}</body></worldbody>
    <equality><connect body1="a" body2="b" anchor="0 0 0"/></equality></mujoco>""")
    assert "Dynamics leaves out 1 closure" in run("doctor", path)
    shown = run("info", path)
    assert "1 closed by 3 rows" in shown
    assert "connect" in shown
    run("doctor", path, "--drop-equalities")
    assert "dropped the equality connect" in run("info", path, "--drop-equalities", "--weld", "joint0=0.3")


def test_demo(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(demo, "ROUNDS", 1)
    monkeypatch.setattr(demo, "BATCH", 8)
    picture = tmp_path / "new" / "pattern.png"
    text = run("demo", "--picture", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    for words in ("left_arm1", "D2", "ABA", "dense LAPACK", "off by"):
        assert words in text


def test_cache_warm_compiles_what_is_asked_for(monkeypatch) -> None:
    from bough.app import warm

    monkeypatch.setattr(warm, "general", lambda: [])
    monkeypatch.setattr(warm, "adaptive", lambda: [])
    assert "0 functions are ready" in run("cache", "warm")
    assert "14 functions are ready" in run("cache", "warm", "zoo:chain:2")


def test_cache(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path))
    assert "0 entries" in run("cache", "info")
    assert "removed 0 entries" in run("cache", "clear")


@pytest.mark.parametrize("size", [3, 7, 20])
def test_density_is_that_of_the_dense_pattern(size: int) -> None:
    tree = zoo.random_tree(20, seed=1).dof_tree
    dense = np.zeros((20, 20))
    for k in range(20):
        path = tree.path(k)
        dense[k, path] = dense[path, k] = 1
    cell = np.arange(20) * size // 20
    expected = [[dense[np.ix_(cell == i, cell == j)].mean() for j in range(size)] for i in range(size)]
    np.testing.assert_allclose(show.density(tree, size), expected)


def test_pattern_as_text() -> None:
    assert show.pattern(Tree([-1, 0, 0])).plain == "██▀\n▀ ▀"
    assert len(show.pattern(Tree(np.arange(-1, 199))).plain.splitlines()) == 64
    assert "too many to draw" in show.pattern(Tree(np.arange(-1, 19_999))).plain


def test_importing_bough_stays_light() -> None:
    heavy = "numba, llvmlite, yourdfpy, trimesh, scipy, pinocchio, mujoco, typer, rich, matplotlib"
    code = f"import sys, bough; print([m for m in '{heavy}'.split(', ') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_loading_a_file_stays_light(urdf) -> None:
    """Neither compilers nor the readers of other formats are imported for a URDF."""
    heavy = "numba llvmlite yourdfpy trimesh mujoco typer rich scipy bough.compile.run bough.compile.emit bough.io.mjcf"
    code = f"import sys, bough; bough.load(sys.argv[1]); print([m for m in '{heavy}'.split() if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code, str(urdf)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_few_packages_are_required() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {re.split(r"[<>=]", package)[0] for package in project["dependencies"]} == {
        "numpy",
        "numba",
        "typer",
        "rich",
    }
    assert any("yourdfpy" in package for package in project["optional-dependencies"]["viewer"])
