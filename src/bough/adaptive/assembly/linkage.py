"""From a mechanism to what the divide-and-conquer algebra needs: bodies with invertible inertia, joints between them.

A massless body with one child (inside a universal or cylindrical joint) becomes part of that child's joint, which
then has several degrees of freedom along axes that depend on the configuration. Any other body needs an invertible
inertia.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bough.errors import ModelError
from bough.joints import FREE, Mechanism
from bough.model import Model
from bough.types import FloatArray

IntArray = npt.NDArray[np.int32]

# A rotational inertia this much flatter than a sphere's is singular to rounding.
FLAT = 1e-14


class Linkage(NamedTuple):
    """Bodies of the algebra, N of them: each ends a chain of primitive bodies `first .. last` of the mechanism."""

    parent: IntArray  # (N,) -1 = ground
    first: IntArray  # (N,)
    last: IntArray  # (N,)
    host: IntArray  # (primitives,) the body that a primitive belongs to
    simple: IntArray  # (N,) 1 where the joint frees axes of the body's own frame
    inverse: FloatArray  # (N, 10) inverse of the rotational inertia about the centre of mass, that centre, 1 / mass
    dof: IntArray  # (N + 1,) degrees of freedom of the joint of body b are dof[b] .. dof[b + 1] - 1
    metric_index: IntArray  # (N,) where the weight matrix of a joint begins
    metric_size: int


def make_linkage(model: Model) -> Linkage:
    """The linkage of a model; a body without invertible inertia, and a mimic joint, are refused by name."""
    m = model.mechanism
    if model.couplings:
        raise ModelError(f"joint {model.couplings[0].follower!r} mimics another: an assembly tree has none")
    ends = ~_absorbed(m)
    last = np.flatnonzero(ends)
    host: Any = np.cumsum(ends) - ends
    first = np.concatenate([[0], last[:-1] + 1])
    up = m.parent[first]
    dof = np.concatenate([m.dof[first], m.dof[-1:]])
    size = np.diff(dof)
    if size.max(initial=0) > 6:
        raise ModelError(
            f"a chain of massless bodies ends at {body_name(model, int(last[size.argmax()]))} with more than 6 freedoms"
        )
    squares = np.concatenate([[0], np.cumsum(size * size)])
    up = np.where(up < 0, -1, host[np.maximum(up, 0)])
    simple = first == last
    # half the memory of 64-bit numbers, and no linkage is too long for it
    ints = [np.asarray(a, np.int32) for a in (up, first, last, host, simple, dof, squares[:-1])]
    return Linkage._make([*ints[:5], inverse_inertia(model, last), *ints[5:], int(squares[-1])])


def _absorbed(m: Mechanism) -> npt.NDArray[np.bool_]:
    """Massless primitives with one child, which follows them at once in depth-first order."""
    children = np.bincount(m.parent[m.parent >= 0], minlength=len(m.parent))
    return np.asarray(~m.inertia.any(axis=1) & (children == 1))


def inverse_inertia(model: Model, bodies: Any) -> FloatArray:
    """(N, 10) for these primitives: what a free body needs to turn a force into an acceleration."""
    I = model.mechanism.inertia[bodies]
    mass = I[:, 9]
    safe = np.where(mass > 0.0, mass, 1.0)
    c = I[:, 6:9] / safe[:, None]
    x, y, z = c.T
    # about the centre of mass: J - m (c.c 1 - c c')
    xx, yy, zz = I[:, 0] - mass * (y * y + z * z), I[:, 1] - mass * (x * x + z * z), I[:, 2] - mass * (x * x + y * y)
    xy, xz, yz = I[:, 3] + mass * x * y, I[:, 4] + mass * x * z, I[:, 5] + mass * y * z
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    det = xx * A + xy * B + xz * C
    flat = (mass <= 0.0) | (det <= FLAT * ((np.abs(xx) + np.abs(yy) + np.abs(zz)) / 3.0) ** 3)
    if flat.any():
        name = body_name(model, int(bodies[flat.argmax()]))
        raise ModelError(f'{name} has a singular inertia: expected inertia about every axis, or method="aba"')
    adjugate = np.stack([A, xx * zz - xz * xz, xx * yy - xy * xy, B, C, xy * xz - xx * yz], axis=1)
    return np.concatenate([adjugate / det[:, None], c, 1.0 / safe[:, None]], axis=1)


def body_name(model: Model, primitive: int) -> str:
    """The user's name of a primitive body."""
    at = np.flatnonzero(np.asarray(model.frames.body) == primitive)
    return f"body {model.frames.names[int(at[0])]!r}" if len(at) else f"a massless part of body number {primitive}"


def is_floating_base(m: Mechanism, link: Linkage) -> npt.NDArray[np.bool_]:
    """Bodies that float on the ground: their six freedoms are no joint and carry no weight in error measures."""
    return np.asarray((link.parent < 0) & (m.kind[link.last] == FREE) & (link.simple == 1))
