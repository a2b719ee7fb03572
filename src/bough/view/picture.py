"""A PNG of a scene without a browser or a display: triangles into a depth buffer, lit as in the page."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import OptionError
from bough.model.bodies import Mesh
from bough.record import replacing
from bough.types import FloatArray
from bough.view.bounds import View, away, bounds, fine
from bough.view.kinematics import moving
from bough.view.raster import LIGHT, compiled
from bough.view.shapes import Shapes, on_bodies, rods, unit

if TYPE_CHECKING:
    from bough.view.scene import Scene

Pixels = npt.NDArray[np.uint8]
SHARPER = 2  # pixels are drawn twice as fine and averaged
AWAY, HALF_ANGLE = 3.0, 0.36  # radii, so that all of it is seen; rad, of the shorter side
ARROW = (0.84, 0.27, 0.18)
ACTIVE, RESTING = (0.98, 0.36, 0.05), (0.50, 0.55, 0.62)


class _Camera(NamedTuple):
    eye: FloatArray
    axes: FloatArray  # (3, 3): right, up, back
    scale: float  # pixels a unit at unit distance
    size: tuple[int, int]

    def project(self, points: FloatArray) -> FloatArray:
        """(..., 3): pixel x, pixel y, and one over the distance, negative behind the eye."""
        seen = (points - self.eye) @ self.axes.T
        away = -seen[..., 2]
        inverse = 1.0 / np.where(np.abs(away) > 1e-12, away, 1e-12)
        x = self.size[0] / 2 + self.scale * seen[..., 0] * inverse
        y = self.size[1] / 2 - self.scale * seen[..., 1] * inverse
        return np.stack([x, y, inverse], axis=-1)


def picture(
    scene: Scene, size: tuple[int, int] = (1280, 800), *, sample: int | None = None,
    direction: tuple[float, float] | None = None, zoom: float = 1.0,
) -> Pixels:  # fmt: skip
    """(height, width, 3) pixels: the scene at its configuration, or at a sample of its motion.

    `direction` is where the camera stands: radians about z from x, then upwards.
    """
    view, q = bounds(scene), scene.q
    if sample is not None:
        if scene.motion is None:
            raise OptionError(f"sample {sample} is of a motion: this scene has none")
        if not 0 <= sample < len(scene.motion.q):
            raise OptionError(f"there is no sample {sample}: the motion has samples 0 to {len(scene.motion.q) - 1}")
        q = scene.motion.q[sample]
    camera = _camera(view, (size[0] * SHARPER, size[1] * SHARPER), direction or view.direction, zoom)
    T, high, wide = scene.placements(q), camera.size[1], camera.size[0]
    depth, shade = np.zeros((2, high, wide), np.float32)  # one over the distance; of the floor where a shadow falls
    normal, colour, unused = np.zeros((3, high, wide, 3), np.float32)
    draw = compiled()[0]
    for part in (*_shapes(scene, sample or 0), *_arrows(scene, q, view, sample or 0)):
        corners, normals, shown = _triangles(part, T, fine(scene))
        texture = _texture(part, len(corners))
        draw(camera.project(corners), normals, shown, *texture, depth, normal, colour)
        if camera.eye[2] > view.floor:
            corners -= np.array(LIGHT) * (np.maximum(corners[..., 2:] - view.floor, 0.0) / LIGHT[2])
            draw(camera.project(corners), normals, shown, *texture, shade, unused, unused)
    at = np.r_[camera.eye, camera.axes.ravel(), camera.scale]
    compiled()[1](at, np.r_[view.center[:2], view.floor, view.radius], depth, shade, normal, colour)
    small = colour.reshape(size[1], SHARPER, size[0], SHARPER, 3).mean(axis=(1, 3))
    return (255 * np.clip(small, 0.0, 1.0) + 0.5).astype(np.uint8)


def _shapes(scene: Scene, sample: int) -> Sequence[Shapes]:
    """In an adaptive run, with the joints that move in a sample lit up."""
    if scene.motion is None or not scene.motion.adaptive:
        return scene.shapes
    lit = np.append(moving(scene.links, scene.motion.q, sample), False)  # the world rests
    return [replace(part, colour=np.where(lit[part.body][:, None], ACTIVE, RESTING)) for part in scene.shapes]


def _camera(view: View, size: tuple[int, int], direction: tuple[float, float], zoom: float) -> _Camera:
    back, a = away(direction), direction[0]
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    axes = np.stack([right, np.cross(back, right), back])
    eye = np.array(view.center) + AWAY * view.radius / zoom * back
    return _Camera(eye, axes, min(size) / 2 / np.tan(HALF_ANGLE), size)


def _triangles(part: Shapes, T: FloatArray, sides: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Corners (t, 3, 3), their normals, and colours (t, 3), in the world."""
    mesh = part.mesh or unit(part.kind, sides)
    world = on_bodies(T, part.body, part.placement)
    A, p = world[:, :, :3], world[:, :, 3]
    corners, normals = mesh.vertices[mesh.faces], corner_normals(mesh)
    size = np.maximum((part.placement[:, :, :3] ** 2).sum(axis=1), 1e-300)  # normals are divided by the size
    placed = corners.reshape(-1, 3) @ A.transpose(0, 2, 1) + p[:, None]
    turned = normals.reshape(-1, 3) @ (A / size[:, None]).transpose(0, 2, 1)  # of any length
    shown = np.repeat(part.colour, len(mesh.faces), axis=0)
    return placed.reshape(-1, 3, 3), turned.reshape(-1, 3, 3), shown


