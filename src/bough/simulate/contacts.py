"""Points of a robot that may touch the ground: planes and height fields, and the rows of their velocities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.run.arrays import is_count
from bough.compile.run.libraries import Copies, as_index, asarray, full, is_on_gpu
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError, ShapeError
from bough.model import Model, Sole
from bough.simulate.drives import by_rows
from bough.types import FloatArray

Array: TypeAlias = Any  # of numpy, PyTorch or CuPy


class Ground(Protocol):
    """A solid surface, given by the distances of points (..., 3) from it and its normals there."""

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Distances (...,), below zero inside, and unit normals (..., 3)."""


@explained
@dataclass(frozen=True)
class Plane:
    """The half-space below a plane through `point` with the outward `normal`."""

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        n, p = np.asarray(self.normal, float), np.asarray(self.point, float)
        if n.shape != (3,) or p.shape != (3,) or not np.isfinite([*n, *p]).all() or not n.any():
            raise ModelError(f"a plane has a point and a normal that is not zero, got {self.point} and {self.normal}")

    @property
    def unit(self) -> FloatArray:
        """The normal (3,) of unit length."""
        n = np.asarray(self.normal, float)
        return np.asarray(n / np.linalg.norm(n))

    @property
    def height(self) -> float:
        """Distance of the plane from the origin along its normal."""
        return float(np.asarray(self.point, float) @ self.unit)

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Distances (...,), below zero behind the plane, and its normal (..., 3)."""
        n, distance, normal = self.unit.tolist(), -self.height, 0.0 * points
        for k in range(3):
            distance, normal[..., k] = distance + n[k] * points[..., k], n[k]
        return distance, normal


@explained
@dataclass(frozen=True, eq=False)
class HeightField:
    """Ground of height heights[i, j] at (x, y) = origin + spacing (i, j), bilinear between, level beyond the edges."""

    heights: npt.ArrayLike
    spacing: float = 1.0
    origin: tuple[float, float] = (0.0, 0.0)
    _z: FloatArray = field(init=False, repr=False)
    _flat: Copies = field(init=False, repr=False)

    def __post_init__(self) -> None:
        z = np.array(self.heights, float)
        if z.ndim != 2 or min(z.shape) < 2 or not np.isfinite(z).all() or not 0.0 < self.spacing < np.inf:
            raise ModelError("a height field has heights (nx, ny), at least 2 x 2, finite, and a spacing above zero")
        if np.shape(self.origin) != (2,) or not np.isfinite(self.origin).all():
            raise ModelError(f"a height field has an origin (x, y), got {self.origin!r}")
        z.flags.writeable = False
        object.__setattr__(self, "_z", z)
        object.__setattr__(self, "_flat", Copies(z.ravel()))

    def distance(self, points: Array) -> tuple[Array, Array]:
        """Distances (...,), below zero under the surface, and unit normals (..., 3)."""
        (i, s, in_x), (j, t, in_y) = (self._cells(points, axis) for axis in (0, 1))
        z, ny = self._flat.like(points), self._z.shape[1]
        a, b, c, d = (z[(i + di) * ny + (j + dj)] for di, dj in ((0, 0), (1, 0), (0, 1), (1, 1)))
        slope_x = ((b - a) * (1 - t) + (d - c) * t) / self.spacing * in_x
        slope_y = ((c - a) * (1 - s) + (d - b) * s) / self.spacing * in_y
        height = (a * (1 - s) + b * s) * (1 - t) + (c * (1 - s) + d * s) * t
        up = (1 + slope_x * slope_x + slope_y * slope_y) ** -0.5
        normal = 0.0 * points
        normal[..., 0], normal[..., 1], normal[..., 2] = -slope_x * up, -slope_y * up, up
        return (points[..., 2] - height) * up, normal

    def _cells(self, points: Array, axis: int) -> tuple[Array, ...]:
        """Numbers of cells, shares within them, and 1 for points over the field."""
        last = self._z.shape[axis] - 1.0
        free = (points[..., axis] - self.origin[axis]) / self.spacing
        at = free.clip(0.0, last)
        cell = at.clip(0.0, last - 1.0) // 1.0
        return as_index(cell), at - cell, (at == free) * 1.0


class ContactPoint(NamedTuple):
    """A point of a frame, or the sphere of `radius` around it, that may touch the ground."""

    frame: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    radius: float = 0.0


@explained
@dataclass(frozen=True)
class Contacts:
    """Points (names of frames, or objects `ContactPoint`) that may touch any `ground`, with a `friction` coefficient.

    Contacts are hard and inelastic by default. With a `compliance` in m/N each is a spring along its normal, with a
    `damping` in N s/m; both are implicit. There is a contact for each point and ground, in this order. A step sweeps
    over the contacts until their impulses have converged, or at most `sweeps` times.
    """

    points: Sequence[str | ContactPoint]
    ground: Ground | Sequence[Ground] = (Plane(),)
    friction: float = 0.8
    sweeps: int | None = None
    compliance: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.points, str) or not len(self.points):
            raise ModelError("contacts need a list of points: names of frames, or ContactPoint(frame, point, radius)")
        found = tuple(ContactPoint(p) if isinstance(p, str) else ContactPoint(*p) for p in self.points)
        for p in found:
            at = np.asarray(p.point, float)
            if at.shape != (3,) or not np.isfinite(at).all() or not 0.0 <= p.radius < np.inf:
                raise ModelError(f"contact at {p.frame!r}: expected a point (3,) and a radius from zero, got {p}")
        if not 0.0 <= self.friction < np.inf:
            raise ModelError(f"friction is a coefficient from zero, got {self.friction}")
        for name, value in (("compliance", self.compliance), ("damping", self.damping)):
            if not 0.0 <= value < np.inf:
                raise ModelError(f"{name} of contacts is a number from zero, got {value}")
        if self.damping and not self.compliance:
            raise ModelError("damping is that of contacts with a compliance: hard ones take all of the motion")
        if self.sweeps is not None and not is_count(self.sweeps):
            raise ModelError(f"sweeps is a whole number from one, got {self.sweeps!r}")
        if not self.grounds or not all(hasattr(ground, "distance") for ground in self.grounds):
            raise ModelError(f"a ground is a Plane, a HeightField or a list of such, got {self.ground!r}")
        object.__setattr__(self, "points", found)

    @staticmethod
    def from_soles(
        model: Model,
        soles: Iterable[Any],
        size: tuple[float, float] | None = None,
        point: tuple[float, float, float] = (0.0, 0.0, 0.0),
        **options: Any,
    ) -> Contacts:
        """Contacts at the corners of soles: four of each rectangle, one of each point.

        Parameters
        ----------
        model : the robot, whose frames the soles are on.
        soles : names of frames, objects `Sole`, or objects `Contact` of a controller.
        size : (length, width) of the rectangles of those given by name.
        point : the middle of these rectangles in their frames.
        options : those of `Contacts`: ground, friction, sweeps, compliance, damping.
        """
        if isinstance(soles, str):
            raise ModelError(f"soles is a list of frames, got {soles!r}")
        named = [Sole(s, size, point) if isinstance(s, str) else s for s in soles]
        found = [s if isinstance(s, Sole) else s.sole for s in named]
        for sole in found:
            model.frame(sole.frame)
        return Contacts([ContactPoint(sole.frame, corner) for sole in found for corner in sole.corners], **options)

    @property
    def count(self) -> int:
        """Number of contacts: points x grounds."""
        return len(self.points) * len(self.grounds)

    @property
    def grounds(self) -> tuple[Ground, ...]:
        """All grounds, one or several."""
        return tuple(self.ground) if isinstance(self.ground, Sequence) else (self.ground,)


class ContactSpace:
    """The contacts of a model, or none: points, and the grounds that they may touch."""

    def __init__(self, dynamics: Dynamics, contacts: Contacts | None) -> None:
        self.dynamics, self.contacts = dynamics, contacts
        self.grounds = contacts.grounds if contacts else ()
        self.points: list[ContactPoint] = (
            [p for p in contacts.points if isinstance(p, ContactPoint)] if contacts else []
        )
        self.frames = np.array([dynamics.model.frame(p.frame) for p in self.points], np.int64)
        self.at = np.array([p.point for p in self.points], float).reshape(-1, 3)
        self.radius = np.array([p.radius for p in self.points], float)
        self._index, self._places = Copies(self.frames), Copies(self.at)
        self.count = len(self.points) * len(self.grounds)
        self.is_flat = all(isinstance(ground, Plane) for ground in self.grounds)
        # of each ground: what lies under a plane, or up
        up = np.array([0.0, 0.0, 1.0])
        self.normals = np.array([g.unit if isinstance(g, Plane) else up for g in self.grounds]).reshape(-1, 3)
        self.axes = tangent_axes(np.repeat(self.normals, len(self.points), axis=0))  # (contacts, 3, 3)

    @property
    def key(self) -> Any:
        """The key of compiled kernels."""
        planes = [(tuple(g.point), tuple(g.normal)) if isinstance(g, Plane) else None for g in self.grounds]
        points = [(p.frame, *map(float, p.point), float(p.radius)) for p in self.points]
        return planes, points, (self.contacts.compliance, self.contacts.damping) if self.contacts else None

    def planes_at(self, q: Array) -> tuple[Array, Array]:
        """The tangent planes under all points at q: normal and two tangents (batch, contacts, 9), in world axes, and
        heights along the normals (batch, contacts)."""
        axes = full((len(q), self.count, 9), 0.0, q)
        height = full((len(q), self.count), 0.0, q)
        for n, (x, distance, normal) in enumerate(self._under(q)):
            own = slice(n * len(self.points), (n + 1) * len(self.points))
            axes[:, own] = tangent_axes(normal).reshape(len(q), -1, 9)
            height[:, own] = (x * normal).sum(-1) - distance
        return axes, height

    def depth(self, q: FloatArray) -> FloatArray:
        """(batch,) depth of the lowest point in the ground, m; negative above it."""
        return np.concatenate([self.radius - distance for _, distance, _ in self._under(q)], axis=1).max(axis=1)

    def planes_of(self, given: Array, like: Array) -> tuple[Array, Array]:
        """Axes (batch, contacts, 9) and heights (batch, contacts) of planes (batch, 4) or (batch, grounds, 4)."""
        grounds, points = len(self.grounds), len(self.points)
        planes = asarray(given, like)
        if not self.is_flat:
            raise ModelError("planes= takes the place of planes: contacts has a ground that is none")
        if planes.shape[-1] != 4 or planes.ndim < 2 or (planes.ndim == 2 and grounds > 1):
            shape = "(batch, 4)" if grounds == 1 else f"(batch, {grounds}, 4)"
            raise ShapeError(f"planes must have shape {shape}, a unit normal and a height, got {tuple(planes.shape)}")
        if not is_on_gpu(given) and not np.allclose(
            np.linalg.norm(np.asarray(given)[..., :3], axis=-1), 1.0, atol=1e-5
        ):
            raise ShapeError("planes must have normals of unit length")
        each = planes.reshape(len(planes), grounds, 1, 4) + full((1, 1, points, 1), 0.0, like)
        axes = tangent_axes(each[..., :3]).reshape(len(planes), self.count, 9)
        return axes, each[..., 3].reshape(len(planes), self.count) + 0

    def wrenches(self, q: Array, force: Array, normal: Array) -> Iterator[tuple[str, Array]]:
        """The frame of each contact, and its force (batch, contacts, 3) as a wrench (batch, 6) at its origin."""
        R = by_rows(self.dynamics, "placements", q)[:, self._index.like(q, "int64"), :3, :3]
        arms = (R * self._places.like(q)[:, None, :]).sum(-1)
        for n in range(self.count):
            k = n % len(self.points)
            wrench, radius = full((len(q), 6), 0.0, q), float(self.radius[k])
            x, y, z = (arms[:, k, a] - radius * normal[..., n, a] for a in range(3))
            f, g, h = (force[:, n, a] for a in range(3))
            wrench[:, :3] = force[:, n]
            wrench[:, 3], wrench[:, 4], wrench[:, 5] = y * h - z * g, z * f - x * h, x * g - y * f
            yield self.points[k].frame, wrench

    def _under(self, q: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Points (batch, points, 3), their distances and normals, of each ground in turn."""
        T = by_rows(self.dynamics, "placements", q)[:, self._index.like(q, "int64")]
        x = T[..., :3, 3] + (T[..., :3, :3] * self._places.like(q)[:, None, :]).sum(-1)
        for ground in self.grounds:
            yield x, *ground.distance(x)


def tangent_axes(normal: Array) -> Array:
    """Rows normal and two tangents (..., 3, 3), without a branch that could lose digits (Duff et al. 2017)."""
    x, y, z = normal[..., 0], normal[..., 1], normal[..., 2]
    sign = 2.0 * (z >= 0.0) - 1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    out = full((*normal.shape[:-1], 3, 3), 0.0, normal)
    out[..., 0, :] = normal
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = b, sign + y * y * a, -y
    return out
