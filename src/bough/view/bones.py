"""A model without geometry: links as rods between joints, joints as short cylinders along their axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.model import Model
from bough.types import FloatArray, IntArray
from bough.view.kinematics import Links, poses
from bough.view.shapes import Shapes, balls, joined, rods

MANY = 2000  # bodies; beyond, a link is a rod and nothing else
SLENDER = 0.16  # width of a rod over the length of a usual link
MOST_ON_BASE = 8  # joints; a forest has no base
FAR, FAR_MANY = 0.008, 0.0015  # least width of a rod over the size of the whole


class _Hooks(NamedTuple):
    """Kernel bodies of the user's bodies, and placements of frames in them."""

    body: IntArray  # (joints,)
    p: FloatArray  # (joints, 3) origin of the body's frame, in the laid frame of its own body
    up: IntArray  # (joints,) the kernel body of the parent; -1
    hang: FloatArray  # (joints, 3) the same origin at zero, in the laid frame of the parent
    rail: FloatArray  # (joints, 3) the joint's axis at zero, in the laid frame of the parent


def bones(model: Model, tree: Links, colour: FloatArray, q: FloatArray) -> list[Shapes]:
    """Rods from each joint to those that hang on it, to named frames and out to tips; (N, 3) colours of bodies.

    At q they are wide enough to be seen from afar.
    """
    hooks, many = _hooks(model, tree), len(model.joints) > MANY
    body, start, end = _between(model, hooks)
    length = np.linalg.norm(end - start, axis=1)
    usual = float(np.median(length[length > 1e-9])) if (length > 1e-9).any() else 0.1
    kept = length > 0.02 * usual
    body, start, end, length = body[kept], start[kept], end[kept], length[kept]
    reach = float(np.ptp(poses(tree, q)[:, :3, 3], axis=0).max(initial=0.0))
    least = (FAR_MANY if many else FAR) * reach
    width = np.maximum(SLENDER * np.minimum(usual, np.maximum(length, 0.3 * usual)), least)
    shade = np.where((body >= 0)[:, None], colour[np.maximum(body, 0)], 0.45)
    parts = [rods(body, start, end, width, shade)]
    if not many and least < SLENDER * usual:
        parts += _joints(model, hooks, SLENDER * usual, colour)
        parts.append(balls(body, end, 0.98 * width, shade))
    elif len(model.joints) <= 10 * MANY:
        wide = np.full(len(hooks.body), max(1.3 * SLENDER * usual, least))
        parts.append(balls(hooks.body, hooks.p, wide, colour[hooks.body]))
    return joined(parts)


def _hooks(model: Model, tree: Links) -> _Hooks:
    numbers = model.body_frames
    frames, T = model.frames, poses(tree, model.neutral)
    body, p = np.asarray(frames.body[numbers]), np.asarray(frames.p[numbers])
    host = np.where(model.parent >= 0, body[np.maximum(model.parent, 0)], -1)
    origin = np.einsum("nij,nj->ni", T[body, :3, :3], p) + T[body, :3, 3]
    above = np.where((host >= 0)[:, None, None], T[np.maximum(host, 0)], np.eye(4))
    hang = np.einsum("nji,nj->ni", above[:, :3, :3], origin - above[:, :3, 3])
    rail = np.einsum("nji,nj->ni", above[:, :3, :3], T[body, :3, 2])
    return _Hooks(body, p, host, hang, rail)


def _between(model: Model, hooks: _Hooks) -> tuple[IntArray, FloatArray, FloatArray]:
    """(body, start, end): from the origin of each body to all that hangs on it."""
    own = {int(b): p for b, p in zip(hooks.body, hooks.p, strict=True)}
    inner = hooks.up >= 0
    start = np.array([own[int(b)] for b in hooks.up[inner]]).reshape(-1, 3)
    found = [(hooks.up[inner], start, hooks.hang[inner])]
    # the base, up to the first joints; those that float hang on nothing
    on_base = ~inner & np.array([kind not in ("floating", "planar") for kind in model.joints.types], bool)
    if on_base.sum() <= MOST_ON_BASE:
        found.append((hooks.up[on_base], np.zeros((on_base.sum(), 3)), hooks.hang[on_base]))
    frames, leaves = model.frames, set(hooks.body.tolist()) - set(hooks.up.tolist())
    named = set(model.body_frames.tolist())
    # a frame on the last body of a limb is a hand or a foot
    extra = np.array(
        [k for k in range(len(frames.names)) if k not in named and int(frames.body[k]) in leaves], np.int64
    )
    if len(extra):
        at = np.asarray(frames.body[extra])
        found.append((at, np.array([own[int(b)] for b in at]), np.asarray(frames.p[extra])))
    leaf = ~np.isin(hooks.body, np.concatenate([hooks.up[inner], frames.body[extra]]))
    found.append((hooks.body[leaf], hooks.p[leaf], _limb_ends(model, hooks)[leaf]))
    return tuple(np.concatenate(x) for x in zip(*found, strict=True))  # type: ignore[return-value]


def _limb_ends(model: Model, hooks: _Hooks) -> FloatArray:
    """(joints, 3): as far beyond the centre of mass as the joint is before it."""
    inertia = np.asarray(model.mechanism.inertia)[hooks.body]
    mass = np.where(inertia[:, 9] > 0.0, inertia[:, 9], 1.0)
    com = np.where((inertia[:, 9] > 0.0)[:, None], inertia[:, 6:9] / mass[:, None], hooks.p)
    return 2.0 * com - hooks.p


def _joints(model: Model, hooks: _Hooks, width: float, colour: FloatArray) -> list[Shapes]:
    """Cylinders along the axes of joints with one, spheres for the others."""
    one = np.array([kind in ("revolute", "continuous", "prismatic", "helical") for kind in model.joints.types], bool)
    free = np.array([kind in ("floating", "planar") for kind in model.joints.types], bool)
    dark = 0.55 * colour[hooks.body]
    half = np.array([0.0, 0.0, 0.9 * width])  # axes are z in the laid frame of the body
    hinge = rods(
        hooks.body[one], (hooks.p - half)[one], (hooks.p + half)[one], np.full(one.sum(), 1.5 * width), dark[one]
    )
    rest = ~one & ~free
    ends = balls(hooks.body[rest], hooks.p[rest], np.full(rest.sum(), 1.9 * width), dark[rest])
    return [hinge, _rails(model, hooks, 0.5 * width), ends]


def _rails(model: Model, hooks: _Hooks, width: float) -> Shapes:
    """A body that slides along its axis, and a thin rod of its parent: as long as its limits, or ten widths."""
    slides = np.flatnonzero(np.array([kind == "prismatic" for kind in model.joints.types], bool))
    first = np.asarray(model.joints.v[slides, 0], np.int64)
    reach = 10.0 * width
    low, high = (
        np.where(np.abs(x[first]) < 1e3 * width, x[first], s * reach)
        for x, s in zip(model.limits[:2], (-1, 1), strict=True)
    )
    start, way = hooks.hang[slides], hooks.rail[slides]
    grey = np.full((len(slides), 3), 0.45)
    return rods(
        hooks.up[slides], start + low[:, None] * way, start + high[:, None] * way, np.full(len(slides), width), grey
    )
