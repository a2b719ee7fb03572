"""Engines that take part in a checkout only, beside those of `bough.app.bench.engines`: one file and one class each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OTHERS = {
    "drake": "benchmarks.engines.drake:DrakeEngine",
    "dart": "benchmarks.engines.dart:DartEngine",
    "casadi": "benchmarks.engines.casadi:CasadiEngine",
}


def last(run: Callable[[], Any]) -> Any:
    """What the last of several calls returns."""
    return run()[-1]
