"""PV-OSIM (Popov & Vereshchagin 1978; Sathya, Bruyninckx, Decre & Pipeleers 2024): Lambda^-1 in one inward sweep.

O(n + m^2 d). The rows travel from their bodies to the root; each freedom on the way yields to them.
"""

from __future__ import annotations

from typing import Any

from bough.compile.kernel import kernel
from bough.compile.routine import Routine
from bough.joints import along, force_to_parent, joint_motion
from bough.opspace.articulated import inertia_to_parent, split_freedom, start_inertias
from bough.opspace.wrenches import PLACEMENT_WORK, place_bodies, task_wrench
from bough.spatial import add6, get6, get21, put6, scale6, sub6


@kernel
def pv(m: Any, t: Any, s: Any, q: Any, Lam_inv: Any, w: Any) -> None:
    """Lambda^-1, full and symmetric, from q."""
    joint_motion(m, q, w.X)
    start_rows(m, t, s, w)
    start_inertias(m, w)
    clear(m, Lam_inv)
    for i in range(len(m.parent) - 1, -1, -1):
        IA = get21(w.IA, i)
        for k in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            D, W, IA = split_freedom(m, k, IA)
            yield_to_rows(m, s, i, k, D, Lam_inv, w)
            for a in range(s.of_body[i], s.of_body[i + 1]):
                put6(w.K, a, sub6(get6(w.K, a), scale6(w.F[a], W)))
        inertia_to_parent(m, i, IA, w)
        for a in range(s.of_body[i], s.of_body[i + 1]):
            up = s.up[a]
            if up >= 0:
                put6(w.K, up, add6(get6(w.K, up), force_to_parent(m, w.X, i, get6(w.K, a))))
    mirror(Lam_inv)


@kernel
def start_rows(m: Any, t: Any, s: Any, w: Any) -> None:
    """The wrenches of all seeds in their slots."""
    place_bodies(m, t, w)
    zero = m.zero[0]
    for a in range(len(s.row)):
        put6(w.K, a, (zero, zero, zero, zero, zero, zero))
    for b in range(len(t.kind)):
        put6(w.K, s.of_seed[b], task_wrench(m, t, b, w))


@kernel
def yield_to_rows(m: Any, s: Any, i: int, k: int, D: Any, Lam_inv: Any, w: Any) -> None:
    """Lambda^-1 += F D^-1 F', lower triangle, with F the part of each row's force that freedom k feels."""
    for a in range(s.of_body[i], s.of_body[i + 1]):
        F = along(m, k, get6(w.K, a))
        w.F[a] = F
        F = F / D
        r = s.row[a]
        for b in range(s.of_body[i], a + 1):
            Lam_inv[r, s.row[b]] = Lam_inv[r, s.row[b]] + F * w.F[b]


@kernel
def clear(m: Any, A: Any) -> None:
    for r in range(len(A)):
        for c in range(len(A)):
            A[r, c] = m.zero[0]


@kernel
def mirror(A: Any) -> None:
    """Fill the upper triangle from the lower."""
    for r in range(len(A)):
        for c in range(r):
            A[c, r] = A[r, c]


PV = Routine(
    "pv",
    pv,
    inputs={"q": "nq"},
    outputs={"Lam_inv": "rows rows"},
    work=PLACEMENT_WORK | {"IA": "bodies 21", "K": "slots 6", "F": "slots"},
)
