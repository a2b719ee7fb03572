"""Rows of arrays as tuples of numbers: what kernels read and write."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.types import ArticulatedInertia, Motion, RigidInertia, Rotation, Rows, Scalar, Vector


@kernel
def get3(a: Rows, i: int) -> Vector:
    """The first three numbers of row i."""
    return (a[i, 0], a[i, 1], a[i, 2])


@kernel
def get6(a: Rows, i: int) -> Motion:
    """The first six numbers of row i: a motion or a force."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5])


@kernel
def get9(a: Rows, i: int) -> Rotation:
    """The first nine numbers of row i: a rotation."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8])


@kernel
def get10(a: Rows, i: int) -> RigidInertia:
    """The first ten numbers of row i: a rigid inertia."""
    return (a[i, 0], a[i, 1], a[i, 2], a[i, 3], a[i, 4], a[i, 5], a[i, 6], a[i, 7], a[i, 8], a[i, 9])


@kernel
def get21(a: Rows, i: int) -> ArticulatedInertia:
    """The 21 numbers of row i: an articulated inertia."""
    middle = (a[i, 10], a[i, 11], a[i, 12], a[i, 13], a[i, 14], a[i, 15])
    return get10(a, i) + middle + (a[i, 16], a[i, 17], a[i, 18], a[i, 19], a[i, 20])


@kernel
def get_tail(a: Rows, i: int) -> Vector:
    """The position of a placement stored as R, p."""
    return (a[i, 9], a[i, 10], a[i, 11])


@kernel
def fill(a: Rows, x: Scalar) -> None:
    """Write x into all rows of a matrix."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = x


@kernel
def put3(a: Rows, i: int, x: Vector) -> None:
    """Write the first three numbers of row i."""
    a[i, 0], a[i, 1], a[i, 2] = x[0], x[1], x[2]


@kernel
def put6(a: Rows, i: int, x: Motion) -> None:
    """Write the first six numbers of row i."""
    a[i, 0], a[i, 1], a[i, 2] = x[0], x[1], x[2]
    a[i, 3], a[i, 4], a[i, 5] = x[3], x[4], x[5]


@kernel
def put9(a: Rows, i: int, x: Rotation) -> None:
    """Write the first nine numbers of row i."""
    put6(a, i, x[0:6])
    a[i, 6], a[i, 7], a[i, 8] = x[6], x[7], x[8]


@kernel
def put10(a: Rows, i: int, x: RigidInertia) -> None:
    """Write the first ten numbers of row i."""
    put9(a, i, x[0:9])
    a[i, 9] = x[9]


@kernel
def put21(a: Rows, i: int, x: ArticulatedInertia) -> None:
    """Write the 21 numbers of row i."""
    put9(a, i, x[0:9])
    put_tail(a, i, x[9:12])
    a[i, 12], a[i, 13], a[i, 14] = x[12], x[13], x[14]
    a[i, 15], a[i, 16], a[i, 17] = x[15], x[16], x[17]
    a[i, 18], a[i, 19], a[i, 20] = x[18], x[19], x[20]


@kernel
def put_tail(a: Rows, i: int, x: Vector) -> None:
    """Write the position of a placement stored as R, p."""
    a[i, 9], a[i, 10], a[i, 11] = x[0], x[1], x[2]
