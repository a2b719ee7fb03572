"""Things that stand in the world, shaded, by the pictures of `bough.view`: no display is needed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bough.model import Model
from bough.view import Mesh, Scene, Shapes, picture, rods, scene

ACTIVE, LOCKED, PLAIN = (0.86, 0.16, 0.10), (0.55, 0.60, 0.67), (0.16, 0.36, 0.62)
INK = "#7a8088"  # of text and axes: legible on light and on dark pages
SIDES = 12  # of what is round


def rods_between(
    start: np.ndarray, end: np.ndarray, width: np.ndarray | float, colour: np.ndarray | Sequence[float]
) -> Shapes:
    """Rods (n, 3) to (n, 3) that stand in the world, of one width and colour or of one each."""
    shown = np.broadcast_to(np.asarray(colour, float), (len(start), 3))
    return rods(np.full(len(start), -1), start, end, np.broadcast_to(width, len(start)), shown)


def tube(points: np.ndarray, width: float, colour: np.ndarray | Sequence[float], fine: int = 5) -> list[Shapes]:
    """A smooth tube through points (n, 3), of one colour or of one for each point."""
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    a, b, c, d = (ends[k : len(ends) - 3 + k, None] for k in range(4))  # Catmull and Rom's curve
    t = (np.arange(fine) / fine)[:, None]
    curve = b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))
    line = np.concatenate([curve.reshape(-1, 3), points[-1:]])
    along = np.gradient(line, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = [np.cross(along[0], np.eye(3)[np.abs(along[0]).argmin()])]
    for z in along[1:]:  # carried along without a twist
        side.append(side[-1] - z * (side[-1] @ z))
    x = np.array(side) / np.linalg.norm(side, axis=1, keepdims=True)
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    ring = np.cos(angle)[:, None] * x[:, None] + np.sin(angle)[:, None] * np.cross(along, x)[:, None]
    vertices = (line[:, None] + 0.5 * width * ring).reshape(-1, 3)
    own = np.broadcast_to(np.asarray(colour, float), (len(points), 3))
    shown = own[np.minimum((np.arange(len(line) - 1) + fine // 2) // fine, len(points) - 1)]
    k, n = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = np.concatenate([np.stack([k, n, n + SIDES], axis=1), np.stack([k, n + SIDES, k + SIDES], axis=1)])
    every = faces[None] + SIDES * np.arange(len(line) - 1)[:, None, None]
    found = []
    for one in np.unique(shown, axis=0):
        mesh = Mesh(vertices, every[(shown == one).all(axis=1)].reshape(-1, 3))
        found.append(Shapes("mesh", np.array([-1]), np.eye(4)[None, :3], one[None], mesh))
    return found


def still(model: Model, shapes: Sequence[Shapes], size: tuple[int, int], look: tuple[float, float], zoom: float):
    """Pixels of shapes that stand in the world."""
    made: Scene = replace(scene(model, pieces=[]), shapes=[part for part in shapes if len(part)])
    return picture(made, size, direction=look, zoom=zoom)


def save(figure: Any, path: Path) -> Path:
    """Write a picture of 160 colours on a transparent ground, a fourth of the size of one with all, and say so."""
    from matplotlib import pyplot
    from matplotlib.text import Text
    from PIL import Image

    for text in figure.findobj(Text):
        text.set_color(INK)
    for axes in figure.axes:
        axes.tick_params(which="both", color=INK)
        axes.spines[:].set_edgecolor(INK)
    whole = io.BytesIO()
    figure.savefig(whole, dpi=100, transparent=True)
    pyplot.close(figure)
    Image.open(whole).convert("RGBA").quantize(160, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"wrote {path}")
    return path
