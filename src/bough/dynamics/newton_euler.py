"""Newton's and Euler's equations of one body without linear velocities (Balafoutis, Patel & Misra 1988).

With w the angular velocity, alpha the angular and a the linear acceleration of the origin, every point r of a body
accelerates with a + Omega r, Omega = [alpha x] + [w x][w x].
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.joints import Mechanism, orient_body
from bough.spatial import add3, angular, cross, get3, get6, join, linear, put6, rotate, scale3, sub3
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
def subtract_wrenches(m: Mechanism, i: int, X: Rows, f: Rows) -> None:
    """Subtract the external wrenches on body i from the force f[i], moment first, in the body's axes.

    Body by body, where f[i] has just been made: nothing waits in memory. Term by term: each product joins a sum.
    """
    if len(m.wrench) > 0:
        R = orient_body(m, i, X, m.world)
        for j in range(m.first_push[i], m.first_push[i + 1]):
            k = m.push[j]
            x, y = m.wrench[k], get6(f, i)
            force = subtract_rotated(R, (x[0], x[1], x[2]), linear(y))
            # the moment of the force about the body's origin is p x (what `force` lost)
            lever = cross(get3(m.push_at, k), sub3(force, linear(y)))
            put6(f, i, join(add3(subtract_rotated(R, (x[3], x[4], x[5]), angular(y)), lever), force))


@kernel
def subtract_rotated(R: Rotation, x: Vector, y: Vector) -> Vector:
    """y - R' x. 9m + 9a."""
    return (
        y[0] - R[0] * x[0] - R[3] * x[1] - R[6] * x[2],
        y[1] - R[1] * x[0] - R[4] * x[1] - R[7] * x[2],
        y[2] - R[2] * x[0] - R[5] * x[1] - R[8] * x[2],
    )


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
