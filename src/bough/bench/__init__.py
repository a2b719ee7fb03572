"""Comparisons with other libraries: measured as ratios in one run, contestants alternating. Nothing here asserts.

Belongs here: one file for each section of `docs/performance.md`, the twins of a model in other engines, timing, and the
tables made from recorded runs. Does not belong here: tests, and anything that the library itself needs.
"""

from __future__ import annotations

from bough.bench.report import Timing, markdown, save, show, write_into
from bough.bench.timing import contest

__all__ = ["Timing", "contest", "markdown", "save", "show", "write_into"]
