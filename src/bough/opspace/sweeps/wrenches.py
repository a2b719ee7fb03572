"""Task rows as wrenches: row r of a task reads y_r = sum over bodies of K . v_b (Featherstone 2010, eq. 14: K is R).

A seed is one row on one body. Its K, a force in the body's frame, is the virtual force that a unit task force exerts.
Placements are taken in world axes about the origin of each tree's root body, so that results do not lose
digits when a robot is far from the world's origin.
"""

from __future__ import annotations

from typing import NamedTuple

from bough.compile.kernel import kernel
from bough.compile.scalar import sqrt
from bough.dynamics.center_of_mass import inverse_mass
from bough.joints import Mechanism, force_to_parent, orient_body, origin_in_parent
from bough.spatial import (
    add3,
    angular,
    cross,
    dot3,
    force_in,
    force_out,
    get3,
    get6,
    get9,
    get10,
    get_tail,
    join,
    linear,
    motion_out,
    put3,
    put6,
    put_tail,
    rigid_times,
    rotate,
    rotate_back,
    scale3,
    scale6,
    sub3,
)
from bough.types import Force, Motion, Rows, Vector, Workspace

# Kinds of seeds: how K follows from the constant wrench c of the seed
LOCAL = 0  # K = c
ALIGNED = 1  # c in world axes, acting at a point of the body
FIXED = 2  # c fixed in the world, about its origin
FOLLOWING = 3  # c fixed in another body
FOLLOWING_ALIGNED = 4  # c in world axes, acting at a point of another body
MOMENTUM = 5  # K = I c with c a motion in world axes about the centre of mass
CENTER = 6  # the same over the mass of all bodies
JOINT = 7  # K = c, the freed axis of the body's own joint
REACTION = 8  # minus that, on the parent; `other` is the child
ALONG = 9  # a unit force at a point of the body, away from a point of another body or of the world, which is c[:3]
TIE = 10  # c along the body's own joint in J; K = 0, as mimic joints follow in every v and their ties never drift


class Seeds(NamedTuple):
    """The rows of a task set on its bodies, sorted by body; S seeds."""

    kind: Rows  # (S,)
    body: Rows  # (S,)
    other: Rows  # (S,) a second body, -1 for none
    row: Rows  # (S,)
    wrench: Rows  # (S, 6) c, angular first
    point: Rows  # (S, 3) in the frame of the body, or of the other body
    of_body: Rows  # (N + 1,) seeds of body i are of_body[i] .. of_body[i + 1] - 1
    placed: Rows  # bodies whose placement is needed, ancestors first
    root: Rows  # (N,) root body of each body's tree
    central: Rows  # (1,) whether the centre of mass is needed


# Placements: w.place holds R and the position about the root's origin, w.origin the root's origin in the world


@kernel
def place_bodies(m: Mechanism, t: Seeds, w: Workspace) -> None:
    """Placement of each body that a seed needs. 36 to 60 operations for the rotation, 18 for the position."""
    zero = m.zero[0]
    for a in range(len(t.placed)):
        i = t.placed[a]
        up, step, position = m.parent[i], origin_in_parent(m, w.X, i), (zero, zero, zero)
        if up >= 0:
            position = add3(get_tail(w.place, up), rotate(get9(w.place, up), step))
        else:
            put3(w.origin, i, step)
        orient_body(m, i, w.X, w.place)
        put_tail(w.place, i, position)
    if t.central[0]:
        w.share[0] = inverse_mass(m)
        put3(w.center, 0, center_of_mass(m, t, w))


@kernel
def center_of_mass(m: Mechanism, t: Seeds, w: Workspace) -> Vector:
    zero = m.zero[0]
    total = (zero, zero, zero)
    for i in range(len(m.parent)):
        h = rotate(get9(w.place, i), (m.inertia[i, 6], m.inertia[i, 7], m.inertia[i, 8]))
        p = add3(get3(w.origin, t.root[i]), get_tail(w.place, i))
        total = add3(total, add3(h, scale3(m.inertia[i, 9], p)))
    return scale3(w.share[0], total)


@kernel
def between_roots(m: Mechanism, t: Seeds, a: int, b: int, w: Workspace) -> Vector:
    """The origin of b's root seen from the origin of a's."""
    zero = m.zero[0]
    if t.root[a] == t.root[b]:
        return (zero, zero, zero)
    return sub3(get3(w.origin, t.root[b]), get3(w.origin, t.root[a]))


