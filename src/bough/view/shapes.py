"""Shapes: many pieces of one geometry, each on a body, drawn at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bough.model import Model
from bough.model.bodies import Mesh, Piece
from bough.types import FloatArray, IntArray

ARRAYS = ("body", "placement", "colour")
GREY = (0.55, 0.57, 0.60)  # of what does not move


@dataclass(frozen=True, eq=False)
class Shapes:
    """Many pieces of one geometry: a unit "box", "sphere", "cylinder" or "cone" (along z), or a mesh.

    Boxes have edges of length 1, spheres and cylinders diameter 1, all centred. A placement (3, 4) maps the unit
    geometry into the frame of its body: its columns carry the size.
    """

    kind: str
    body: IntArray  # (k,) as the kernels number them, -1 = world
    placement: FloatArray  # (k, 3, 4)
    colour: FloatArray  # (k, 3) between 0 and 1
    mesh: Mesh | None = None

    def __len__(self) -> int:
        return len(self.body)


def on_bodies(T: FloatArray, body: IntArray, local: FloatArray) -> FloatArray:
    """Placements (k, 3, 4) in the world of placements (k, 3, m) on bodies, -1 the world; T (N, 4, 4) are those of all.

    The last column of `local` is a point, the others are vectors.
    """
    own = np.where((body >= 0)[:, None, None], T[np.maximum(body, 0), :3], np.eye(4)[:3])
    found: FloatArray = own[:, :, :3] @ local
    found[:, :, -1] += own[:, :, 3]
    return found


def pieces_on(model: Model, pieces: Sequence[Piece], colours: FloatArray) -> list[Shapes]:
    """Pieces on the bodies that carry their frames; colours (N, 3) are those of bodies."""
    return joined([_piece_on(model, piece, colours) for piece in pieces])


def _piece_on(model: Model, piece: Piece, colours: FloatArray) -> Shapes:
    k = model.frame(piece.frame)
    body, R, p = int(model.frames.body[k]), model.frames.R[k], model.frames.p[k]
    placement = np.empty((1, 3, 4))
    placement[0, :, :3] = R @ (np.eye(3) if piece.R is None else piece.R) * np.asarray(piece.size, float)
    placement[0, :, 3] = R @ np.asarray(piece.p, float) + p
    colour = np.array(piece.colour) if piece.colour else colours[body] if body >= 0 else np.array(GREY)
    return Shapes(piece.kind, np.array([body]), placement, colour[None], piece.mesh)


def sized(R: FloatArray, p: FloatArray, size: FloatArray) -> FloatArray:
    """Placements (k, 3, 4) from rotations (k, 3, 3), centres (k, 3) and sizes (k, 3)."""
    found = np.empty((len(p), 3, 4))
    found[:, :, :3], found[:, :, 3] = R * np.asarray(size)[:, None, :], p
    return found


def along(direction: FloatArray) -> FloatArray:
    """Rotations (k, 3, 3) that turn z into these directions (k, 3), of any length; z itself where it is zero."""
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    z = np.where(length > 0.0, direction / np.where(length > 0.0, length, 1.0), [0.0, 0.0, 1.0])
    side = np.eye(3)[np.abs(z).argmin(axis=-1)]
    x = side - z * np.sum(side * z, axis=-1, keepdims=True)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def rods(body: IntArray, start: FloatArray, end: FloatArray, width: FloatArray, colour: FloatArray) -> Shapes:
    """Cylinders from one point to another of the same body."""
    way = end - start
    length = np.linalg.norm(way, axis=1)
    size = np.stack([width, width, length], axis=1)
    return Shapes("cylinder", body, sized(along(way), (start + end) / 2, size), colour)


def balls(body: IntArray, center: FloatArray, width: FloatArray, colour: FloatArray) -> Shapes:
    """Spheres."""
    size = np.repeat(np.asarray(width)[:, None], 3, axis=1)
    return Shapes("sphere", body, sized(np.tile(np.eye(3), (len(center), 1, 1)), center, size), colour)


def joined(parts: list[Shapes]) -> list[Shapes]:
    """One for each geometry."""
    found: dict[object, list[Shapes]] = {}
    for part in parts:
        if len(part):
            found.setdefault(part.kind if part.mesh is None else id(part.mesh), []).append(part)
    return [_together(group) for group in found.values()]


def _together(group: list[Shapes]) -> Shapes:
    body, placement, colour = (np.concatenate([getattr(part, name) for part in group]) for name in ARRAYS)
    return Shapes(group[0].kind, body, placement, colour, group[0].mesh)


def unit(kind: str, fine: int) -> Mesh:
    """The triangles of a unit geometry; `fine` is the number of sides of what is round."""
    if kind == "box":
        corners = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
        quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
        return Mesh(corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]))
    if kind == "cylinder":
        return _revolved(np.array([[0.0, -0.5], [0.5, -0.5], [0.5, 0.5], [0.0, 0.5]]), fine)
    if kind == "cone":
        return _revolved(np.array([[0.0, -0.5], [0.5, -0.5], [0.0, 0.5]]), fine)
    angle = np.linspace(-np.pi / 2, np.pi / 2, max(fine // 2, 3) + 1)
    return _revolved(0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), fine)


def _revolved(profile: FloatArray, fine: int) -> Mesh:
    """The surface that a line (radius, z) sweeps about z."""
    angle = 2 * np.pi * np.arange(fine) / fine
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    vertices = np.concatenate([np.column_stack([r * around, np.full(fine, z)]) for r, z in profile])
    faces = []
    for row in range(len(profile) - 1):
        for k in range(fine):
            a, b = row * fine + k, row * fine + (k + 1) % fine
            faces += [(a, b, b + fine), (a, b + fine, a + fine)]
    found = np.array(faces)
    p = vertices[found]
    return Mesh(vertices, found[np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1) > 1e-12])
