"""`bough view`: a model or a recording in the browser, as one page, as a picture or a video."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated

import typer

from bough.app.commands.simulate import Touching, contacts_of
from bough.app.shell import Json, note, report, say, working, wrote
from bough.app.source import Source, of_model

if TYPE_CHECKING:
    from bough.model import Model
    from bough.view import Arrows, Scene
    from bough.view.recorded import Recorded

MOST_COUNTED = 80  # degrees of freedom up to which operations are counted for the page
Html = Annotated[Path | None, typer.Option(help="Write one page that opens without a server or a network.")]
Screenshot = Annotated[Path | None, typer.Option(help="Write a PNG; needs no browser and no display.")]


@of_model
def view(
    source: Source,
    html: Html = None,
    screenshot: Screenshot = None,
    video: Annotated[Path | None, typer.Option(help="Write a recording as .gif or .mp4 (extra `video`).")] = None,
    rerun: Annotated[Path | None, typer.Option(help="Write an .rrd file for Rerun (extra `rerun`).")] = None,
    mcap: Annotated[Path | None, typer.Option(help="Write an .mcap file for Foxglove (extra `mcap`).")] = None,
    of: Annotated[str | None, typer.Option("--of", help="The model of a recording that does not name its own.")] = None,
    sample: Annotated[int | None, typer.Option(min=0, help="Sample of a screenshot. Default: the last.")] = None,
    state: Annotated[int, typer.Option(min=0, help="Which robot of a recorded batch.")] = 0,
    size: Annotated[str, typer.Option(help="WIDTHxHEIGHT of a screenshot or video, in pixels.")] = "1280x800",
    contact: Touching = [],  # noqa: B006
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the live view, on this machine.")] = 8080,
    json: Json = False,
) -> None:
    """Show a model or a recording: live, as a page, or as a picture.

    MODEL may be an .npz or .parquet file that `simulate` or `settle` recorded. Without an output file a recording
    opens as a page in the browser, and a model in the live view (pip install 'bough[viewer]').
    """
    from bough.record import check_folder

    wide_high = pixels(size)
    suffixes = {screenshot: [".png"], video: [".gif", ".mp4"], rerun: [".rrd"], mcap: [".mcap"], html: []}
    for file, own in suffixes.items():
        if file is not None:
            check_folder(file, *own)
    with working("making the scene"):
        found = scene(source, of, state)
    at = len(found.motion.time) - 1 if sample is None and found.motion else sample
    writers: dict[Path | None, Callable[[Path], Path]] = {
        html: found.save_html, screenshot: partial(found.screenshot, size=wide_high, sample=at),
        video: partial(found.video, size=wide_high), rerun: found.save_rerun, mcap: found.save_mcap,
    }  # fmt: skip
    with working("drawing"):
        written = [write(path) for path, write in writers.items() if path is not None]
    pieces = sum(len(part) for part in found.shapes)
    samples = len(found.motion.time) if found.motion else None
    facts = {"title": found.title, "bodies": len(found.links.parent), "shapes": pieces, "samples": samples,
             "notes": list(found.notes), "files": written}  # fmt: skip
    report(json, facts, *(f"note: {word}" for word in found.notes), *wrote(*written))
    if not written and found.motion is not None:
        path = Path(mkdtemp(prefix="bough-")) / f"{Path(source.file).stem}.html"
        found.save_html(path)
        (note if json else say)(f"{path} plays it; opening it in the browser")
        webbrowser.open(path.as_uri())
    elif not written:
        from bough.view import live

        live.serve(found, port, note if json else say, contacts_of(contact, 0.0, 0.8))


def scene(source: Source, of: str | None, state: int) -> Scene:
    """Of a model, or of a recording with its model."""
    from bough.record import RECORDINGS
    from bough.view import dressed, page, read_motion

    if source.is_structure:
        return page(source.molecule())
    packages = source.options.get("package_paths", ())
    if not source.file.lower().endswith(RECORDINGS):
        return counted(dressed(source.model(), source.path(), package_paths=packages))
    from bough.app.source import existing

    recording = read_motion(existing(source.file), state)
    model_source = Source(of, source.options) if of else Source.of_text(recording.source, packages)
    model = model_source.model()
    recording.check(model)
    found = counted(dressed(model, model_source.path(), package_paths=packages))
    pushes = forces_of(model_source, model, recording)
    return found.playing(recording.time, recording.q, recording.tracks, arrows=pushes, adaptive=recording.adaptive)


def forces_of(source: Source, model: Model, recording: Recorded) -> Arrows | None:
    """Forces that were applied, and those of contacts, where they act."""
    import numpy as np

    from bough.app.arguments import placed, placed_force
    from bough.view import arrows

    forces = [placed_force(text) for text in source.shown.get("force", ())]
    touching = [placed(text) for text in source.shown.get("contact", ())]
    samples, contact_force = len(recording.time), recording.contact_force
    if contact_force is None or contact_force.shape[1] != len(touching):
        contact_force, touching = np.zeros((samples, 0, 3)), []
    if not (forces or touching):
        return None
    constant = np.array([force[:3] for _, force in forces]).reshape(-1, 3)
    force = np.concatenate([np.tile(constant, (samples, 1, 1)), contact_force], axis=1)
    points = [[0.0, 0.0, 0.0]] * len(forces) + [point for _, point in touching]
    return arrows(model, [name for name, _ in (*forces, *touching)], force, points)


def counted(found: Scene) -> Scene:
    """With the operations that functions take, where that is quickly said."""
    if not 0 < found.model.nv <= MOST_COUNTED:
        return found
    from dataclasses import replace

    from bough.app.show import counted as operations

    return replace(found, counts={name: (c.mul, c.add, c.div) for name, c in operations(found.model).items()})


def pixels(size: str) -> tuple[int, int]:
    """WIDTHxHEIGHT."""
    from bough.errors import OptionError, short

    wide, mark, high = size.partition("x")
    if not (mark and wide.isdecimal() and high.isdecimal() and 16 <= int(wide) <= 8192 and 16 <= int(high) <= 8192):
        raise OptionError(f"--size {short(size)!r}: expected WIDTHxHEIGHT, from 16x16 to 8192x8192")
    return int(wide), int(high)