def _texture(part: Shapes, count: int) -> tuple[FloatArray, FloatArray]:
    """Places of the corners (t, 3, 2), none negative, in an image (h, w, 3), from its lowest row up; or in white."""
    mesh = part.mesh
    if mesh is None or mesh.image is None or mesh.uv is None:
        return np.zeros((count, 3, 2)), np.ones((1, 1, 3))
    uv = mesh.uv - np.floor(mesh.uv.min(axis=0))  # images repeat
    return np.tile(uv[mesh.faces], (len(part), 1, 1)), np.ascontiguousarray(mesh.image[::-1] / 255.0)


def corner_normals(mesh: Mesh) -> FloatArray:
    """(t, 3, 3): smooth, but across edges those of the face."""
    p = mesh.vertices[mesh.faces]
    face = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    around = np.zeros_like(mesh.vertices)
    for k in range(3):
        np.add.at(around, mesh.faces[:, k], face)
    smooth = around[mesh.faces]
    flat = np.repeat(face[:, None], 3, axis=1)
    lengths = np.linalg.norm(smooth, axis=-1) * np.linalg.norm(flat, axis=-1)
    edge = (smooth * flat).sum(axis=-1) < 0.85 * lengths
    found: FloatArray = np.where(edge[..., None], flat, smooth)
    return found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-300)


def _arrows(scene: Scene, q: FloatArray, view: View, sample: int) -> list[Shapes]:
    """Forces as rods with tips, in the world."""
    if scene.arrows is None:
        return []
    force = scene.arrows.drawn(view.radius)
    now = force[min(sample, len(force) - 1)]
    start = on_bodies(scene.placements(q), scene.arrows.body, scene.arrows.point[:, :, None])[:, :, 0]
    length = np.linalg.norm(now, axis=1)
    kept = length > 1e-6 * view.radius
    start, now, length = start[kept], now[kept], length[kept]
    world, colour = np.full(len(now), -1), np.tile(ARROW, (len(now), 1))
    wide = np.full(len(now), 0.018 * view.radius)
    head = (np.minimum(4 * wide, 0.5 * length) / np.maximum(length, 1e-30))[:, None]
    tip = rods(world, start + (1.0 - head) * now, start + now, 2.6 * wide, colour)
    return [rods(world, start, start + (1.0 - head) * now, wide, colour), replace(tip, kind="cone")]


def write_png(path: str | Path, pixels: Pixels) -> Path:
    """An RGB picture."""
    high, wide = pixels.shape[:2]
    rows = np.concatenate([np.zeros((high, 1), np.uint8), pixels.reshape(high, -1)], axis=1)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    with replacing(path) as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)))
        file.write(chunk(b"IEND", b""))
    return Path(path)
