"""`bough settle`: error-bounded adaptive quasi-statics of a linkage."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Annotated

import typer

from bough.app.shell import Forces, Json, Record, patient, report, watched, wrote
from bough.app.source import Source, of_model


class ErrorName(str, Enum):  # noqa: UP042  (typer reads the values of both)
    """The error that eps bounds."""

    relative_joint = "relative_joint"
    absolute_joint = "absolute_joint"
    relative_linkage = "relative_linkage"
    absolute_linkage = "absolute_linkage"
    energy = "energy"


Gravity = Annotated[str | None, typer.Option(metavar="gx,gy,gz", help="Gravity in m/s^2, instead of the model's.")]
Watch = Annotated[
    list[str],
    typer.Option("--body", metavar="BODY", help="Record and print positions of this body. May be repeated."),
]


@of_model
def settle(
    source: Source,
    force: Forces = [],  # noqa: B006
    eps: Annotated[float, typer.Option(min=0.0, help="Allowed error of each step; 0 is exact.")] = 1e-3,
    measure: Annotated[ErrorName, typer.Option(help="The error that eps bounds.")] = ErrorName.relative_joint,
    steps: Annotated[int, typer.Option(min=1, help="Number of steps.")] = 100,
    dt: Annotated[float, typer.Option(help="Time step, s; joints move by dt^2 / 2 qdd.")] = 1e-2,
    gravity: Gravity = None,
    method: Annotated[str, typer.Option(help="Method of a step: auto, adaptive, dca or aba.")] = "auto",
    body: Watch = [],  # noqa: B006
    every: Annotated[int, typer.Option(min=1, help="Record one step in so many.")] = 1,
    record: Record = None,
    forecast: Annotated[bool, typer.Option("--forecast", help="Print the cost of other errors, and stop.")] = False,
    json: Json = False,
) -> None:
    """Simulate the quasi-static motion of a linkage under forces.

    Each step starts at rest, and computes as few joint accelerations as the allowed error needs.
    """
    from bough import adaptive
    from bough.app.arguments import placed_force, vector
    from bough.record import check_recording

    if record is not None:
        check_recording(record)
    forces = [placed_force(text) for text in force]
    model = source.model()
    error = getattr(adaptive, measure.value)(eps)
    simulation = adaptive.QuasiStatics(model, error, method)
    if gravity is not None:
        simulation.gravity = vector(gravity, "--gravity")
    for name, value in forces:
        simulation.apply_force(name, value)
    if forecast:
        with patient("compiling the code of adaptive steps"):
            expected = simulation.forecast([eps or 1e-3] + [10.0**-k for k in range(1, 8)])
        report(json, {"model": model.name, "forecast": expected}, str(expected))
        return
    watching = [*dict.fromkeys([*body, *(name for name, _ in forces)])]
    before = simulation.positions(watching)
    text = source.text(force=force)
    recorder = adaptive.Recorder(watching, every, configuration=True, path=record, source=text) if record else None
    first = min(2, max(1, steps - 1))  # the time of a step is without compilation
    with patient("compiling the code of adaptive steps"):
        simulation.run(first, dt, record=recorder)
    if steps > first:
        simulation.run(steps - first, dt, progress=watched(), record=recorder)
    if recorder is not None and record is not None:
        recorder.save(record, text)
    after, stats = simulation.positions(watching), simulation.stats
    places = [{"body": b, "from": x, "to": y} for b, x, y in zip(watching, before, after, strict=True)]
    report(
        json,
        {"model": model.name, "joints": len(model.joints), "stats": stats, "bodies": places, "file": record},
        f"{model.name}: {stats.steps} steps, method {stats.method}, {stats.joints:,.0f} of {model.nv:,} joint "
        f"accelerations computed in the last one, {1e3 * stats.seconds:.3g} ms a step",
        f"error bound {stats.bound:.3g} (allowed: {measure.value} {eps:g}), {stats.memory / 2**20:.1f} MiB",
        *(f"{place['body']}: from {point(place['from'])} to {point(place['to'])} m" for place in places),
        *wrote(record),
    )


def point(x: Iterable[float]) -> str:
    """A place in words."""
    return f"({', '.join(f'{value:.5g}' for value in x)})"
