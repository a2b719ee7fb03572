"""Closed cost formulas of Featherstone 2005 (F05), Shimanovskij (S) and Featherstone 2010 (F10).

Trees are of bodies for kinematics and inertias, and expanded (one node for each DoF) for factorizations;
`rows` lists, for each task row, the last DoF of its body (b_e in F10). Joints are revolute, geometry
and inertia general; floating bases hang on the base. m, a, d: multiplications, additions, divisions.

Belongs here: what papers print as formulas, one file a paper. Does not belong here: counts of what is executed
(`bough.count`).
"""

from __future__ import annotations

from bough.arguments import explain_package
from bough.cost.chang_khatib2001 import chang_khatib, chang_khatib_products
from bough.cost.featherstone2005 import (
    FLOATING_RIGID_SAVING,
    FLOATING_VECTOR_SAVING,
    RIGID_ADD,
    RIGID_TRANSFORM,
    VECTOR_TRANSFORM,
    DensityRule,
    TreeSums,
    aba,
    balanced,
    crba,
    crba_forward_dynamics,
    density_rule,
    factor_multiply,
    factor_solve,
    ltdl,
    ltdl_solve,
    ltl,
    ltl_solve,
    rnea,
    short_side_branches,
    span_grid,
    udut_forward,
    unbranched,
)
from bough.cost.featherstone2010 import (
    ARTICULATED_STEP,
    ARTICULATED_TRANSFORM,
    BLOCK_STEP,
    BLOCK_TRANSFORM,
    DIAGONAL_STEP,
    DIAGONAL_TRANSFORM,
    dense,
    jacobian_multiply,
    jacobian_solve,
    jacobian_transpose_multiply,
    jbar,
    nullspace,
    outer_product,
    rjk_articulated,
    rjk_need,
    rjk_omega,
)
from bough.cost.operations import divisions_as_multiplications

__all__ = [
    "ARTICULATED_STEP",
    "ARTICULATED_TRANSFORM",
    "BLOCK_STEP",
    "BLOCK_TRANSFORM",
    "DIAGONAL_STEP",
    "DIAGONAL_TRANSFORM",
    "FLOATING_RIGID_SAVING",
    "FLOATING_VECTOR_SAVING",
    "RIGID_ADD",
    "RIGID_TRANSFORM",
    "VECTOR_TRANSFORM",
    "DensityRule",
    "TreeSums",
    "aba",
    "balanced",
    "chang_khatib",
    "chang_khatib_products",
    "crba",
    "crba_forward_dynamics",
    "dense",
    "density_rule",
    "divisions_as_multiplications",
    "factor_multiply",
    "factor_solve",
    "jacobian_multiply",
    "jacobian_solve",
    "jacobian_transpose_multiply",
    "jbar",
    "ltdl",
    "ltdl_solve",
    "ltl",
    "ltl_solve",
    "nullspace",
    "outer_product",
    "rjk_articulated",
    "rjk_need",
    "rjk_omega",
    "rnea",
    "short_side_branches",
    "span_grid",
    "udut_forward",
    "unbranched",
]

explain_package(__name__)
