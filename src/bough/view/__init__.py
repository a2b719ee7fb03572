"""Looking at models: a scene of bodies and shapes, one page that opens anywhere, pictures without a display, a live server.

Belongs here: what is drawn, whatever draws it, and the backends (`html` with the JavaScript of `page`, `picture`,
`live`). Does not belong here: commands (`app`), what moves a robot (`simulate`, `adaptive`), plots of measurements.
"""

from __future__ import annotations

from bough.view.kinematics import Links, links, poses
from bough.view.scene import Arrows, Motion, Scene, scene
from bough.view.shapes import Mesh, Shapes, balls, rods

__all__ = ["Arrows", "Links", "Mesh", "Motion", "Scene", "Shapes", "balls", "links", "poses", "rods", "scene"]
