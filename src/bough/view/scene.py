"""`Scene`: what is to be seen, whatever draws it: bodies with shapes, a configuration or a motion, and panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError
from bough.model import Model
from bough.model.bodies import Piece
from bough.model.facts import facts
from bough.types import FloatArray, IntArray
from bough.view.bones import bones
from bough.view.colours import branch_colours
from bough.view.kinematics import Links, links, poses
from bough.view.shapes import GREY, Shapes, joined, pieces_on


@dataclass(frozen=True, eq=False)
class Arrows:
    """Forces at points of bodies, in the world's axes; `arrows` makes them for named frames."""

    body: IntArray  # (k,) as the kernels number them, -1 = world
    point: FloatArray  # (k, 3) in the frame of that body
    force: FloatArray  # (k, 3), or (T, k, 3) along a motion

    def drawn(self, radius: float) -> FloatArray:
        """(T, k, 3): as long as they are large, 0.45 of the scene's radius usually; an impact is cut off at 0.7."""
        force = np.reshape(self.force, (-1, len(self.body), 3))
        size = np.linalg.norm(force, axis=-1, keepdims=True)
        most = size.max(axis=(1, 2), initial=0.0)
        usual = max(float(np.quantile(most, 0.95)) or float(most.max()), 1e-30)
        return force * np.minimum(0.45 / usual, 0.7 / np.maximum(size, 1e-30)) * radius


@dataclass(frozen=True, eq=False)
class Motion:
    """Configurations at times, and numbers along them that are worth a plot."""

    time: FloatArray  # (T,)
    q: FloatArray  # (T, nq)
    tracks: Mapping[str, FloatArray] = field(default_factory=dict)  # (T,) each
    adaptive: bool = False  # joints that move from one sample to the next are shown to do so
    unit: str = "s"  # of the times


