"""`python -m papers [NAME ...]`, also `bough reproduce`: the papers' tables and figures, made again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bough.app.shell import FAILED, Json, fail, out, show_json
from papers import tour

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False)


@app.command()
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
    names = which or []
    if list_all and json:
        show_json(tour.titles(names))
    elif list_all:
        tour.show_list(names, out())
    else:
        found = tour.tour(names, to, docs, full, None if json else out())
        if json:
            show_json(found)
        if "differs" in found["rows"]:
            raise typer.Exit(FAILED)


def main(words: list[str]) -> None:
    """Run the command."""
    try:
        app(words, prog_name="bough reproduce")
    except Exception as error:
        raise SystemExit(fail(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
