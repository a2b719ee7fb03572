"""Random but physically valid geometry for any tree: Denavit-Hartenberg frames, link inertias, and a model of them.

Every joint axis is the z axis of its body's frame, and the frames are those that `bough.model` would lay, so that a
link frame and the frame inside a kernel are one and the same: a transform has two screws for the Denavit-Hartenberg
child of a body and three for the others, with no accidental zero (Featherstone 2005, section 5).
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError, TooLargeError, short
from bough.joints import FREE, TURN
from bough.model import WORLD, Frames, JointLimits, Joints, Model, Numbered, Passive
from bough.model.assemble import Parts, assemble
from bough.model.laid_frames import slices
from bough.tree import Tree
from bough.types import FloatArray, IntArray

MOST_BODIES = 10_000_000  # about 20 GB


def sized(name: str, what: str, value: int, bodies: int | None = None) -> int:
    """A whole number of at least 1 that makes no more bodies than fit (by default as many as the number)."""
    try:
        size = operator.index(value)
    except TypeError:
        raise ModelError(f"{name}: {what} must be a whole number, got {short(repr(value))}") from None
    if size < 1:
        raise ModelError(f"{name}: {what} must be at least 1, got {size}")
    if (size if bodies is None else bodies) > MOST_BODIES:
        raise TooLargeError(f"{name}: {what} = {short(str(size))} makes more than {MOST_BODIES:,} bodies, the most")
    return size


def generator(name: str, seed: int, *more: int) -> np.random.Generator:
    """Random numbers of a seed."""
    try:
        return np.random.default_rng([operator.index(seed), *more] if more else operator.index(seed))
    except (TypeError, ValueError):
        raise ModelError(f"{name}: a seed is a whole number that is not negative, got {short(repr(seed))}") from None


class Geometry(NamedTuple):
    """Joint frames in the parent's frame, axis on z, and rigid inertias about the origins of those frames."""

    R: FloatArray  # (N, 3, 3)
    p: FloatArray  # (N, 3)
    inertia: FloatArray  # (N, 10)


class Screws(NamedTuple):
    """Parameters of the transforms z (psi, e), x (alpha, a), z (theta, d), (N,) each."""

    psi: FloatArray
    e: FloatArray
    alpha: FloatArray
    a: FloatArray
    theta: FloatArray
    d: FloatArray


def placements(s: Screws) -> tuple[FloatArray, FloatArray]:
    """Rotations (N, 3, 3) and origins (N, 3) of screws."""
    n = len(s.psi)
    R, p = np.empty((n, 3, 3)), np.empty((n, 3))
    for b in slices(n):
        R[b], p[b] = _placements(Screws._make(column[b] for column in s))
    return R, p


def _placements(s: Screws) -> tuple[FloatArray, FloatArray]:
    c1, s1, c2, s2, c3, s3 = (f(x) for x in (s.psi, s.alpha, s.theta) for f in (np.cos, np.sin))
    x = np.stack([c1 * c3 - s1 * c2 * s3, s1 * c3 + c1 * c2 * s3, s2 * s3], axis=1)
    y = np.stack([-c1 * s3 - s1 * c2 * c3, c1 * c2 * c3 - s1 * s3, s2 * c3], axis=1)
    z = np.stack([s1 * s2, -c1 * s2, c2], axis=1)
    p = np.stack([c1 * s.a, s1 * s.a, s.e], axis=1) + s.d[:, None] * z
    return np.stack([x, y, z], axis=2), p


