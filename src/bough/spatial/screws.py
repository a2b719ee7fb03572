"""Motions and forces on tuples, through axial screws and placements (Featherstone 1987; 2008)."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial.vectors import add3, cross, rotate, rotate_back, sub3, z_turn_in, z_turn_out
from bough.types import Force, Motion, Rotation, Scalar, Vector


@kernel
def add6(a: Motion, b: Motion) -> Motion:
    """a + b. 6a."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@kernel
def sub6(a: Motion, b: Motion) -> Motion:
    """a - b. 6a."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@kernel
def scale6(x: Scalar, a: Motion) -> Motion:
    """x a. 6m."""
    return (x * a[0], x * a[1], x * a[2], x * a[3], x * a[4], x * a[5])


@kernel
def dot6(a: Force, b: Motion) -> Scalar:
    """a . b: the power of a force and a motion. 6m + 5a."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@kernel
def join(a: Vector, b: Vector) -> Motion:
    """Two three-vectors as one six-vector."""
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@kernel
def angular(v: Motion) -> Vector:
    """The angular part: of a motion the rotation, of a force the moment."""
    return (v[0], v[1], v[2])


@kernel
def linear(v: Motion) -> Vector:
    """The linear part."""
    return (v[3], v[4], v[5])


@kernel
def cross_motion(v: Motion, m: Motion) -> Motion:
    """v x m: the rate of change of a motion m carried along with v."""
    w, l = angular(v), linear(v)
    return join(cross(w, angular(m)), add3(cross(w, linear(m)), cross(l, angular(m))))


@kernel
def z_motion_out(c: Scalar, s: Scalar, d: Scalar, v: Motion) -> Motion:
    """A motion through a screw about z, parent to child. 10m + 6a."""
    l = (v[3] + d * v[1], v[4] - d * v[0], v[5])
    return join(z_turn_out(c, s, angular(v)), z_turn_out(c, s, l))


@kernel
def z_force_in(c: Scalar, s: Scalar, d: Scalar, f: Force) -> Force:
    """A force through a screw about z, child to parent. 10m + 6a."""
    n, l = z_turn_in(c, s, angular(f)), z_turn_in(c, s, linear(f))
    return (n[0] - d * l[1], n[1] + d * l[0], n[2], l[0], l[1], l[2])


@kernel
def cycle(v: Motion) -> Motion:
    """Relabel the axes x y z as z x y, so that a screw about x can be written as one about z."""
    return (v[1], v[2], v[0], v[4], v[5], v[3])


@kernel
def uncycle(v: Motion) -> Motion:
    """The axes back in their order."""
    return (v[2], v[0], v[1], v[5], v[3], v[4])


@kernel
def x_motion_out(c: Scalar, s: Scalar, d: Scalar, v: Motion) -> Motion:
    """A motion through a screw about x, parent to child. 10m + 6a."""
    return uncycle(z_motion_out(c, s, d, cycle(v)))


@kernel
def x_force_in(c: Scalar, s: Scalar, d: Scalar, f: Force) -> Force:
    """A force through a screw about x, child to parent. 10m + 6a."""
    return uncycle(z_force_in(c, s, d, cycle(f)))


@kernel
def motion_out(R: Rotation, p: Vector, v: Motion) -> Motion:
    """A motion into the frame placed at (R, p). 24m + 18a."""
    w = angular(v)
    return join(rotate_back(R, w), rotate_back(R, add3(linear(v), cross(w, p))))


@kernel
def motion_in(R: Rotation, p: Vector, v: Motion) -> Motion:
    """A motion out of the frame placed at (R, p)."""
    w = rotate(R, angular(v))
    return join(w, add3(rotate(R, linear(v)), cross(p, w)))


@kernel
def force_in(R: Rotation, p: Vector, f: Force) -> Force:
    """A force out of the frame placed at (R, p). 24m + 18a."""
    l = rotate(R, linear(f))
    return join(add3(rotate(R, angular(f)), cross(p, l)), l)


@kernel
def force_out(R: Rotation, p: Vector, f: Force) -> Force:
    """A force into the frame placed at (R, p)."""
    l = linear(f)
    return join(rotate_back(R, sub3(angular(f), cross(p, l))), rotate_back(R, l))
