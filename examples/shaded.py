"""Things that stand in the world, shaded, by the pictures of `bough.view`: no display is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bough.model import Model
from bough.view import Scene, Shapes, picture, rods, scene


def rods_between(start: np.ndarray, end: np.ndarray, width: float, colour: np.ndarray | Sequence[float]) -> Shapes:
    """Rods (n, 3) to (n, 3) that stand in the world, of one colour or of one each."""
    shown = np.broadcast_to(np.asarray(colour, float), (len(start), 3))
    return rods(np.full(len(start), -1), start, end, np.full(len(start), width), shown)


def still(model: Model, shapes: Sequence[Shapes], size: tuple[int, int], look: tuple[float, float], zoom: float):
    """Pixels of shapes that stand in the world."""
    made: Scene = replace(scene(model, pieces=[]), shapes=[part for part in shapes if len(part)])
    return picture(made, size, direction=look, zoom=zoom)
