"""The `bough` command: a thin shell over the library."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO, TextIOWrapper
from traceback import print_exc
from typing import Annotated

import typer

from bough import __version__
from bough.app.commands import cache, count, examine, export, identify, relax, settle, simulate, sweep, tour, view
from bough.app.shell import completion_words, example, fail

# Plain help: it is fast, and can be searched and piped.
app = typer.Typer(
    help="Dynamics of branched mechanisms.",
    epilog=example("bough info zoo:humanoid"),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# Each command with an example, which the tests run line by line.
COMMANDS = (
    (examine.zoo, "bough zoo"),
    (examine.info, "bough info zoo:humanoid"),
    (examine.doctor, "bough doctor zoo:humanoid --json"),
    (count.count, "bough count zoo:humanoid forward_dynamics --task pose:left_hand --task pose:right_foot"),
    (simulate.simulate, "bough simulate zoo:arm --duration 0.5 --force hand:0,0,10 --controller pd --record run.npz"),
    (settle.settle, "bough settle 'zoo:molecule?n=500&seed=1' --force link499:1,0,0 --eps 1e-3 --steps 20"),
    (relax.relax, "bough relax peptide:GASPW --force-field none -o relaxed.pdb --page relaxed.html"),
    (
        identify.identify,
        "bough simulate zoo:arm --seed 1 --controller pd --record run.npz",
        "bough identify zoo:arm run.npz",
    ),
    (sweep.sweep, "bough sweep zoo:arm forward_dynamics --rows 1000 --to sweep"),
    (view.view, "bough view zoo:humanoid --html humanoid.html"),
    (export.export, "bough export zoo:arm arm.c forward_dynamics 'jacobian?frame=hand' --float"),
    (tour.demo, "bough demo --to demo"),
    (tour.reproduce, "bough reproduce --list"),
    (tour.bench, "bough bench --model zoo:arm --seconds 0.01"),
)
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": True}  # options are those of `python -m papers`
for command, *lines in COMMANDS:
    settings = PASSED_ON if command is tour.reproduce else None
    app.command(epilog=example(*lines), context_settings=settings)(command)
app.add_typer(cache.app, name="cache")


def main() -> None:
    """Run the command. Exit codes: 0, 1 (found something, or failed), 2 (a request that is not possible)."""
    words = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to fail
    if os.environ.get("_BOUGH_COMPLETE") == "complete_bash":
        complete_in_bash()
    try:
        app([word for word in words if word != "--debug"], prog_name="bough")
    except Exception as error:
        if "--debug" in words:
            print_exc()
        raise SystemExit(fail(error)) from None


def complete_in_bash() -> None:
    """Print what bash may put in the place of its last word; it breaks words at colons, so zoo:NAME is NAME to it."""
    words, place, kept = completion_words(
        os.environ.get("COMP_WORDS", "").split(), int(os.environ.get("COMP_CWORD", 0))
    )
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = " ".join(words), str(place)
    with redirect_stdout(StringIO()) as found, suppress(SystemExit):
        app([], prog_name="bough")
    print("\n".join(line.removeprefix(kept) for line in found.getvalue().splitlines()))
    raise SystemExit(0)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"bough {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error; allowed anywhere.")] = False,
) -> None:
    """Dynamics of branched mechanisms."""