@kernel
def wrench_in_world(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Force:
    """K of seed s in world axes about the origin of its body's root."""
    kind, i = t.kind[s], t.body[s]
    c, x = get6(t.wrench, s), get3(t.point, s)
    if kind == ALIGNED:
        return act_at(c, add3(get_tail(w.place, i), rotate(get9(w.place, i), x)))
    if kind == FIXED:
        o = get3(w.origin, t.root[i])
        return join(sub3(angular(c), cross(o, linear(c))), linear(c))
    if FOLLOWING <= kind <= FOLLOWING_ALIGNED:
        b = t.other[s]
        R, p = get9(w.place, b), add3(get_tail(w.place, b), between_roots(m, t, i, b, w))
        if kind == FOLLOWING:
            return force_in(R, p, c)
        return act_at(c, add3(p, rotate(R, x)))
    if kind == ALONG:
        away = from_other_point(m, t, s, w)
        push = scale3(m.one[0] / sqrt(dot3(away, away)), away)
        at = add3(get_tail(w.place, i), rotate(get9(w.place, i), x))
        return join(cross(at, push), push)
    return force_in(get9(w.place, i), get_tail(w.place, i), body_wrench(m, t, s, w))


@kernel
def from_other_point(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Vector:
    """From the point of the other body to the point of its own, of a seed ALONG the line between them; world axes."""
    i, b, y = t.body[s], t.other[s], angular(get6(t.wrench, s))
    own = add3(get_tail(w.place, i), rotate(get9(w.place, i), get3(t.point, s)))
    if b >= 0:
        y = add3(add3(get_tail(w.place, b), rotate(get9(w.place, b), y)), between_roots(m, t, i, b, w))
    else:
        y = sub3(y, get3(w.origin, t.root[i]))
    return sub3(own, y)


@kernel
def act_at(c: Force, x: Vector) -> Force:
    """The wrench c at the point x, about the origin."""
    return join(add3(angular(c), cross(x, linear(c))), linear(c))


@kernel
def body_wrench(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Force:
    """K of a seed that needs no second body but its parent, in the body's frame."""
    kind, i = t.kind[s], t.body[s]
    c = get6(t.wrench, s)
    if kind == ALIGNED:
        R = get9(w.place, i)
        return act_at(join(rotate_back(R, angular(c)), rotate_back(R, linear(c))), get3(t.point, s))
    if MOMENTUM <= kind <= CENTER:
        return rigid_times(get10(m.inertia, i), momentum_motion(t, s, w))
    if kind == REACTION:
        return force_to_parent(m, w.X, t.other[s], c)
    if kind == TIE:
        return scale6(m.zero[0], c)
    return c


@kernel
def momentum_motion(t: Seeds, s: int, w: Workspace) -> Motion:
    """The motion c about the centre of mass, in the frame of the seed's body."""
    i, c = t.body[s], get6(t.wrench, s)
    if t.kind[s] == CENTER:
        c = scale6(w.share[0], c)
    p = sub3(add3(get3(w.origin, t.root[i]), get_tail(w.place, i)), get3(w.center, 0))
    return motion_out(get9(w.place, i), p, c)


@kernel
def task_wrench(m: Mechanism, t: Seeds, s: int, w: Workspace) -> Force:
    """K of seed s in the frame of its body."""
    kind, i = t.kind[s], t.body[s]
    if FIXED <= kind <= FOLLOWING_ALIGNED or kind == ALONG:
        return force_out(get9(w.place, i), get_tail(w.place, i), wrench_in_world(m, t, s, w))
    return body_wrench(m, t, s, w)


@kernel
def task_wrenches(m: Mechanism, t: Seeds, w: Workspace) -> None:
    """K of every seed, w.K (S, 6), from the joint motions in w.X."""
    place_bodies(m, t, w)
    for s in range(len(t.kind)):
        put6(w.K, s, task_wrench(m, t, s, w))


PLACEMENT_WORK = {"X": "bodies 12", "place": "bodies 12", "origin": "bodies 3", "center": "1 3", "share": "1"}
WRENCH_WORK = PLACEMENT_WORK | {"K": "seeds 6"}
