"""Table 4: cost of the component calculations of RJK, each executed."""

from __future__ import annotations

from typing import Any

from bough.cost.operations import ops
from bough.spatial import articulated_add, motion_out, x_motion_out, z_motion_out
from papers.counting import executed, traced
from papers.result import Result, exact, measured, not_reproducible
from papers.screw_products import symmetric_screw

Tuple = tuple[Any, ...]
OTHERS = (0, 1, 3, 4, 5)  # all axes but the joint's, z

WHY = (
    "erratum E4: the scheme is not given; ours is a straightforward one, which without the shift along the joint's "
    "axis would cost 58m + 62a"
)


def force_propagator(column: Tuple, D_inverse: Any) -> Tuple:
    """tau: minus the joint's column of P over D, its own element left out."""
    return tuple(-column[i] * D_inverse for i in OTHERS)


def propagated_inertia(P: list[Tuple], tau: Tuple) -> Tuple:
    """tau P, symmetric, row and column z zero: P_ij + tau_i P_zj for the 15 others."""
    return tuple(P[i][j] + tau[a] * P[2][j] for a, i in enumerate(OTHERS) for j in OTHERS[: a + 1])


def times_propagator(B: list[Tuple], tau: Tuple) -> Tuple:
    """B tau: only column z is new, and tau has no element there."""
    return tuple(_dot(row, tau) for row in B)


def sandwiched(B: list[Tuple], tau: Tuple, needed: Tuple) -> Tuple:
    """tau' B tau for a symmetric B: elements `needed` of B tau, then the one on the diagonal."""
    column = {i: _dot(B[i], tau) for i in needed}
    corner = _dot([column.get(i) for i in range(6)], tau)
    return (*column.values(), corner)


def _dot(row: Any, tau: Tuple) -> Any:
    total = row[0] * tau[0]
    for a, i in enumerate(OTHERS[1:], 1):
        total = total + row[i] * tau[a]
    return total


def joint_screw(K: Tuple, c: Any, s: Any, w: Tuple, d: Any) -> Tuple:
    """The first screw of phi (tau P) phi', row and column z being zero."""
    zero = 0.0
    full = (K[0], K[1], zero, K[2], zero, zero, *K[3:9], zero, zero, zero, *K[9:15])
    return symmetric_screw(c, s, w, d, full)


def run(full: bool = False) -> Result:
    """Products of the sine and cosine of an angle are formed beforehand, as in McMillan & Orin 1995."""

    def block(x: Any) -> list[Tuple]:
        return [(x,) * 6] * 6

    screw = traced(symmetric_screw, 1, 1, 4, 1, 21)
    vector = executed(lambda x: x_motion_out(x, x, x, z_motion_out(x, x, x, (x,) * 6)), float)
    general = executed(lambda x: motion_out((x,) * 9, (x,) * 3, (x,) * 6), float)
    first = traced(joint_screw, 15, 1, 1, 4, 1)
    minimal = executed(lambda x: sandwiched(block(x), (x,) * 5, OTHERS), float)
    rows = (
        exact("D^-1", ops(d=1), executed(lambda x: x / x, float)),
        exact("tau", ops(m=5), executed(lambda x: force_propagator((x,) * 6, x), float)),
        exact("tau P", ops(15, 15), executed(lambda x: propagated_inertia(block(x), (x,) * 5), float)),
        not_reproducible("phi (tau P) phi', two screws", ops(60, 62), WHY, first + screw),
        exact("phi (tau P) phi', what a third screw adds", ops(38, 40), screw),
        exact("P + (...)", ops(a=21), executed(lambda x: articulated_add((x,) * 21, (x,) * 21), float)),
        exact("phi' Omega phi, two screws", ops(76, 80), screw + screw),
        exact("phi' Omega phi, three screws", ops(114, 120), screw + screw + screw),
        exact("tau' (...) tau, all of (...) tau formed", ops(35, 28),
              executed(lambda x: sandwiched(block(x), (x,) * 5, tuple(range(6))), float)),
        measured("tau' (...) tau, what is needed of it", None, minimal, "element z of (...) tau is never used (E3)"),
        exact("Omega_ii + (...)", ops(a=1), executed(lambda x: x + x, float)),
        exact("Omega phi, two screws", ops(120, 72), ops(6 * vector.mul, 6 * vector.add)),
        exact("Omega phi, three screws", ops(144, 108), ops(6 * general.mul, 6 * general.add)),
        exact("(...) tau", ops(30, 24), executed(lambda x: times_propagator(block(x), (x,) * 5), float)),
    )  # fmt: skip
    return Result(rows, remarks=("Eqs. 39 and 40 and Table 3 use the printed prices (errata E3 to E5).",))
