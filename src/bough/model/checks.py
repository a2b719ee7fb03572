"""Whether merged bodies can move: every joint must find some inertia, and no inertia may be negative."""

from __future__ import annotations

import numpy as np

from bough.errors import ModelError
from bough.joints import JOINTS, PRIMITIVES
from bough.model.bodies import MICRON_SQUARED, ROUNDING, Body, about_com, is_screw, mixed, not_positive
from bough.model.coupling import Tie
from bough.spatial import inertia_matrix
from bough.types import FloatArray

REMEDY = "give it a mass and an inertia, or an armature, or weld it with a fixed joint (weld= of bough.load)"


def check_massless(moving: list[Body], parents: list[int], ties: dict[int, Tie], inertia: FloatArray) -> None:
    """Every independent joint must move some inertia: of its body, of what that carries, or of what is tied to it."""
    heavy = ((inertia[:, 9] > 0.0) | (inertia[:, :3] > 0.0).any(axis=1)).tolist()
    moves = [h or b.number("armature") > 0.0 for h, b in zip(heavy, moving, strict=True)]
    for k in range(len(moving) - 1, -1, -1):
        moves[k] = moves[k] or heavy[k]
        if heavy[k] and parents[k] >= 0:
            heavy[parents[k]] = True
    for k, tie in ties.items():
        moves[tie.leader] = moves[tie.leader] or (moves[k] and tie.ratio != 0.0)
    idle = [b for k, b in enumerate(moving) if not moves[k] and k not in ties]
    if idle:
        joints = [b.joint_name for b in idle]
        more = f" (as others do on {', '.join(map(repr, joints[1:9]))})" if len(idle) > 1 else ""
        raise ModelError(
            f"body {idle[0].name!r} moves on joint {joints[0]!r}{more}, but neither it nor what it carries has mass; "
            + REMEDY
        )


def check_leaves(moving: list[Body], parents: list[int], ties: dict[int, Tie], inertia: FloatArray) -> None:
    """A body that carries nothing must resist its own joint: a point mass on a hinge's axis does not."""
    single = np.array([is_screw(b.joint) for b in moving])
    slides = np.array([is_screw(b.joint) and PRIMITIVES[JOINTS[b.joint][0]].axes == (5,) for b in moving])
    axes = np.array([b.axes[0] for b in moving])
    pitch = np.array([b.pitch for b in moving])
    about = np.einsum("ni,nij,nj->n", axes, inertia_matrix(inertia), axes)
    resistance = np.where(slides, inertia[:, 9], about + pitch**2 * inertia[:, 9])
    none = single & (resistance <= 1e-15 * np.abs(inertia[:, :3]).max(axis=1))
    none[[up for up in parents if up >= 0]] = False
    none[[k for k, b in enumerate(moving) if b.number("armature") > 0.0]] = False
    none[[i for k, tie in ties.items() for i in (k, tie.leader)]] = False
    for k in np.flatnonzero(none):
        name, joint = moving[k].name, moving[k].joint_name
        where = "along" if slides[k] else "about"
        raise ModelError(f"body {name!r} has no inertia {where} the axis of its joint {joint!r}; {REMEDY}")


def check_turning(moving: list[Body], parents: list[int], inertia: FloatArray) -> None:
    """A body that carries nothing must resist every way its spherical, floating or planar joint turns it.

    About the centre of mass, or the fixed point of a spherical joint: a point mass resists none, a thin rod two.
    """
    leaf = np.ones(len(moving), bool)
    leaf[[up for up in parents if up >= 0]] = False
    turned = [_turns(b.joint) for b in moving]
    for k in np.flatnonzero(leaf & np.array([bool(axes) for axes in turned])):
        body, own = moving[k], inertia[k : k + 1]
        if body.number("armature") > 0.0:
            continue
        slides = mixed(body.joint)
        J = about_com(own)[0] if slides else inertia_matrix(own)[0]
        moments = np.linalg.eigvalsh(J[np.ix_(turned[k], turned[k])])
        # what remains of a difference of moments about the origin is rounding
        if moments[0] <= 4e-15 * np.abs(own[0, :3]).max():
            where = "its centre of mass" if slides else "the centre of its joint"
            shown = ", ".join(f"{max(x, 0.0):.3g}" for x in moments)
            raise ModelError(
                f"body {body.name!r} resists no turning on its {body.joint} joint {body.joint_name!r}: its moments of "
                f"inertia about {where} are {shown} kg m^2; give it an inertia, or weld the joint (weld= of bough.load)"
            )


def _turns(joint: str) -> list[int]:
    """The axes about which a joint turns that is one placement; none for screws and chains of them."""
    first = PRIMITIVES[JOINTS[joint][0]]
    return [] if first.screw else [axis for axis in first.axes if axis < 3]


def check_positive(moving: list[Body], inertia: FloatArray) -> None:
    """The inertia of each moving body about its centre of mass, with all that is welded to it, must be positive."""
    moments = np.linalg.eigvalsh(about_com(inertia))
    # what the subtraction loses grows with the distance of the centre of mass
    floor = ROUNDING * np.abs(inertia[:, :3]).max(axis=1) + MICRON_SQUARED * inertia[:, 9]
    for k in np.flatnonzero(moments[:, 0] < -floor):
        raise ModelError(f"body {moving[k].name!r}, with all that is welded to it: {not_positive(*moments[k])}")
