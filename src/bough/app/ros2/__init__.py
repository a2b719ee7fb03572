"""Exported C as an ament package of ROS 2: a wrapper in C++17 that allocates nothing, and a launch test.

Templates of the files are beside this one, `*.in`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from bough.errors import OptionError, short
from bough.record import replacing

PROTOTYPE = re.compile(r"^(void|int) (\w+)\(([^)]*)\);", re.MULTILINE)
ARGUMENT = re.compile(r"(const )?(double|float) \*(\w+)")
NAME = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]")  # of packages, by the rules of ROS


class Exported(NamedTuple):
    """A function of a header: what it returns, its name in C, and its arrays (const, type, name, size)."""

    returns: str
    full: str
    arrays: Sequence[tuple[bool, str, str, int]]


def exported(header: str) -> list[Exported]:
    """The functions of a header that `export_c` wrote."""
    sizes = {name: int(size) for name, size in re.findall(r"^#define (\w+)_SIZE (\d+)$", header, re.MULTILINE)}
    return [
        Exported(returns, full, [
            (bool(const), kind, name, sizes[f"{full}_{name}".upper()]) for const, kind, name in ARGUMENT.findall(given)
        ])
        for returns, full, given in PROTOTYPE.findall(header)
    ]  # fmt: skip


def check_package(folder: Path) -> str:
    """The name of the package that a folder is going to be."""
    if not NAME.fullmatch(folder.name) or "__" in folder.name:
        raise OptionError(
            f"{short(str(folder))!r}: expected the folder of a package, named in lower case, such as my_robot"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionError(f"{short(str(folder))!r} is there already: expected a new or empty folder")
    return folder.name


def write_package(folder: Path, source: str, header: str, prefix: str) -> list[Path]:
    """The files of a package around exported C, whose names begin with `prefix`; names in C++ omit it."""
    name, functions, start = folder.name, exported(header), f"{prefix}_"
    words = {
        "name": name, "functions": "".join(_wrapped(function, start) for function in functions).rstrip(),
        "calls": "\n".join(_called(function, name, start) for function in functions),
    }  # fmt: skip
    places = {"dynamics.hpp": f"include/{name}/", "check.cpp": "test/", "check.launch.py": "test/"}
    texts = {f"src/{name}.c": source, f"include/{name}/{name}.h": header}
    for file in ("package.xml", "CMakeLists.txt", *places):
        template = (files("bough.app.ros2") / f"{file}.in").read_text(encoding="utf-8")
        texts[places.get(file, "") + file] = Template(template).substitute(words)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / path) as written:
            written.write(text.encode())
    return [folder / path for path in texts]


def _wrapped(function: Exported, start: str) -> str:
    """The function in C++: references to arrays of known sizes."""
    arguments = (f"{'const ' * const}std::array<{kind}, {size}>& {name}" for const, kind, name, size in function.arrays)
    data = ", ".join(f"{name}.data()" for _, _, name, _ in function.arrays)
    head = f"inline {function.returns} {function.full.removeprefix(start)}({', '.join(arguments)}) noexcept"
    return f"\n{head} {{\n  {'return ' * (function.returns != 'void')}::{function.full}({data});\n}}\n"


def _called(function: Exported, name: str, start: str) -> str:
    lines = ["  {"]
    for const, kind, array, size in function.arrays:
        lines.append(f"    std::array<{kind}, {size}> {array}{{}};" + f" fill({array});" * const)
    short_name = function.full.removeprefix(start)
    lines.append(f"    {name}::{short_name}({', '.join(array for _, _, array, _ in function.arrays)});")
    checks = " && ".join(f"finite({array})" for const, _, array, _ in function.arrays if not const)
    return "\n".join([*lines, f"    good = good && {checks};", "  }"])
