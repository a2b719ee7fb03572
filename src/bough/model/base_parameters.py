"""Base inertial parameters (Khalil & Kleinfinger 1987; Mayeda et al. 1990): the same motion from fewer numbers.

Masses on the axis of a revolute joint move alike whether they belong to the body or to its parent. Handing them over
leaves a body without mass, without first moment along z and without one moment of inertia: zeros that fold away when a
kernel is traced. Only sums over the whole mechanism keep their meaning, and those are all that the kernels give.
"""

from __future__ import annotations

import numpy as np

from bough.joints import TURN, Mechanism, rigid_to_parent


def grouped(m: Mechanism) -> Mechanism:
    """The mechanism with each revolute body's axial mass handed to its parent, tips first."""
    I = np.array(m.inertia)
    still = np.zeros((len(m.parent), 12))
    still[:, 0], still[:, 2] = 1.0, m.offset[:, 1]
    for i in range(len(m.parent) - 1, -1, -1):
        if m.parent[i] >= 0 and m.kind[i] == TURN and m.pitch[m.dof[i]] == 0.0:
            mass, hz, J = I[i, 9], I[i, 8], I[i, 1]
            I[m.parent[i]] += rigid_to_parent(m, still, i, (J, J, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, hz, mass))
            I[i, [1, 8, 9]] = 0.0
            I[i, 0] -= J
    I.flags.writeable = False
    return m._replace(inertia=I)
