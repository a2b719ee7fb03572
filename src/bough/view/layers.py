"""Optional layers of a scene: frames of bodies, centres of mass, ellipsoids of inertia, collision shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bough.view.bounds import View
from bough.view.shapes import Shapes, balls, joined, rods, sized

if TYPE_CHECKING:
    from bough.view.scene import Scene

MANY = 2000  # bodies; of more, none of this is shown
YELLOW, VIOLET = (0.95, 0.75, 0.10), (0.55, 0.40, 0.75)


def layers(scene: Scene, view: View) -> dict[str, list[Shapes]]:
    """Shapes by name; those that there are."""
    if len(scene.links.parent) > MANY:
        return {}
    model = scene.model
    inertia = np.asarray(model.mechanism.inertia)
    body = np.flatnonzero(inertia[:, 9] > 0.0)
    m, com = inertia[body, 9], inertia[body, 6:9] / inertia[body, 9:]
    J = inertia[body][:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    second = np.trace(J, axis1=1, axis2=2)[:, None, None] / 2 * np.eye(3) - J  # about the origin
    square, axes = np.linalg.eigh(second / m[:, None, None] - com[:, :, None] * com[:, None, :])
    size = 2.0 * np.sqrt(5.0 * np.maximum(square, 0.0))  # a solid ellipsoid of these diameters has this inertia
    at = model.body_frames
    own, p, R = model.frames.body[at], model.frames.p[at], model.frames.R[at]
    wide, long = np.full(len(own), 0.006 * view.radius), 0.07 * view.radius
    arrows = [rods(own, p, p + long * R[:, :, k], wide, np.tile(0.85 * np.eye(3)[k], (len(own), 1))) for k in range(3)]
    found = {
        "frames": joined(arrows),
        "centres of mass": [balls(body, com, np.full(len(body), 0.035 * view.radius), np.tile(YELLOW, (len(body), 1)))],
        "inertia": [Shapes("sphere", body, sized(axes, com, size), np.tile(VIOLET, (len(body), 1)))],
        "collision shapes": list(scene.collision),
    }
    return {name: parts for name, parts in found.items() if sum(map(len, parts))}
