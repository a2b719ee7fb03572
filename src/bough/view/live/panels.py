"""The panel of a live scene: sliders, and ellipsoids of Lambda."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from bough.dynamics import Dynamics
from bough.errors import BoughError
from bough.types import FloatArray
from bough.view.live.access import escape_markdown
from bough.view.live.stage import Stage, quaternions, resent
from bough.view.shapes import unit

MOST_SLIDERS = 60
BASE = ("x", "y", "z", "turn x", "turn y", "turn z")  # in the frame of the base
POSITIONS = {"floating": 3, "planar": 2, "prismatic": 1}  # degrees of freedom of a joint that are lengths
WORDS = "the inertia of the frame's linear motion"
LARGEST_SPACE = 300  # degrees of freedom up to which Lambda is shown


class Sliders:
    """One slider for each degree of freedom; those of quaternions turn about the axes of the body."""

    def __init__(self, server: Any, stage: Stage, moved: Callable[[FloatArray], None]) -> None:
        self.server, self.stage, self.model, self.moved = server, stage, stage.scene.model, moved
        self.lock = threading.Lock()  # every slider comes on a thread of its own
        self.q = stage.q
        self.values = self.model.difference(self.model.neutral, self.q)
        low, high = self.model.limits.lower, self.model.limits.upper
        bounded = np.isfinite(low) & np.isfinite(high) & (high - low < 4 * np.pi) & (high > low)
        self.is_length = np.zeros(self.model.nv, bool)
        for joint in self.model.joints:
            self.is_length[joint.v.start : joint.v.start + POSITIONS.get(joint.type, 0)] = True
        reach = np.where(self.is_length, 1.0, np.pi)
        self.low = np.minimum(np.where(bounded, low, -reach), self.values)
        self.high = np.maximum(np.where(bounded, high, reach), self.values)
        self.folder = server.gui.add_folder("Joints", expand_by_default=self.model.nv <= MOST_SLIDERS)
        self.handles: dict[int, Any] = {}
        if self.model.nv > MOST_SLIDERS:
            with self.folder:
                search = server.gui.add_text("find", "", hint=f"{self.model.nv:,} degrees of freedom")
                search.on_update(lambda _: self.fill(search.value))
        self.fill("")

    def fill(self, word: str) -> None:
        """Sliders of the first joints whose name has this word in it."""
        for handle in self.handles.values():
            handle.remove()
        names = self.model.dof_names
        shown = [k for k, name in enumerate(names) if word.lower() in name.lower()][:MOST_SLIDERS]
        with self.folder:
            self.handles = {k: self._slider(k, self._label(k, names[k])) for k in shown}

    def _label(self, k: int, name: str) -> str:
        """The name of a degree of freedom with its unit; of a floating base, what it moves."""
        joint = next(joint for joint in self.model.joints if joint.v.start <= k < joint.v.stop)
        name = f"{joint.name} {BASE[k - joint.v.start]}" if joint.type == "floating" else name
        return f"{name}, {'m' if self.is_length[k] else 'rad'}"

    def _slider(self, k: int, name: str) -> Any:
        low, high = float(self.low[k]), float(self.high[k])
        handle = self.server.gui.add_slider(name, low, high, (high - low) / 1000, float(self.values[k]))

        def move(_: Any) -> None:
            with self.lock:
                self.follow()
                if handle.value != self.values[k]:
                    self.values[k] = handle.value
                    self.q = self.model.integrate(self.model.neutral, self.values)
                    self.moved(self.q)

        handle.on_update(move)
        return handle

    def follow(self) -> None:
        """Go on from where something else has moved the scene."""
        if not np.array_equal(self.q, self.stage.q):
            self.q = self.stage.q
            self.values = self.model.difference(self.model.neutral, self.q)

    def rest(self) -> None:
        """Show where the scene has come to rest, as far as sliders reach."""
        with self.lock:
            self.follow()
            near = (self.low <= self.values) & (self.values <= self.high)
            found = [(handle, float(self.values[k])) for k, handle in self.handles.items() if near[k]]
        for handle, value in found:
            handle.value = value


class Ellipsoids:
    """The operational-space inertia of a frame, Lambda = (J H^-1 J')^-1 of its linear motion, as an ellipsoid."""

    def __init__(self, server: Any, stage: Stage) -> None:
        self.server, self.stage, self.model = server, stage, stage.scene.model
        self.dynamics = Dynamics(self.model, general=True)
        self.shown: dict[str, Any] = {}
        self.lock = threading.RLock()  # clicks and sliders come on threads of their own
        self.q = np.array(stage.scene.q)
        with server.gui.add_folder("Lambda at frames"):
            moved = [n for n, b in zip(self.model.frame_names, self.model.frames.body, strict=True) if b >= 0]
            self.choice = server.gui.add_dropdown("frame", moved, initial_value=moved[-1])
            self.add = server.gui.add_button("show or hide")
            self.text = server.gui.add_markdown(WORDS)
        self.add.on_click(lambda _: self.toggle(self.choice.value))

    def toggle(self, frame: str) -> None:
        """Show the ellipsoid at a frame, or take it away."""
        mesh = unit("sphere", 32)
        with self.lock:
            if frame in self.shown:
                self.shown.pop(frame).remove()
            else:
                self.shown[frame] = self.server.scene.add_batched_meshes_simple(
                    f"/lambda/{frame}", mesh.vertices, mesh.faces, [[1, 0, 0, 0]], [[0, 0, 0]],
                    batched_scales=np.ones((1, 3)), batched_colors=(70, 130, 190), opacity=0.45,
                )  # fmt: skip
            self.show(self.q)

    @resent
    def show(self, q: FloatArray) -> None:
        """All that are shown, at q, in one scale: the largest mass is a quarter of the robot."""
        with self.lock:
            self.q, found = q, {frame: effective(self.dynamics, q, frame) for frame in self.shown}
            largest = max((float(masses.max()) for _, _, masses in found.values()), default=1.0)
            for frame, (center, R, masses) in found.items():
                handle, size = self.shown[frame], 0.5 * self.stage.view.radius * masses / max(largest, 1e-30)
                handle.batched_positions = center[None].astype(np.float32)
                handle.batched_wxyzs = quaternions(R[None]).astype(np.float32)
                handle.batched_scales = np.maximum(size, 0.01 * self.stage.view.radius)[None].astype(np.float32)
            lines = [
                f"{escape_markdown(frame)}: {', '.join(f'{x:.3g}' for x in masses)} {self.dynamics.model.units[1]}"
                for frame, (_, _, masses) in found.items()
            ]
            self.text.content = "  \n".join(lines) or WORDS


def effective(dynamics: Dynamics, q: FloatArray, frame: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Origin, principal directions (3, 3) and masses (3,) of a frame; a direction that is locked counts 100 times."""
    T, J = dynamics.placement(q, frame), dynamics.jacobian(q, frame)[:3]
    inverse = J @ dynamics.inverse_mass_matrix(q) @ J.T
    mobility, R = np.linalg.eigh((inverse + inverse.T) / 2)
    R[:, 0] *= np.sign(np.linalg.det(R))
    most = max(float(mobility.max()), 1e-300)
    return T[:3, 3], R, 1.0 / np.maximum(mobility, 0.01 * most)


def ellipsoids(server: Any, stage: Stage) -> Ellipsoids | None:
    """If the model is small enough for it, and has a mass matrix."""
    if not 0 < stage.scene.model.nv <= LARGEST_SPACE:
        return None
    try:
        found = Ellipsoids(server, stage)
        found.show(stage.scene.q)
        return found
    except BoughError:
        return None
