"""Exported C as an ament package of ROS 2: a wrapper in C++17 that allocates nothing, and a launch test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bough.errors import OptionError, short
from bough.record import replacing

PROTOTYPE = re.compile(r"^(void|int) (\w+)\(([^)]*)\);", re.MULTILINE)
ARGUMENT = re.compile(r"(const )?(double|float) \*(\w+)")
NAME = re.compile(r"[a-z][a-z0-9_]*[a-z0-9]")  # of packages, by the rules of ROS

PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.0.1</version>
  <description>Dynamics of one robot as C99, written by Bough</description>
  <maintainer email="todo@example.com">todo</maintainer>
  <license>todo</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <test_depend>launch_testing_ament_cmake</test_depend>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project({name} C CXX)
find_package(ament_cmake REQUIRED)

add_library({name} src/{name}.c)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include> $<INSTALL_INTERFACE:include>)
target_include_directories({name} PRIVATE include/{name})
set_target_properties({name} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
target_compile_features({name} INTERFACE cxx_std_17)
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
install(DIRECTORY include/ DESTINATION include)
install(TARGETS {name} EXPORT export_{name} ARCHIVE DESTINATION lib LIBRARY DESTINATION lib RUNTIME DESTINATION bin)
ament_export_targets(export_{name} HAS_LIBRARY_TARGET)

if(BUILD_TESTING)
  find_package(launch_testing_ament_cmake REQUIRED)
  add_executable(check_{name} test/check.cpp)
  target_link_libraries(check_{name} {name})
  install(TARGETS check_{name} DESTINATION lib/{name})
  add_launch_test(test/check.launch.py)
endif()
ament_package()
"""
WRAPPER = """// Functions of one robot with sizes that the compiler checks: no allocation, no lock, no exception.
#pragma once
#include <array>
#include "{name}/{name}.h"

namespace {name} {{
{functions}
}}  // namespace {name}
"""
FUNCTION = """
inline {returns} {short}({arguments}) noexcept {{
  {leave}{full}({data});
}}
"""
CHECK = """// Every function at a state of small numbers: results must be finite.
#include <cmath>
#include <cstdio>
#include "{name}/dynamics.hpp"

template <class Array> void fill(Array& x) {{
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1 + 0.01 * static_cast<double>(i % 7);
}}

template <class Array> bool finite(const Array& x) {{
  for (auto value : x) if (!std::isfinite(value)) return false;
  return true;
}}

int main() {{
  bool good = true;
{calls}
  std::puts(good ? "all results are finite" : "a result is not finite");
  return good ? 0 : 1;
}}
"""
LAUNCH = """\"\"\"Run the check as a node would be run, and expect that it ends well.\"\"\"

import unittest

import launch
import launch_ros.actions
import launch_testing
import launch_testing.actions
import launch_testing.asserts


def generate_test_description():
    check = launch_ros.actions.Node(package="{name}", executable="check_{name}", output="screen")
    return launch.LaunchDescription([check, launch_testing.actions.ReadyToTest()]), {{"check": check}}


class Ends(unittest.TestCase):
    def test_it_ends(self, proc_info, check):
        proc_info.assertWaitForShutdown(process=check, timeout=20)


@launch_testing.post_shutdown_test()
class EndsWell(unittest.TestCase):
    def test_exit_code(self, proc_info, check):
        launch_testing.asserts.assertExitCodes(proc_info, process=check)
"""


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
    """The files of a package around exported C, whose names begin with `prefix`; C++ leaves that out."""
    name, functions, start = folder.name, exported(header), f"{prefix}_"
    texts = {
        "package.xml": PACKAGE.format(name=name), "CMakeLists.txt": CMAKE.format(name=name),
        f"src/{name}.c": source, f"include/{name}/{name}.h": header,
        f"include/{name}/dynamics.hpp": WRAPPER.format(
            name=name, functions="".join(_wrapped(function, start) for function in functions).rstrip()
        ),
        "test/check.cpp": CHECK.format(name=name, calls="\n".join(_called(x, name, start) for x in functions)),
        "test/check.launch.py": LAUNCH.format(name=name),
    }  # fmt: skip
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / path) as file:
            file.write(text.encode())
    return [folder / path for path in texts]


def _wrapped(function: Exported, start: str) -> str:
    arguments = (f"{'const ' * const}std::array<{kind}, {size}>& {name}" for const, kind, name, size in function.arrays)
    return FUNCTION.format(
        returns=function.returns, short=function.full.removeprefix(start), full=f"::{function.full}",
        arguments=", ".join(arguments), leave="return " * (function.returns != "void"),
        data=", ".join(f"{name}.data()" for _, _, name, _ in function.arrays),
    )  # fmt: skip


def _called(function: Exported, name: str, start: str) -> str:
    lines = ["  {"]
    for const, kind, array, size in function.arrays:
        lines.append(f"    std::array<{kind}, {size}> {array}{{}};" + f" fill({array});" * const)
    short_name = function.full.removeprefix(start)
    lines.append(f"    {name}::{short_name}({', '.join(array for _, _, array, _ in function.arrays)});")
    checks = " && ".join(f"finite({array})" for const, _, array, _ in function.arrays if not const)
    return "\n".join([*lines, f"    good = good && {checks};", "  }"])