@dataclass(frozen=True, eq=False)
class Scene:
    """A model to draw. Made by `bough.view.scene`; `html`, `screenshot`, `video` and the live view draw it."""

    model: Model
    links: Links
    shapes: Sequence[Shapes]
    colours: FloatArray  # (N, 3) of bodies, by branch
    branch: IntArray  # (N,) first body of the branch of each body
    q: FloatArray  # (nq,)
    title: str = ""
    motion: Motion | None = None
    arrows: Arrows | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)  # function: mul, add, div
    notes: Sequence[str] = ()  # what could not be drawn as the file says
    collision: Sequence[Shapes] = ()  # shown on demand
    camera: tuple[float, float] = (-0.7, 0.28)  # where it stands: rad from x about z, then upwards

    def __repr__(self) -> str:
        pieces = sum(len(part) for part in self.shapes)
        moving = f", {len(self.motion.time)} samples" if self.motion else ""
        return f"Scene({self.model.name!r}, {len(self.links.parent)} bodies, {pieces} shapes{moving})"

    def playing(
        self, time: npt.ArrayLike, q: npt.ArrayLike, tracks: Mapping[str, npt.ArrayLike] | None = None,
        *, arrows: Arrows | None = None, adaptive: bool = False, unit: str = "s",
    ) -> Scene:  # fmt: skip
        """The same scene with a motion: times (T,), configurations (T, nq), and numbers (T,) to plot beside it."""
        times, states = np.asarray(time, float), np.asarray(q, float)
        if times.ndim != 1 or not len(times) or states.shape != (len(times), len(self.q)):
            raise ShapeError(f"expected times (T,) and q (T, {len(self.q)}), got {times.shape} and {states.shape}")
        if not (np.isfinite(states).all() and np.isfinite(times).all()):
            raise ShapeError("a motion that is played has finite times and configurations")
        if (np.diff(times) < 0.0).any():
            k = int(np.flatnonzero(np.diff(times) < 0.0)[0])
            raise ShapeError(f"times must not decrease, got {times[k]:g} and then {times[k + 1]:g} at sample {k + 1}")
        plots = {name: np.asarray(track, float) for name, track in (tracks or {}).items()}
        odd = [name for name, track in plots.items() if track.shape != times.shape]
        if odd:
            raise ShapeError(f"track {odd[0]!r} has shape {plots[odd[0]].shape}, expected {times.shape}")
        motion = Motion(times, states, plots, adaptive, unit)
        return replace(self, q=states[0], motion=motion, arrows=arrows or self.arrows)

    def moved(self, shift: npt.ArrayLike) -> Scene:
        """The same scene, shifted by (3,) metres."""
        by = np.asarray(shift, float)
        if by.shape != (3,) or not np.isfinite(by).all():
            raise ShapeError(f"a scene is shifted by a vector (3,), got shape {by.shape}")
        fixed = np.array(self.links.fixed)
        fixed[self.links.parent < 0, :, 3] += by
        parts = []
        for part in self.shapes:
            placement = np.array(part.placement)
            placement[part.body < 0, :, 3] += by
            parts.append(replace(part, placement=placement))
        return replace(self, links=self.links._replace(fixed=fixed), shapes=parts)

    def by_branch(self) -> Scene:
        """The same scene in the colours of branches, whatever materials say."""
        own = np.vstack([self.colours, GREY])  # the world's comes last
        bare = [part.mesh and part.mesh._replace(uv=None, image=None) for part in self.shapes]
        shown = zip(self.shapes, bare, strict=True)
        return replace(self, shapes=[replace(part, colour=own[part.body], mesh=mesh) for part, mesh in shown])

    def ghost(self) -> Scene:
        """The same scene in pale colours, to be compared with: `scene.beside(other.ghost())`."""
        parts = [replace(part, colour=0.25 * part.colour + 0.62) for part in self.shapes]
        return replace(self, shapes=parts, arrows=None)

    def beside(self, *others: Scene) -> Scene:
        """This scene with the bodies of others in it: several robots, or another run.

        Panels and sliders are of the first. Others move with its times, each sample the nearest that they have.
        """
        return merged((self, *others))

    def placements(self, q: npt.ArrayLike | None = None) -> FloatArray:
        """(N, 4, 4) of all bodies in the world, as the kernels number them."""
        return poses(self.links, np.asarray(self.q if q is None else q, float))

    def states(self, times: FloatArray) -> FloatArray:
        """(T, nq): configurations at these times, each the nearest sample of the motion; q if nothing moves."""
        if self.motion is None:
            return np.tile(self.q, (len(times), 1))
        return self.motion.q[nearest(self.motion.time, times)]

    def html(self) -> str:
        """One page that needs no server and no network."""
        from bough.view.html import page

        return page(self)

    def save_html(self, path: str | Path) -> Path:
        """Write `html` to a file."""
        from bough.record import check_folder, replacing

        with replacing(check_folder(path)) as file:
            file.write(self.html().encode())
        return Path(path)

    def save_rerun(self, path: str | Path) -> Path:
        """Write the scene and its motion as .rrd, for the viewer of Rerun (extra `rerun`)."""
        from bough.view.exports import save_rerun

        return save_rerun(self, path)

    def save_mcap(self, path: str | Path) -> Path:
        """Write the scene and its motion as .mcap, for Foxglove (extra `mcap`)."""
        from bough.view.exports import save_mcap

        return save_mcap(self, path)

    def labels(self) -> list[str]:
        """(N,) names of all bodies; of those that have none, numbers."""
        found = [f"body {k}" for k in range(len(self.links.parent))]
        bodies = np.asarray(self.model.frames.body)[self.model.body_frames]
        for name, body in zip(self.model.body_names, bodies.tolist(), strict=True):
            found[body] = name
        return found

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame."""
        from html import escape

        return f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:560px;border:0"></iframe>'

    def screenshot(self, path: str | Path, **options: Any) -> Path:
        """Write a PNG, without a browser or a display; options as in `bough.view.picture`."""
        from bough.record import check_folder
        from bough.view.picture import picture, write_png

        return write_png(check_folder(path, ".png"), picture(self, **options))

    def video(self, path: str | Path, *, fps: float = 25.0, **options: Any) -> Path:
        """Write the motion in real time as .gif or .mp4 (extra `video`); options as in `bough.view.picture`."""
        from bough.view.video import save_video

        return save_video(self, path, fps=fps, **options)


def scene(
    model: Model, q: npt.ArrayLike | None = None, *, pieces: Sequence[Piece] | None = None, title: str = ""
) -> Scene:
    """A scene of a model at q (nq,), by default neutral; with these pieces, its own visuals, or links as rods."""
    tree = links(model)
    colours, branch = branch_colours(model.mechanism)
    at = np.array(model.neutral if q is None else q, float)
    if at.shape != (model.nq,) or not np.isfinite(at).all():
        raise ShapeError(f"q is a finite configuration ({model.nq},), got shape {at.shape}")
    pieces = pieces if pieces is not None else model.visuals or None
    drawn = bones(model, tree, colours, at) if pieces is None else pieces_on(model, pieces, colours)
    return Scene(model, tree, drawn, colours, branch, at, title or model.name, facts=facts(model))


def nearest(known: FloatArray, times: FloatArray) -> IntArray:
    """Numbers of those of the `known` times, in order, that are nearest to `times`."""
    after = np.searchsorted(known, times).clip(max=len(known) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(times - known[before] < known[after] - times, before, after)


def merged(scenes: Sequence[Scene]) -> Scene:
    """One scene of several, as `Scene.beside` says."""
    first = scenes[0]
    bodies = np.cumsum([0, *(len(x.links.parent) for x in scenes)])
    starts = np.cumsum([0, *(len(x.q) for x in scenes)])

    columns = {
        name: np.concatenate([getattr(x.links, name) for x in scenes]) for name in ("kind", "fixed", "pitch", "ratio")
    }
    tree = first.links._replace(
        **columns,
        parent=np.concatenate([_shifted(x.links.parent, k) for x, k in zip(scenes, bodies, strict=False)]),
        q=np.concatenate([x.links.q + k for x, k in zip(scenes, starts, strict=False)]),
    )
    parts = [replace(part, body=_shifted(part.body, k))
             for x, k in zip(scenes, bodies.tolist(), strict=False) for part in x.shapes]  # fmt: skip
    motion = first.motion and replace(first.motion, q=np.concatenate([x.states(first.motion.time) for x in scenes], 1))
    return replace(
        first, links=tree, shapes=joined(parts), motion=motion,
        colours=np.concatenate([x.colours for x in scenes]),
        branch=np.concatenate([x.branch + k for x, k in zip(scenes, bodies, strict=False)]),
        q=np.concatenate([x.q for x in scenes]),
    )  # fmt: skip


def _shifted(body: IntArray, by: int) -> IntArray:
    """Numbers of bodies, the world's -1 excepted, raised by `by`."""
    return np.where(body >= 0, body + by, body)


