"""Operational space as programs: for C, and for whoever else takes straight-line code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bough import __version__
from bough.compile.emit import c
from bough.compile.graph.passes import drop_dead_code
from bough.compile.graph.program import Program
from bough.compile.routine import trace
from bough.errors import TaskError
from bough.model import mark_limbs
from bough.opspace.functions import OFFERED, prepared
from bough.opspace.methods import Prepared

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace


def program(space: OperationalSpace, name: str) -> Program:
    """The straight-line program of a quantity of the space, with the space's inputs, before any rewriting."""
    return drop_dead_code(traced(space, prepared(space, name)))


def traced(space: OperationalSpace, prepared: Prepared) -> Program:
    """The program of a routine with the space's inputs."""
    mechanism, *constants = prepared.constants
    routine, more, _ = space.parameters.prepared(prepared.routine, tuple(constants), mark_limbs)
    first = space.tasks.traced_mechanism if space.parameters.folds else mechanism
    return trace(routine, (first, *more), prepared.sizes)


def export_c(
    space: OperationalSpace,
    functions: Sequence[str],
    path: str | Path,
    *,
    dtype: Any = np.float64,
    prefix: str | None = None,
) -> tuple[Path, Path]:
    """See `OperationalSpace.export_c`."""
    if isinstance(functions, str):
        raise TaskError(f"export_c takes a list of functions, got the name {functions!r}; write [{functions!r}]")
    c.real_type(dtype)
    model, rows = space.model, f"Rows {c.quoted(', '.join(space.tasks.row_names))}."
    programs = {name: program(space, name) for name in functions}
    banner = f"Model {c.quoted(model.name)}, hash {model.hash}\nWritten by bough {__version__}"
    notes = {name: [f"{OFFERED[name]}.", rows] for name in functions}
    return c.export(programs, Path(path), model.name if prefix is None else prefix, dtype, banner, notes)
