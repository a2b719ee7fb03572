"""Parametric families, from a handful of joints to millions; nothing here loops over bodies."""

from __future__ import annotations

import numpy as np

from bough.errors import unknown_option
from bough.model import Model
from bough.tree import Tree
from bough.types import IntArray
from bough.zoo.geometry import (
    Geometry,
    Screws,
    clouds,
    generator,
    model_of,
    placements,
    random_geometry,
    regular_geometry,
    rods,
    sized,
)

GEOMETRIES = ("random", "parallel", "straight")
COIL, INNERMOST = 5.0, 4.0  # m from one turn of a millipede to the next, and of the first one from the middle


def _family(name: str, parent: IntArray, seed: int, geometry: str, floating: bool = False) -> Model:
    if geometry not in GEOMETRIES:
        raise unknown_option(f"{name}: there is no geometry {geometry!r}", geometry, GEOMETRIES)
    tree, rng = Tree(parent), generator(name, seed)
    if geometry == "random":
        shape = random_geometry(tree, rng, floating=floating)
    else:
        shape = regular_geometry(tree, rng, 0.3, 0.0 if geometry == "parallel" else np.pi / 2)
    return model_of(name, parent, shape, floating=floating)


def chain(n: int = 30, seed: int = 0, geometry: str = "random") -> Model:
    """An unbranched chain of n revolute joints (Featherstone 2005, section 4.2).

    The geometry is "random" (general position), "parallel" (a planar chain, all axes parallel) or "straight" (links
    in one line, axes alternating at right angles).
    """
    sized("chain", "n", n)
    return _family("chain", np.arange(-1, n - 1), seed, geometry)


def star(n: int = 12, seed: int = 0, geometry: str = "random") -> Model:
    """n bodies, each on the base by a revolute joint of its own: a forest, H diagonal."""
    sized("star", "n", n)
    return _family("star", np.full(n, -1), seed, geometry)


def side_branches(m: int = 12, seed: int = 0, geometry: str = "random") -> Model:
    """A spine of m bodies with a branch of one body on each, n = 2m (Featherstone 2005, Fig. 4a)."""
    sized("side_branches", "m", m, 2 * sized("side_branches", "m", m))
    nodes = np.arange(2 * m)
    return _family("side_branches", np.where(nodes % 2 == 0, nodes - 2, nodes - 1).clip(-1), seed, geometry)


