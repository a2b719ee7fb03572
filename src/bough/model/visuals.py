"""How a model looks: geometries on named frames, as a file or a maker of models says it."""

from __future__ import annotations

from typing import NamedTuple

from bough.types import FloatArray, IntArray


class Mesh(NamedTuple):
    """Triangles; without normals, those of the faces."""

    vertices: FloatArray  # (k, 3)
    faces: IntArray  # (t, 3)


class Piece(NamedTuple):
    """A geometry at a place in a named frame."""

    frame: str
    kind: str  # "box", "sphere", "cylinder", "cone" or "mesh"
    size: FloatArray | tuple[float, float, float]  # lengths along x, y and z
    p: FloatArray | tuple[float, float, float] = (0.0, 0.0, 0.0)
    R: FloatArray | None = None  # (3, 3)
    colour: tuple[float, float, float] | None = None  # that of the body's branch
    mesh: Mesh | None = None
