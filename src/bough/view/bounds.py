"""Bounds of a scene for a camera: centre, size, floor, and fineness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bough.types import FloatArray
from bough.view.shapes import Shapes, on_bodies

if TYPE_CHECKING:
    from bough.view.scene import Scene

LOOKED_AT = 12  # samples of a motion
UNIT = np.array([[-0.5] * 3, [0.5] * 3])


class View(NamedTuple):
    """In metres, and in radians from x about z, then upwards."""

    center: list[float]
    radius: float
    floor: float
    direction: tuple[float, float]


def away(direction: tuple[float, float]) -> FloatArray:
    """(3,) unit vector from the scene to a camera that stands in this direction, as in `View`."""
    a, h = direction
    return np.array([np.cos(h) * np.cos(a), np.cos(h) * np.sin(a), np.sin(h)])


def bounds(scene: Scene) -> View:
    """Of all that is drawn, at some samples of a motion; the floor is z = 0 if nothing is far below it."""
    states = [scene.q]
    if scene.motion is not None:
        shown = np.linspace(0, len(scene.motion.time) - 1, min(LOOKED_AT, len(scene.motion.time))).round().astype(int)
        states = [scene.motion.q[k] for k in np.unique(shown)]
    corners = np.array([extent(scene, q) for q in states])
    low, high = corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)
    radius = max(float(np.linalg.norm(high - low)) / 2, 1e-3)
    floor = 0.0 if low[2] > -0.04 * radius and low[2] < 2.0 * radius else float(low[2]) - 0.03 * radius
    return View(((low + high) / 2).tolist(), radius, min(floor, 0.0 if low[2] >= 0.0 else floor), scene.camera)


def extent(scene: Scene, q: FloatArray) -> FloatArray:
    """(2, 3) lowest and highest coordinates of the centres of all pieces, and half their size about them."""
    T = scene.placements(q)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in scene.shapes:
        low_corner, high_corner = box_of(part)
        middle, half = (low_corner + high_corner) / 2, (high_corner - low_corner) / 2
        A = on_bodies(T, part.body, part.placement)
        center, reach = A[:, :, :3] @ middle + A[:, :, 3], np.abs(A[:, :, :3]) @ half
        low, high = np.minimum(low, (center - reach).min(axis=0)), np.maximum(high, (center + reach).max(axis=0))
    return np.array([low, high]) if np.isfinite(low).all() else UNIT


def box_of(part: Shapes) -> FloatArray:
    """(2, 3) lowest and highest coordinates of a geometry before it is placed."""
    mesh = part.mesh
    return UNIT if mesh is None else np.array([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])


def corners_of(shapes: Sequence[Shapes], body: int) -> FloatArray:
    """(k, 3) corners of the boxes around all pieces of a body, in its frame."""
    found = [np.zeros((0, 3))]
    for part in shapes:
        own, box = part.placement[part.body == body], box_of(part)
        corners = np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        found.append((np.einsum("kij,cj->kci", own[:, :, :3], corners) + own[:, None, :, 3]).reshape(-1, 3))
    return np.concatenate(found)


def fine(scene: Scene) -> int:
    """Sides of round shapes: fewer if there are many."""
    pieces = sum(len(part) for part in scene.shapes)
    return 24 if pieces < 1500 else 12 if pieces < 6000 else 6 if pieces < 40_000 else 4
