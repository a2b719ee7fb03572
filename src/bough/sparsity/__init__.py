"""Sparse factorizations of matrices with the branch-induced pattern: LTL, LTDL, UDU', and what their factors can do.

No physics: H may be any symmetric positive definite matrix whose entry (i, j) is zero when i and j lie
on different branches of a `Tree`. The kernels are in the submodules, one algorithm in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bough.arguments import explain_package
from bough.sparsity import products
from bough.sparsity.factor import Factor, factorize, factorize_by
from bough.sparsity.pattern import Float, Names, density, from_columns, pack, to_columns, to_dense, to_scipy
from bough.sparsity.routines import run
from bough.sparsity.stretch import panel_size
from bough.tree import Tree

__all__ = [
    "Factor",
    "density",
    "factorize",
    "hmul",
    "ltdl",
    "ltl",
    "pack",
    "panel_size",
    "to_dense",
    "to_scipy",
    "udut",
]


def ltl(H: Any, tree: Tree, names: Names = None) -> Factor:
    """H = L' L (Featherstone 2005): n sqrt + D1 d + D2 (m + a)."""
    return factorize_by(H, tree, "ltl", names)


def ltdl(H: Any, tree: Tree, names: Names = None) -> Factor:
    """H = L' D L with unit L (Featherstone 2005): D1 d + D2 (m + a)."""
    return factorize_by(H, tree, "ltdl", names)


def udut(H: Any, tree: Tree, names: Names = None) -> Factor:
    """H = U D U' with unit U (Shimanovskij): D1 d + D2 (m + a)."""
    return factorize_by(H, tree, "udut", names)


def hmul(H: Any, tree: Tree, x: ArrayLike) -> Float:
    """H x for x (n,) or (n, k), from one triangle of H and without its zeros: n m + 2 D1 (m + a) per column."""
    packed = pack(H, tree)
    columns = to_columns(x, tree, packed.dtype)
    result = np.empty_like(columns)
    run(products.hmul, tree.regular, tree.rows, packed, columns, result)
    return from_columns(result, tree, x)


explain_package(__name__)
