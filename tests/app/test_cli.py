"""The command as a whole: examples of help pages, errors as one line, exit codes."""

import shlex
import time

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from app.conftest import URDF
from bough import __version__
from bough.app import cli, demo, shell


def commands(group, path=("bough",)):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = {" ".join(path): command for path, command in commands(typer.main.get_command(cli.app))}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_help_page_works(run, name, monkeypatch, tmp_path):
    if name.startswith("bough cache"):
        monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(demo, "ROUNDS", 1)
    monkeypatch.setattr(demo, "BATCH", 8)
    if name == "bough cache warm":
        monkeypatch.setattr("bough.app.warm.general", lambda: [])
        monkeypatch.setattr("bough.app.warm.adaptive", lambda: [])
        monkeypatch.setattr("bough.app.warm.operational_space", list)
    if name == "bough identify":
        (tmp_path / "arm.urdf").write_text(URDF)
        q, v, qdd, tau = np.random.default_rng(0).normal(size=(4, 20, 1))
        np.savez("measured.npz", q=q, v=v, qdd=qdd, tau=tau)
    shown = run(*name.split()[1:], "--help")
    line = shown.split("Example:\n")[1].strip()
    assert line.startswith(f"{name} ") or line == name
    assert run(*shlex.split(line)[1:])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json_or_draws(name):
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert "--json" in options or name == "bough demo"


def test_version(run):
    assert run("--version").strip() == f"bough {__version__}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("info", "ghost.urdf"), "there is no file ghost.urdf"),
        (("doctor", "ghost.urdf"), "there is no file ghost.urdf"),
        (("info", "x" * 100_000), "there is no file x"),
        (("doctor", "x" * 100_000), "there is no file x"),
        (("doctor", "zoo:chain:abc"), "n must be a whole number"),
        (("info", "zoo:arm", "--floating-base"), "is made, not read: options of files (floating_base)"),
        (("count", "zoo:arm", "forward_dynamic"), "did you mean 'forward_dynamics'"),
        (("count", "zoo:arm", "jacobian"), "name one with frame="),
        (("count", "zoo:arm", "--task", "pose:hans"), "did you mean 'hand'"),
        (("count", "zoo:arm", "--task", "posse:hand"), "there is no task 'posse'"),
        (("count", "zoo:arm", "--task", "relative:hand"), "relative is a task of two frames"),
        (("simulate", "zoo:arm", "--force", "hand:1,2"), "expected 3 or 6 numbers"),
        (("simulate", "zoo:arm", "--force", "hand"), "expected NAME:fx,fy,fz"),
        (("simulate", "zoo:arm", "--force", "hans:0,0,1"), "did you mean 'hand'"),
        (("simulate", "zoo:arm", "--dt", "0"), "expected 0 < dt"),
        (("simulate", "zoo:arm", "--record", "run.csv"), "is written as .npz or .parquet"),
        (("simulate", "zoo:arm", "--record", "ghost/run.npz"), "there is no folder 'ghost'"),
        (("settle", "zoo:arm", "--dt", "nan"), "dt must be a positive number"),
        (("settle", "zoo:arm", "--gravity", "0,0"), "expected 3 numbers"),
        (("settle", "zoo:arm", "--force", "link1:0,0,nan"), "expected 3 or 6 numbers"),
        (("export", "zoo:arm", "arm.h"), "expected the name of a .c file"),
        (("export", "zoo:arm", "arm.c", "jacobian?frame"), "'frame' is not NAME=VALUE"),
        (("export", "zoo:arm", "arm.c", "jacobian?frame=hans"), "did you mean 'hand'"),
    ],
)
def test_errors_are_one_line_and_exit_2(refused, arguments, words):
    assert words in refused(*arguments)


def test_what_fails_exits_1(refused, tmp_path, monkeypatch):
    assert "smaller step" in refused("simulate", "zoo:chain:9", "--dt", "0.5", "--duration", "200", code=1)
    monkeypatch.setattr("bough.app.source.Source.model", lambda self: 1 / 0)
    assert "unexpected ZeroDivisionError: division by zero (--debug shows where)" in refused("info", "a.urdf", code=1)


def test_debug_shows_where(monkeypatch):
    monkeypatch.setattr("sys.argv", ["bough", "info", "zoo:ghost", "--debug"])
    with pytest.raises(KeyError, match="ghost"):
        cli.main()


def test_a_wrong_option_is_a_line_of_usage(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bough", "info", "--ghost"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "No such option" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_models(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    variables = {"_BOUGH_COMPLETE": f"complete_{shell}", "COMP_WORDS": "bough info zoo:hum", "COMP_CWORD": "2",
                 "_TYPER_COMPLETE_ARGS": "bough info zoo:hum", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}  # fmt: skip
    found = CliRunner().invoke(cli.app, [], env=variables, prog_name="bough")
    assert "zoo" in found.stdout
    assert "humanoid" in found.stdout


def test_what_takes_long_is_announced(capsys):
    with shell.patient("compiling", after=0.01):
        time.sleep(0.1)
    assert "compiling; this happens once" in capsys.readouterr().err
    with shell.patient("compiling", after=5.0):
        pass
    assert capsys.readouterr().err == ""
