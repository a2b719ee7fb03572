"""Bough: dynamics of branched mechanisms, with the sparsity that branches cause exploited everywhere.

Every package is an attribute of `bough`, and the names that most users need are here, too. Nothing is imported before
it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import _bootstrap, import_module
from importlib.machinery import ModuleSpec
from threading import RLock, get_ident
from time import monotonic, sleep
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

__version__ = "0.2.0"

if TYPE_CHECKING:
    from bough import adaptive as adaptive
    from bough import arguments as arguments
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
    from bough import molecules as molecules
    from bough import opspace as opspace
    from bough import record as record
    from bough import simulate as simulate
    from bough import sparsity as sparsity
    from bough import spatial as spatial
    from bough import sweep as sweep
    from bough import tree as tree
    from bough import types as types
    from bough import view as view
    from bough import zoo as zoo
    from bough.control import ik as ik
    from bough.dynamics.dynamics import Dynamics as Dynamics
    from bough.dynamics.export import count as count
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

_PACKAGES = (
    "adaptive",
    "arguments",
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
    "molecules",
    "opspace",
    "record",
    "simulate",
    "sparsity",
    "spatial",
    "sweep",
    "tree",
    "types",
    "view",
    "zoo",
)
# Bridges, with the library that each stands on
_BRIDGES = {"casadi": "casadi", "env": "gymnasium", "jax": "jax", "sympy": "sympy", "torch": "torch"}
# Modules that have a second, shorter name: `import bough.torch` and `import bough.ik` work, too
_INNER = {"ik": "bough.control.ik"}
_ALIASES = {f"bough.{name}": f"bough.bridges.{name}" for name in _BRIDGES} | {"bough.ik": "bough.control.ik"}
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
    "count": "bough.dynamics.export",
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

__all__ = [*_PACKAGES, *_BRIDGES, *_INNER, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES or name in _BRIDGES or name in _INNER:
        return import_module(f"bough.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bough' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names; bridges whose library is not installed are omitted, so that `help` can show the others."""
    from importlib.util import find_spec

    return sorted(name for name in ("__version__", *__all__) if name not in _BRIDGES or find_spec(_BRIDGES[name]))


class _AliasFinder:
    """Finds the modules of `_ALIASES`: each is the module that it stands for, not a copy."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, cast(Any, _AliasFinder), origin=_ALIASES[name]) if name in _ALIASES else None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        module = import_module(_ALIASES[spec.name])
        spec.loader_state = module.__spec__  # which the import system replaces by `spec`
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        assert module.__spec__
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(cast(Any, _AliasFinder))


# A forked child has none of its parent's other threads, and waits for ever for what one of them began.
_fork_locks: list[tuple[Callable[[], None], Callable[[], None]]] = []  # what takes a lock for a fork, and gives it back


def _hold(patience: float = 30.0) -> None:
    """Before a fork: take all locks while no other thread imports a module; wait for imports at most so many seconds.

    An import may need a lock to go on, so that none is held while it is waited for.
    """
    end, imports = monotonic() + patience, getattr(_bootstrap, "_module_locks", {})
    while True:
        for take, _ in _fork_locks:
            take()
        sleep(1e-4)  # and let go of Python's lock, so that nobody else takes it between the look and the fork
        owners = {getattr(lock(), "owner", None) for lock in list(imports.values())}
        if owners <= {None, get_ident()} or monotonic() > end:
            return
        _release()
        sleep(1e-3)


def _release() -> None:
    """Give back what `_hold` took, in the parent and in the child."""
    for _, give_back in _fork_locks:
        give_back()


def _renew_locks() -> None:
    """In a child: unlock the cached properties of all classes, which Python 3.11 locks while one is computed."""
    modules = [module for name, module in sys.modules.items() if name.startswith("bough.")]
    for owner in [x for module in modules for x in vars(module).values() if isinstance(x, type)]:
        for x in vars(owner).values():
            if isinstance(x, cached_property) and hasattr(x, "lock"):
                x.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
    os.register_at_fork(after_in_child=_renew_locks)
