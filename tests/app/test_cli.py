"""The command as a whole: examples of help pages, errors as one line, exit codes."""

import json
import os
import shlex
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from bough import __version__
from bough.app import cli, shell
from papers import __main__ as papers
from patience import until


def commands(group, path=("bough",)):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = {" ".join(path): command for path, command in commands(typer.main.get_command(cli.app))}


@pytest.fixture
def prepared(run, monkeypatch, tmp_path):
    """The example of a help page, with the files that it needs, and less work where that changes nothing."""
    return lambda name: example_of(name, run, monkeypatch, tmp_path)


def example_of(name, run, monkeypatch, tmp_path):
    if name.startswith("bough cache"):
        monkeypatch.setenv("BOUGH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("bough.app.story.page.write", lambda to, say, progress: (to / "index.html", {}))
    if name == "bough cache warm":
        monkeypatch.setattr("bough.app.warm.functions", lambda dynamics, dtype: [])
        monkeypatch.setattr("bough.app.warm.adaptive", list)
        monkeypatch.setattr("bough.app.warm.operational_space", list)
    shown = run(*name.split()[1:], "--help")
    *before, line = (text.strip() for text in shown.split("Example:\n")[1].strip().splitlines())
    assert line.startswith(f"{name} ") or line == name
    for other in before:
        run(*shlex.split(other)[1:])
    return line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_help_page_works(run, name, prepared):
    assert run(*shlex.split(prepared(name))[1:])


def test_the_list_of_commands_ends_no_sentence_in_the_middle(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("--help")
    assert all(f"\n  {name.split()[1]} " in shown for name in COMMANDS)
    assert "..." not in shown.split("Commands:")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json(name):
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    if name == "bough reproduce":  # its options are those of `python -m papers`
        options |= {option for parameter in typer.main.get_command(papers.app).params for option in parameter.opts}
    assert "--json" in options


@pytest.mark.parametrize("name", COMMANDS)
def test_json_of_the_example_is_one_document(run, name, prepared):
    line = prepared(name)
    words = [*shlex.split(line)[1:], *(() if "--json" in line else ("--json",))]
    assert json.loads(run(*words)) is not None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_refuses_what_it_does_not_know_in_few_lines(name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [*name.split(), "--ghost"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert "No such option: --ghost" in said
    assert "Traceback" not in said


OF_MODELS = [name for name, command in COMMANDS.items() if any(p.name == "model" for p in command.params)]


@pytest.mark.parametrize("name", OF_MODELS)
def test_every_command_of_a_model_says_what_is_wrong_with_it_in_one_line(name, refused, monkeypatch, capsys):
    """And with --debug where, above the same line."""
    rest = {"simulate": [], "sweep": ["gravity", "--to", "a"], "export": ["a.c"], "identify": ["a.npz"]}
    model = ["--model", "ghost.urdf"] if name == "bough bench" else ["ghost.urdf"]
    words = [*name.split()[1:], *model, *rest.get(name.split()[-1], [])]
    line = refused(*words)
    assert "there is no file ghost.urdf" in line
    monkeypatch.setattr("sys.argv", ["bough", "--debug", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    shown = capsys.readouterr().err
    assert (stop.value.code, shown[:9], shown.splitlines()[-1]) == (2, "Traceback", line.strip())


@pytest.mark.parametrize("name", OF_MODELS)
def test_models_are_completed_wherever_they_are_asked_for(name):
    parameter = next(p for p in COMMANDS[name].params if p.name == "model")
    assert parameter._custom_shell_complete is not None


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
        (("info", "zoo:ghost"), "the zoo has no mechanism 'ghost'; it has adenylate_kinase, arm, "),
        (("info", "zoo:fold"), "the zoo has no mechanism 'fold'"),  # a function of the zoo that makes no model
        (("info", "zoo:arm", "--floating-base"), "is made, not read: options of files (floating_base)"),
        (("count", "zoo:arm", "forward_dynamic"), "did you mean 'forward_dynamics'"),
        (("count", "zoo:arm", "jacobian"), "name one with frame="),
        (("count", "zoo:arm", "--task", "pose:hans"), "did you mean 'hand'"),
        (("count", "zoo:humanoid", "--task", "pose:hand"), "did you mean 'left_hand'"),
        (("count", "zoo:arm", "--task", "posse:hand"), "there is no task 'posse'"),
        (("count", "zoo:arm", "--task", "relative:hand"), "relative is a task of two frames"),
        (("simulate", "zoo:arm", "--force", "hand:1,2"), "expected 3 or 6 numbers"),
        (("simulate", "zoo:arm", "--force", "hand"), "expected NAME:fx,fy,fz"),
        (("simulate", "zoo:arm", "--force", "hans:0,0,1"), "did you mean 'hand'"),
        (("simulate", "zoo:arm", "--dt", "0"), "expected 0 < dt"),
        (("simulate", "zoo:arm", "--dt", "1e-300"), "duration / dt is 1e+300 steps, expected at most 1,000,000,000"),
        (("simulate", "zoo:arm", "--record", "run.csv"), "expected the name of a .npz or .parquet file"),
        (("simulate", "zoo:arm", "--record", "ghost/run.npz"), "there is no folder 'ghost'"),
        (("settle", "zoo:arm", "--dt", "nan"), "dt must be a positive number"),
        (("settle", "zoo:arm", "--gravity", "0,0"), "expected 3 numbers"),
        (("settle", "zoo:arm", "--force", "link1:0,0,nan"), "expected 3 or 6 numbers"),
        (("info", "run.npz"), "run.npz is a recording, and no model: `bough view` shows it"),
        (("doctor", "run.npz"), "run.npz is a recording, and no model"),
        (("relax", "zoo:arm"), "zoo:arm is no molecule: expected a PDB or mmCIF file"),
        (("view", "zoo:arm", "--screenshot", "arm.jpg"), "expected the name of a .png file"),
        (("demo", "--to", __file__), "cannot be a folder: a file is in the way"),
        (("sweep", "zoo:arm", "forward_dynamics", "--to", __file__), "cannot be a folder: a file is in the way"),
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


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("bough info zoo : hum", "humanoid"),
        ("bough info zoo :", "humanoid"),
        ("bough cache warm zoo : hum", "humanoid"),
        ("bough bench --model zoo : hum", "humanoid"),
        ("bough inf", "info"),
        ("bough info zo", "zoo:humanoid"),
        ("bough settle zoo:arm --meth", "--method"),
    ],
)
def test_bash_completes_though_it_breaks_words_at_colons(line, offered, monkeypatch, capsys):
    for name, value in {"_BOUGH_COMPLETE": "complete_bash", "COMP_WORDS": line}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    monkeypatch.setattr("sys.argv", ["bough"])
    with pytest.raises(SystemExit):
        cli.main()
    assert offered in capsys.readouterr().out.splitlines()


def test_the_next_word_is_completed_after_a_model_with_colons():
    assert shell.completion_words(["bough", "info", "zoo", ":", "arm"], 5) == (["bough", "info", "zoo:arm", ""], 3, "")
    assert shell.completion_words(["bough", "zoo", ":", "a", ":", "3"], 5) == (["bough", "zoo:a:3"], 1, "zoo:a:")
    assert shell.completion_words([], 0) == ([""], 0, "")


def test_what_takes_long_is_announced(capsys):
    with shell.patient("compiling", after=0.01):
        until(lambda: "compiling; later runs load it from the cache" in capsys.readouterr().err)
    with shell.patient("compiling", after=1e4):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_without_block_characters_are_served(encoding):
    words = [sys.executable, "-m", "bough", "info", "zoo:tree1"]
    done = subprocess.run(words, capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding}, check=False)
    assert done.returncode == 0
    assert b":" in done.stdout
