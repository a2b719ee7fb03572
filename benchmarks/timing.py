"""A row of results, as it is kept and shown, and the machine that it was measured on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from bough import record
from bough.app.bench.timing import Times
from bough.compile.settings import threads

PACKAGES = ("bough", "numpy", "llvmlite", "scipy", "pin", "mujoco", "drake", "dartpy", "cvxopt", "casadi", "torch",
            "jax", "openmm")  # fmt: skip


@dataclass(frozen=True)
class Timing:
    """One comparison: seconds per call of each contestant, Bough's own ones named "bough ..."."""

    group: str
    model: str
    case: str
    seconds: Mapping[str, float]
    note: str = field(default="")
    median: Mapping[str, float] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)  # other results, by a name that says their unit

    def __post_init__(self) -> None:
        """Times bring their medians along."""
        if isinstance(self.seconds, Times):
            object.__setattr__(self, "median", self.seconds.median)
            object.__setattr__(self, "seconds", dict(self.seconds))

    def noted(self, absent: Mapping[str, str]) -> Timing:
        """The same row, saying which engines do not take part and why."""
        why = "; ".join([self.note] * bool(self.note) + [f"without {name}: {text}" for name, text in absent.items()])
        return replace(self, note=why)


def machine() -> dict[str, Any]:
    """CPU and cores, GPU where one was used, Python, commit, versions of what takes part, and the day."""
    used = sys.modules.get("bough.compile.run.cuda.gpu")
    gpu = {"card": used.find_gpu().name} if used and used.find_gpu.cache_info().currsize else {}
    return gpu | record.machine(PACKAGES) | {"cores": threads(), "date": date.today().isoformat()}
