"""What it costs to make code: compilation, code from the disk cache, and the compiler's memory."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.absent import Requirements
from benchmarks.dynamics import G1, models
from benchmarks.timing import Timing
from bough import count, zoo
from bough.compile.executions import traced
from bough.dynamics.dynamics import Dynamics
from bough.dynamics.inverse_mass_matrix import INVERSE_MASS_MATRIX
from bough.model import Model

FUNCTIONS = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "inverse_mass_matrix")
REQUIRED = Requirements((G1,))
UNIT = 15_000  # operations
LONGEST_CHAIN = 31  # degrees of freedom whose H^-1 still has a graph small enough to be compiled

IN_A_PROCESS_OF_ITS_OWN = """
from benchmarks.compile import first_call, largest, megabytes
before = megabytes("VmRSS")
print(first_call(*largest(), 1), megabytes("VmHWM") - before)
"""


def rows() -> list[Timing]:
    """First calls with an empty and with a filled cache, for one configuration and for a batch."""
    found: list[Timing] = []
    for model in models():
        for function in FUNCTIONS:
            found += first_calls(model, function)
    return [*found, at_the_limit()]


def first_calls(model: Model, function: str) -> list[Timing]:
    operations = count(model, function).total
    found = []
    for batch, kind in ((1, "one configuration"), (64, "batch")):
        made, again = map(min, zip(*(with_fresh_cache(model, function, batch) for _ in range(3)), strict=True))
        name = f"{function.replace('_', ' ')}, {kind}"
        note = f"{operations:,} operations; {UNIT:,} would take {made / operations * UNIT:.2f} s"
        found.append(
            Timing("first call, in all", model.name, name, {"bough": made, "bough, from the cache": again}, note)
        )
    return found


def with_fresh_cache(model: Model, function: str, batch: int) -> tuple[float, float]:
    """Seconds of a first call that compiles, and of one that finds compiled code; the model is prepared before."""
    with FreshCache():
        return first_call(model, function, batch), first_call(model, function, batch)


class FreshCache:
    """An empty folder as the cache of compiled code."""

    def __enter__(self) -> None:
        self.folder, self.before = TemporaryDirectory(), os.environ.get("BOUGH_CACHE_DIR")
        os.environ["BOUGH_CACHE_DIR"] = self.folder.name

    def __exit__(self, *_: Any) -> None:
        os.environ.pop("BOUGH_CACHE_DIR")
        if self.before is not None:
            os.environ["BOUGH_CACHE_DIR"] = self.before
        self.folder.cleanup()


def first_call(model: Model, function: str, batch: int) -> float:
    """Seconds of the first call in a new Dynamics: trace, compile or load, run."""
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng, batch=batch)
    v = rng.normal(size=(batch, model.nv))
    given = [q] if "mass" in function else [q, v, v]
    call: Callable[..., Any] = getattr(Dynamics(model), function)
    arrays = [x[0] for x in given] if batch == 1 else given
    start = time.perf_counter()
    call(*arrays)
    return time.perf_counter() - start


def largest() -> tuple[Model, str]:
    model = zoo.chain(LONGEST_CHAIN)
    if traced(INVERSE_MASS_MATRIX, (model.grouped,), model.sizes) is None:
        raise ValueError("the graph of H^-1 is too large to be compiled: choose a shorter chain")
    return model, "inverse_mass_matrix"


def megabytes(what: str) -> float:
    """Memory of this process, as Linux tells it: VmRSS now, VmHWM at most so far; NaN elsewhere."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(what)), math.nan)


def at_the_limit() -> Timing:
    """A graph just below the size from which general code serves."""
    with FreshCache():
        command = [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = (float(x) for x in run.stdout.split())
    model, function = largest()
    note = f"{count(model, function).total:,} operations; the compiler took {memory:.0f} MB"
    return Timing("first call, in all", f"chain {model.nv}", function.replace("_", " "), {"bough": seconds}, note)
