"""What is left of the equations of a constrained motion: both vanish along it, and so do their derivatives.

The implicit function theorem needs no more: see `constrained_derivatives`.
"""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.rnea import RNEA, rnea
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import BIAS_WORK, drift
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Workspace


@kernel
def residuals(
    m: Mechanism, t: Seeds, p: JacobianPattern, q: Rows, v: Rows, qdd: Rows, force: Rows, damping: Rows,
    unbalanced: Rows, unmet: Rows, w: Workspace,
) -> None:  # fmt: skip
    """H qdd + C - J' f (nv,) and J qdd + Jdot v + damping J v (rows,)."""
    rnea(m, q, v, qdd, unbalanced, w)
    drift(m, t, q, v, unmet, w)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, w.whole)
    for r in range(len(unmet)):
        for c in range(len(v)):
            unmet[r] = unmet[r] + w.whole[r, c] * (qdd[c] + damping[0] * v[c])
            unbalanced[c] = unbalanced[c] - w.whole[r, c] * force[r]


RESIDUALS = Routine(
    "constrained_dynamics",
    residuals,
    inputs={"q": "nq", "v": "nv", "qdd": "nv", "force": "rows", "damping": "1"},
    outputs={"unbalanced": "nv", "unmet": "rows"},
    work=dict(RNEA.work) | BIAS_WORK | JACOBIAN_WORK | {"J": "entries", "whole": "rows nv"},
)
