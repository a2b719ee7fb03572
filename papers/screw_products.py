"""Axial screws on inertias as the papers count them: products of the sine and cosine of the angle formed beforehand.

McMillan & Orin 1995, through Featherstone 2005 and 2010. The library's own kernels need no such products, at one
addition more for each symmetric block.
"""

from __future__ import annotations

from typing import Any

from bough.spatial import z_turn_out
from bough.spatial.articulated_inertia import z_shift_articulated

Tuple = tuple[Any, ...]


def angle_products(c: Any, s: Any, one: Any) -> Tuple:
    """s^2, c s, 2 c s and c^2 - s^2 = 1 - 2 s^2: 2m + 3a, once for each joint."""
    s2, cs = s * s, c * s
    return s2, cs, cs + cs, one - (s2 + s2)


def turn_symmetric(c: Any, s: Any, w: Tuple, S: Tuple) -> Tuple:
    """R' S R of a symmetric 3x3 (xx yy zz xy xz yz): 8m + 7a."""
    s2, cs, cs2, c2 = w
    e = S[1] - S[0]
    k = s2 * e + cs2 * S[3]
    xz, yz, _ = z_turn_out(c, s, (S[4], S[5], S[2]))
    return S[0] + k, S[1] - k, S[2], cs * e + c2 * S[3], xz, yz


def turn_general(c: Any, s: Any, w: Tuple, B: Tuple) -> Tuple:
    """R' B R of a general 3x3, row by row: 12m + 12a."""
    s2, cs, _, _ = w
    e, f = B[4] - B[0], B[1] + B[3]
    k, g = s2 * e + cs * f, cs * e - s2 * f
    xz, yz, _ = z_turn_out(c, s, (B[2], B[5], B[8]))
    zx, zy, _ = z_turn_out(c, s, (B[6], B[7], B[8]))
    return B[0] + k, g + B[1], xz, g + B[3], B[4] - k, yz, zx, zy, B[8]


def rigid_screw(c: Any, s: Any, w: Tuple, d: Any, I: Tuple) -> Tuple:
    """A rigid inertia through a screw about z: 15m + 15a; the last of `I` is m d, which is constant."""
    J, md = turn_symmetric(c, s, w, I), I[9]
    hx, hy, _ = z_turn_out(c, s, (I[6], I[7], I[8]))
    hz = I[8] + md
    t = d * (I[8] + hz)
    return J[0] + t, J[1] + t, J[2], J[3], J[4] - d * hx, J[5] - d * hy, hx, hy, hz


def symmetric_screw(c: Any, s: Any, w: Tuple, d: Any, K: Tuple) -> Tuple:
    """A symmetric 6x6 (notation of articulated inertias) through a screw about z: 38m + 40a."""
    A, B = turn_symmetric(c, s, w, K[0:6]), turn_general(c, s, w, K[6:15])
    return z_shift_articulated(d, A, B, turn_symmetric(c, s, w, K[15:21]))
