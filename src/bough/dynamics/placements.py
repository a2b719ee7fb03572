"""World placements of many frames at once (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.external import Points
from bough.dynamics.kinematics import place_body, put_homogeneous
from bough.joints import Mechanism, joint_motion
from bough.model import Model
from bough.spatial import add3, get3, get9, get_tail, matmul3, put3, rotate
from bough.types import Rotation, Rows, Vector, Workspace


class FrameSet(NamedTuple):
    """Frames as kernels see them: the bodies that carry them and their placements there."""

    body: Rows  # (count,) kernel's number of the body, -1 = world
    R: Rows  # (count, 9) row by row
    p: Rows  # (count, 3)


def frame_set(model: Model, numbers: Sequence[int]) -> FrameSet:
    """The frames with these numbers, in this order."""
    chosen = np.asarray(numbers, np.int64)
    frames = model.frames
    return FrameSet(frames.body[chosen], frames.R[chosen].reshape(-1, 9), frames.p[chosen])


def all_frames(model: Model) -> FrameSet:
    return frame_set(model, range(len(model.frame_names)))


@kernel
def placements(m: Mechanism, f: FrameSet, q: Rows, T: Rows, w: Workspace) -> None:
    """T (frames, 4, 4): the world placement of every frame as a homogeneous matrix."""
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
    for k in range(len(f.body)):
        R, p = place_frame(f, k, w)
        put_homogeneous(m, R, p, T[k])


@kernel
def place_frame(f: FrameSet, k: int, w: Workspace) -> tuple[Rotation, Vector]:
    """The world placement (R, p) of frame k, from that of its body in w.P."""
    R, p, i = get9(f.R, k), get3(f.p, k), f.body[k]
    if i >= 0:
        A = get9(w.P, i)
        p = add3(get_tail(w.P, i), rotate(A, p))
        R = matmul3(A, R)
    return R, p


PLACEMENTS = Routine(
    "placements", placements, inputs={"q": "nq"}, outputs={"T": "frames 4 4"}, work={"X": "bodies 12", "P": "bodies 12"}
)


@kernel
def positions(m: Mechanism, points: Points, q: Rows, x: Rows, w: Workspace) -> None:
    """x (count, 3): where points of bodies are in the world."""
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
    place_points(points, x, w)


@kernel
def place_points(points: Points, x: Rows, w: Workspace) -> None:
    """x (count, 3): where points are, from the placements of bodies in w.P."""
    for k in range(len(points.body)):
        at, i = get3(points.p, k), points.body[k]
        if i >= 0:
            at = add3(get_tail(w.P, i), rotate(get9(w.P, i), at))
        put3(x, k, at)


def positions_of(count: int) -> Routine:
    """The routine for the positions of so many points."""
    return Routine(
        "positions", positions, inputs={"q": "nq"}, outputs={"x": f"{count} 3"},
        work={"X": "bodies 12", "P": "bodies 12"},
    )  # fmt: skip