def random_geometry(tree: Tree, rng: np.random.Generator, length: float = 0.3, floating: bool = False) -> Geometry:
    """General geometry: every parameter of every screw drawn away from zero; links about `length` metres long.

    With a floating base (node 0), the base frame is laid on the axis of its Denavit-Hartenberg child. A leaf's frame
    is free, so it is laid on the common normal: theta = d = 0.
    """
    n = tree.n
    psi, theta = _apart(rng, n, 0.3, 2.8), _apart(rng, n, 0.3, 2.8)
    e, d = length * _apart(rng, n, 0.2, 0.7), length * _apart(rng, n, 0.2, 0.7)
    s = Screws(psi, e, rng.uniform(0.4, 2.7, n), length * _apart(rng, n, 0.3, 1.0), theta, d)
    is_dh = np.zeros(n, bool)
    is_dh[tree.dh_child[tree.dh_child >= 0]] = True
    s.psi[is_dh], s.e[is_dh] = 0.0, 0.0
    leaf = tree.dh_child < 0
    s.theta[leaf], s.d[leaf] = 0.0, 0.0
    if floating:
        still = [0, *tree.dh_child[:1][tree.dh_child[:1] >= 0]]
        for x in s:
            x[still] = 0.0
    return Geometry(*placements(s), clouds(rng, n, length))


def _apart(rng: np.random.Generator, n: int | tuple[int, int], low: float, high: float) -> FloatArray:
    """Numbers of either sign, at least `low` and at most `high` in size."""
    x = rng.uniform(low - high, high - low, n)
    return np.asarray(x + np.copysign(low, x))


def clouds(rng: np.random.Generator, n: int, length: float) -> FloatArray:
    """Inertias (n, 10) of random links: six point masses each, in three opposite pairs about the centre of mass."""
    mass = rng.uniform(0.5, 2.0, n)
    com = length * _apart(rng, (n, 3), 0.1, 0.5)
    skew, straight, inertia = *_ahead(rng, 9 * n, 3 * n), np.empty((n, 10))
    for b in slices(n):
        m = b.stop - b.start
        across, along = skew.uniform(-0.1, 0.1, (m, 3, 3)), straight.uniform(0.2, 0.4, (m, 3, 1))
        arms = length * across + length * along * np.eye(3)
        second = arms @ np.swapaxes(arms, 1, 2) + com[b, :, None] * com[b, None, :]
        inertia[b] = from_second_moments(mass[b], com[b], second)
    return inertia


def _ahead(rng: np.random.Generator, *counts: int) -> Iterator[np.random.Generator]:
    """A generator for each of these counts of numbers, which the given one draws one count after the other."""
    for count in counts:
        yield copy.deepcopy(rng)
        cast(np.random.PCG64, rng.bit_generator).advance(count)


def rods(mass: FloatArray, length: float) -> FloatArray:
    """Inertias (n, 10) of round rods along x from the origin, a fifth of their length thick."""
    com, second = np.array([length / 2, 0.0, 0.0]), length**2 * np.diag([1 / 3, 1 / 400, 1 / 400])
    return from_second_moments(mass, np.tile(com, (len(mass), 1)), np.tile(second, (len(mass), 1, 1)))


def regular_geometry(tree: Tree, rng: np.random.Generator, length: float, twist: float, mass: float = 1.0) -> Geometry:
    """Equal rods in a row, each axis turned by `twist` from the one before; only the masses vary, by a tenth.

    Children other than the first leave at right angles, on alternate sides.
    """
    n, zero = tree.n, np.zeros(tree.n)
    is_dh = np.zeros(n, bool)
    is_dh[tree.dh_child[tree.dh_child >= 0]] = True
    is_dh[tree.parent < 0] = True
    side = np.where(np.arange(n) % 2 == 0, np.pi / 2, -np.pi / 2)
    s = Screws(np.where(is_dh, 0.0, side), zero, np.full(n, twist), np.full(n, length), zero, zero)
    return Geometry(*placements(s), rods(mass * rng.uniform(0.9, 1.1, n), length))


def from_second_moments(mass: FloatArray, com: FloatArray, second: FloatArray) -> FloatArray:
    """(n, 10) from masses, centres of mass and mean squares of position about the origin, (n, 3, 3)."""
    J = np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second
    columns = [J[:, 0, 0], J[:, 1, 1], J[:, 2, 2], J[:, 0, 1], J[:, 0, 2], J[:, 1, 2], *com.T, np.ones(len(mass))]
    return np.asarray(mass[:, None] * np.stack(columns, axis=1))