def arrows(model: Model, frames: Sequence[str], force: npt.ArrayLike, points: npt.ArrayLike | None = None) -> Arrows:
    """Forces (k, 3), or (T, k, 3) along a motion, at points (k, 3) of named frames; without, at their origins."""
    numbers = np.array([model.frame(name) for name in frames], np.int64)
    values, at = np.asarray(force, float), np.zeros((len(numbers), 3)) if points is None else np.asarray(points, float)
    if values.ndim not in (2, 3) or values.shape[-2:] != (len(numbers), 3) or at.shape != (len(numbers), 3):
        shapes = f"got {values.shape} and {at.shape}"
        raise ShapeError(f"expected forces (T, {len(numbers)}, 3) and points ({len(numbers)}, 3), {shapes}")
    local = np.einsum("kij,kj->ki", model.frames.R[numbers], at) + model.frames.p[numbers]
    return Arrows(np.asarray(model.frames.body[numbers]), local, np.nan_to_num(values))


def dressed(model: Model, file: str | Path | None = None, *, package_paths: Sequence[str | Path] = ()) -> Scene:
    """A scene of a model as its file shows it: meshes and primitives where it has some, else bones.

    Meshes are read below the folder of the file, its ROS package, ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and
    `package_paths`, and nowhere else.
    """
    found = scene(model)
    if file is None:
        return found
    from bough.view.geometry import shapes_of_file

    shapes, notes = shapes_of_file(model, file, found.colours, package_paths)
    collision, _ = shapes_of_file(model, file, found.colours, package_paths, "collision")
    return replace(found, shapes=shapes or found.shapes, notes=notes, collision=collision)
