"""Where a result was made."""

from __future__ import annotations

import platform
import subprocess

import numpy as np

from bough.record import cpu_name, machine
from bough.record.origin import commit


def test_machine():
    found = machine(["numpy", "no such package"])
    assert found["versions"] == {"numpy": np.__version__}
    assert found["python"] == platform.python_version()
    assert found["cpu"] == cpu_name()


def test_commit_of_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr("bough.record.origin.__file__", str(tmp_path / "src" / "bough" / "record" / "origin.py"))
    assert commit() == {}
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    clean = commit()["commit"]
    assert len(clean) == 10
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "new.py").write_text("")
    assert commit()["commit"] == clean + "+"
