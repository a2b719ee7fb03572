"""All that inverse dynamics with tasks needs, in one sweep: H, C, J, J v, Jdot v and the errors of the rows."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.crba import MASS_MATRIX, mass_matrix
from bough.dynamics.rnea import RNEA, newton_euler
from bough.joints import Mechanism
from bough.opspace.sweeps.bias import BIAS_WORK, drift
from bough.opspace.sweeps.errors import ERROR_WORK, Aims, task_errors
from bough.opspace.sweeps.jacobian import JACOBIAN_WORK, packed_jacobian, spread_jacobian
from bough.opspace.sweeps.patterns import JacobianPattern
from bough.opspace.sweeps.wrenches import Seeds
from bough.types import Rows, Workspace


@kernel
def whole(
    m: Mechanism, t: Seeds, p: JacobianPattern, g: Aims,
    q: Rows, v: Rows, target: Rows, posture: Rows, qdd: Rows,
    H: Rows, C: Rows, J: Rows, rate: Rows, bias: Rows, error: Rows, w: Workspace,
) -> None:  # fmt: skip
    """H qdd + C = tau, rate = J v, bias = Jdot v, error = target less position; qdd is held at zero."""
    mass_matrix(m, q, H, w)
    newton_euler(m, v, qdd, C, w)
    drift(m, t, q, v, bias, w)
    packed_jacobian(m, t, p, w.J, w)
    spread_jacobian(m, p, w.J, J)
    for r in range(len(rate)):
        x = m.zero[0]
        for c in range(len(v)):
            x = x + J[r, c] * v[c]
        rate[r] = x
    task_errors(m, t, g, q, target, posture, error, w)


WHOLE = Routine(
    "whole_body",
    whole,
    inputs={"q": "nq", "v": "nv", "target": "aims 12", "posture": "nq", "qdd": "nv"},
    outputs={"H": "nv nv", "C": "nv", "J": "rows nv", "rate": "rows", "bias": "rows", "error": "rows"},
    work=dict(RNEA.work) | dict(MASS_MATRIX.work) | BIAS_WORK | JACOBIAN_WORK | ERROR_WORK | {"J": "entries"},
).without("qdd")
