"""A scene as one file: data, JavaScript and style inside, so that it opens from a disk, in a notebook, offline."""

from __future__ import annotations

import base64
import json
import zlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bough.model.bodies import Mesh
from bough.view.bounds import bounds, fine
from bough.view.layers import layers
from bough.view.pattern import pattern
from bough.view.shapes import Shapes, unit

if TYPE_CHECKING:
    from bough.view.scene import Scene

SCRIPTS = ("kinematics.js", "camera.js", "pace.js", "shaders.js", "draw.js", "panels.js", "tools.js", "scene.js")
MOST_NAMES = 200_000
MOST_SAMPLES = 2_000_000  # numbers of a motion that a page carries; longer ones are thinned out evenly, and say so


def page(scene: Scene) -> str:
    """The whole page."""
    return document(scene.title, scene_element(data(scene)), scripts() + START)


START = "document.querySelectorAll('.bough-scene').forEach(open_scene);"


def document(title: str, body: str, script: str) -> str:
    """A page of its own, in the style of the project."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{plain(title)}</title><style>{text('style.css')}</style></head>\n"
        f"<body>{body}<script>\n{script}\n</script></body></html>\n"
    )


def scripts() -> str:
    """All JavaScript, one after the other."""
    return "\n".join(text(name) for name in SCRIPTS)


def scene_element(content: dict[str, Any], style: str = "whole") -> str:
    """Where a scene goes in a page, with its data in it."""
    packed = json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<div class="bough-scene {style}"><script type="application/json">{packed}</script></div>'


def text(name: str) -> str:
    """A file beside the page."""
    return (files("bough.view") / "page" / name).read_text(encoding="utf-8")


def plain(words: str) -> str:
    """Text that is no markup."""
    from html import escape

    return escape(words)


def packed(array: npt.ArrayLike, kind: str) -> dict[str, Any]:
    """An array as the page reads it: "f4", "i4" or "u1", compressed, in base64."""
    found = np.ascontiguousarray(array, dtype=f"<{kind}")
    compressed = base64.b64encode(zlib.compress(found.tobytes(), 6)).decode()
    return {"type": kind, "shape": list(found.shape), "data": compressed}


def steps(states: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Float32 states (T, n), each but the first as the bits that changed: joints that rest cost nothing."""
    bits = np.ascontiguousarray(states, np.float32).view(np.uint32)
    found: npt.NDArray[np.uint32] = bits.copy()
    found[1:] ^= bits[:-1]
    return found


def data(scene: Scene) -> dict[str, Any]:
    """All that the page needs to know."""
    tree, model, view, cells = scene.links, scene.model, bounds(scene), pattern(scene)
    named = len(model.joints) <= MOST_NAMES
    content: dict[str, Any] = {
        "title": scene.title,
        "facts": dict(scene.facts),
        "counts": [[name, *row] for name, row in scene.counts.items()],
        "notes": list(scene.notes)[:20],
        "links": {name: packed(x, "f4" if x.dtype.kind == "f" else "i4") for name, x in tree._asdict().items()},
        "q": packed(scene.q, "f4"),
        "colours": packed(255 * scene.colours, "u1"),
        "shapes": [_shape(part, fine(scene)) for part in scene.shapes],
        "units": {kind: _mesh(unit(kind, 16)) for kind in ("cylinder", "cone")},
        "view": dict(view._asdict()),
        "joints": _joints(scene) if named else None,
        "pattern": None if cells is None else {"size": len(cells), "n": model.nv, "cells": packed(255 * cells, "u1")},
        "layers": {name: [_shape(x, 16) for x in parts] for name, parts in layers(scene, view).items()},
        # what a click on a body tells
        "bodies": {"names": scene.labels(), "mass": packed(model.mechanism.inertia[:, 9], "f4")} if named else None,
    }  # fmt: skip
    if scene.motion is not None:
        content["motion"] = _motion(scene)
        kept, all_samples = len(_kept(scene)), len(scene.motion.time)
        if kept < all_samples:
            content["notes"].append(f"{kept:,} of {all_samples:,} samples, evenly chosen")
    if scene.arrows is not None:
        force = scene.arrows.drawn(view.radius)
        content["arrows"] = {
            "body": packed(scene.arrows.body, "i4"), "point": packed(scene.arrows.point, "f4"),
            "force": packed(force[_kept(scene)] if len(force) > 1 else force, "f4"),
        }  # fmt: skip
    return content


def _shape(part: Shapes, sides: int) -> dict[str, Any]:
    own = {
        "kind": part.kind, "body": packed(part.body, "i4"), "placement": packed(part.placement, "f4"),
        "colour": packed(255 * np.clip(part.colour, 0.0, 1.0), "u1"),
    }  # fmt: skip
    return own | _mesh(part.mesh or unit(part.kind, sides))


def _mesh(mesh: Mesh) -> dict[str, Any]:
    """Triangles, and a texture from its lowest row up.

    Vertices are rounded to a power of two near 1 / 16,384 of the size, so that they compress.
    """
    grain = 2.0 ** np.floor(np.log2(max(float(np.ptp(mesh.vertices)), 1e-12) / 16_384))
    found: dict[str, Any] = {
        "vertices": packed(grain * np.rint(mesh.vertices / grain), "f4"),
        "faces": packed(mesh.faces, "i4"),
    }
    if mesh.image is not None and mesh.uv is not None:
        high, wide = mesh.image.shape[:2]
        found |= {"uv": packed(mesh.uv, "f4"), "image": packed(mesh.image[::-1], "u1"), "image_size": [wide, high]}
    return found


def _joints(scene: Scene) -> dict[str, Any]:
    """Data of sliders: names, kinds, places in q, limits, and the body that shows the colour."""
    model = scene.model
    first = np.asarray(model.joints.v[:, 0], np.int64)
    low, high = (np.asarray(x)[first] if model.nv else np.zeros(0) for x in model.limits[:2])
    finite = np.isfinite(low) & np.isfinite(high) & (high > low) & (high - low < 4 * np.pi)
    reach = np.array([1.0 if kind == "prismatic" else np.pi for kind in model.joints.types])
    body = np.array([model.frames.body[model.frame(name)] for name in model.body_names], np.int64)
    return {
        "names": list(model.joint_names), "types": list(model.joints.types), "length": model.units[0],
        "q": packed(model.joints.q[:, 0], "i4"), "body": packed(body, "i4"),
        "low": packed(np.where(finite, low, -reach), "f4"), "high": packed(np.where(finite, high, reach), "f4"),
    }  # fmt: skip


def _kept(scene: Scene) -> npt.NDArray[np.int64]:
    """The samples of a motion that a page carries."""
    if scene.motion is None:
        return np.zeros(1, np.int64)
    count, most = len(scene.motion.time), max(2, MOST_SAMPLES // max(1, scene.model.nq))
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.int64))


def _motion(scene: Scene) -> dict[str, Any]:
    motion = scene.motion
    assert motion is not None
    shown = _kept(scene)
    return {
        "time": packed(motion.time[shown], "f4"), "q": packed(steps(motion.q[shown]).view(np.int32), "i4"),
        "tracks": {name: packed(track[shown], "f4") for name, track in motion.tracks.items()},
        "adaptive": motion.adaptive, "unit": motion.unit, "samples": len(motion.time),
    }  # fmt: skip
