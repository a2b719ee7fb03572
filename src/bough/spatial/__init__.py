"""Spatial algebra on tuples of scalars: motions, forces, inertias and screws, and rows of arrays as tuples.

Belongs here: algebra of six-vectors and inertias that any algorithm may use, and turns as matrices and vectors. Does
not belong here: joints, which choose among these functions (`joints`), and anything that knows a mechanism.

A motion is (wx wy wz lx ly lz) and a force (nx ny nz fx fy fz), angular part first. A rigid inertia is
(Jxx Jyy Jzz Jxy Jxz Jyz hx hy hz m), taken about the frame's origin, with h = m c. An articulated inertia is
(A: xx yy zz xy xz yz, B: xx xy xz yx yy yz zx zy zz, C: xx yy zz xy xz yz), so that n = A w + B l, f = B' w + C l.
A screw about an axis turns by an angle (c, s: cosine and sine) and moves by d along that axis; "in" functions go from
the child's frame to the parent's, "out" functions from the parent's to the child's.
"""

from __future__ import annotations

from bough.spatial.articulated_inertia import (
    articulated,
    articulated_add,
    articulated_column,
    articulated_downdate,
    articulated_in,
    articulated_sub,
    articulated_times,
    outer,
    x_articulated_in,
    z_articulated_in,
)
from bough.spatial.blocks import symmetric_times
from bough.spatial.rigid_inertia import (
    rigid_add,
    rigid_column,
    rigid_in,
    rigid_scale,
    rigid_times,
    x_rigid_in,
    z_rigid_in,
)
from bough.spatial.rotations import (
    inertia_matrix,
    matrix_quaternion,
    quaternion_matrix,
    quaternion_rotate,
    rotation_vector,
    rpy_matrix,
    turn_of_z,
)
from bough.spatial.rows import fill, get3, get6, get9, get10, get21, get_tail, put3, put6, put9, put10, put21, put_tail
from bough.spatial.screws import (
    add6,
    angular,
    cross_motion,
    dot6,
    force_in,
    force_out,
    join,
    linear,
    motion_in,
    motion_out,
    scale6,
    sub6,
    x_force_in,
    x_motion_out,
    z_force_in,
    z_motion_out,
)
from bough.spatial.vectors import (
    add3,
    cross,
    dot3,
    matmul3,
    rotate,
    rotate_back,
    scale3,
    sub3,
    transpose3,
    x_turn_in,
    x_turn_out,
    z_turn_in,
    z_turn_out,
)

__all__ = [
    "add3",
    "add6",
    "angular",
    "articulated",
    "articulated_add",
    "articulated_column",
    "articulated_downdate",
    "articulated_in",
    "articulated_sub",
    "articulated_times",
    "cross",
    "cross_motion",
    "dot3",
    "dot6",
    "fill",
    "force_in",
    "force_out",
    "get3",
    "get6",
    "get9",
    "get10",
    "get21",
    "get_tail",
    "inertia_matrix",
    "join",
    "linear",
    "matmul3",
    "matrix_quaternion",
    "motion_in",
    "motion_out",
    "outer",
    "put3",
    "put6",
    "put9",
    "put10",
    "put21",
    "put_tail",
    "quaternion_matrix",
    "quaternion_rotate",
    "rigid_add",
    "rigid_column",
    "rigid_in",
    "rigid_scale",
    "rigid_times",
    "rotate",
    "rotate_back",
    "rotation_vector",
    "rpy_matrix",
    "scale3",
    "scale6",
    "sub3",
    "sub6",
    "symmetric_times",
    "transpose3",
    "turn_of_z",
    "x_articulated_in",
    "x_force_in",
    "x_motion_out",
    "x_rigid_in",
    "x_turn_in",
    "x_turn_out",
    "z_articulated_in",
    "z_force_in",
    "z_motion_out",
    "z_rigid_in",
    "z_turn_in",
    "z_turn_out",
]
