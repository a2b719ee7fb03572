"""The numbers of a model as the user knows them: inertias in the frames of bodies, placements of joints, rotors.

A body's frame is that of its name in `Model.frames`. An inertia is ten numbers in the order of Pinocchio: mass, first
moment m c (3), and the moments xx xy yy xz yz zz at the origin of the body's frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.errors import ModelError, ShapeError
from bough.joints import JOINTS, TURN, Mechanism, move_joint, origin_in_parent, rigid_to_parent, turn_to_parent
from bough.model.assemble import frozen, laid_inertia
from bough.model.bodies import MICRON_SQUARED, ROUNDING, TRIANGLE, about_com
from bough.types import FloatArray, IntArray

if TYPE_CHECKING:
    from bough.model.model import Model


TO_USER = (9, 6, 7, 8, 0, 3, 1, 4, 5, 2)  # the kernels' xx yy zz xy xz yz hx hy hz m in the user's order
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
TO_KERNEL = (4, 6, 9, 5, 7, 8, 1, 2, 3, 0)


class BodyFrames(NamedTuple):
    """The user's bodies among the kernels': which one each is, and where the user's frame sits in the laid one."""

    body: IntArray  # (joints,) the kernel's number of the body that carries it
    R: FloatArray  # (joints, 3, 3)
    p: FloatArray  # (joints, 3)


class JointFrames(NamedTuple):
    """Where joints begin: the fixed part of body `first` is up * placement * down, placements as matrices."""

    first: IntArray  # (joints,) the kernel's number of the first body that the joint moves
    up: FloatArray  # (joints, 4, 4) the frame of the user's body below, in its laid frame; of the world, the identity
    down: FloatArray  # (joints, 4, 4) the laid frame of `first` in the user's frame, at zero
    now: FloatArray  # (joints, 4, 4) the placement that the model has


def body_frames(model: Model) -> BodyFrames:
    """In the order of `model.body_names`."""
    frames, numbers = model.frames, model.body_frames
    return BodyFrames(frames.body[numbers], frames.R[numbers], frames.p[numbers])


def mimic_frames(model: Model) -> IntArray:
    """(couplings,) the number of the frame of each body that a mimic joint moves: the first frame that it carries."""
    if not model.couplings:
        return np.zeros(0, np.int64)
    carrier, first = np.unique(model.frames.body, return_index=True)
    followers = ~np.isin(carrier, [-1, *model.frames.body[model.body_frames]])
    return np.sort(first[followers])


def moving_frames(model: Model) -> IntArray:
    """The number of the frame of each moving body: of `model.body_names`, then of `model.mimic_bodies`."""
    return np.concatenate([model.body_frames, mimic_frames(model)])


def carriers(model: Model) -> IntArray:
    """The number of the frame of the moving body (or world) that each body hangs on: of joints, then of followers."""
    own = moving_frames(model)
    bodies = model.frames.body[own]
    frame_of = np.zeros(len(model.mechanism.parent) + 1, np.int64)
    frame_of[bodies] = own
    frame_of[-1] = 0  # the world's
    # bodies of the kernels without a frame lie within a joint
    up, inner = model.mechanism.parent[bodies], frame_of == 0
    while (within := inner[up] & (up >= 0)).any():
        up = np.where(within, model.mechanism.parent[up], up)
    found: IntArray = frame_of[up]
    return found


def inertias(model: Model) -> FloatArray:
    """(joints, 10): of each body with all that is welded to it, in its own frame."""
    frames = body_frames(model)
    laid = laid_inertia(model.mechanism.inertia[frames.body], frames.R, frames.p)
    return frozen(laid[:, TO_USER])


def laid_inertias(model: Model, inertias: FloatArray) -> FloatArray:
    """The kernels' inertias (N, 10) for those of the user's bodies."""
    body, R, p = body_frames(model)
    inertia = np.array(model.mechanism.inertia)
    back = -np.einsum("nji,nj->ni", R, p)
    inertia[body] = laid_inertia(inertias[:, TO_KERNEL], R.transpose(0, 2, 1), back)
    return inertia


def armature(model: Model) -> FloatArray:
    """(nv,) of the independent joints; rotors of mimic joints are not among them."""
    m, found = model.mechanism, np.zeros(model.nv)
    own = own_dofs(model)
    found[m.v_index[own]] = m.armature[own]
    return frozen(found)


def own_dofs(model: Model) -> IntArray:
    """The kernels' degrees of freedom but those of mimic joints."""
    m = model.mechanism
    if not model.couplings:
        return np.arange(len(m.v_index))
    bodies = set()
    for last, joint in zip(body_frames(model).body.tolist(), model.joints, strict=True):
        for _ in JOINTS[joint.type]:
            bodies.add(last)
            last = int(m.parent[last])
    return np.array([k for i in sorted(bodies) for k in range(m.dof[i], m.dof[i + 1])], np.int64)


