"""Functions of a model as dependency-free C99."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bough import __version__
from bough.arguments import explained
from bough.compile.emit import c
from bough.compile.graph.program import OperationCount, Program
from bough.compile.routine import operations
from bough.dynamics.functions import REFERENCE, check_options, function, program, traced_for
from bough.dynamics.library import check_frames, named_function
from bough.dynamics.whole_body import kinematics_of
from bough.errors import ModelError, OptionError
from bough.model import Model
from bough.types import Reference

# Exact operation counts of any function on any model, from the graph that its kernel leaves; nothing is compiled.


@explained
def count(
    model: Model,
    function: str,
    *,
    method: str | None = None,
    frame: str | None = None,
    reference: Reference | None = None,
    tasks: Sequence[Any] = (),
    inputs: Sequence[str] = (),
) -> OperationCount:
    """Count the operations of a function of `Dynamics`, starting from q: mul, add, div, sqrt, sincos.

    Parameters
    ----------
    model : the model
    function : a name of `Dynamics`, or with `tasks` "inverse_inertia"
    method : "aba" or "crba" for forward_dynamics; with `tasks`, a method for Lambda^-1
    frame, reference : of functions of one frame
    tasks : of an `OperationalSpace`
    inputs : quantities of the model that are inputs, as in `Dynamics`
    """
    if tasks:
        from importlib import import_module

        return import_module("bough.opspace").count(model, function, method, tasks)
    options = {"method": method, "frame": frame, "reference": reference}
    return operations(
        program(model, function, inputs=inputs, **{name: x for name, x in options.items() if x is not None})
    )


OF_KINEMATICS = ("frames", "jacobians", "reference", "velocities")
Wanted = str | tuple[str, dict[str, Any]]


@explained
def export_c(
    model: Model,
    functions: Sequence[Wanted],
    path: str | Path,
    *,
    dtype: Any = np.float64,
    prefix: str | None = None,
    inputs: Sequence[str] = (),
) -> tuple[Path, Path]:
    """Write functions of `Dynamics` to a C99 file and a header beside it; returns both paths.

    Each function becomes an entry point `<prefix>_<function>_<options>`, with no allocation, no globals and no
    dependency but math.h. The header lists the names.

    Parameters
    ----------
    model : the model
    functions : names, or pairs of a name and its options, such as ("jacobian", {"frame": "hand"}); defaults are those
        of `Dynamics`. "kinematics" takes `frames`, `jacobians` and `reference` as the method does;
        `velocities` adds v to its inputs. The option `name` replaces `<function>_<options>`; names must differ.
    path : of the C file
    dtype : float64 or float32
    prefix : of the names; by default the model's name
    inputs : quantities of the model that become further arguments of every function, as in `Dynamics`
    """
    if not isinstance(model, Model):
        raise ModelError(f"export_c needs a Model, got {type(model).__name__}; use bough.load for files")
    if isinstance(functions, str):
        raise OptionError(f"export_c takes a list of functions, got the name {functions!r}; write [{functions!r}]")
    if not functions:
        raise OptionError("export_c takes a list of functions, got none")
    c.real_type(dtype)
    programs: dict[str, Program] = {}
    notes: dict[str, list[str]] = {}
    for key, (name, options) in _entry_points(functions).items():
        if name == "kinematics":
            for option in options:
                if option not in OF_KINEMATICS:
                    raise OptionError(f"kinematics does not take {option!r}; it takes {', '.join(OF_KINEMATICS)}")
            programs[key], notes[key] = _kinematics(model, inputs, **options)
        else:
            programs[key] = program(model, name, inputs=inputs, **options)
            notes[key] = _note(name, options)
    return write_c(model, programs, path, dtype, prefix, notes)


def write_c(
    model: Model, programs: dict[str, Program], path: str | Path, dtype: Any, prefix: str | None,
    notes: dict[str, list[str]],
) -> tuple[Path, Path]:  # fmt: skip
    """Programs of a model as a C99 file at `path` and a header beside it, with a note on each."""
    banner = f"Model {c.quoted(model.name)}, hash {model.hash}\nWritten by bough {__version__}"
    return c.export(programs, Path(path), model.name if prefix is None else prefix, dtype, banner, notes)


def _kinematics(
    model: Model,
    inputs: Sequence[str],
    frames: Sequence[str] | None = None,
    jacobians: Sequence[str] = (),
    reference: Reference = REFERENCE,
    velocities: bool = False,
) -> tuple[Program, list[str]]:
    """Placements, velocities, drifts and Jacobians of frames in one function."""
    check_frames(frames, jacobians)
    check_options(function("velocity"), {"frame": "", "reference": reference})
    chosen = tuple(model.frame_names if frames is None else frames)
    routine, constants = kinematics_of(model, chosen, tuple(jacobians), reference, velocities)
    notes = ["placements, velocities and drifts of frames, and Jacobians." if velocities else "placements, Jacobians."]
    notes += [f"Frames {c.quoted(', '.join(chosen))}.", f"Jacobians of {c.quoted(', '.join(jacobians) or 'none')}."]
    return traced_for(model, routine, constants, inputs), [*notes, f"Reference {reference}."]


def _entry_points(functions: Sequence[Wanted]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Functions and their options by the names of their entry points; no two share one."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for item in functions:
        name, given = named_function(item)
        options = {option: x for option, x in given.items() if option != "name"}
        key = "_".join([name, *(x for x in options.values() if isinstance(x, str))])
        if "name" in given:
            key = given["name"]
            if not isinstance(key, str) or not key:
                raise OptionError(f"export_c: the name of an entry point is a word, got {key!r}")
        if key in found:
            first, others = found[key]
            raise OptionError(
                f"export_c: {first} {others} and {name} {options} would both be called {key!r}; "
                "give one of them a name with the option 'name'"
            )
        found[key] = name, options
    return found


def _note(name: str, given: dict[str, Any]) -> list[str]:
    """The comment of a function in the header: its result, frame and reference."""
    row = function(name)
    options = check_options(row, given)
    lines = [f"{row.summary}."]
    if "frame" in row.options:
        lines.append(f"Frame {c.quoted(str(options.frame))}.")
    if "reference" in row.options:
        lines.append(f"Reference {options.reference}.")
    if options.method is not None:
        lines.append(f"Method {options.method}.")
    return lines
