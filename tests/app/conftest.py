"""Commands in this process: a wide terminal, and a folder of their own."""

import pytest
from typer.testing import CliRunner

from bough.app import cli, shell


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    """200 columns, and nothing is written but into a folder of the test."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    shell.out.cache_clear()
    yield
    shell.out.cache_clear()


@pytest.fixture
def run():
    """What a command prints, if its exit code is as expected."""

    def invoke(*words: object, code: int = 0) -> str:
        result = CliRunner().invoke(cli.app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result.stdout

    return invoke


@pytest.fixture
def refused(monkeypatch, capsys):
    """The one line that a command prints as an error, if its exit code is as expected."""

    def invoke(*words: object, code: int = 2) -> str:
        monkeypatch.setattr("sys.argv", ["bough", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        said = capsys.readouterr().err.splitlines(keepends=True)
        error = "".join(line for line in said if "is kept on disk" not in line)  # said on a slow machine only
        assert stop.value.code == code, error
        assert error.startswith("error: ")
        assert len(error.splitlines()) == 1
        assert len(error) < 2500
        return error

    return invoke