def binary(levels: int = 5, seed: int = 0, geometry: str = "random") -> Model:
    """A balanced binary tree of 2^levels - 1 bodies (Featherstone 2005, Fig. 4b)."""
    sized("binary", "levels", levels, 2 ** min(sized("binary", "levels", levels), 64))
    return _family("binary", (np.arange(1, 2**levels) // 2) - 1, seed, geometry)


def grid(m: int = 6, seed: int = 0, geometry: str = "random") -> Model:
    """A spanning tree of an m by m grid that joins every node to one corner by a shortest path, n = m^2.

    Featherstone 2005, Fig. 4c; D1 and D2 are the same for all such trees.
    """
    sized("grid", "m", m, sized("grid", "m", m) ** 2)
    nodes = np.arange(m * m)
    row, column = np.divmod(nodes, m)
    parent = np.where(column >= np.maximum(row, 1), nodes - 1, nodes - m)
    return _family("grid", parent.clip(-1), seed, geometry)


def random_tree(n: int = 30, seed: int = 0, geometry: str = "random", depth_first: bool = False) -> Model:
    """A random recursive tree: the parent of each body is any earlier one, with equal chance.

    With `depth_first` the bodies are numbered along a walk through the tree, as files of robots have them.
    """
    sized("random_tree", "n", n)
    rng = generator("random_tree", seed, 1)
    parent = rng.integers(0, np.arange(n).clip(1)) - (np.arange(n) == 0)
    return _family("random_tree", Tree(parent).regular if depth_first else parent, seed, geometry)


def bicycle_chain(seed: int = 0, links: int = 30) -> Model:
    """A bicycle chain that lies flat, fixed at its first pin: parallel axes 12.7 mm apart (Redon & Lin 2005, 6.1)."""
    sized("bicycle_chain", "links", links)
    parent = np.arange(-1, links - 1)
    shape = regular_geometry(Tree(parent), generator("bicycle_chain", seed), 0.0127, 0.0, mass=0.0026)
    return model_of("bicycle_chain", parent, shape)


def millipede(
    seed: int = 0, legs: int = 1000, geometry: str = "coiled", floating: bool = False, leg_links: int = 10
) -> Model:
    """A spine of three links for each leg, and legs of ten links in pairs: 13,000 links (Redon & Lin 2005, 6.2).

    With `floating` the first link is a floating base, and 12,999 revolute joints remain, as in the paper. At q = 0
    a "coiled" spine is a flat spiral, and the legs bend down to both sides. In the regular geometries of `chain` both
    legs of a pair leave to one side: turn the first joint of each to part them.
    """
    sized("millipede", "leg_links", leg_links)
    sized("millipede", "legs", legs, sized("millipede", "legs", legs) * (3 + leg_links))
    spine = 3 * legs
    # a left and a right leg leave every sixth link of the spine
    hip = np.arange(legs) // 2 * 6
    leg = spine + leg_links * np.arange(legs)[:, None] + np.arange(leg_links) - 1
    leg[:, 0] = hip
    parent = np.concatenate([np.arange(-1, spine - 1), leg.ravel()])
    if geometry != "coiled":
        return _family("millipede", parent, seed, geometry, floating)
    shape = _coiled(Tree(parent), generator("millipede", seed), legs, leg_links)
    return model_of("millipede", parent, shape, floating=floating)


def _coiled(tree: Tree, rng: np.random.Generator, legs: int, leg_links: int) -> Geometry:
    """Equal rods, axes alternating at right angles: a spine as a flat spiral, legs that bend down to both sides."""
    spine, side, theta = 3 * legs, np.zeros(tree.n), np.zeros(tree.n)
    upright = np.arange(1, spine, 2)  # joints whose axis is upright, up and down in turn
    way = 0.6 * np.arange(len(upright))[::-1]
    theta[upright] = np.where(upright % 4 == 1, -0.6, 0.6) / np.sqrt(INNERMOST**2 + COIL / np.pi * way)
    leg = theta[spine:].reshape(legs, leg_links)
    leg[:, 0] = 1.25
    leg[:, 2::2] = np.where(np.arange(2, leg_links, 2) % 4 == 2, -0.42, 0.42)
    leg[1::2] *= -1.0
    # every second pair is on a link that is upside down
    side[spine::leg_links] = np.where(np.arange(legs) // 2 % 2 == 0, np.pi / 2, -np.pi / 2)
    # the DH child goes straight on, so a joint is bent to where that child leaves
    ahead = np.where(tree.dh_child < 0, 0.0, side[tree.dh_child])
    theta = np.where(tree.dh_child < 0, 0.0, theta + ahead)  # the frame of a leaf is free
    psi = np.where(tree.parent < 0, 0.0, side - ahead[tree.parent])
    zero, length = np.zeros(tree.n), np.full(tree.n, 0.3)
    screws = Screws(psi, zero, np.full(tree.n, np.pi / 2), length, theta, zero)
    return Geometry(*placements(screws), rods(rng.uniform(0.9, 1.1, tree.n), 0.3))


def molecule(n: int = 1000, seed: int = 0, floating: bool = False, window: int = 30) -> Model:
    """A molecule-like linkage: n rotatable bonds, four bonds to an atom at most (Redon & Lin 2005, section 6.3).

    Each atom is bound to one of the `window` atoms before it. Bonds are 0.15 long and meet at about the tetrahedral
    angle; joints turn about them. With `floating` there is one atom more, a floating base.
    """
    sized("molecule", "n", n)
    sized("molecule", "window", window)
    rng = generator("molecule", seed)
    parent = _bonds(n + floating, window, rng)
    return model_of("molecule", parent, _molecule_geometry(parent, rng), floating=floating)


def _molecule_geometry(parent: IntArray, rng: np.random.Generator) -> Geometry:
    size, angle, first = len(parent), np.arccos(1 / 3), parent < 0
    psi = 2 * np.pi / 3 * _place_among_siblings(parent) + rng.normal(0.0, 0.05, size)
    alpha, length = angle + rng.normal(0.0, 0.03, size), 0.15 * rng.uniform(0.95, 1.05, size)
    theta, zero = rng.uniform(-np.pi, np.pi, size), np.zeros(size)
    s = Screws(psi, zero, alpha, zero, theta, np.where(first, 0.0, length))
    return Geometry(*placements(s), clouds(rng, size, 0.15))


def _bonds(n: int, window: int, rng: np.random.Generator) -> IntArray:
    """Random parents among the `window` bodies before, none of which gets more than three children."""
    nodes = np.arange(n)
    low = (nodes - window).clip(0)
    parent = np.full(n, -1)
    redraw = nodes[1:]
    while redraw.size:
        parent[redraw] = rng.integers(low[redraw], redraw)
        redraw = np.flatnonzero((_place_among_siblings(parent) >= 3) & (parent >= 0))
    return parent


def _place_among_siblings(parent: IntArray) -> IntArray:
    """0 for the first child of a body, 1 for the second, ..."""
    order = np.argsort(parent, kind="stable")
    grouped = parent[order]
    start = np.flatnonzero(np.diff(grouped, prepend=-2))
    place = np.empty(len(parent), np.int64)
    place[order] = np.arange(len(parent)) - np.repeat(start, np.diff(start, append=len(parent)))
    return place
