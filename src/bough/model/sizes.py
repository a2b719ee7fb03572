"""The numbers behind the shapes of kernel arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bough.model.model import Model


def sizes_of(model: Model) -> dict[str, int]:
    """By the names that routines use."""
    from bough.sparsity import panel_size  # of no use to those who only load

    m = model.mechanism
    sizes = {"nq": model.nq, "nv": model.nv, "bodies": len(m.parent), "dofs": len(m.axis)}
    coupled = model.dof_tree.rows[-1] if model.couplings else m.rows[-1]
    height = model.dof_tree.height if model.couplings else int(m.depth.max(initial=-1)) + 1
    sizes |= {"joints": len(model.joints), "frames": len(model.frame_names)}
    above = np.zeros(model.nv, np.int64)
    above[m.v_index] = m.depth
    sizes["pairs"] = sum(int(above[j.v].max(initial=-1)) + 1 for j in model.joints)  # of a body and what carries it
    return sizes | {"packed": int(m.rows[-1]), "coupled": int(coupled), "panel": panel_size(height)}
