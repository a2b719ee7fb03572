"""The `bough` command: a thin shell over the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from bough import __version__
from bough.app.source import existing, read_model, welds
from bough.errors import BoughError
from bough.io import LoadOptions

app = typer.Typer(help="Dynamics of branched mechanisms.", no_args_is_help=True, pretty_exceptions_enable=False)
cache_app = typer.Typer(help="Compiled code that is kept on disk.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")

out = Console()
COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}

File = Annotated[str, typer.Argument(help="A URDF or MJCF file, or zoo:NAME, zoo:NAME:SIZE (zoo:chain:30).")]
Floating = Annotated[bool, typer.Option("--floating-base", "-f", help="Let the root link float.")]
Weld = Annotated[list[str], typer.Option(help="Fix a joint: NAME, or NAME=POSITION. May be repeated.")]
DropEqualities = Annotated[bool, typer.Option("--drop-equalities", help="Leave out loops of MJCF files.")]
Check = Annotated[bool, typer.Option("--check", help="Refuse also what is not physical but harmless.")]
FreeMimics = Annotated[bool, typer.Option("--free-mimics", help="Give mimic joints a freedom of their own.")]


def main() -> None:
    """Run the command; an error that Bough raises on purpose is one red line and exit code 2."""
    try:
        app()
    except BoughError as error:
        Console(stderr=True).print(Text(f"error: {error}", style="bold red"), soft_wrap=True)
        raise SystemExit(2) from None


def _options(floating: bool, free: bool, weld: list[str], drop: bool, check: bool) -> LoadOptions:
    """Switches of the command as options of `load`."""
    return {
        "floating_base": floating, "mimic": "independent" if free else "honour", "weld": welds(weld),
        "equality": "drop" if drop else "honour", "check": check,
    }  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        out.print(f"bough {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Dynamics of branched mechanisms."""


@app.command()
def info(
    file: File,
    floating_base: Floating = False,
    free_mimics: FreeMimics = False,
    weld: Weld = [],  # noqa: B006
    drop_equalities: DropEqualities = False,
    check: Check = False,
) -> None:
    """Print the tree, the joints, the sparsity of the mass matrix and what functions cost."""
    from bough.app import demo as demo_tour
    from bough.app import show

    model = read_model(file, **_options(floating_base, free_mimics, weld, drop_equalities, check))
    out.print(show.summary(model))
    out.print(show.branches(model))
    if np.isfinite(model.limits).any() or np.any(model.passive):
        out.print(show.limits(model))
    out.print("\nNonzeros of the mass matrix:")
    out.print(show.pattern(model.dof_tree))
    if model.nv <= 150:
        out.print(demo_tour.costs(model))
    for note in model.notes:
        out.print(Text(f"note: {note}", style="dim"))


@app.command()
def doctor(
    file: File,
    floating_base: Floating = False,
    free_mimics: FreeMimics = False,
    weld: Weld = [],  # noqa: B006
    drop_equalities: DropEqualities = False,
    check: Check = False,
    strict: Annotated[bool, typer.Option(help="Fail on warnings too.")] = False,
) -> None:
    """List what is wrong or suspicious in a file; exit code 1 if it cannot be loaded with these options."""
    from bough.io import doctor as examine

    options = _options(floating_base, free_mimics, weld, drop_equalities, check)
    findings = examine(read_model(file)) if file.startswith("zoo:") else examine(existing(file), **options)
    for finding in findings:
        line = Text(f"{finding.severity:8}", style=COLOURS[finding.severity])
        line.append_text(Text.assemble((finding.link, "cyan"), f": {finding.what}", (f" ({finding.remedy})", "dim")))
        out.print(line, soft_wrap=True)
    numbers = {severity: sum(f.severity == severity for f in findings) for severity in COLOURS}
    out.print(", ".join(f"{number} {severity}{'s' * (number != 1)}" for severity, number in numbers.items()))
    if numbers["error"] or (strict and numbers["warning"]):
        raise typer.Exit(1)


@app.command()
def demo(
    file: Annotated[str, typer.Argument(help="As for info.")] = "zoo:humanoid",
    floating_base: Floating = False,
    picture: Annotated[Path, typer.Option(help="Where to put the picture of the pattern.")] = Path(
        "build/sparsity.png"
    ),
) -> None:
    """Show what the library does on a humanoid, or on a file of yours."""
    from bough.app.demo import run

    run(read_model(file, floating_base=floating_base), picture, out)


@app.command()
def reproduce(
    which: Annotated[
        list[str] | None, typer.Argument(help="A paper, table or figure; all without. See --list.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("build/reproduction"),
    full: Annotated[bool, typer.Option("--full", help="Also what takes hours.")] = False,
    docs: Annotated[Path | None, typer.Option(help="Renew the page of this docs folder, too.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List tables and figures, and run nothing.")] = False,
) -> None:
    """Make the papers' tables and figures again, beside what they print: HTML, Markdown and JSON."""
    from bough.app.reproduction import show_list, tour

    names = which or []
    if list_all:
        show_list(names, out)
    elif not tour(names, to, docs, full, out):
        raise typer.Exit(1)


@cache_app.command("info")
def cache_info() -> None:
    """Where compiled code is kept, and how much of it there is."""
    from bough.compile.run import cache

    found = cache.info()
    out.print(
        Text(f"{found.directory}: {found.entries} entries, {found.size / 2**20:.1f} of {found.limit / 2**20:.0f} MiB")
    )


@cache_app.command("warm")
def cache_warm(
    file: Annotated[str | None, typer.Argument(help="A model whose own code is compiled, too; as for info.")] = None,
    floating_base: Floating = False,
) -> None:
    """Compile everything ahead: code for all models, adaptive code and, if a file is given, the code of its model."""
    from bough.app.warm import warm

    count = warm(read_model(file, floating_base=floating_base) if file else None, out)
    out.print(f"{count} functions are ready")


@cache_app.command("clear")
def cache_clear() -> None:
    """Remove all compiled code from disk."""
    from bough.compile.run import cache

    out.print(f"removed {cache.clear()} entries")
