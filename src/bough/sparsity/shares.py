"""The branch-induced pattern seen from afar: shares of nonzeros in the cells of a coarser grid."""

from __future__ import annotations

import numpy as np

from bough.errors import OptionError
from bough.tree import Tree
from bough.types import FloatArray


def density(tree: Tree, size: int) -> FloatArray:
    """(size, size) fractions of nonzeros of H in equal cells."""
    if size < 1:
        raise OptionError(f"density: size must be at least 1, got {size}")
    rows = np.repeat(tree.order, tree.depth[tree.order]) * size // tree.n
    columns = tree.order[tree.ancestors] * size // tree.n
    below = np.bincount(rows * size + columns, minlength=size * size).reshape(size, size).astype(float)
    own = np.bincount(np.arange(tree.n) * size // tree.n, minlength=size)
    whole = below + below.T - np.diag(own)
    share: FloatArray = whole / np.outer(own, own)
    return share
