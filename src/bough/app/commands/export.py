"""`bough export`: functions of a model as C99, with a header and a snippet for CMake, or as a package of ROS 2."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from bough.app.shell import Json, report, working, wrote
from bough.app.source import Source, of_model

DEFAULT = ["forward_dynamics", "inverse_dynamics", "mass_matrix"]
CMAKE = """# include({name}) in a CMakeLists.txt, then target_link_libraries(yours PRIVATE {target})
add_library({target} STATIC "${{CMAKE_CURRENT_LIST_DIR}}/{source}")
target_include_directories({target} PUBLIC "${{CMAKE_CURRENT_LIST_DIR}}")
set_target_properties({target} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
if(UNIX)
  target_link_libraries({target} PUBLIC m)
endif()
"""
Functions = Annotated[
    list[str] | None,
    typer.Argument(metavar="FUNCTION", help=f"NAME or NAME?frame=hand&reference=local. Default: {', '.join(DEFAULT)}."),
]


@of_model
def export(
    source: Source,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The C file to write; its header and .cmake file are put beside it. With --ros2, a folder.",
        ),
    ],
    functions: Functions = None,
    single: Annotated[bool, typer.Option("--float", help="Write code in single precision.")] = False,
    prefix: Annotated[str | None, typer.Option(help="Prefix of names in C. Default: the model's name.")] = None,
    ros2: Annotated[
        bool, typer.Option("--ros2", help="Write an ament package into the folder FILE: wrapper, test and launch test.")
    ] = False,
    json: Json = False,
) -> None:
    """Write functions of a model as C99, a header, and a CMake file.

    The code has no dependencies and allocates nothing. With --ros2 it is an ament package.
    """
    import numpy as np

    from bough.app.ros2 import check_package, exported, write_package
    from bough.dynamics import export_c
    from bough.record import check_folder

    requests, dtype = [function_request(text) for text in functions or DEFAULT], np.float32 if single else np.float64
    name = check_package(file) if ros2 else check_folder(file, ".c").stem
    start = prefix or (name if ros2 else None)
    with TemporaryDirectory() as made, working("writing C"):
        place = Path(made) / f"{name}.c" if ros2 else file
        files = list(export_c(source.model(), requests, place, prefix=start, dtype=dtype))
        text, header = (path.read_text() for path in files)
    facts: dict[str, Any] = {"functions": [function.full for function in exported(header)]}
    words = f"functions: {', '.join(facts['functions'])}"
    if ros2:
        facts |= {"files": write_package(file, text, header, start or name), "package": name}
        lines = [f"wrote the package {file}", words, "in a workspace: colcon build, colcon test"]
    else:
        files.append(file.with_suffix(".cmake"))
        target = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)
        files[-1].write_text(CMAKE.format(name=files[-1].name, target=target, source=file.name))
        facts |= {"files": files, "target": target}
        lines = [*wrote(*files), words]
    report(json, facts, *lines)


def function_request(text: str) -> tuple[str, dict[str, Any]]:
    """A function with its options, as `export_c` takes it."""
    from bough.errors import OptionError
    from bough.io.named import pairs

    name, _, options = text.partition("?")
    try:
        return name, dict(pairs(options))
    except OptionError as error:
        raise OptionError(f"{text!r}: {error}; expected NAME?OPTION=VALUE&OPTION=VALUE") from None
