"""`bough sweep`: a function or a rollout over many states, into Parquet parts that survive a kill."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import Json, say, show_json, watched
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.sweep import SweepWork, Workers
    from bough.sweep.rows import Rows


class SweepEngine(str, Enum):  # noqa: UP042  (typer reads the values of both)
    """Executors."""

    threads = "threads"
    processes = "processes"
    ray = "ray"
    slurm = "slurm"


What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="A function of Dynamics (jacobian?frame=hand), rollout (rollout?duration=1&dt=1e-3&every=10), or "
        "module:function of your own.",
    ),
]
States = Annotated[
    Path | None,
    typer.Option(help="An .npz file with arrays q, v, ... (rows, ...), also inertia, gravity: instead of drawn rows."),
]
Address = Annotated[
    str | None, typer.Option(help="Of the Ray cluster (auto: the one that runs here); for Slurm, its partition.")
]


@of_model
def sweep(
    source: Source,
    what: What,
    to: Annotated[Path, typer.Option(help="Folder for the parts; one with parts of the same sweep goes on.")],
    rows: Annotated[int, typer.Option(min=1, help="How many states are drawn.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the drawn states.")] = 0,
    spread: Annotated[float, typer.Option(help="Draw inertias, too: within this fraction of the model's.")] = 0.0,
    states: States = None,
    engine: Annotated[SweepEngine, typer.Option(help="Executors.")] = SweepEngine.threads,
    workers: Annotated[int | None, typer.Option(min=1, help="How many at a time.", show_default="one a CPU")] = None,
    address: Address = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Rows in a part; without: a second's worth.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a chunk that failed is sent again.")] = 2,
    only_results: Annotated[bool, typer.Option("--only-results", help="Leave the drawn rows out.")] = False,
    json: Json = False,
) -> None:
    """Compute a function or a rollout for many states, resumably.

    States, seeds or parameter sets go in, Parquet parts in a folder come out. Killed in the
    middle, the same command continues with the missing parts.
    """
    from bough.sweep import Job, run

    job = Job(source.model(), work_of(what), rows_of(states, rows, seed, spread), inputs=not only_results)
    found = run(job, to, executor_of(engine, workers, address), chunk=chunk, retries=retries, progress=watched())
    if json:
        show_json(found)
    else:
        say(str(found))


def work_of(text: str) -> SweepWork:
    """The function, as written on the command line."""
    from bough.app.commands.export import function_request
    from bough.errors import OptionError, short
    from bough.sweep import Evaluate, Roll, YourOwn

    name, options = function_request(text)
    if ":" in name:
        unknown = [key for key in options if key != "arrays"]
        if unknown:
            raise OptionError(f"{short(name)!r} has no option {short(unknown[0])!r}; it has arrays=q,v,...")
        return YourOwn(name, **{key: tuple(value.split(",")) for key, value in options.items()})
    if name != "rollout":
        return Evaluate(name, options)
    kinds: dict[str, Any] = {"duration": float, "dt": float, "every": int, "integrator": str}
    unknown = [key for key in options if key not in kinds]
    if unknown:
        raise OptionError(f"a rollout has no option {short(unknown[0])!r}; it has {', '.join(kinds)}")
    try:
        return Roll(**{key: kinds[key](value) for key, value in options.items()})
    except ValueError as error:
        raise OptionError(f"{short(text)!r}: {error}") from None


def rows_of(states: Path | None, rows: int, seed: int, spread: float) -> Rows:
    """Rows of a file, or drawn ones."""
    from bough.record import read_arrays
    from bough.sweep import ArrayRows, DrawnRows

    return DrawnRows(rows, seed, spread=spread) if states is None else ArrayRows(read_arrays(states))


def executor_of(engine: SweepEngine, workers: int | None, address: str | None) -> Workers:
    """Executors."""
    from bough.errors import OptionError
    from bough.sweep import Processes, RayCluster, Slurm, Threads

    if engine is SweepEngine.ray:
        return RayCluster(address, workers)
    if engine is SweepEngine.slurm:
        local = address == "local"
        options = {} if local or address is None else {"slurm_partition": address}
        return Slurm(workers, options, cluster="local" if local else "slurm")
    if address is not None:
        raise OptionError(f"--address is for --engine ray or slurm, not {engine.value}")
    return (Threads if engine is SweepEngine.threads else Processes)(workers)