def matrix(R: FloatArray, p: FloatArray) -> FloatArray:
    """Homogeneous matrices (..., 4, 4)."""
    T = np.zeros((*p.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T


def inverse(T: FloatArray) -> FloatArray:
    """Of homogeneous matrices."""
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    return matrix(R, -np.einsum("...ij,...j->...i", R, T[..., :3, 3]))


def steps(model: Model, q: FloatArray, bodies: Iterable[int] | None = None) -> FloatArray:
    """(N, 4, 4): the laid frame of every body, or of these, in that of its parent at q."""
    m, T = model.mechanism, []
    X = np.zeros((len(m.parent), 12))
    for i in range(len(X)) if bodies is None else bodies:
        move_joint(m, q, i, X)
        axes = [turn_to_parent(m, X, i, axis) for axis in AXES]
        T.append(matrix(np.array(axes).T, np.array(origin_in_parent(m, X, i))))
    return np.array(T).reshape(-1, 4, 4)


def joint_frames(model: Model) -> JointFrames:
    """In the order of `model.joint_names`; mimic joints are not among them, but may carry some."""
    m, step = model.mechanism, steps(model, model.neutral)
    body, R, p = body_frames(model)
    own = matrix(R, p)
    first, down = body.copy(), inverse(own)
    for j, joint in enumerate(model.joints):
        for _ in JOINTS[joint.type][1:]:
            down[j] = down[j] @ inverse(step[first[j]])
            first[j] = m.parent[first[j]]
    below = carriers(model)[: len(body)]
    up = matrix(model.frames.R[below], model.frames.p[below])
    now = inverse(up) @ step[first] @ inverse(down)
    return JointFrames(first, up, down, now)


def check_shape(value: Any, shape: tuple[int, ...], what: str) -> FloatArray:
    """The numbers as an array of that shape, all finite."""
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise ShapeError(f"{what} must be numbers of shape {shape}") from None
    if array.shape != shape:
        raise ShapeError(f"{what} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite")
    return array


def check_physical(inertias: FloatArray, names: Sequence[str], where: str) -> None:
    """Refuse, by the name of its body, an inertia that no rigid body has; `inertias` is (joints, 10)."""
    mass = inertias[:, 0]
    moments = np.linalg.eigvalsh(about_com(inertias[:, TO_KERNEL]))
    # what the subtraction loses grows with the distance of the centre of mass
    lost = 1e-12 * (inertias[:, 1:4] ** 2).sum(axis=1) / np.where(mass != 0.0, mass, 1.0)
    floor = lost + MICRON_SQUARED * mass + ROUNDING * np.abs(moments[:, 2])
    wrong = [
        (mass < 0.0, "its mass is negative"),
        ((mass == 0.0) & (inertias[:, 1:] != 0.0).any(axis=1), "it has moments but no mass"),
        (moments[:, 0] < -floor, "its moments about the centre of mass are not all positive"),
        (moments[:, 0] + moments[:, 1] < moments[:, 2] * (1.0 - TRIANGLE) - floor,
         "its largest principal moment exceeds the sum of the others"),
    ]  # fmt: skip
    for found, what in wrong:
        if found.any():
            k = int(np.flatnonzero(found)[0])
            shown = ", ".join(f"{x:.4g}" for x in moments[k])
            raise ModelError(
                f"{where}: the inertia of body {names[k]!r} is not physical: {what} "
                f"(mass {mass[k]:.4g} kg, principal moments {shown} kg m^2)"
            )


def standard(inertias: FloatArray) -> list[tuple[float, FloatArray, FloatArray]]:
    """(mass, centre of mass, inertia about it) of each row of ten numbers."""
    mass, J = inertias[:, 0], about_com(inertias[:, TO_KERNEL])
    com = inertias[:, 1:4] / np.where(mass != 0.0, mass, 1.0)[:, None]
    return [(float(m), c, I) for m, c, I in zip(mass, com, J, strict=True)]


# Base inertial parameters (Khalil & Kleinfinger 1987; Mayeda et al. 1990): the same motion from fewer numbers.
#
# Masses on the axis of a revolute joint have the same motion whether they belong to the body or to its parent. Given
# to the parent, they leave a body without mass, without first moment along z and without one moment of inertia: zeros
# that fold in a trace. Only sums over the whole mechanism keep their meaning, and kernels return no others.


def grouped(m: Mechanism) -> Mechanism:
    """The mechanism with each revolute body's axial mass moved to its parent, leaves first."""
    I = np.array(m.inertia)
    still = np.zeros((len(m.parent), 12))
    still[:, 0], still[:, 2] = 1.0, m.offset[:, 1]
    for i in range(len(m.parent) - 1, -1, -1):
        if m.parent[i] >= 0 and m.kind[i] == TURN and m.pitch[m.dof[i]] == 0.0:
            mass, hz, J = I[i, 9], I[i, 8], I[i, 1]
            I[m.parent[i]] += rigid_to_parent(m, still, i, (J, J, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, hz, mass))
            I[i, [1, 8, 9]] = 0.0
            I[i, 0] -= J
    I.flags.writeable = False
    return m._replace(inertia=I)
