"""A row of the notation for every symbol that a kernel uses: a name with a capital letter, parameter or local."""

from __future__ import annotations

import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import bough
from bough.compile import kernel

PAGE = (Path(__file__).parents[1] / "docs" / "notation.md").read_text()


def symbols():
    """{symbol: rooms} of all kernels."""
    for room in bough._ROOMS:
        door = getattr(bough, room)
        for module in walk_packages(getattr(door, "__path__", ()), f"{door.__name__}."):
            if "cuda" not in module.name and not module.name.endswith("__main__"):
                import_module(module.name)
    found = defaultdict(set)
    for function in kernel._kernels:
        if function.__code__.co_filename.startswith("<"):
            continue  # made by a program, which names things after arrays
        for name in function.__code__.co_varnames:
            if re.search("[A-Z]", name) and function.__module__.startswith("bough."):
                found[name].add(function.__module__.split(".")[1])
    return found


def listed():
    """{symbol: rooms} of the table."""
    found = defaultdict(set)
    table = PAGE.split("## Symbols of the kernels")[1]
    for names, rooms in re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE):
        for name in re.split(r",\s*", names):
            found[name] |= set(bough._ROOMS) if rooms == "all" else set(re.split(r",\s*", rooms))
    return found


def test_every_symbol_of_a_kernel_has_a_row():
    table = listed()
    missing = {name: sorted(rooms - table[name]) for name, rooms in symbols().items() if rooms - table[name]}
    assert missing == {}


def test_the_kernels_use_symbols():
    assert len(symbols()) > 30
