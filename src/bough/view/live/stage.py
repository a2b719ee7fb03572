"""Shapes of a scene as instanced meshes of viser: one message for each geometry moves all its pieces."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bough.dynamics import Dynamics
from bough.model.bodies import Mesh
from bough.model.parameters import inverse, matrix
from bough.types import FloatArray
from bough.view.bounds import View, away, bounds, fine
from bough.view.picture import corner_normals
from bough.view.scene import Scene
from bough.view.shapes import Shapes, along, on_bodies, unit

MANY, WIDER = 2000, np.array([4.0, 4.0, 1.0])  # bodies; rods that move among many
ACTIVE, RESTING = np.array([250, 92, 13]), np.array([128, 140, 158])
ARROW = (214, 69, 46)
TRIES = 5
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def resent(change: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Send a change again where it fails: viser wakes browsers from our thread, and fails if one wakes meanwhile."""

    @wraps(change)
    def sent(*args: Arguments.args, **options: Arguments.kwargs) -> Answer:
        for _ in range(TRIES - 1):
            with suppress(RuntimeError):
                return change(*args, **options)
        return change(*args, **options)

    return sent


class Stage:
    """The scene of a server."""

    def __init__(self, server: Any, scene: Scene) -> None:
        self.server, self.scene, self.view, self.q = server, scene, bounds(scene), scene.q
        server.scene.set_up_direction("+z")
        self._floor(self.view)
        sides = max(8, fine(scene))
        self.parts = [_Part(server, f"/robot/{k}", part, sides) for k, part in enumerate(scene.shapes)]
        self.show(scene.q)

    def _floor(self, view: View) -> None:
        step = 10.0 ** round(float(np.log10(view.radius / 4)))
        size = 10 * view.radius
        self.server.scene.add_grid(
            "/floor", size, size, cell_size=step, section_size=5 * step, position=(*view.center[:2], view.floor)
        )
        self.server.initial_camera.position = tuple(np.array(view.center) + 1.8 * view.radius * away(view.direction))
        self.server.initial_camera.look_at = tuple(view.center)
        self.server.initial_camera.up = (0.0, 0.0, 1.0)

    @resent
    def show(self, q: FloatArray, active: Any = None) -> None:
        """Put all bodies where they are at q; with `active` (N,), those that move are lit up."""
        self.q, T = q, self.placements(q)
        for part in self.parts:
            part.move(T, active)

    def placements(self, q: FloatArray) -> FloatArray:
        """(N, 4, 4) of all bodies; of many, by compiled code, from those of the frames that bear their names."""
        if len(self.scene.links.parent) < MANY:
            return self.scene.placements(q)
        numbers, body, back, dynamics = self._named
        T = np.tile(np.eye(4), (len(self.scene.links.parent), 1, 1))
        T[body] = dynamics.placements(q)[numbers] @ back
        return T

    @cached_property
    def _named(self) -> tuple[Any, Any, Any, Dynamics]:
        """Frames of the bodies that joints move, these bodies, and the inverse placements."""
        model = self.scene.model
        numbers = model.body_frames
        back = inverse(matrix(model.frames.R[numbers], model.frames.p[numbers]))
        return numbers, np.asarray(model.frames.body)[numbers], back, Dynamics(model, general=True)

    def on_drag(self, act: Callable[[str, int, FloatArray, FloatArray], None]) -> None:
        """Call `act(phase, body, start, end)`, both points in the world, while a body is dragged with ctrl."""
        for part in self.parts:

            @part.handle.on_drag("left", modifier="cmd/ctrl")  # type: ignore[untyped-decorator]
            async def dragged(event: Any, body: Any = part.part.body) -> None:
                start, end = np.array(event.start_position), np.array(event.end_position)
                act(event.phase, int(body[event.instance_index]), start, end)

    @resent
    def arrow(self, name: str, start: FloatArray, way: FloatArray) -> None:
        """Lines with tips, from points (k, 3) along vectors (k, 3); they replace those of the same name."""
        scene = self.server.scene
        lines = np.stack([start, start + way], axis=1)
        scene.add_line_segments(f"{name}/rods", lines, ARROW, thickness=0.012 * self.view.radius)
        mesh, length = unit("cone", 12), np.linalg.norm(way, axis=1)
        tips = np.minimum(0.045 * self.view.radius, 0.3 * length)[:, None] * [1.0, 1.0, 1.6]
        scene.add_batched_meshes_simple(
            f"{name}/tips", mesh.vertices, mesh.faces, quaternions(along(way)), start + way, batched_scales=tips,
            batched_colors=ARROW,
        )  # fmt: skip


