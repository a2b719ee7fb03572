"""Three-vectors and rotations on tuples: products, sums, and turns about z and x."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import Rotation, Scalar, Vector


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """a x b. 6m + 3a."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@kernel
def add3(a: Vector, b: Vector) -> Vector:
    """a + b. 3a."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub3(a: Vector, b: Vector) -> Vector:
    """a - b. 3a."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def scale3(x: Scalar, a: Vector) -> Vector:
    """x a. 3m."""
    return (x * a[0], x * a[1], x * a[2])


@kernel
def dot3(a: Vector, b: Vector) -> Scalar:
    """a . b. 3m + 2a."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def rotate(R: Rotation, a: Vector) -> Vector:
    """R a, with R row by row."""
    return (dot3(R[0:3], a), dot3(R[3:6], a), dot3(R[6:9], a))


@kernel
def rotate_back(R: Rotation, a: Vector) -> Vector:
    """R' a."""
    return rotate(transpose3(R), a)


@kernel
def matmul3(R: Rotation, S: Rotation) -> Rotation:
    """R S, both row by row. 27m + 18a."""
    columns = transpose3(S)
    return transpose3(rotate(R, columns[0:3]) + rotate(R, columns[3:6]) + rotate(R, columns[6:9]))


@kernel
def transpose3(R: Rotation) -> Rotation:
    """R'."""
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@kernel
def z_turn_in(c: Scalar, s: Scalar, a: Vector) -> Vector:
    """A vector rotated about z, child to parent. 4m + 2a."""
    return (c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])


@kernel
def z_turn_out(c: Scalar, s: Scalar, a: Vector) -> Vector:
    """A vector rotated about z, parent to child. 4m + 2a."""
    return (c * a[0] + s * a[1], c * a[1] - s * a[0], a[2])


@kernel
def x_turn_in(c: Scalar, s: Scalar, a: Vector) -> Vector:
    """A vector rotated about x, child to parent. 4m + 2a."""
    return (a[0], c * a[1] - s * a[2], s * a[1] + c * a[2])


@kernel
def x_turn_out(c: Scalar, s: Scalar, a: Vector) -> Vector:
    """A vector rotated about x, parent to child. 4m + 2a."""
    return (a[0], c * a[1] + s * a[2], c * a[2] - s * a[1])
