"""Types of signatures: the quantities that kernels pass to each other, and the values of options.

A `Scalar` is a float, a symbol of a graph or a number of compiled code: kernels do not know which. Small quantities are
tuples of scalars, angular part first; larger ones are arrays, one row for each body or degree of freedom.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "ArticulatedInertia",
    "Block",
    "BoolArray",
    "FloatArray",
    "Force",
    "IntArray",
    "Motion",
    "Pose",
    "RealArray",
    "Reference",
    "RigidInertia",
    "Rotation",
    "Rows",
    "Scalar",
    "Six",
    "Symmetric",
    "Vector",
    "Workspace",
]

Scalar: TypeAlias = Any  # a float, a symbol of a graph, or a number of compiled code
Rows: TypeAlias = Any  # an array that a kernel indexes: of floats, or of symbols while it is traced
Workspace: TypeAlias = Any  # a named tuple of `Rows`, its names declared by the kernel's `Routine`

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Rotation: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # row by row
Motion: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # angular, linear
Force: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # moment, force
Symmetric: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # xx yy zz xy xz yz
Pose: TypeAlias = tuple[Rotation, Vector]
Six: TypeAlias = Any  # six numbers that lie in one vector of compiled code
Block: TypeAlias = tuple[Six, ...]  # six rows of a matrix
RigidInertia: TypeAlias = tuple[Scalar, ...]  # 10: J about the origin (symmetric), h = m c, m
ArticulatedInertia: TypeAlias = tuple[Scalar, ...]  # 21: A (symmetric), B (9), C (symmetric)

FloatArray: TypeAlias = npt.NDArray[np.float64]
RealArray: TypeAlias = npt.NDArray[Any]  # float64, or float32 where all inputs are
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

Reference: TypeAlias = Literal["local", "world", "local_world_aligned"]
