"""Functions of a model as dependency-free C99."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bough import __version__
from bough.compile.emit import c
from bough.dynamics.counting import program
from bough.model import Model


def export_c(
    model: Model, functions: Sequence[str | tuple[str, dict[str, Any]]], path: str | Path, *, dtype: Any = np.float64
) -> tuple[Path, Path]:
    """Write `functions` of `Dynamics` for `model` to a C99 file at `path` and a header beside it; returns both paths.

    A function is named as in `Dynamics`, or given with options of `bough.count`, such as
    ("forward_dynamics", {"method": "crba"}) or ("jacobian", {"frame": "hand"}). Each becomes an entry point
    `<model>_<function>`, with no allocation, no globals and nothing but math.h.
    """
    programs = {}
    for item in functions:
        name, options = (item, {}) if isinstance(item, str) else item
        programs["_".join([name, *map(str, options.values())])] = program(model, name, **options)
    prefix = re.sub(r"\W+", "_", model.name).strip("_") or "model"
    prefix = prefix if prefix[0].isalpha() else f"model_{prefix}"
    banner = f"Model {model.name}, hash {model.hash}\nWritten by bough {__version__}"
    return c.export(programs, Path(path), prefix, dtype, banner)
