"""The tables and figures of five papers, made again by running the library: one short script each.

Belongs here: scripts that run kernels, count what they do and set it beside what was printed; how results are compared,
drawn and written. Does not belong here: algorithms and closed formulas (`cost`), and timings beside other libraries
(`bench`). A script is a file `PAPER/NAME.py` with `run(full) -> Result`; its first line is its title, and
`catalogue` lists it.
"""

from __future__ import annotations

from papers.catalogue import SCRIPTS, chosen, run
from papers.report import write
from papers.result import Figure, Result, Row

__all__ = ["SCRIPTS", "Figure", "Result", "Row", "chosen", "run", "write"]
