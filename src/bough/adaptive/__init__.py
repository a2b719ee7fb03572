"""Error-bounded adaptive quasi-statics of huge linkages (Redon & Lin 2005)."""

from __future__ import annotations

from bough.adaptive.closure import Closure
from bough.adaptive.measures import ErrorMeasure, absolute_joint, absolute_linkage, relative_joint, relative_linkage
from bough.adaptive.quasistatics import QuasiStatics
from bough.adaptive.recording import Recording
from bough.adaptive.stats import Stats

__all__ = [
    "Closure",
    "ErrorMeasure",
    "QuasiStatics",
    "Recording",
    "Stats",
    "absolute_joint",
    "absolute_linkage",
    "relative_joint",
    "relative_linkage",
]
