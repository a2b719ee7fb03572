"""Viewer: scenes of models and motions, as a page, a picture, a video or a live server.

Belongs here: what is drawn, whatever draws it, and the backends (`html` with the JavaScript of `page`,
`picture`, `video`, `live`). Does not belong here: commands (`app`), and what moves a robot (`simulate`, `adaptive`).
"""

from __future__ import annotations

from bough.model import Mesh as Mesh
from bough.model import Piece as Piece
from bough.view.atoms import page
from bough.view.kinematics import Links, links, poses
from bough.view.picture import picture, write_png
from bough.view.recorded import Recorded, played, read_motion
from bough.view.scene import Arrows, Motion, Scene, arrows, dressed, scene
from bough.view.shapes import Shapes, balls, rods

__all__ = [
    "Arrows",
    "Links",
    "Motion",
    "Recorded",
    "Scene",
    "Shapes",
    "arrows",
    "balls",
    "dressed",
    "links",
    "page",
    "picture",
    "played",
    "poses",
    "read_motion",
    "rods",
    "scene",
    "write_png",
]
