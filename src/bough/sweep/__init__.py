"""Sweeps: a function or a rollout over many states, seeds or parameter sets, in parts that survive a kill.

Belongs here: what is computed for which rows (`rows`, `work`, `job`), the folder of parts (`parts`), the driver that
fills it (`driver`), and who does the work (`executors`). Does not belong here: anything about mechanisms.

A job is cut into chunks; a chunk is always the same rows and gives the same part, whoever computes it and when. So a
sweep that was killed goes on from the parts that are there, and nothing is lost or done twice.
"""

from __future__ import annotations

import concurrent.futures
import warnings
from typing import Any

from bough.sweep.driver import Summary, run
from bough.sweep.executors import Processes, RayCluster, Slurm, Threads, Workers
from bough.sweep.job import Job
from bough.sweep.parts import read
from bough.sweep.rows import ArrayRows, DrawnRows
from bough.sweep.work import Evaluate, Roll, SweepWork, YourOwn

__all__ = [
    "ArrayRows",
    "DrawnRows",
    "Evaluate",
    "Job",
    "Processes",
    "RayCluster",
    "Roll",
    "Slurm",
    "Summary",
    "SweepWork",
    "Threads",
    "Workers",
    "YourOwn",
    "read",
    "run",
]


def __getattr__(name: str) -> Any:
    if name == "Executor":  # an alias until 0.3
        warnings.warn("bough.sweep.Executor is called concurrent.futures.Executor", DeprecationWarning, stacklevel=2)
        return concurrent.futures.Executor
    if name == "GivenRows":
        warnings.warn("bough.sweep.GivenRows is called ArrayRows now", DeprecationWarning, stacklevel=2)
        return ArrayRows
    raise AttributeError(f"module 'bough.sweep' has no attribute {name!r}")
