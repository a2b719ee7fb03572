"""`bough cache`: compiled code that is kept on disk."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.app.shell import Json, example, out, report
from bough.app.source import HELP, Source, complete_model, with_model_options

app = typer.Typer(
    help="Show, fill or clear the cache of compiled code.",
    epilog=example("bough cache info"),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(epilog=example("bough cache info"))
def info(json: Json = False) -> None:
    """Print the folder and the size of the cache."""
    from bough.compile.run import cache

    found = cache.info()
    facts = {"directory": found.directory, "entries": found.entries, "bytes": found.size, "limit": found.limit}
    size, limit = found.size / 2**20, found.limit / 2**20
    report(json, facts, f"{found.directory}: {found.entries} entries, {size:.1f} of {limit:.0f} MiB")


@app.command(epilog=example("bough cache warm zoo:arm"))
@with_model_options
def warm(
    options: dict[str, Any],
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help=f"A model whose own code is compiled, too. {HELP}", autocompletion=complete_model
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compile the library's code, and a model's, in advance.

    This is general and adaptive code and, with a model, its own code. Functions of a frame, forces by name,
    derivatives and the tasks of one space are compiled on first use.
    """
    from bough.app.warm import warm

    count = warm(Source(model, options).model() if model else None, None if json else out())
    report(json, {"functions": count}, f"{count} functions are ready")


@app.command(epilog=example("bough cache clear"))
def clear(json: Json = False) -> None:
    """Remove all compiled code from disk."""
    from bough.compile.run import cache

    count = cache.clear()
    report(json, {"removed": count}, f"removed {count} entries")
