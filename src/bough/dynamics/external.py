"""External forces: wrenches on frames, in the world's axes, as the forces on bodies that the kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.kinematics import place_body
from bough.joints import joint_motion
from bough.model import Model
from bough.spatial import add3, add6, cross, get3, get6, get9, join, put6, rotate_back


class Points(NamedTuple):
    """The origins of frames on bodies."""

    body: Any  # (count,) kernel's number of the body, -1 = world
    p: Any  # (count, 3) in that body's frame


def points_of(model: Model, names: Sequence[str]) -> Points:
    """The frames with these names; the same frame may occur twice."""
    numbers = [model.frame(name) for name in names]
    return Points(model.frames.body[numbers], model.frames.p[numbers])


@kernel
def external(m: Any, points: Any, q: Any, wrench: Any, f_ext: Any, w: Any) -> None:
    """f_ext (bodies, 6), angular part first, in body frames, from wrench (count, 6) [force, moment].

    Each wrench acts at the origin of its frame, in the world's axes; wrenches on the world are ignored.
    """
    zero = m.zero[0]
    joint_motion(m, q, w.X)
    for i in range(len(m.parent)):
        place_body(m, i, w)
        put6(f_ext, i, (zero, zero, zero, zero, zero, zero))
    for k in range(len(points.body)):
        i = points.body[k]
        if i >= 0:
            R = get9(w.P, i)
            force = rotate_back(R, (wrench[k, 0], wrench[k, 1], wrench[k, 2]))
            moment = rotate_back(R, (wrench[k, 3], wrench[k, 4], wrench[k, 5]))
            moment = add3(moment, cross(get3(points.p, k), force))
            put6(f_ext, i, add6(get6(f_ext, i), join(moment, force)))


def external_forces(count: int) -> Routine:
    """The routine for `count` wrenches; its constants are the mechanism and the `Points`."""
    return Routine(
        f"external_{count}",
        external,
        inputs={"q": "nq", "wrench": f"{count} 6"},
        outputs={"f_ext": "bodies 6"},
        work={"X": "bodies 12", "P": "bodies 12"},
    )
