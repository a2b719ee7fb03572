"""`bough demo`, `bough reproduce` and `bough bench`: what the library does, what papers print, what others take."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import bough
from bough.app.shell import FAILED, Json, note, out, patient, say, show_json, watched, working
from bough.app.source import HELP, Source, complete_model, with_model_options
from bough.errors import OptionError


def demo(
    to: Annotated[Path, typer.Option(help="Folder of the page.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Show what the library does, as a page.

    It has scenes, plots and numbers.
    """
    from bough.app.story.page import next_steps, write

    path, numbers = write(to, note if json else say, watched())
    if json:
        show_json({"file": path, **numbers})
        return
    say(f"\nThe page: {path.resolve()}\n\nWhat to try next:")
    for command, words in next_steps():
        say(f"  {command}\n      {words}")


def reproduce(
    which: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="A paper, table or figure; all without. See --list.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("build/reproduction"),
    full: Annotated[bool, typer.Option("--full", help="Also what takes hours.")] = False,
    docs: Annotated[Path | None, typer.Option(help="Renew the page of this docs folder, too.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List tables and figures, and run nothing.")] = False,
    json: Json = False,
) -> None:
    """Make the papers' tables and figures again.

    The report has them beside what is printed: HTML, Markdown and JSON.
    """
    papers = of_checkout("papers", "tour", "reproduce")

    names = which or []
    if list_all and json:
        show_json(papers.titles(names))
    elif list_all:
        papers.show_list(names, out())
    else:
        found = papers.tour(names, to, docs, full, None if json else out())
        if json:
            show_json(found)
        if "differs" in found["rows"]:
            raise typer.Exit(FAILED)


@with_model_options
def bench(
    options: dict[str, Any],
    sections: Annotated[
        list[str] | None, typer.Argument(metavar="SECTION", help="Sections; all without. See --list.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="Record the results in this docs folder, and renew it.")] = None,
    model: Annotated[
        str | None, typer.Option(help=f"Measure this model instead. {HELP}", autocompletion=complete_model)
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="For each contestant of --model.")] = 0.3,
    list_all: Annotated[bool, typer.Option("--list", help="List the sections, and run nothing.")] = False,
    json: Json = False,
) -> None:
    """Measure Bough beside other libraries.

    Contestants alternate in one run; all sections take minutes.

    With --model it is a robot of yours, beside Pinocchio and MuJoCo where they are here and agree; in a checkout also
    beside Drake, DART and CasADi's C code.
    """
    if model is not None:
        own(Source(model, options), seconds, json)
        return
    from bough.app.bench.timing import machine

    runner = of_checkout("benchmarks", "__main__", "bench")
    if list_all:
        show_json(list(runner.SECTIONS)) if json else out().print("\n".join(runner.SECTIONS))
        return
    rows = runner.run(sections or [], docs, runner.report.show if not json else lambda rows: None, watched())
    if json:
        show_json({"machine": machine(), "rows": rows})


def of_checkout(package: str, module: str, target: str) -> Any:
    """A module that lies beside `src` in a checkout and is not installed."""
    found = find_in_checkout(package, module)
    if found is None:
        raise OptionError(f"{package}/ is not installed with Bough: get its source code, and run `make {target}` there")
    return found


def find_in_checkout(package: str, module: str) -> Any:
    """The same, or None where this is no checkout."""
    root = Path(bough.__file__).parents[2]
    if not (root / package / "__main__.py").exists():
        return None
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(f"{package}.{module}")


def own(source: Source, seconds: float, json: bool) -> None:
    """One model, beside the engines that are here."""
    from bough.app.bench import table
    from bough.app.bench.compare import compare
    from bough.app.bench.engines import ENGINES
    from bough.app.bench.timing import machine

    model = source.model()
    if model.couplings:
        say("mimic joints are measured as independent ones (--free-mimics): the other engines have none that follow")
        model = Source(source.file, source.options | {"mimic": "independent"}).model()
    others = getattr(find_in_checkout("benchmarks", "engines"), "OTHERS", {})
    with patient("compiling for this robot", after=2.0), working("measuring"):
        found = compare(model, seconds, ENGINES | others)
    if json:
        show_json({"machine": machine(), "rows": found.rows, "left_out": found.left_out})
        return
    out().print(table.table(found.rows), "")
    for words in table.notes(found.rows):
        say(words)
    for name, why in found.left_out.items():
        say(f"{name} is left out: {why}")
