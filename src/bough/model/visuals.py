"""How a model looks: geometries on named frames, as a file or a maker of models says it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.types import FloatArray, IntArray


class Mesh(NamedTuple):
    """Triangles, with a texture if they have one; normals are those of the faces."""

    vertices: FloatArray  # (k, 3)
    faces: IntArray  # (t, 3)
    uv: FloatArray | None = None  # (k, 2) places of the vertices in the image, from its lower left corner
    image: npt.NDArray[np.uint8] | None = None  # (height, width, 3)


class Piece(NamedTuple):
    """A geometry at a place in a named frame."""

    frame: str
    kind: str  # "box", "sphere", "cylinder", "cone" or "mesh"
    size: FloatArray | tuple[float, float, float]  # lengths along x, y and z
    p: FloatArray | tuple[float, float, float] = (0.0, 0.0, 0.0)
    R: FloatArray | None = None  # (3, 3)
    colour: tuple[float, float, float] | None = None  # that of the body's branch
    mesh: Mesh | None = None
