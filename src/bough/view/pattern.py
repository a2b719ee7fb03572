"""The pattern of H and of its factor L as a picture: nonzeros in the colours of branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bough.sparsity import density
from bough.types import FloatArray

if TYPE_CHECKING:
    from bough.view.scene import Scene

CELLS = 160


def pattern(scene: Scene, most: int = CELLS) -> FloatArray | None:
    """(size, size, 4): colour of the deeper DoF's branch, and the share of nonzeros of H; None if there is none.

    The part below the diagonal, with it, is the pattern of L in H = L' D L: factorization fills nothing in.
    """
    m, tree = scene.model.mechanism, scene.model.dof_tree
    if not tree.n:
        return None
    size = min(tree.n, most)
    share = density(tree, size)
    colour = np.zeros((tree.n, 3))  # of each degree of freedom, in the order of v
    colour[m.v_index] = scene.colours[np.repeat(np.arange(len(m.parent)), np.diff(m.dof))]
    place = np.arange(tree.n) * size // tree.n
    own = np.zeros((size, 3))
    np.add.at(own, place, colour)
    own /= np.bincount(place, minlength=size)[:, None]
    depth = np.zeros(size)
    np.maximum.at(depth, place, tree.depth)
    deeper = np.where((depth[:, None] >= depth[None, :])[..., None], own[:, None], own[None, :])
    return np.concatenate([deeper, share[..., None]], axis=-1)
