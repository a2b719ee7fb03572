"""`bough demo`, `bough bench` and `bough reproduce`: the library at work, beside others, and beside papers."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import bough
from bough.app.shell import Json, note, out, patient, report, say, show_json, watched, working
from bough.app.source import HELP, Source, complete_model, with_model_options
from bough.errors import OptionError


def demo(to: Annotated[Path, typer.Option(help="Folder of the page.")] = Path("demo"), json: Json = False) -> None:
    """Make a page with three scenes, plots and measured times."""
    from bough.app.story.page import next_steps, write

    path, numbers = write(to, note if json else say, watched())
    lines = (f"  {command}\n      {words}" for command, words in next_steps())
    report(json, {"file": path, **numbers}, f"\nThe page: {path.resolve()}\n\nWhat to try next:", *lines)


def reproduce(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="What `python -m papers` takes; --list shows all.")
    ] = None,
) -> None:
    """Compute the tables and figures of the papers, in a checkout.

    The report shows them beside the printed ones, as HTML, Markdown and JSON.
    """
    find_in_checkout("papers", "__main__").main(words or [])


@with_model_options
def bench(
    options: dict[str, Any],
    model: Annotated[str, typer.Option(help=HELP, autocompletion=complete_model)],
    seconds: Annotated[float, typer.Option(min=0.0, help="Measuring time of each library.")] = 0.3,
    json: Json = False,
) -> None:
    """Measure functions of a model in Bough and in other libraries.

    Libraries alternate in one run: Pinocchio and MuJoCo where they are installed and agree with Bough. A checkout
    adds Drake, DART and CasADi's C code, and `python -m benchmarks` runs the recorded benchmarks there.
    """
    from bough.app.bench.compare import compare
    from bough.app.bench.engines import ENGINES
    from bough.app.bench.table import table
    from bough.record import machine

    source = Source(model, options)
    robot = source.model()
    if robot.couplings:
        say("mimic joints are measured as independent ones (--free-mimics): the other engines have none that follow")
        robot = Source(model, options | {"mimic": "independent"}).model()
    with patient("compiling for this robot", after=2.0), working("measuring"):
        found = compare(robot, seconds, ENGINES | other_engines())
    if json:
        rows = [{"case": case, "seconds": best, "median": best.median} for case, best in found.times.items()]
        packages = ("bough", "numpy", "llvmlite", "pin", "mujoco")
        show_json({"machine": machine(packages), "rows": rows, "notes": found.notes, "absent": found.absent})
        return
    out().print(table(found.times), "")
    for case, why in found.notes.items():
        say(f"{case}: {why}")
    for name, why in found.absent.items():
        say(f"{name} does not take part: {why}")


def find_in_checkout(package: str, module: str) -> Any:
    """A module of a package that lies beside `src` in a checkout and is not installed."""
    root = Path(bough.__file__).parents[2]
    if not (root / package / "__main__.py").exists():
        raise OptionError(f"{package}/ is not installed with Bough: get its source code, and run it there")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(f"{package}.{module}")


def other_engines() -> dict[str, str]:
    """Engines of a checkout."""
    try:
        return dict(find_in_checkout("benchmarks", "engines").OTHERS)
    except OptionError:
        return {}