class _Part:
    """Pieces of one geometry."""

    def __init__(self, server: Any, name: str, part: Shapes, sides: int) -> None:
        mesh = part.mesh or unit(part.kind, sides)
        mesh = creased(mesh) if part.mesh and mesh.image is None else mesh
        self.part, self.colour = part, (255 * np.clip(part.colour, 0.0, 1.0)).astype(np.uint8)
        size = np.linalg.norm(part.placement[:, :, :3], axis=1)
        # a mirrored mesh keeps its handedness in the size of one axis
        size[:, 0] *= np.where(np.linalg.det(part.placement[:, :, :3]) < 0.0, -1.0, 1.0)
        self.size, self.R = size, part.placement[:, :, :3] / np.where(np.abs(size) > 0.0, size, 1.0)[:, None, :]
        places = (np.tile([1.0, 0.0, 0.0, 0.0], (len(part), 1)), np.zeros((len(part), 3)))
        self.lit, self.textured = False, mesh.image is not None
        self.handle = (
            server.scene.add_batched_meshes_trimesh(name, textured(mesh), *places, batched_scales=size)
            if self.textured
            else server.scene.add_batched_meshes_simple(
                name, mesh.vertices, mesh.faces, *places, batched_scales=size, batched_colors=self.colour,
                side="double", flat_shading=part.kind == "box",
            )
        )  # fmt: skip

    def move(self, T: FloatArray, active: Any) -> None:
        body = self.part.body
        world = on_bodies(T, body, np.dstack([self.R, self.part.placement[:, :, 3]]))
        self.handle.batched_positions = world[:, :, 3].astype(np.float32)
        self.handle.batched_wxyzs = quaternions(world[:, :, :3]).astype(np.float32)
        if self.textured:  # keeps its colours
            return
        if active is not None:
            moves = (np.asarray(active)[np.maximum(body, 0)] & (body >= 0))[:, None]
            self.handle.batched_colors, self.lit = np.where(moves, ACTIVE, RESTING).astype(np.uint8), True
            if len(body) > MANY:  # few among many are seen if they are wider
                self.handle.batched_scales = np.where(moves, self.size * WIDER, self.size).astype(np.float32)
        elif self.lit:
            self.handle.batched_colors, self.lit = self.colour, False
            self.handle.batched_scales = self.size.astype(np.float32)


def textured(mesh: Mesh) -> Any:
    """A mesh of trimesh with its texture."""
    trimesh: Any = import_module("trimesh")
    from PIL import Image

    visual = trimesh.visual.TextureVisuals(uv=mesh.uv, image=Image.fromarray(np.asarray(mesh.image)))
    return trimesh.Trimesh(mesh.vertices, mesh.faces, visual=visual, process=False)


def creased(mesh: Mesh) -> Mesh:
    """The same surface with vertices of their own on both sides of an edge: the browser smooths what shares one."""
    keys = np.column_stack([mesh.faces.ravel(), np.rint(32 * corner_normals(mesh).reshape(-1, 3)).astype(np.int64)])
    found, corner = np.unique(keys, axis=0, return_inverse=True)
    return Mesh(mesh.vertices[found[:, 0]], corner.reshape(-1, 3))


def quaternions(R: FloatArray) -> FloatArray:
    """(k, 4) w x y z of rotations (k, 3, 3): from the largest of four squares, which is never small."""
    trace, products = np.einsum("kii->k", R), np.empty((len(R), 4, 4))  # four times those of w x y z
    products[:, 0, 0] = 1 + trace
    products[:, 0, 1:] = products[:, 1:, 0] = (R - np.swapaxes(R, 1, 2))[:, [2, 0, 1], [1, 2, 0]]
    products[:, 1:, 1:] = R + np.swapaxes(R, 1, 2) + (1 - trace)[:, None, None] * np.eye(3)
    found: FloatArray = products[np.arange(len(R)), np.einsum("kii->ki", products).argmax(axis=1)]
    return found / np.linalg.norm(found, axis=1, keepdims=True)
