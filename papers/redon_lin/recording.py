"""Runs of the protocol that take hours: kept cell by cell, continued where they stopped, several cells at once.

`python -m papers.redon_lin.recording [--jobs N] [--to FILE] [CELLS ...]`, where CELLS are beginnings of names
such as `molecule/scattered/1000`. The file that ships is `recorded.json` beside this one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache, partial
from pathlib import Path
from typing import Any

from bough.errors import RecordingError
from bough.model import Model
from bough.record import cpu_name, replacing
from bough.types import FloatArray
from papers.redon_lin.protocol import FULL, LINKAGES, Experiment, cell, reference

OWN_RECORD = Path("build") / "redon_lin.json"
Found = Iterator[tuple[str, dict[str, Any]]]


def name_of(plan: Experiment, forces: int, which: int | str) -> str:
    """A cell by its name, or with "exact" the runs that cells are compared with."""
    return f"{plan.linkage}/{plan.where}/{forces}/{which}"


def missing(plans: Sequence[Experiment], known: Mapping[str, Any]) -> list[tuple[Experiment, int]]:
    """A plan and a number of forces for each exact run that is needed, the thresholds narrowed to what is not known.

    A cell that was recorded with another number of steps is not known.
    """
    found = []
    for plan in plans:
        for forces in plan.forces:
            names = {e: name_of(plan, forces, e) for e in plan.exponents}
            left = tuple(e for e, name in names.items() if known.get(name, {}).get("steps") != plan.steps)
            if left:
                found.append((plan._replace(exponents=left), forces))
    return found


def cells(plans: Sequence[Experiment], known: Mapping[str, Any] | None = None) -> Found:
    """Name and result of each cell that is not known yet, and of the exact runs that they are compared with."""
    for plan, forces in missing(plans, known or {}):
        exact, baseline = exact_run(plan, forces)
        yield name_of(plan, forces, "exact"), baseline
        for exponent in plan.exponents:
            yield name_of(plan, forces, exponent), one_cell(plan, forces, exponent, exact)


def at_once(plans: Sequence[Experiment], known: Mapping[str, Any], jobs: int) -> Found:
    """The same by so many processes of one thread each, in the order in which they end; the longest begin first."""
    groups = sorted(missing(plans, known), key=lambda group: -group[1])
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), one_thread) as pool:
        exact = {pool.submit(exact_run, plan, forces): (plan, forces) for plan, forces in groups}
        names: dict[Future[dict[str, Any]], str] = {}
        waiting: set[Future[Any]] = set(exact)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                if future in names:
                    yield names.pop(future), future.result()
                    continue
                plan, forces = exact.pop(future)
                displacements, baseline = future.result()
                yield name_of(plan, forces, "exact"), baseline
                for exponent in reversed(plan.exponents):
                    one = pool.submit(one_cell, plan, forces, exponent, displacements)
                    names[one] = name_of(plan, forces, exponent)
                    waiting.add(one)


def one_thread() -> None:
    """Processes that run side by side leave the other cores alone."""
    os.environ["BOUGH_NUM_THREADS"] = "1"


@cache
def linkage(name: str) -> Model:
    """Without gravity, as in the paper."""
    return LINKAGES[name]().with_gravity((0.0, 0.0, 0.0))


def exact_run(plan: Experiment, forces: int) -> tuple[list[FloatArray], dict[str, Any]]:
    displacements, baseline = reference(linkage(plan.linkage), plan, forces)
    return displacements, baseline | {"cpu": cpu_name()}


def one_cell(plan: Experiment, forces: int, exponent: int, exact: list[FloatArray]) -> dict[str, Any]:
    return cell(linkage(plan.linkage), plan, forces, exponent, exact) | {"cpu": cpu_name()}


def record(
    path: Path, plans: Sequence[Experiment], say: Callable[[str], None] = lambda text: None, jobs: int = 1
) -> dict[str, Any]:
    """Run what the file does not have yet, and keep each cell at once: a run may be stopped at any time."""
    try:
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    except ValueError:
        raise RecordingError(f"{str(path)!r} is damaged, or no recording: move it away to begin anew") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, result in cells(plans, found) if jobs == 1 else at_once(plans, found, jobs):
        found[name] = result
        with replacing(path) as file:
            file.write((json.dumps(found, indent=1) + "\n").encode())
        say(f"{name}: {result}")
    return found


def chosen(beginnings: Sequence[str]) -> list[Experiment]:
    """What is asked for: plans narrowed to the cells whose names begin so; all without."""
    found = []
    for plan in FULL:
        for forces in plan.forces:
            names = {e: name_of(plan, forces, e) for e in plan.exponents}
            kept = tuple(e for e, name in names.items() if not beginnings or name.startswith(tuple(beginnings)))
            if kept:
                found.append(plan._replace(forces=(forces,), exponents=kept))
    return found


def main(words: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description="Record the runs of Redon & Lin, Table 1 and Figs. 5, 7 and 8.")
    parser.add_argument("cells", nargs="*", help="beginnings of names, as molecule/scattered/1000; all without")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--to", type=Path, default=OWN_RECORD, help="file to continue or to begin")
    given = parser.parse_args(words)
    record(given.to, chosen(given.cells), partial(print, flush=True), given.jobs)


if __name__ == "__main__":
    main()
