"""What a section lacks on this machine: robots of example-robot-data, and other libraries."""

from __future__ import annotations

import os
import site
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Timing

GROUP = "not measured"


class Requirements(NamedTuple):
    """The files of robots and the modules of a section; it is measured without those that are not here."""

    robots: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    def absent(self) -> list[Timing]:
        """A row for each that is not here."""
        files = [name for name in self.robots if robot_file(name) is None]
        return [left_out(name, "this file of example-robot-data is not installed") for name in files] + [
            left_out(name, "it is not installed") for name in self.modules if not installed(name)
        ]


def left_out(what: str, why: str) -> Timing:
    """A row that says what is missing in the others."""
    return Timing(GROUP, what, "", {}, f"not measured: {why}")


def robot_file(name: str) -> Path | None:
    """A robot of the folder BOUGH_BENCH_ROBOTS, or of the example-robot-data package where that is installed."""
    named = os.environ.get("BOUGH_BENCH_ROBOTS")
    if named:
        return path if (path := Path(named) / name).exists() else None
    folders = map(Path, site.getsitepackages())
    return next((path for at in folders for path in sorted(at.glob(f"**/example-robot-data/robots/**/{name}"))), None)


def installed(module: str) -> bool:
    """Whether it can be imported, its package included."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
