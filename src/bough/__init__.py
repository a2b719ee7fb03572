"""Bough: dynamics of branched mechanisms, with the sparsity that branches cause exploited everywhere."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bough import adaptive, convert, cost, sparsity, zoo
    from bough.build import Builder
    from bough.dynamics.counting import count
    from bough.dynamics.dynamics import Dynamics
    from bough.dynamics.export import export_c
    from bough.errors import BoughError
    from bough.io import doctor, load
    from bough.model import Model
    from bough.tree import Tree

# Where each public name lives: modules are imported when a name is first used, so that importing bough stays light.
_HOMES = {
    "Builder": "bough.build",
    "BoughError": "bough.errors",
    "Dynamics": "bough.dynamics.dynamics",
    "Model": "bough.model",
    "Tree": "bough.tree",
    "count": "bough.dynamics.counting",
    "doctor": "bough.io",
    "export_c": "bough.dynamics.export",
    "load": "bough.io",
}
_MODULES = ("adaptive", "convert", "cost", "sparsity", "zoo")

__all__ = [*_HOMES, *_MODULES]


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
