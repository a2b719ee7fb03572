"""`bough identify`: from measured motions and forces to a corrected model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bough.app.shell import Json, note, patient, report, working, wrote
from bough.app.source import Source, existing, of_model

if TYPE_CHECKING:
    from bough.identification import Identification
    from bough.model import Model


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="An .npz file with arrays q, v, qdd, tau (samples, ...), or a .csv or .parquet file with columns q0, v0, "
        "qdd0, tau0 ...; qdd may be missing where there is a time.",
    ),
]
Drive = Annotated[
    list[str],
    typer.Option(
        "--drive", metavar="TERM", help="Find armature, damping or friction of the joints, too. May be repeated."
    ),
]


@of_model
def identify(
    source: Source,
    data: Data,
    to: Annotated[Path | None, typer.Option(help="Write a corrected URDF to this file.")] = None,
    drive: Drive = [],  # noqa: B006
    noise: Annotated[float | None, typer.Option(min=0.0, help="Standard deviation of tau, N m or N.")] = None,
    prior: Annotated[float, typer.Option(help="Weight of the inertias in the model file.")] = 1e-3,
    json: Json = False,
) -> None:
    """Estimate masses, inertias and friction from measured motions.

    Estimates are physically possible, and the most likely ones; --to writes a corrected URDF.
    """
    from bough.errors import OptionError
    from bough.identification import identify as fit
    from bough.identification import write_urdf
    from bough.record import check_folder

    if to is not None:
        if Path(source.file).suffix != ".urdf":
            raise OptionError("--to writes a corrected copy of a URDF file: give one as the model")
        check_folder(to)
    model = source.model()
    existing(str(data))
    samples = measurements(data)
    with patient("compiling the regressor of this robot"), working("identifying"):
        found = fit(model, *samples, drive=tuple(drive), noise=noise, prior=prior)
    if to is not None:
        write_urdf(found.model, source.file, to, **source.options)
    lines = [f"{len(samples[0]):,} samples: {found}"]
    lines.append(f"{'body':32}{'mass before':>14}{'after':>12}{'standard error':>18}")
    for k, body in enumerate(model.body_names):
        error = found.standard_errors[10 * k]
        shown = f"{error:.3g}" if error < float("inf") else "not identifiable"
        lines.append(f"{body:32}{model.inertias[k, 0]:14.5g}{found.model.inertias[k, 0]:12.5g}{shown:>18}")
    report(json, facts(model, found, len(samples[0]), to), *lines, *wrote(to))


def facts(model: Model, found: Identification, samples: int, to: Path | None) -> dict[str, Any]:
    """The result, for machines."""
    numbers = dict(zip(found.names, found.values.tolist(), strict=True))
    errors = dict(zip(found.names, found.standard_errors.tolist(), strict=True))
    return {
        "model": model.name, "samples": samples, "rank": found.base.rank, "condition": found.base.condition,
        "residual": found.residual, "free_residual": found.free_residual, "values": numbers,
        "standard_errors": errors, "file": to,
    }  # fmt: skip


def measurements(path: Path) -> tuple[Any, ...]:
    """q, v, qdd and tau (samples, ...); without accelerations, those that follow from velocities and times."""
    import numpy as np

    from bough.errors import RecordingError, short
    from bough.record import check_samples, read_arrays
    from bough.view.recorded import read_columns

    where = repr(short(str(path)))
    arrays = read_columns(path, None) if path.suffix in (".csv", ".parquet") else read_arrays(path)
    for name in ("q", "v", "tau"):
        if name not in arrays:
            raise RecordingError(f"{where} has no {name!r}; it has {', '.join(sorted(arrays)) or 'nothing'}")
    check_samples(path, arrays, ("q", "v", "tau", "qdd", "time"))
    if "qdd" not in arrays:
        if "time" not in arrays or len(arrays["time"]) < 3 or len(arrays["time"]) != len(arrays["v"]):
            raise RecordingError(f"{where} has no 'qdd', and no 'time' by which to take it from v")
        arrays["qdd"] = np.gradient(arrays["v"], arrays["time"], axis=0)
        note("qdd is not in the file: taken from differences of v")
    return tuple(arrays[name] for name in ("q", "v", "qdd", "tau"))
