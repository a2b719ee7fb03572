"""The nested, doubly-bordered block-diagonal form of H and its envelope (Featherstone 2005, section 3 and eq. 7).

Depth-first numbering, reversed: leaves come first and the root last. No zero lies inside the envelope, so that an
ordinary Cholesky factorization of the permuted matrix fills nothing in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError
from bough.tree import Tree
from bough.types import IntArray


def bordered_order(tree: Tree) -> IntArray:
    """The permutation p (n,) for which H[p][:, p] is nested and doubly bordered."""
    return tree.order[::-1].copy()


def envelope(H: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(n, n) mask of the elements left of the diagonal that are not zero, or have a nonzero to their left."""
    full: npt.NDArray[Any] = np.asarray(H)
    if full.ndim != 2 or full.shape[0] != full.shape[1]:
        raise ShapeError(f"the envelope is that of a square matrix, got one of shape {full.shape}")
    return np.logical_or.accumulate(np.tril(full != 0, -1), axis=1) & np.tri(len(full), k=-1, dtype=bool)
