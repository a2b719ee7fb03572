"""Where bodies are, as arrays that a page can carry: one fixed placement and one motion for every body.

The same arrays are read here and by `page/kinematics.js`; tests compare both with `Dynamics.placements`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError
from bough.joints import LAST_SCREW, PRIMITIVES, X_SCREW, ZX_SCREWS
from bough.model import Model
from bough.spatial import quaternion_matrix
from bough.types import FloatArray, IntArray

MOTIONS = ("turn", "slide", "planar", "ball", "free")
NUMBERS = np.array([1, 1, 3, 4, 7])  # entries of q of each


class Links(NamedTuple):
    """Bodies as the kernels number them, parents first: T_i = T_parent fixed_i motion_i(q)."""

    parent: IntArray  # (N,) -1 = world
    motion: IntArray  # (N,) place in MOTIONS
    fixed: FloatArray  # (N, 3, 4)
    pitch: FloatArray  # (N,) metres a radian, of turns
    ratio: FloatArray  # (N,) of mimic joints; 1
    q: IntArray  # (N,) where its numbers start in q


def links(model: Model) -> Links:
    """The bodies of a model."""
    m = model.mechanism
    numbers = {p.kind: MOTIONS.index(p.name) if p.name in MOTIONS else -1 for p in PRIMITIVES.values()}
    motion = np.array([numbers[int(kind)] for kind in m.kind], np.int64)
    if (motion < 0).any():
        raise ModelError(f"{model.name!r} has joints that the viewer cannot move; it knows {', '.join(MOTIONS)}")
    first = np.asarray(m.dof[:-1])
    turn, one = motion == 0, motion <= 1
    pitch, ratio = np.where(turn, m.offset[:, 2], 0.0), np.where(one, m.ratio[first], 1.0)
    return Links(np.asarray(m.parent), motion, _fixed(model), pitch, ratio, np.asarray(m.q_index))


def _fixed(model: Model) -> FloatArray:
    """(N, 3, 4): the fixed part of each body, with the constant part of its screw about z."""
    m = model.mechanism
    found = np.zeros((len(m.parent), 4, 4))
    found[:, :3, :3] = m.fixed[:, :9].reshape(-1, 3, 3)
    found[:, :3, 3], found[:, 3, 3] = m.fixed[:, 9:12], 1.0
    screws = np.flatnonzero((m.fixed_kind == X_SCREW) | (m.fixed_kind == ZX_SCREWS))
    cp, sp, e, ca, sa, a = m.fixed[screws, :6].T
    found[screws] = screw_z(cp, sp, e) @ screw_x(ca, sa, a)
    theta, d = m.offset[:, 0], m.offset[:, 1]
    straight = m.kind > LAST_SCREW  # placements have no screw of their own
    theta, d = np.where(straight, 0.0, theta), np.where(straight, 0.0, d)
    return (found @ screw_z(np.cos(theta), np.sin(theta), d))[:, :3]


def screw_z(c: FloatArray, s: FloatArray, d: FloatArray) -> FloatArray:
    """A turn about z and a shift along it, (..., 4, 4)."""
    T = np.zeros((*np.shape(c), 4, 4))
    T[..., 0, 0], T[..., 0, 1], T[..., 1, 0], T[..., 1, 1] = c, -s, s, c
    T[..., 2, 2], T[..., 3, 3], T[..., 2, 3] = 1.0, 1.0, d
    return T


def screw_x(c: FloatArray, s: FloatArray, d: FloatArray) -> FloatArray:
    """A turn about x and a shift along it, (..., 4, 4)."""
    T = np.zeros((*np.shape(c), 4, 4))
    T[..., 1, 1], T[..., 1, 2], T[..., 2, 1], T[..., 2, 2] = c, -s, s, c
    T[..., 0, 0], T[..., 3, 3], T[..., 0, 3] = 1.0, 1.0, d
    return T


def poses(tree: Links, q: FloatArray) -> FloatArray:
    """World placements (N, 4, 4) of all bodies at q (nq,); paths are composed by doubling, so long chains are quick."""
    q = np.asarray(q, float)
    T = np.zeros((len(tree.parent), 4, 4))
    T[:, :3], T[:, 3, 3] = tree.fixed, 1.0
    T = T @ _motions(tree, q)
    up = tree.parent.copy()
    while (up >= 0).any():
        low = np.flatnonzero(up >= 0)
        above = up[low]
        T[low], up[low] = T[above] @ T[low], up[above]
    return T


def _motions(tree: Links, q: FloatArray) -> FloatArray:
    """(N, 4, 4): what each joint adds to its fixed part."""
    J = np.tile(np.eye(4), (len(tree.parent), 1, 1))
    turn, slide, planar, ball, free = (np.flatnonzero(tree.motion == k) for k in range(5))
    x = tree.ratio[turn] * q[tree.q[turn]]
    J[turn] = screw_z(np.cos(x), np.sin(x), tree.pitch[turn] * x)
    J[slide, 2, 3] = tree.ratio[slide] * q[tree.q[slide]]
    at = tree.q[planar]
    J[planar] = screw_z(np.cos(q[at + 2]), np.sin(q[at + 2]), np.zeros(len(at)))
    J[planar, 0, 3], J[planar, 1, 3] = q[at], q[at + 1]
    J[ball, :3, :3] = quaternion_matrix(q[tree.q[ball][:, None] + np.arange(4)])
    J[free, :3, :3] = quaternion_matrix(q[tree.q[free][:, None] + np.arange(3, 7)])
    J[free, :3, 3] = q[tree.q[free][:, None] + np.arange(3)]
    return J


def joints_in(links: Links, changed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(N,) which bodies' joints have one of these entries of q (nq,)."""
    total = np.concatenate([[0], np.cumsum(changed)])
    found: npt.NDArray[np.bool_] = total[links.q + NUMBERS[links.motion]] > total[links.q]
    return found


def moving(links: Links, q: FloatArray, sample: int) -> npt.NDArray[np.bool_]:
    """(N,) which bodies' joints differ from the sample before, of (T, nq)."""
    return joints_in(links, q[sample] != q[max(sample - 1, 0)])
