"""Newton's and Euler's equations of one body without linear velocities (Balafoutis, Patel & Misra 1988).

With w the angular velocity, alpha the angular and a the linear acceleration of the origin, every point r of a body
accelerates with a + Omega r, Omega = [alpha x] + [w x][w x].
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.spatial import add3, cross, get6, join, put6, rotate, scale3, sub6
from bough.types import Force, RigidInertia, Rotation, Rows, Symmetric, Vector


@kernel
def squares(w: Vector) -> Symmetric:
    """The products xx yy zz xy xz yz of a vector. 6m."""
    return (w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2])


@kernel
def acceleration_tensor(ww: Symmetric, alpha: Vector) -> Rotation:
    """Omega, row by row, from the products of w. 9a."""
    return (
        -(ww[1] + ww[2]), ww[3] - alpha[2], ww[4] + alpha[1],
        ww[3] + alpha[2], -(ww[0] + ww[2]), ww[5] - alpha[0],
        ww[4] - alpha[1], ww[5] + alpha[0], -(ww[0] + ww[1]),
    )  # fmt: skip


@kernel
def moment(I: RigidInertia, ww: Symmetric, alpha: Vector, W: Rotation) -> Vector:
    """J alpha + w x J w, from the off-diagonal elements of W = Omega. 15m + 15a."""
    return (
        I[0] * alpha[0] + (I[2] - I[1]) * ww[5] + (ww[1] - ww[2]) * I[5] + W[3] * I[4] - W[6] * I[3],
        I[1] * alpha[1] + (I[0] - I[2]) * ww[4] + (ww[2] - ww[0]) * I[4] + W[7] * I[3] - W[1] * I[5],
        I[2] * alpha[2] + (I[1] - I[0]) * ww[3] + (ww[0] - ww[1]) * I[3] + W[2] * I[5] - W[5] * I[4],
    )


@kernel
def body_force(I: RigidInertia, w: Vector, alpha: Vector, a: Vector) -> Force:
    """The force (moment about the origin first) that makes a body of inertia I move so. 39m + 42a."""
    ww = squares(w)
    W = acceleration_tensor(ww, alpha)
    h = (I[6], I[7], I[8])
    f = add3(scale3(I[9], a), rotate(W, h))
    return join(add3(moment(I, ww, alpha, W), cross(h, a)), f)


@kernel
def gyroscopic_force(I: RigidInertia, ww: Symmetric) -> Force:
    """The force on a body that turns, with ww the products of w, and does not accelerate. 21m + 18a."""
    rest = (ww[0] - ww[0], ww[0] - ww[0], ww[0] - ww[0])
    W = acceleration_tensor(ww, rest)
    return join(moment(I, ww, rest, W), rotate(W, (I[6], I[7], I[8])))


@kernel
def relieve(f_ext: Rows, i: int, f: Rows) -> None:
    """Take the external force on body i off the force that it needs. 6a."""
    put6(f, i, sub6(get6(f, i), get6(f_ext, i)))


@kernel
def centripetal(ww: Symmetric, r: Vector) -> Vector:
    """w x (w x r), from the products of w. 9m + 9a."""
    return (
        ww[3] * r[1] + ww[4] * r[2] - (ww[1] + ww[2]) * r[0],
        ww[3] * r[0] + ww[5] * r[2] - (ww[0] + ww[2]) * r[1],
        ww[4] * r[0] + ww[5] * r[1] - (ww[0] + ww[1]) * r[2],
    )


@kernel
def point_acceleration(w: Vector, alpha: Vector, r: Vector) -> Vector:
    """Omega r: the acceleration of point r relative to the origin. 15m + 15a."""
    return rotate(acceleration_tensor(squares(w), alpha), r)
