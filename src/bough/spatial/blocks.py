"""Symmetric and general 3x3 blocks on tuples: congruences R S R', and the axes relabelled."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial.vectors import cross, matmul3, rotate, transpose3
from bough.types import Rotation, Scalar, Symmetric, Vector


@kernel
def z_turn_symmetric(c: Scalar, s: Scalar, S: Symmetric) -> Symmetric:
    """R S R' of a symmetric block (xx yy zz xy xz yz) for a rotation about z. 8m + 7a, and c + c once."""
    k = s * (S[1] - S[0]) - (c + c) * S[3]
    return (S[0] + s * k, S[1] - s * k, S[2], -(c * k + S[3]), c * S[4] - s * S[5], s * S[4] + c * S[5])


@kernel
def z_turn_general(c: Scalar, s: Scalar, B: Rotation) -> Rotation:
    """R B R' of a general block, row by row, for a rotation about z. 12m + 11a."""
    k = s * (B[4] - B[0]) - c * (B[1] + B[3])
    x = (B[0] + s * k, -(c * k + B[3]), c * B[2] - s * B[5])
    y = (-(c * k + B[1]), B[4] - s * k, s * B[2] + c * B[5])
    return x + y + (c * B[6] - s * B[7], s * B[6] + c * B[7], B[8])


@kernel
def full(S: Symmetric) -> Rotation:
    """A symmetric block row by row."""
    return (S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2])


@kernel
def upper(B: Rotation) -> Symmetric:
    """The symmetric block that a row-by-row block holds."""
    return (B[0], B[4], B[8], B[1], B[2], B[5])


@kernel
def turn_general(R: Rotation, B: Rotation) -> Rotation:
    """R B R' for any rotation."""
    return matmul3(matmul3(R, B), transpose3(R))


@kernel
def cycle_symmetric(S: Symmetric) -> Symmetric:
    """A symmetric block with its axes relabelled as by `cycle`."""
    return (S[1], S[2], S[0], S[5], S[3], S[4])


@kernel
def uncycle_symmetric(S: Symmetric) -> Symmetric:
    """The axes back in their order."""
    return (S[2], S[0], S[1], S[4], S[5], S[3])


@kernel
def cycle_general(B: Rotation) -> Rotation:
    """A general block with its axes relabelled as by `cycle`."""
    return (B[4], B[5], B[3], B[7], B[8], B[6], B[1], B[2], B[0])


@kernel
def uncycle_general(B: Rotation) -> Rotation:
    """The axes back in their order."""
    return (B[8], B[6], B[7], B[2], B[0], B[1], B[5], B[3], B[4])


@kernel
def symmetric_times(S: Symmetric, a: Vector) -> Vector:
    """S a. 9m + 6a."""
    return rotate(full(S), a)


@kernel
def adjugate(S: Symmetric) -> tuple[Symmetric, Scalar]:
    """(adjugate, determinant): S^-1 is their quotient. 15m + 8a."""
    xx, yy, zz, xy, xz, yz = S
    A, B, C = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    return (A, xx * zz - xz * xz, xx * yy - xy * xy, B, C, xy * xz - xx * yz), xx * A + xy * B + xz * C


@kernel
def outer_symmetric(a: Vector, b: Vector) -> Symmetric:
    """The entries of a b' that a symmetric block keeps. 6m."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2], a[0] * b[1], a[0] * b[2], a[1] * b[2])


@kernel
def cross_columns(p: Vector, B: Rotation) -> Rotation:
    """[p x] B for a block given row by row."""
    columns = transpose3(B)
    return transpose3(cross(p, columns[0:3]) + cross(p, columns[3:6]) + cross(p, columns[6:9]))
