"""Bough: dynamics of branched mechanisms, with the sparsity that branches cause exploited everywhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bough import adaptive as adaptive
    from bough import control as control
    from bough import convert as convert
    from bough import cost as cost
    from bough import simulate as simulate
    from bough import sparsity as sparsity
    from bough import zoo as zoo
    from bough.dynamics.counting import count as count
    from bough.dynamics.dynamics import Dynamics as Dynamics
    from bough.dynamics.export import export_c as export_c
    from bough.errors import BoughError as BoughError
    from bough.io import load as load
    from bough.io.doctor import doctor as doctor
    from bough.model import Builder as Builder
    from bough.model import Model as Model
    from bough.opspace import OperationalSpace as OperationalSpace
    from bough.tree import Tree as Tree

# Where each public name lives: modules are imported when a name is first used, so that importing bough stays light.
_HOMES = {
    "BoughError": "bough.errors",
    "Builder": "bough.model",
    "Dynamics": "bough.dynamics.dynamics",
    "Model": "bough.model",
    "OperationalSpace": "bough.opspace",
    "Tree": "bough.tree",
    "count": "bough.dynamics.counting",
    "doctor": "bough.io",
    "export_c": "bough.dynamics.export",
    "load": "bough.io",
}
_TASKS = ("center_of_mass", "momentum", "orientation", "pose", "position", "relative", "rows")
_HOMES |= dict.fromkeys(_TASKS, "bough.opspace")
_MODULES = ("adaptive", "control", "convert", "cost", "simulate", "sparsity", "zoo")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"bough.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bough' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
