"""Public names: each is where the doors say, has a docstring and one home; importing bough stays light."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pkgutil import iter_modules, walk_packages

import pytest

import bough
from bough import errors

PACKAGES = sorted(bough._PACKAGES)
DOORS = [getattr(bough, package) for package in PACKAGES if hasattr(getattr(bough, package), "__all__")]
HEAVY = ("numpy", "llvmlite", "rich", "typer", "scipy", "mujoco")


def test_every_room_is_an_attribute_of_bough():
    found = {module.name for module in iter_modules(bough.__path__) if not module.name.startswith("_")}
    assert found - {"app", "bridges"} == set(PACKAGES)


def test_every_bridge_is_an_attribute_of_bough():
    import bough.bridges

    found = {module.name for module in iter_modules(bough.bridges.__path__)}
    assert set(bough._BRIDGES) <= found


def test_all_doors_are_made():
    assert set(PACKAGES) == {door.__name__.split(".")[1] for door in DOORS}


@pytest.mark.parametrize("door", [bough, *DOORS], ids=lambda door: door.__name__)
def test_doors_say_what_is_public(door):
    assert door.__doc__
    assert len(set(door.__all__)) == len(door.__all__)
    for name in set(door.__all__) - set(bough._BRIDGES):  # whose libraries may be missing
        assert hasattr(door, name), f"{door.__name__} has no {name}"


def public():
    """(package, name, object) for all classes and functions at the doors."""
    for door in DOORS:
        for name in door.__all__:
            package, found = door.__name__.split(".")[1], getattr(door, name)
            alias = getattr(found, "__module__", "") == "typing"
            if (inspect.isclass(found) or inspect.isfunction(found)) and not alias:
                yield package, name, found


def test_public_classes_and_functions_have_docstrings():
    bare = [f"{package}.{name}" for package, name, found in public() if not found.__doc__]
    assert bare == []


def test_public_methods_have_docstrings():
    bare = []
    for package, name, found in public():
        for key, member in vars(found).items() if inspect.isclass(found) else ():
            inner = member.fget if isinstance(member, property) else getattr(member, "func", member)
            inner = getattr(inner, "__func__", inner)
            if key[0] != "_" and inspect.isfunction(inner) and not inner.__doc__:
                bare.append(f"{package}.{name}.{key}")
    assert bare == []


def test_one_home_for_each_object():
    homes = defaultdict(list)
    for package, name, found in public():
        homes[found].append(f"{package}.{name}")
    assert [places for places in homes.values() if len(places) > 1] == []


def test_public_objects_live_in_the_room_that_shows_them():
    for package, name, found in public():
        assert found.__module__.split(".")[:2] == ["bough", package], f"{package}.{name} is from {found.__module__}"


def test_the_face_repeats_the_doors():
    for name in set(bough.__all__) - set(PACKAGES) - set(bough._BRIDGES) - set(bough._INNER):
        package = getattr(bough, name).__module__.split(".")[1]
        assert name in getattr(bough, package).__all__, f"bough.{name} is not at the door of {package}"


def contents(module):
    """What a module holds; nothing if it stands on a package that is not installed."""
    try:
        return list(vars(import_module(module)).values())
    except errors.MissingExtraError:
        return []
    except ModuleNotFoundError as error:
        if (error.name or "bough").startswith("bough"):
            raise
        return []


def test_a_class_name_is_unique_within_its_package():
    homes = defaultdict(set)
    for module in walk_packages(bough.__path__, "bough."):
        if not module.name.endswith("__main__"):
            for found in contents(module.name):
                if inspect.isclass(found) and found.__module__.startswith("bough.") and found.__name__[0] != "_":
                    homes[found.__module__.split(".")[1], found.__name__].add(found.__module__)
    assert {name: p for name, p in homes.items() if len(p) > 1} == {}


def test_all_errors_are_bough_errors():
    for name, found in inspect.getmembers(errors, inspect.isclass):
        assert issubclass(found, errors.BoughError)
        assert name in errors.__all__


def test_importing_bough_imports_nothing_heavy():
    code = "import sys, bough; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not set(loaded) & set(HEAVY)


WITHOUT_EXTRAS = """
import inspect, pydoc, sys
for name in ("casadi", "gymnasium", "jax", "sympy", "torch"):
    sys.modules[name] = None
import bough
members = dict(inspect.getmembers(bough))
assert {"load", "Dynamics", "ik"} <= set(members), members
assert not {"casadi", "env", "jax", "sympy", "torch"} & set(dir(bough))
assert "Dynamics" in pydoc.render_doc(bough)
try:
    import bough.torch
except ImportError as error:
    assert 'pip install "bough[torch]"' in str(error)
else:
    raise AssertionError
"""


def test_help_needs_no_extra():
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], check=True)


def test_dir_shows_public_names_only():
    assert set(dir(bough)) <= {*bough.__all__, "__version__"}


@pytest.mark.parametrize("name", sorted(bough._ALIASES))
def test_short_names_of_modules_can_be_imported(name):
    """In a fresh process, before anything else was used; the module is the same under both names."""
    pytest.importorskip(bough._BRIDGES.get(name.removeprefix("bough."), "numpy"))
    home = bough._ALIASES[name]
    code = f"import sys, {name}; assert {name} is sys.modules[{home!r}]; assert {name}.__spec__.name == {home!r}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bough.nothing
