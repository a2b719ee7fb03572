"""A scene and its motion for other viewers: Rerun (.rrd) and Foxglove (.mcap), each body a frame that moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.errors import required
from bough.model import WORLD
from bough.record import check_folder, replacing
from bough.types import FloatArray
from bough.view.bounds import fine
from bough.view.live.stage import quaternions
from bough.view.shapes import Shapes, unit

if TYPE_CHECKING:
    from bough.view.scene import Scene

TOPICS = {"/tf": "foxglove.FrameTransforms", "/robot": "foxglove.SceneUpdate", "/plots": "bough.Plots"}
OBJECT = json.dumps({"type": "object"}).encode()


def save_rerun(scene: Scene, path: str | Path) -> Path:
    """Write meshes, poses and tracks as a recording of Rerun (extra `rerun`)."""
    rr = required("rerun", "rerun", "a recording of Rerun")
    path, names = check_folder(path, ".rrd"), [*scene.labels(), WORLD]
    stream = rr.RecordingStream("bough", recording_id=scene.title or scene.model.name)
    stream.save(path)
    for body, number, part, corners, faces, colour in _meshes(scene):
        colours = np.tile(colour, (len(corners), 1))
        mesh = rr.Mesh3D(vertex_positions=corners, triangle_indices=faces, vertex_colors=colours)
        stream.log([names[body], f"{part.kind}{number}"], mesh, static=True)
    time, poses = _poses(scene)
    columns = [rr.TimeColumn("time", duration=time)]
    for body in range(poses.shape[1]):
        T = poses[:, body]
        moved = rr.Transform3D.columns(translation=T[:, :3, 3], mat3x3=T[:, :3, :3].transpose(0, 2, 1).reshape(-1, 9))
        stream.send_columns(rr.new_entity_path([names[body]]), columns, moved)
    for name, track in (scene.motion.tracks if scene.motion else {}).items():
        stream.send_columns(rr.new_entity_path(["plots", name]), columns, rr.Scalars.columns(scalars=track))
    stream.flush()
    stream.disconnect()
    return path


def save_mcap(scene: Scene, path: str | Path) -> Path:
    """Write meshes, poses and tracks as messages of Foxglove in JSON (extra `mcap`)."""
    writer_of = required("mcap.writer", "mcap", "an MCAP file").Writer
    path, names = check_folder(path, ".mcap"), [*scene.labels(), WORLD]
    time, poses = _poses(scene)
    turns = quaternions(poses[:, :, :3, :3].reshape(-1, 3, 3)).reshape(*poses.shape[:2], 4)
    with replacing(path) as file:
        writer = writer_of(file)
        writer.start(library="bough")
        channels = {}
        for topic, kind in TOPICS.items():
            schema = writer.register_schema(name=kind, encoding="jsonschema", data=OBJECT)
            channels[topic] = writer.register_channel(topic=topic, message_encoding="json", schema_id=schema)

        def send(topic: str, seconds: float, message: dict[str, Any]) -> None:
            at = int(1e9 * seconds)
            writer.add_message(channels[topic], log_time=at, publish_time=at, data=json.dumps(message).encode())

        entities = [_entity(names[body], *mesh) for body, *mesh in _meshes(scene)]
        send("/robot", float(time[0]), {"deletions": [], "entities": entities})
        tracks = scene.motion.tracks if scene.motion else {}
        for k, t in enumerate(time.tolist()):
            stamp = {"sec": int(t), "nsec": int(1e9 * (t - int(t)))}
            frames = [
                {
                    "timestamp": stamp, "parent_frame_id": "world", "child_frame_id": names[body],
                    "translation": dict(zip("xyz", poses[k, body, :3, 3].tolist(), strict=True)),
                    "rotation": dict(zip("wxyz", turns[k, body].tolist(), strict=True)),
                }
                for body in range(poses.shape[1])
            ]  # fmt: skip
            send("/tf", t, {"transforms": frames})
            if tracks:
                send("/plots", t, {name: float(track[k]) for name, track in tracks.items()})
        writer.finish()
    return path


def _poses(scene: Scene) -> tuple[FloatArray, FloatArray]:
    """Times (T,), and placements (T, N, 4, 4) of all bodies."""
    time = scene.motion.time if scene.motion else np.zeros(1)
    return time, np.array([scene.placements(q) for q in scene.states(time)])


def _meshes(scene: Scene) -> Iterator[tuple[int, int, Shapes, FloatArray, Any, Any]]:
    """(body, number, part, vertices, faces, colour) of each piece, in the frame of its body; textures as their mean."""
    for part in scene.shapes:
        mesh = part.mesh or unit(part.kind, max(fine(scene), 8))
        tint = 1.0 if mesh.image is None else mesh.image.mean(axis=(0, 1)) / 255.0
        for k, (body, A, colour) in enumerate(zip(part.body.tolist(), part.placement, part.colour, strict=True)):
            corners = mesh.vertices @ A[:, :3].T + A[:, 3]
            yield body, k, part, corners, mesh.faces, (255 * tint * colour).astype(np.uint8)


def _entity(frame: str, number: int, part: Shapes, corners: FloatArray, faces: Any, colour: Any) -> Any:
    """A piece as an entity of Foxglove: triangles, in the frame of its body."""
    r, g, b = (colour / 255.0).tolist()
    triangles = {
        "pose": {"position": {"x": 0, "y": 0, "z": 0}, "orientation": {"x": 0, "y": 0, "z": 0, "w": 1}},
        "points": [dict(zip("xyz", p, strict=True)) for p in corners.round(6).tolist()],
        "indices": faces.ravel().tolist(), "color": {"r": r, "g": g, "b": b, "a": 1.0}, "colors": [],
    }  # fmt: skip
    return {
        "timestamp": {"sec": 0, "nsec": 0}, "frame_id": frame, "id": f"{frame}/{part.kind}{number}",
        "lifetime": {"sec": 0, "nsec": 0}, "frame_locked": True, "metadata": [], "arrows": [], "cubes": [],
        "spheres": [], "cylinders": [], "lines": [], "triangles": [triangles], "texts": [], "models": [],
    }  # fmt: skip
