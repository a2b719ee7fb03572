"""Turns and inertias as NumPy arrays, for everything outside kernels: rotation vectors, quaternions, matrices."""

from __future__ import annotations

import math

import numpy as np

from bough.types import FloatArray


def rotation_vector(R: FloatArray) -> FloatArray:
    """The rotation vector (3,) of a rotation matrix, its length at most pi, accurate to rounding at any angle.

    Half a turn has two, of which the one with its largest component positive is given.
    """
    x, y, z, w = _quaternion(R)
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    length = math.sqrt(x * x + y * y + z * z)
    # angle / length, which is 2 / w for a small turn
    scale = 2.0 * math.atan2(length, w) / length if length > 0.0 else 2.0
    return np.array([scale * x, scale * y, scale * z])


def turn_of_z(z: FloatArray) -> FloatArray:
    """The rotation vector (3,), across the z axis, that carries it to the unit vector z (3,)."""
    sine = math.hypot(z[0], z[1])
    share = math.atan2(sine, z[2]) / sine if sine > 0.0 else 1.0
    return share * np.array([-z[1], z[0], 0.0])


def quaternion_matrix(q: FloatArray) -> FloatArray:
    """Rotations (..., 3, 3) of quaternions x y z w (..., 4), of any length but zero."""
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def rpy_matrix(rpy: FloatArray) -> FloatArray:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy).tolist(), np.sin(rpy).tolist()
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_quaternion(R: FloatArray) -> FloatArray:
    """The unit quaternion x y z w (4,), w >= 0, of a rotation (3, 3)."""
    q = np.array(_quaternion(R))
    return np.asarray(q * (math.copysign(1.0, q[3]) / np.linalg.norm(q)))


def matrix_rpy(R: FloatArray) -> FloatArray:
    """Roll, pitch and yaw (3,) of a rotation (3, 3): the inverse of `rpy_matrix`, to rounding at any pitch."""
    (xx, xy, xz), (yx, yy, yz), (zx, _, _) = R.tolist()
    yaw = math.atan2(yx, xx)
    c, s = math.cos(yaw), math.sin(yaw)
    # yaw is taken out before roll is read, so that near a right angle of pitch their sum is right
    return np.array([math.atan2(s * xz - c * yz, c * yy - s * xy), math.atan2(-zx, math.hypot(xx, yx)), yaw])


def _quaternion(R: FloatArray) -> tuple[float, float, float, float]:
    """x y z w of any length, by the largest of four sums, in which nothing cancels (Shepperd 1978)."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.tolist()
    trace = xx + yy + zz
    if trace >= max(xx, yy, zz):
        return zy - yz, xz - zx, yx - xy, 1.0 + trace
    if xx >= max(yy, zz):
        return 1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz
    if yy >= zz:
        return xy + yx, 1.0 + yy - xx - zz, yz + zy, xz - zx
    return xz + zx, yz + zy, 1.0 + zz - xx - yy, yx - xy


def quaternion_rotate(q: FloatArray, x: FloatArray) -> FloatArray:
    """Vectors (..., 3) turned by unit quaternions x y z w (..., 4)."""
    t = 2.0 * np.cross(q[..., :3], x)
    return x + q[..., 3:] * t + np.cross(q[..., :3], t)


def inertia_matrix(I: FloatArray) -> FloatArray:
    """The moments (..., 3, 3) of rigid inertias (..., 10)."""
    return I[..., [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(*I.shape[:-1], 3, 3)
