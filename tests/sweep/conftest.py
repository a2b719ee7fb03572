"""A module that workers import, and jobs with it."""

import pytest

from bough import zoo
from bough.sweep import DrawnRows, Job, YourOwn

HELPER = '''
import os, signal, time
import numpy as np
from pathlib import Path

def noted(rows):
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{rows['q'][0, 0]!r}\\n")

def slow(model, rows):
    """With HOLD, beyond the tenth row, it waits until that file is there."""
    noted(rows)
    time.sleep(0.03)
    held = "HOLD" in os.environ and len(Path(os.environ["NOTES"]).read_text().split()) > 10
    while held and not Path(os.environ["HOLD"]).exists():
        time.sleep(0.01)
    return {"total": rows["q"].sum(axis=1)}

def lethal(model, rows):
    """Kills its own process the first time that it sees a row."""
    seen = Path(os.environ["NOTES"] + repr(float(rows["q"][0, 0])))
    if not seen.exists() and rows["q"][0, 0] > 0:
        seen.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(model, rows)

def flaky(model, rows):
    """Fails the first time that it sees a row."""
    seen = Path(os.environ["NOTES"] + repr(float(rows["q"][0, 0])))
    if not seen.exists():
        seen.touch()
        raise OSError("the disk was full")
    return slow(model, rows)

def hopeless(model, rows):
    print("what a user prints must not come between the parts")
    if rows["q"][0, 0] > 0:
        raise OSError("never")
    return slow(model, rows)

def moody(model, rows):
    """Whole numbers in the first pieces, broken ones in the last."""
    return {"total": np.ones(len(rows["q"]), int if len(rows["q"]) == 4 else float)}

def greedy(model, rows):
    """Writes into what it is given."""
    found = {"first": rows["q"][:, 0].copy()}
    rows["q"][:] = 0.0
    return found

def growing(model, rows):
    """As many numbers in each row as rows were computed before."""
    noted(rows)
    count = len(Path(os.environ["NOTES"]).read_text().split())
    return {"total": np.zeros((len(rows["q"]), count))}

def renaming(model, rows):
    """Another name for its result in each part."""
    return {f"y{int(growing(model, rows)['total'].shape[1] % 2)}": rows["q"][:, 0]}

def empty(model, rows):
    return {"total": np.zeros((len(rows["q"]), 0))}

def ragged(model, rows):
    return {"total": [[0.0] * k for k in range(len(rows["q"]))]}

def odd(model, rows):
    return {"total": [object() for _ in rows["q"]]}

def nothing(model, rows):
    return None

def colon(model, rows):
    return {"a:b": rows["q"][:, 0]}

def clash(model, rows):
    return {"q": rows["q"][:, 0]}

def short(model, rows):
    return {"total": rows["q"][:-1, 0]}
'''


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """Where the helper notes what it was given."""
    (tmp_path / "sweep_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


@pytest.fixture
def own():
    """A job of the helper's functions."""

    def make(name: str, rows: int = 12) -> Job:
        return Job(zoo.arm(3), YourOwn(f"sweep_helper:{name}"), DrawnRows(rows, seed=3))

    return make
