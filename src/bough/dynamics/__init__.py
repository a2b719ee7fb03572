"""Dynamics of a model in joint space: `Dynamics` has every algorithm as a function of arrays.

Belongs here: algorithms in joint space, one a file with its reference, and the table of functions (`functions`) from
which `Dynamics`, `count` and `export_c` are made. Does not belong here: tasks (`opspace`), time (`simulate`).
"""

from __future__ import annotations

from bough.dynamics.dynamics import Dynamics
from bough.dynamics.export import count, export_c
from bough.dynamics.functions import FUNCTIONS
from bough.dynamics.regressor import regressor_pairs

__all__ = ["FUNCTIONS", "Dynamics", "count", "export_c", "regressor_pairs"]
