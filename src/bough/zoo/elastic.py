"""Elastic rods as rows of hinges with springs: cables, hair and a botanical tree; nothing here loops over bodies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bough.errors import ModelError
from bough.model import WORLD, LoopClosure, Model, Passive
from bough.types import FloatArray, IntArray
from bough.zoo.geometry import Geometry, from_second_moments, generator, hung, model_of, sized

# Orientation of a joint's frame in that of its rod, whose x goes along it: the hinge's axis is z.
HINGE = {
    "y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "z": np.eye(3),
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))  # the angle between one twig and the next


class Rods(NamedTuple):
    """Straight pieces of rods, as they lie in the world when all joints are at zero, (N,) each."""

    parent: IntArray
    hinge: tuple[str, ...]  # "y" or "z" bends, "x" twists
    R: FloatArray  # (N, 3, 3) x along the rod
    p: FloatArray  # (N, 3) where the joint is
    length: FloatArray
    mass: FloatArray
    radius: FloatArray


def rod_model(name: str, rods: Rods, stiffness: FloatArray, rest: FloatArray) -> Model:
    """A model of these pieces, each on the one before by a hinge with a spring."""
    turn = np.array([HINGE[a] for a in rods.hinge])
    com = turn[:, 0, :] * (0.5 * rods.length)[:, None]
    across = 0.25 * rods.radius**2
    along = rods.length**2 / 3.0 - across
    second = across[:, None, None] * np.eye(3) + along[:, None, None] * turn[:, 0, :, None] * turn[:, 0, None, :]
    inertia = from_second_moments(rods.mass, com, second)
    shape = Geometry(*hung(rods.parent, rods.R @ turn, rods.p), inertia)
    model, zero = model_of(name, rods.parent, shape), np.zeros(len(rods.parent))
    return replace(model, passive=Passive(zero, zero.copy(), stiffness, rest))


def _number(name: str, what: str, value: Any, least: float = 0.0, strict: bool = True) -> float:
    """A finite number above, or not below, the least."""
    good = isinstance(value, (int, float)) and math.isfinite(value)
    if not (good and (value > least or (value == least and not strict))):
        bound = "above" if strict else "of at least"
        raise ModelError(f"{name}: {what} must be a finite number {bound} {least:g}, got {value!r}")
    return float(value)


def _hinges(
    name: str, n: int, ds: float, EI: float, GJ: float | None, planar: bool
) -> tuple[tuple[str, ...], FloatArray, int]:
    """The axes of n hinges of a rod, `ds` apart, and their stiffness; after how many of them axes come again."""
    bend = _number(name, "EI", EI, strict=False)
    if planar and GJ is not None:
        raise ModelError(f"{name}: a planar rod does not twist, so it has no GJ, got {GJ!r}")
    twist = 0.0 if GJ is None else _number(name, "GJ", GJ, strict=False)
    axes, section = "y" if planar else "yz" if GJ is None else "yzx", {"y": bend, "z": bend, "x": twist}
    hinge = tuple((axes * (n // len(axes) + 1))[:n])
    return hinge, np.array([section[a] for a in hinge]) / (ds * len(axes)), len(axes)


def cable(
    n: int = 100, length: float = 1.0, EI: float = 0.0, GJ: float | None = None, *, mass: float = 0.1,
    diameter: float = 0.01, planar: bool = False, clamped: bool = True, span: float | None = None,
) -> Model:  # fmt: skip
    """A cable of n hinges that lies along x, with bending stiffness EI and twisting stiffness GJ (N m^2).

    Its tip is the frame "end". The error of positions falls with 1 / n^2 if `planar`, where all hinges are equal, else
    with 1 / n.

    Parameters
    ----------
    n : hinges
    length, diameter : m
    mass : kg
    EI : N m^2; hinges bend the cable about y and z in turn
    GJ : N m^2; more hinges twist it about x
    planar : all hinges bend it about y, in the plane of gravity
    clamped : at the origin; if False it hangs there on hinges without springs
    span : a closure constrains the tip to (span, 0, 0)
    """
    sized("cable", "n", n)
    length, mass = _number("cable", "length", length), _number("cable", "mass", mass)
    ds, first = length / n, 0.5 if clamped else 0.0
    hinge, stiffness, kinds = _hinges("cable", n, ds, EI, GJ, planar)
    s = ds * (np.arange(n) + first)
    piece = np.diff(np.append(s, length))
    if not clamped:
        stiffness[:kinds] = 0.0
    rods = Rods(
        np.arange(-1, n - 1), hinge, np.tile(np.eye(3), (n, 1, 1)), s[:, None] * np.array([1.0, 0.0, 0.0]), piece,
        mass * piece / length, np.full(n, 0.5 * _number("cable", "diameter", diameter)),
    )  # fmt: skip
    model = rod_model("cable", rods, stiffness, np.zeros(n))
    model = model.with_frame("end", model.body_names[-1], (HINGE[hinge[-1]].T @ [piece[-1], 0.0, 0.0]).tolist())
    if span is None:
        return model
    place = (_number("cable", "span", span, strict=False), 0.0, 0.0)
    return replace(
        model.with_frame("anchor", WORLD, place), closures=(LoopClosure("held", "connect", "anchor", "end"),)
    )


def hair(
    strands: int = 200, n: int = 20, length: float = 0.1, EI: float = 1e-9, GJ: float | None = None, *,
    curl: float = 0.0, seed: int = 0, radius: float = 0.09,
) -> Model:  # fmt: skip
    """Strands of n hinges each on the upper half of a ball, evenly spread, each clamped along the normal.

    Parameters
    ----------
    strands : how many
    n : hinges of each strand
    length : of a strand, m; it has 1.3 g/cm^3 and is 0.08 mm thick
    EI, GJ : stiffness, N m^2, as of `cable`
    curl : curvature at rest (1/m), about an axis of each strand's own
    seed : of these axes
    radius : of the ball, m
    """
    total = sized("hair", "strands", strands) * sized("hair", "n", n)
    sized("hair", "strands", strands, total)
    length, radius = _number("hair", "length", length), _number("hair", "radius", radius)
    hinge, stiffness, kinds = _hinges("hair", n, length / n, EI, GJ, False)
    z = 1.0 - (np.arange(strands) + 0.5) / strands
    around, flat = GOLDEN * np.arange(strands), np.sqrt(1 - z * z)
    out = np.stack([flat * np.cos(around), flat * np.sin(around), z], axis=1)
    spin = generator("hair", seed).uniform(0.0, 2.0 * np.pi, strands)
    R, ds, thick = np.repeat(frames_along(out, spin), n, axis=0), length / n, 4e-5
    s = ds * (np.arange(n) + 0.5)
    p = (out[:, None, :] * (radius + s)[None, :, None]).reshape(-1, 3)
    parent, piece = np.arange(total) - 1, np.tile(np.diff(np.append(s, length)), strands)
    parent[::n] = -1
    mass = np.full(total, 1300.0 * np.pi * thick**2 * ds)
    rods = Rods(parent, hinge * strands, R, p, piece, mass, np.full(total, thick))
    rest = np.where(np.array(hinge) == "y", _number("hair", "curl", curl, -math.inf) * (ds * kinds), 0.0)
    return rod_model("hair", rods, np.tile(stiffness, strands), np.tile(rest, strands))


def tree(
    levels: int = 4, branches: int = 3, pieces: int = 6, seed: int = 0, *, height: float = 3.0, modulus: float = 3e9
) -> Model:
    """A botanical tree that grows along z: a trunk and `levels` - 1 generations of branches, `branches` on each one.

    Every branch is 0.7 times as long as the one that it grows on; the sum of cross-sections stays the same (Leonardo).

    Parameters
    ----------
    levels : generations
    branches : on each branch
    pieces : hinges of a branch
    seed : of the directions of branches
    height : m
    modulus : Young's modulus, Pa; by default that of green wood
    """
    sized("tree", "levels", levels)
    sized("tree", "branches", branches)
    rods_of = [branches**k for k in range(min(levels, 64))]
    total = sum(rods_of) * sized("tree", "pieces", pieces)
    sized("tree", "levels", levels, total)
    rng, height = generator("tree", seed), _number("tree", "height", height)
    modulus = _number("tree", "modulus", modulus)
    parts: list[list[FloatArray]] = []
    R, p, on, made = frames_along(np.array([[0.0, 0.0, 1.0]]), np.zeros(1)), np.zeros((1, 3)), np.array([-1]), 0
    for level, count in enumerate(rods_of):
        ds, radius = 0.4 * height * 0.7**level / pieces, 0.012 * height * branches ** (-0.5 * level)
        s = ds * np.arange(pieces)
        own = made + np.arange(count * pieces).reshape(count, pieces)
        parent = np.concatenate([on[:, None], own[:, :-1]], axis=1)
        at = p[:, None, :] + s[None, :, None] * R[:, None, :, 0]
        one = np.ones(count * pieces)
        parts.append([parent.ravel(), np.repeat(R, pieces, axis=0), at.reshape(-1, 3), ds * one, radius * one])
        # twigs leave the upper half of a branch, one golden angle after the other
        which = np.linspace(pieces // 2, pieces - 1, branches).round().astype(np.int64)
        on, made = own[:, which].ravel(), made + count * pieces
        azimuth = GOLDEN * np.arange(count * branches) + rng.normal(0.0, 0.2, count * branches)
        tilt = 0.7 + rng.normal(0.0, 0.1, count * branches)
        p = (at[:, which] + ds * R[:, None, :, 0]).reshape(-1, 3)
        R = np.repeat(R, branches, axis=0) @ tilted(tilt, azimuth)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    parent, length, radius_ = columns[0].astype(np.int64), columns[3], columns[4]
    hinge = tuple(("yz" * pieces)[:pieces] * (total // pieces))
    mass = 600.0 * np.pi * radius_**2 * length
    rods = Rods(parent, hinge, columns[1], columns[2], length, mass, radius_)
    return rod_model("tree", rods, modulus * np.pi * radius_**4 / 4.0 / (2.0 * length), np.zeros(total))


def frames_along(x: FloatArray, spin: FloatArray) -> FloatArray:
    """(N, 3, 3) rotations that take the x axis to unit vectors (N, 3), turned about them by angles (N,)."""
    helper = np.where(np.abs(x[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    y = np.cross(helper, x)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    z = np.cross(x, y)
    c, s = np.cos(spin)[:, None], np.sin(spin)[:, None]
    return np.stack([x, c * y + s * z, c * z - s * y], axis=2)


def tilted(tilt: FloatArray, azimuth: FloatArray) -> FloatArray:
    """(N, 3, 3) rotations that tilt the x axis, towards different sides."""
    c, s = np.cos(tilt), np.sin(tilt)
    return frames_along(np.stack([c, s * np.cos(azimuth), s * np.sin(azimuth)], axis=1), np.zeros(len(tilt)))
