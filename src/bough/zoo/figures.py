"""Robots that look like what they are called: limbs of skew joint axes in general position, and solids on them.

Axes are lines in space at q = 0. Each is about at right angles to the one before and skew by a random amount, so that
no parameter of a Denavit-Hartenberg screw is accidentally zero (Featherstone 2005, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bough.model.bodies import Piece
from bough.tree import Tree
from bough.types import BoolArray, FloatArray
from bough.zoo.geometry import Geometry, Screws, from_second_moments, placements

AXES = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])  # one after the other along a limb
SKEW, ASIDE = 0.2, 0.008  # of unit vectors; m
DENSITY = 672.0  # kg/m^3
DARK = (0.22, 0.25, 0.30)
MEAN_SQUARES = {"sphere": (0.05, 0.05, 0.05), "box": (1 / 12, 1 / 12, 1 / 12), "cylinder": (1 / 16, 1 / 16, 1 / 12)}
VOLUMES = {"sphere": np.pi / 6, "box": 1.0, "cylinder": np.pi / 4}


class Part(NamedTuple):
    """A body of a figure, in the world at q = 0: a point of its joint axis, and solids, the first of which has mass."""

    joint: FloatArray
    solids: Sequence[Piece]


def limb(start: npt.ArrayLike, end: npt.ArrayLike, joints: int, width: float) -> list[Part]:
    """Round links along a line: of up to seven joints three are at the shoulder and two at the elbow."""
    usual = [0.0, 0.05, 0.1, 0.5, 0.55, 0.9, 0.95]
    shares = np.array([*usual[:joints], 1.0]) if 3 < joints <= len(usual) else np.linspace(0.0, 1.0, joints + 1)
    points = np.asarray(start, float) + shares[:, None] * np.subtract(end, start)
    return [Part(a, _link(a, b, width)) for a, b in pairwise(points)]


def _link(a: FloatArray, b: FloatArray, width: float) -> list[Piece]:
    """A rod with round ends, or the dark ball of a joint where it would be short."""
    way, long = b - a, float(np.linalg.norm(b - a))
    if long < 0.6 * width:
        return [Piece("", "sphere", (1.1 * width,) * 3, (a + b) / 2, colour=DARK)]
    z = way / long
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    R = np.stack([x / np.linalg.norm(x), np.cross(z, x / np.linalg.norm(x)), z], axis=1)
    rod = Piece("", "cylinder", (width, width, long), (a + b) / 2, R)
    return [rod, *(Piece("", "sphere", (width,) * 3, end) for end in (a, b))]


def figure(
    tree: Tree, names: Sequence[str], parts: Sequence[Part], rng: np.random.Generator
) -> tuple[Geometry, tuple[Piece, ...]]:
    """Geometry of parts on a floating base, and their solids in the frames of the bodies."""
    screws, R, p = _screws(tree, *_axes(tree, np.array([part.joint for part in parts]), rng))
    first = [part.solids[0] for part in parts]
    size = np.array([solid.size for solid in first], float)
    mass = DENSITY * rng.uniform(0.9, 1.1, tree.n) * size.prod(axis=1) * [VOLUMES[solid.kind] for solid in first]
    turned = np.swapaxes(R, 1, 2) @ np.array([np.eye(3) if solid.R is None else solid.R for solid in first])
    com = np.einsum("nji,nj->ni", R, np.array([solid.p for solid in first], float) - p)
    squares = size**2 * [MEAN_SQUARES[solid.kind] for solid in first]
    second = (turned * squares[:, None, :]) @ np.swapaxes(turned, 1, 2) + com[:, :, None] * com[:, None, :]
    pieces = (
        solid._replace(frame=name, p=A.T @ (solid.p - at), R=A.T if solid.R is None else A.T @ solid.R)
        for name, part, A, at in zip(names, parts, R, p, strict=True)
        for solid in part.solids
    )
    return Geometry(*placements(screws), from_second_moments(mass, com, second)), tuple(pieces)


def _axes(tree: Tree, joint: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Points and directions (N, 3) of axes near those of the joints; that of the base is its DH child's, upright."""
    first, turn = int(tree.dh_child[0]), np.zeros(tree.n, np.int64)
    for i in range(1, tree.n):
        turn[i] = 0 if i == first else (turn[tree.parent[i]] + 1) % len(AXES)
    skew = SKEW * rng.uniform(-1.0, 1.0, (tree.n, 3))
    skew[[0, first]] = skew[tree.dh_child[first], 0] = 0.0  # so that the base looks along x
    z = AXES[turn] + skew
    o = joint + ASIDE * rng.uniform(-1.0, 1.0, joint.shape)
    o[0] = o[first]
    return o, z / np.linalg.norm(z, axis=1, keepdims=True)


def _screws(tree: Tree, o: FloatArray, z: FloatArray) -> tuple[Screws, FloatArray, FloatArray]:
    """Denavit-Hartenberg screws between axes, and the frames (N, 3, 3) and (N, 3) that they lay at q = 0."""
    dh, first = np.asarray(tree.dh_child), int(tree.dh_child[0])
    up = np.maximum(tree.parent, 0)
    still = np.isin(np.arange(tree.n), [0, first])
    normal, above, own = _common_normals(o[up], z[up], o, z, still)
    leaf = dh < 0
    x, p = np.where(leaf[:, None], normal, normal[dh]), np.where(leaf[:, None], own, above[dh])
    x[0], p[0] = x[first], p[first]
    y = np.cross(z, x)
    is_dh = np.isin(np.arange(tree.n), dh[~leaf])
    psi, e = np.arctan2(_dot(normal, y[up]), _dot(normal, x[up])), _dot(above - p[up], z[up])
    alpha, a = np.arctan2(_dot(np.cross(z[up], z), normal), _dot(z[up], z)), _dot(own - above, normal)
    theta, d = np.arctan2(_dot(x, np.cross(z, normal)), _dot(x, normal)), _dot(p - own, z)
    zero = (is_dh, is_dh, still, still, leaf, leaf)
    columns = zip((psi, e, alpha, a, theta, d), zero, strict=True)
    screws = Screws(*(np.where(still | none, 0.0, column) for column, none in columns))
    return screws, np.stack([x, y, z], axis=2), p


def _common_normals(
    o1: FloatArray, z1: FloatArray, o2: FloatArray, z2: FloatArray, still: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit normals of pairs of lines, and their feet on both; zeros where lines are the same."""
    n, way = np.cross(z1, z2), o2 - o1
    square = np.where(still, 1.0, _dot(n, n))
    foot1 = o1 + (_dot(np.cross(way, z2), n) / square)[:, None] * z1
    foot2 = o2 + (_dot(np.cross(way, z1), n) / square)[:, None] * z2
    return n / np.sqrt(square)[:, None], foot1, foot2


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.einsum("ni,ni->n", a, b)
