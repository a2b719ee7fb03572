"""`bough sweep`: a function or a rollout over many states, into Parquet parts that survive a kill."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import Json, report, watched
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
    typer.Option(help="An .npz file with arrays q, v, inertia, ... (rows, ...), instead of random states."),
]
Address = Annotated[
    str | None, typer.Option(help="Address of the Ray cluster (auto: on this machine), or partition of Slurm.")
]


@of_model
def sweep(
    source: Source,
    what: What,
    to: Annotated[Path, typer.Option(help="Folder for the parts. The sweep whose parts it has is continued.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of random states.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    spread: Annotated[float, typer.Option(help="Vary inertias at random, too, within this fraction.")] = 0.0,
    states: States = None,
    engine: Annotated[SweepEngine, typer.Option(help="Where chunks are computed.")] = SweepEngine.threads,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of workers.", show_default="one a CPU")] = None,
    address: Address = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Rows in a part. Default: about a second of work.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Retries of a failed chunk.")] = 2,
    only_results: Annotated[bool, typer.Option("--only-results", help="Do not save the random states.")] = False,
    json: Json = False,
) -> None:
    """Compute a function or a rollout for many states, resumably.

    Inputs are states, seeds or parameter sets; results are Parquet parts in a folder. After an interruption the
    same command computes the missing parts.
    """
    from bough.sweep import Job, run

    job = Job(source.model(), work_of(what), rows_of(states, rows, seed, spread), inputs=not only_results)
    found = run(job, to, executor_of(engine, workers, address), chunk=chunk, retries=retries, progress=watched())
    report(json, found, str(found))


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