def hung(parent: IntArray, R: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Frames (N, 3, 3) and (N, 3) that lie in the world, as placements in the frames of their parents."""
    root = parent < 0
    back = np.swapaxes(np.where(root[:, None, None], np.eye(3), R[parent]), 1, 2)
    arm = p - np.where(root[:, None], 0.0, p[parent])
    return back @ R, np.einsum("nij,nj->ni", back, arm)


class Naming(NamedTuple):
    """Names of bodies and joints, in order, and of extra frames on bodies (frame name -> body name)."""

    bodies: Sequence[str]
    joints: Sequence[str]
    frames: Mapping[str, str]


def model_of(
    name: str, parent: npt.ArrayLike, geometry: Geometry, naming: Naming | None = None, floating: bool = False
) -> Model:
    """A model of revolute joints, after an optional floating base; no Python loop over bodies."""
    parent = np.array(parent, np.int64)
    n = len(parent)
    naming = naming or Naming(Numbered("link", n), Numbered("joint", n), {})
    kind = np.full(n, TURN)
    kind[:1] = FREE if floating else TURN
    q, v = (_starts(n, size if floating else 1) for size in (7, 6))
    zero, one, z = np.broadcast_to(0.0, n), np.broadcast_to(1.0, n), np.broadcast_to([0.0, 0.0, 1.0], (n, 3))
    R, p, inertia = geometry
    parts = Parts(parent, kind, R, p, z, zero, inertia, q[:, 0], v[:, 0], armature=zero, ratio=one, shift=zero)
    mechanism, layout, rank = assemble(parts)
    types = ("floating" if floating else "revolute",) * min(n, 1) + ("revolute",) * (n - 1)
    frames = _frames(naming, rank, layout.R, layout.p)
    free = np.full(int(v[-1, 1]), np.inf)
    joints = Joints(naming.joints, naming.bodies, types, q, v)
    limits = JointLimits(-free, free, free, free)
    driven = np.arange(len(free)) >= (6 if floating else 0)
    return Model(name, parent, joints, frames, mechanism, limits, Passive.none(len(free)), driven)


def _starts(n: int, first: int) -> IntArray:
    """(n, 2) starts and stops of slices: the first of length `first`, the others of length 1."""
    stops = np.arange(first, first + n)
    return np.stack([np.concatenate([[0], stops[:-1]]), stops], axis=1)


def _frames(naming: Naming, rank: IntArray, R: FloatArray, p: FloatArray) -> Frames:
    """The world, every link, then the extra frames; `R` and `p` place laid frames in the links' frames."""
    number = {body: i for i, body in enumerate(naming.bodies)} if naming.frames else {}
    link = np.concatenate([np.arange(len(rank)), [number[b] for b in naming.frames.values()]]).astype(np.int64)
    body = rank[link]
    turned, origin = np.empty((len(link) + 1, 3, 3)), np.zeros((len(link) + 1, 3))
    turned[0] = np.eye(3)
    for b in slices(len(link)):
        back = np.swapaxes(R.take(body[b], 0), 1, 2)
        turned[1:][b], origin[1:][b] = back, -np.einsum("nij,nj->ni", back, p.take(body[b], 0))
    where = np.concatenate([[-1], body])
    bodies = naming.bodies
    names = Numbered("link", bodies.n, WORLD) if isinstance(bodies, Numbered) else (WORLD, *bodies, *naming.frames)
    return Frames(names, *map(_read_only, (where, turned, origin)))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def shifted(parent: Sequence[int]) -> IntArray:
    """A parent array of a paper (1-based, 0 = base) as ours (0-based, -1 = base)."""
    return np.asarray(parent, np.int64) - 1
