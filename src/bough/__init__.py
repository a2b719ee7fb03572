"""Bough: dynamics of branched mechanisms, with the sparsity that branches cause exploited everywhere.

The face of the library: every room is an attribute of `bough`, and the names that most users need are here, too.
Nothing is imported before it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bough import adaptive as adaptive
    from bough import arguments as arguments
    from bough import bench as bench
    from bough import compile as compile
    from bough import control as control
    from bough import convert as convert
    from bough import cost as cost
    from bough import dynamics as dynamics
    from bough import errors as errors
    from bough import identification as identification
    from bough import io as io
    from bough import joints as joints
    from bough import model as model
    from bough import opspace as opspace
    from bough import record as record
    from bough import reproduce as reproduce
    from bough import simulate as simulate
    from bough import sparsity as sparsity
    from bough import spatial as spatial
    from bough import sweep as sweep
    from bough import tree as tree
    from bough import types as types
    from bough import view as view
    from bough import zoo as zoo
    from bough.control import ik as ik
    from bough.dynamics.counting import count as count
    from bough.dynamics.dynamics import Dynamics as Dynamics
    from bough.dynamics.export import export_c as export_c
    from bough.errors import BoughError as BoughError
    from bough.identification import base_parameters as base_parameters
    from bough.identification import identify as identify
    from bough.io import load as load
    from bough.io.doctor import doctor as doctor
    from bough.model import Builder as Builder
    from bough.model import Model as Model
    from bough.opspace import OperationalSpace as OperationalSpace
    from bough.opspace import center_of_mass as center_of_mass
    from bough.opspace import close_loops as close_loops
    from bough.opspace import momentum as momentum
    from bough.opspace import orientation as orientation
    from bough.opspace import pose as pose
    from bough.opspace import position as position
    from bough.opspace import relative as relative
    from bough.opspace import rows as rows
    from bough.tree import Tree as Tree

_ROOMS = (
    "adaptive",
    "arguments",
    "bench",
    "compile",
    "control",
    "convert",
    "cost",
    "dynamics",
    "errors",
    "identification",
    "io",
    "joints",
    "model",
    "opspace",
    "record",
    "reproduce",
    "simulate",
    "sparsity",
    "spatial",
    "sweep",
    "tree",
    "types",
    "view",
    "zoo",
)
# Bridges to other libraries, loaded when they are used
_BRIDGES = ("casadi", "env", "jax", "sympy", "torch")
# Rooms of rooms that are known by their own name
_INNER = {"ik": "bough.control.ik"}
# Where each other public name lives
_HOMES = {
    "BoughError": "bough.errors",
    "Builder": "bough.model",
    "Dynamics": "bough.dynamics.dynamics",
    "Model": "bough.model",
    "OperationalSpace": "bough.opspace",
    "Tree": "bough.tree",
    "center_of_mass": "bough.opspace",
    "close_loops": "bough.opspace",
    "count": "bough.dynamics.counting",
    "base_parameters": "bough.identification",
    "doctor": "bough.io",
    "export_c": "bough.dynamics.export",
    "identify": "bough.identification",
    "load": "bough.io",
    "momentum": "bough.opspace",
    "orientation": "bough.opspace",
    "pose": "bough.opspace",
    "position": "bough.opspace",
    "relative": "bough.opspace",
    "rows": "bough.opspace",
}

__all__ = [*_ROOMS, *_BRIDGES, *_INNER, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"bough.{name}")
    if name in _BRIDGES:
        return import_module(f"bough.bridges.{name}")
    if name in _INNER:
        return import_module(_INNER[name])
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bough' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
