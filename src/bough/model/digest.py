"""Digests of models: equal for those that compute the same and name the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from bough.joints.mechanism import OWN_FIELDS

if TYPE_CHECKING:
    from bough.model.model import Model


def digest(model: Model) -> str:
    """Of all numbers, names and closures; notes are left out."""
    found = hashlib.sha256()
    of_freedoms = (*model.limits, *model.passive, model.actuated)
    for array in (*model.mechanism[:OWN_FIELDS], *of_freedoms, *model.frames[1:], model.joints.q, model.joints.v):
        found.update(str((array.dtype.str, array.shape)).encode())
        found.update(np.ascontiguousarray(array).data)
    names = [*model.joints.names, *model.joints.bodies, *model.joints.types, *model.frame_names]
    found.update("\0".join(names).encode())
    if model.closures:
        found.update(repr([tuple(closure) for closure in model.closures]).encode())
    return found.hexdigest()
