"""What each joint has of a motion: from a plain solution, how many of them carry it."""

from __future__ import annotations

import numpy as np

from bough.adaptive.compiled import compiled
from bough.adaptive.engines.plain import PlainEngine
from bough.compile.kernel import kernel
from bough.joints import Mechanism, along, rigid_freedom, rigid_to_parent
from bough.spatial import get10, put10, rigid_add
from bough.types import FloatArray, Rows


@kernel
def joint_energies(m: Mechanism, qdd: Rows, X: Rows, Ic: Rows, out: Rows) -> None:
    """M_kk qdd_k^2 of each degree of freedom k; Ic is scratch: what each body carries, as one rigid body."""
    for i in range(len(m.parent)):
        put10(Ic, i, get10(m.inertia, i))
    for i in range(len(m.parent) - 1, -1, -1):
        I, p = get10(Ic, i), m.parent[i]
        for k in range(m.dof[i], m.dof[i + 1]):
            out[k] = (along(m, k, rigid_freedom(m, k, I)) + m.armature[k]) * qdd[m.v_index[k]] ** 2
        if p >= 0:
            put10(Ic, p, rigid_add(get10(Ic, p), rigid_to_parent(m, X, i, I)))


def energies(engine: PlainEngine) -> FloatArray:
    """M_kk qdd_k^2 of each degree of freedom (n,) in the solution found last, the least first. O(n log n)."""
    m, out = engine.mechanism, np.empty(len(engine.mechanism.axis))
    compiled(joint_energies)(m, engine.shared.qdd, engine.work.X, np.empty((len(m.parent), 10)), out)
    return np.sort(out)
