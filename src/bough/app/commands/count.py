"""`bough count`: operations of functions beside the papers' formulas, and the planner's choice for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bough.app.shell import Json, out, say, show_json, watched
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.opspace import Task

Names = Annotated[list[str] | None, typer.Argument(metavar="FUNCTION", help="Functions of Dynamics. Default: all.")]
KINDS = "pose:FRAME, position:FRAME, orientation:FRAME, relative:FRAME,BASE, center_of_mass or momentum"
Tasks = Annotated[list[str], typer.Option("--task", metavar="TASK", help=f"{KINDS}. May be repeated.")]


@of_model
def count(
    source: Source,
    functions: Names = None,
    task: Tasks = [],  # noqa: B006
    frame: Annotated[str | None, typer.Option(help="Count functions of this frame, too.")] = None,
    json: Json = False,
) -> None:
    """Count operations of functions, beside the papers' formulas.

    Each method of a function is counted. With tasks, so is each method for Lambda^-1; the planner's choice is marked.

    Counts are exact, for the traced graph of this model before it is simplified; nothing is compiled.
    """
    from bough.app import costs

    model, asked = source.model(), [task_of(text) for text in task]
    rows = [] if task and not functions else costs.every(model, functions or [], frame, watched())
    plan = None
    if asked:
        from bough.opspace import TaskSet, make_plan

        plan = make_plan(TaskSet(model, asked), every=True)
    if json:
        show_json({"model": model.name, "nv": model.nv, "functions": rows, "plan": plan})
        return
    if rows:
        out().print(costs.compared(rows))
        for line in costs.sources(rows):
            say(f"paper: {line}")
    if plan is not None:
        out().print(costs.planned(plan))
        say(f"{plan.choice}: {plan.reason}" + ("" if plan.exact else " (estimated: the graphs are too large to count)"))


def task_of(text: str) -> Task:
    """A task as it is written on the command line."""
    from bough import opspace
    from bough.errors import TaskError, short, unknown_option

    kind, _, rest = text.partition(":")
    frames = [word for word in rest.split(",") if word]
    takes = {"pose": 1, "position": 1, "orientation": 1, "relative": 2, "center_of_mass": 0, "momentum": 0}
    if kind not in takes:
        raise unknown_option(f"--task {short(text)!r}: there is no task {short(kind)!r}", kind, takes)
    if kind in ("pose", "position", "orientation") and rest:
        frames = [rest]  # a name may have commas
    if len(frames) != takes[kind]:
        frames_taken = ("no frame", "one frame", "two frames")[takes[kind]]
        raise TaskError(f"--task {short(text)!r}: {kind} is a task of {frames_taken}")
    task: Task = getattr(opspace, kind)(*frames)
    return task
