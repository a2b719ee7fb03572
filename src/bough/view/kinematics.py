"""Where bodies are, as arrays that a page can carry: a fixed placement and the moves of its joint for every body.

The same arrays are read here and by `page/kinematics.js`; tests compare both with `Dynamics.placements`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError
from bough.joints import LAST_SCREW, PRIMITIVES, QUATERNION, X_SCREW, ZX_SCREWS
from bough.model import Model
from bough.spatial import quaternion_matrix
from bough.types import FloatArray, IntArray


class Links(NamedTuple):
    """Bodies as the kernels number them, parents first: T_i = T_parent fixed_i motion_i(q).

    The motion of a kind of joint is a product of moves (`joints.Move`), those of kind k from start[k] to start[k + 1].
    """

    parent: IntArray  # (N,) -1 = world
    kind: IntArray  # (N,) of joint
    fixed: FloatArray  # (N, 3, 4)
    pitch: FloatArray  # (N,) metres a radian, of screws
    ratio: FloatArray  # (N,) of mimic joints; 1
    q: IntArray  # (N,) where its numbers start in q
    width: IntArray  # (kinds,) entries of q
    start: IntArray  # (kinds + 1,)
    axis: IntArray  # (moves,) 0-2 turns about x y z, 3-5 slides, 6 turns by a quaternion
    entry: IntArray  # (moves,) of the joint's part of q
    zero: FloatArray  # (moves,) added to that entry


def links(model: Model) -> Links:
    """The bodies of a model."""
    m, known = model.mechanism, list(PRIMITIVES.values())
    number = {primitive.kind: k for k, primitive in enumerate(known)}
    kind = np.array([number[int(x)] for x in m.kind], np.int64)
    still = [known[k].name for k in np.unique(kind) if not known[k].moves]
    if still:
        raise ModelError(f"{model.name!r} has joints that the viewer cannot move: {still[0]!r} says no moves")
    screws = np.array([p.screw for p in known])[kind]
    turns = screws & np.array([any(move.axis < 3 for move in p.moves) for p in known])[kind]
    pitch, ratio = np.where(turns, m.offset[:, 2], 0.0), np.where(screws, m.ratio[np.asarray(m.dof[:-1])], 1.0)
    moves = [move for primitive in known for move in primitive.moves]
    axis, entry, zero = (np.array([move[j] for move in moves]) for j in range(3))
    start = np.cumsum([0, *(len(primitive.moves) for primitive in known)])
    width = np.array([primitive.nq for primitive in known])
    q = np.asarray(m.q_index)
    return Links(np.asarray(m.parent), kind, _fixed(model), pitch, ratio, q, width, start, axis, entry, zero)


def _fixed(model: Model) -> FloatArray:
    """(N, 3, 4): the fixed part of each body, with the constant part of its screw about z."""
    m = model.mechanism
    found = np.zeros((len(m.parent), 4, 4))
    found[:, :3, :3] = m.fixed[:, :9].reshape(-1, 3, 3)
    found[:, :3, 3], found[:, 3, 3] = m.fixed[:, 9:12], 1.0
    screws = np.flatnonzero((m.fixed_kind == X_SCREW) | (m.fixed_kind == ZX_SCREWS))
    cp, sp, e, ca, sa, a = m.fixed[screws, :6].T
    found[screws] = screw(2, cp, sp, e) @ screw(0, ca, sa, a)
    theta, d = m.offset[:, 0], m.offset[:, 1]
    straight = m.kind > LAST_SCREW  # placements have no screw of their own
    theta, d = np.where(straight, 0.0, theta), np.where(straight, 0.0, d)
    return (found @ screw(2, np.cos(theta), np.sin(theta), d))[:, :3]


def screw(axis: int, c: FloatArray, s: FloatArray, d: FloatArray) -> FloatArray:
    """A turn about an axis, of this cosine and sine (k,), and a shift along it, (k, 4, 4)."""
    T, a, b = np.tile(np.eye(4), (len(c), 1, 1)), (axis + 1) % 3, (axis + 2) % 3
    T[:, a, a] = T[:, b, b] = c
    T[:, a, b], T[:, b, a], T[:, axis, 3] = -s, s, d
    return T


def poses(tree: Links, q: FloatArray) -> FloatArray:
    """World placements (N, 4, 4) of all bodies at q (nq,); paths are composed by doubling, so long chains are quick."""
    q = np.asarray(q, float)
    T = np.zeros((len(tree.parent), 4, 4))
    T[:, :3], T[:, 3, 3] = tree.fixed, 1.0
    for kind in np.unique(tree.kind):
        some = np.flatnonzero(tree.kind == kind)
        for k in range(tree.start[kind], tree.start[kind + 1]):
            T[some] = T[some] @ _move(tree, k, some, q)
    up = tree.parent.copy()
    while (up >= 0).any():
        low = np.flatnonzero(up >= 0)
        above = up[low]
        T[low], up[low] = T[above] @ T[low], up[above]
    return T


def _move(tree: Links, k: int, some: IntArray, q: FloatArray) -> FloatArray:
    """(some, 4, 4): move k of some joints."""
    at, axis = tree.q[some] + tree.entry[k], int(tree.axis[k])
    if axis == QUATERNION:
        T = np.tile(np.eye(4), (len(some), 1, 1))
        T[:, :3, :3] = quaternion_matrix(q[at[:, None] + np.arange(4)])
        return T
    x = tree.ratio[some] * q[at] + tree.zero[k]
    if axis >= 3:
        return screw(axis - 3, np.ones(len(x)), np.zeros(len(x)), x)
    return screw(axis, np.cos(x), np.sin(x), tree.pitch[some] * x)


def joints_in(links: Links, changed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(N,) which bodies' joints have one of these entries of q (nq,)."""
    total = np.concatenate([[0], np.cumsum(changed)])
    found: npt.NDArray[np.bool_] = total[links.q + links.width[links.kind]] > total[links.q]
    return found


def moving(links: Links, q: FloatArray, sample: int) -> npt.NDArray[np.bool_]:
    """(N,) which bodies' joints differ from the sample before, of (T, nq)."""
    return joints_in(links, q[sample] != q[max(sample - 1, 0)])
