"""H^-1 by CRBA and LTDL: cheaper than the recursion of `inverse_mass_matrix` where the tree is shallow."""

from __future__ import annotations

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.dynamics.forward_by_factor import FACTORIZE, DofRows, factorize
from bough.joints import Mechanism
from bough.sparsity.full_inverse import divide_columns, inverse_entry, invert_unit
from bough.types import Rows, Workspace


@kernel
def inverse_by_factor(m: Mechanism, t: DofRows, q: Rows, Z: Rows, w: Workspace) -> None:
    """Z = H^-1 (nv, nv), both triangles, in the order of v."""
    factorize(m, t, q, w.L, w)
    invert_unit(t.parent, t.rows, w.L)
    divide_columns(t.parent, t.rows, w.L, w.E, m.one[0])
    inverse(m, t, Z, w.L, w.E)


@kernel
def inverse(m: Mechanism, t: DofRows, Z: Rows, M: Rows, E: Rows) -> None:
    """Z = H^-1 = E M', in the order of v."""
    for i in range(len(t.parent)):
        a = i
        for j in range(i, -1, -1):
            # in depth-first order the last common ancestor of i and j <= i is the deepest a on i's path with a <= j
            while a > j:
                a = t.parent[a]
            x = m.zero[0]
            if a >= 0:
                x = inverse_entry(t.rows, M, E, i, j, a)
            Z[t.order[i], t.order[j]], Z[t.order[j], t.order[i]] = x, x


INVERSE_BY_FACTOR = Routine(
    "inverse_mass_matrix",
    inverse_by_factor,
    inputs={"q": "nq"},
    outputs={"Z": "nv nv"},
    work={**FACTORIZE.work, "L": "coupled", "E": "coupled"},
)
