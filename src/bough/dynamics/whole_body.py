"""Placements, velocities, drifts and Jacobians of many frames in one sweep (Featherstone 2008, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.jacobian import world_motion
from bough.dynamics.kinematics import LOCAL, LOCAL_WORLD_ALIGNED, REFERENCES, WORLD, body_drifts
from bough.dynamics.placements import FrameSet, frame_set, placements
from bough.errors import OptionError
from bough.joints import Mechanism
from bough.model import Model
from bough.spatial import add3, angular, cross, fill, get3, get6, get9, join, linear, rotate, rotate_back
from bough.types import Motion, Rotation, Rows, Vector, Workspace


class Wanted(NamedTuple):
    """The frames of a set with a Jacobian, and the reference of velocities, drifts and Jacobians."""

    frame: Rows  # (count,)
    reference: Rows  # (1,)


class Kinematics(NamedTuple):
    """Results of `Dynamics.kinematics`. Arrays of a batch have a leading axis; without v the middle two are None."""

    frames: tuple[str, ...]
    placements: Any  # (frames, 4, 4)
    velocities: Any  # (frames, 6) [linear, angular]
    drifts: Any  # (frames, 6) Jdot v
    jacobians: dict[str, Any]  # (6, nv) each


@kernel
def referred(reference: int, R: Rotation, p: Vector, x: Motion) -> Motion:
    """A motion at a frame's origin in the world's axes, in the reference, linear part first; (R, p) places it."""
    if reference == LOCAL:
        return join(rotate_back(R, linear(x)), rotate_back(R, angular(x)))
    if reference == WORLD:
        return join(add3(linear(x), cross(p, angular(x))), angular(x))
    return join(linear(x), angular(x))


@kernel
def rotation_of(T: Rows) -> Rotation:
    return (T[0, 0], T[0, 1], T[0, 2], T[1, 0], T[1, 1], T[1, 2], T[2, 0], T[2, 1], T[2, 2])


@kernel
def origin_of(T: Rows) -> Vector:
    return (T[0, 3], T[1, 3], T[2, 3])


@kernel
def put_jacobians(m: Mechanism, f: FrameSet, u: Wanted, T: Rows, J: Rows, w: Workspace) -> None:
    """J (count, 6, nv) of the frames, from the placements of bodies and frames."""
    for s in range(len(u.frame)):
        fill(J[s], m.zero[0])
        k = u.frame[s]
        i, R, p = f.body[k], rotation_of(T[k]), origin_of(T[k])
        while i >= 0:
            for d in range(m.dof[i], m.dof[i + 1]):
                x = referred(u.reference[0], R, p, world_motion(m, i, d, p, w))
                c = m.v_index[d]
                for r in range(6):
                    J[s, r, c] = J[s, r, c] + m.ratio[d] * x[r]
            i = m.parent[i]


@kernel
def still_kinematics(m: Mechanism, f: FrameSet, u: Wanted, q: Rows, T: Rows, J: Rows, w: Workspace) -> None:
    """Placements and Jacobians."""
    placements(m, f, q, T, w)
    put_jacobians(m, f, u, T, J, w)


@kernel
def moving_kinematics(
    m: Mechanism, f: FrameSet, u: Wanted, q: Rows, v: Rows, T: Rows, nu: Rows, a: Rows, J: Rows, w: Workspace
) -> None:
    """Placements, velocities, drifts and Jacobians."""
    zero, reference = m.zero[0], u.reference[0]
    rest = (zero, zero, zero, zero, zero, zero)
    placements(m, f, q, T, w)
    body_drifts(m, v, w)
    for k in range(len(f.body)):
        i, R, p = f.body[k], rotation_of(T[k]), origin_of(T[k])
        x, y = rest, rest
        if i >= 0:
            A, at = get9(w.P, i), get3(f.p, k)
            x, y = at_point(A, at, get6(w.v, i)), at_point(A, at, get6(w.a, i))
            if reference == LOCAL_WORLD_ALIGNED:
                # from spatial to classical acceleration: + omega x velocity
                y = join(angular(y), add3(linear(y), cross(angular(x), linear(x))))
        x, y = referred(reference, R, p, x), referred(reference, R, p, y)
        for r in range(6):
            nu[k, r], a[k, r] = x[r], y[r]
    put_jacobians(m, f, u, T, J, w)


@kernel
def at_point(A: Rotation, p: Vector, x: Motion) -> Motion:
    """A motion in a body's frame, at the point p of the body and in the world's axes."""
    return join(rotate(A, angular(x)), rotate(A, add3(linear(x), cross(angular(x), p))))


def kinematics_of(
    model: Model, frames: Sequence[str], jacobians: Sequence[str], reference: str, moving: bool
) -> tuple[Routine, tuple[Any, ...]]:
    """The routine for these frames, and its constants after the mechanism; unknown names are refused."""
    for name in jacobians:
        if name not in frames:
            raise OptionError(f"kinematics: the Jacobian of {name!r} needs the frame among the frames")
    numbers = [model.frame(name) for name in frames]
    places = np.array([list(frames).index(name) for name in jacobians], np.int64)
    wanted = Wanted(places, np.array([REFERENCES[reference]]))
    moves = {"nu": f"{len(frames)} 6", "a": f"{len(frames)} 6"} if moving else {}
    routine = Routine(
        "kinematics",
        moving_kinematics if moving else still_kinematics,
        inputs={"q": "nq"} | ({"v": "nv"} if moving else {}),
        outputs={"T": f"{len(frames)} 4 4"} | moves | {"J": f"{len(jacobians)} 6 nv"},
        work={"X": "bodies 12", "P": "bodies 12"} | ({"v": "bodies 6", "a": "bodies 6"} if moving else {}),
    )
    return routine, (frame_set(model, numbers), wanted)
