"""Batches over threads: time per row by batch and number of threads, and with as many threads as Bough chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.timing import contest
from bough.compile.run import threads
from bough.compile.settings import threads_of_environment
from bough.dynamics.dynamics import Dynamics

BATCHES = (64, 256, 1_024, 4_096, 16_384, 65_536)
THREADS = (1, 2, 4, 8, 16, 32, 64)


def rows() -> list[Timing]:
    """Forward dynamics of the humanoid: each number of threads that this machine has, then what Bough chooses."""
    model = zoo.humanoid()
    dyn, rng = Dynamics(model), np.random.default_rng(0)
    q = np.resize(model.random_configuration(rng, batch=1_024), (BATCHES[-1], model.nq))
    v, tau = rng.normal(size=(2, BATCHES[-1], model.nv))
    out, found = np.empty_like(v), []
    for batch in BATCHES:
        call = partial(dyn.forward_dynamics, q[:batch], v[:batch], tau[:batch], out=out[:batch])
        seconds: dict[str, float] = {}
        with as_many_as_asked():
            for k in (k for k in THREADS if k <= threads_of_environment()):
                seconds[f"bough on {k}"] = contest({"": partial(call, threads=k)})[""] / batch
        seconds["bough"] = contest({"": call})[""] / batch
        found.append(Timing("batches over threads: per row", model.name, f"batch of {batch:,}", seconds))
    return found


@contextmanager
def as_many_as_asked() -> Iterator[None]:
    """Batches in this block run on all threads that are asked for, whether they pay or not."""
    usual, threads.WAKE_SECONDS = threads.WAKE_SECONDS, 1e-12
    try:
        yield
    finally:
        threads.WAKE_SECONDS = usual
