"""dk of a node: what release of its joints would add when nothing pulls at its handles, a square of s (see `columns`).

dk^C = dk^A + T' dk^B T - sym(gamma' beta) + sym(Q' R) + sym(gamma_r' beta_r)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.adaptive.node.layout import Blueprint, State
from bough.compile.kernel import inlined, kernel, loop_kernel
from bough.spatial import dot6, get6
from bough.types import Rows, Scalar, Symmetric

DK, DK_REST, DK_SPLIT = 6, 70, 25  # dk, packed: the first 25 numbers and the last 3


class Columns(NamedTuple):
    """Scratch for the columns of a node."""

    beta: Rows  # (7, 6)
    gamma: Rows  # (7, 6)
    rate: Rows  # (7, 6) R
    beta_r: Rows  # (7, 6)
    gamma_r: Rows  # (7, 6)
    s: Rows  # (7, 7) T
    y: Rows  # (7, 7)


def make_columns() -> Columns:
    """Scratch."""
    return Columns._make([*(np.zeros((7, 6)) for _ in range(5)), np.zeros((7, 7)), np.zeros((7, 7))])


@kernel
def dk_at(i: int, j: int) -> int:
    """Where a record has entry (i, j) of dk, i <= j."""
    k = 7 * i - i * (i + 1) // 2 + j
    return DK + k if k < DK_SPLIT else DK_REST + k - DK_SPLIT


@inlined
@loop_kernel
def join_squares(plan: Blueprint, st: State, n: int, Q: Rows, d: int, x: Columns) -> None:
    """dk of node n."""
    r, A, B = st.record[plan.offset[n] : plan.offset[n + 1]], plan.left[n], plan.right[n]
    for i in range(7):
        for j in range(7):
            x.y[i, j] = 0.0
            if B >= 0:
                other = st.record[plan.offset[B] : plan.offset[B + 1]]
                for k in range(7):
                    x.y[i, j] += other[dk_at(min(j, k), max(j, k))] * x.s[i, k]
    for i in range(7):
        for j in range(i, 7):
            dk = 0.0
            if A >= 0:
                dk += st.record[plan.offset[A] + dk_at(i, j)]
            for k in range(7):
                dk += x.s[j, k] * x.y[i, k]
            dk -= 0.5 * (dot6(get6(x.gamma, i), get6(x.beta, j)) + dot6(get6(x.gamma, j), get6(x.beta, i)))
            dk += 0.5 * (dot6(get6(x.gamma_r, i), get6(x.beta_r, j)) + dot6(get6(x.gamma_r, j), get6(x.beta_r, i)))
            if j == 6:
                for k in range(d):
                    dk += (1.0 if i == 6 else 0.5) * Q[k] * x.rate[i, k]
            r[dk_at(i, j)] = dk


@inlined
@loop_kernel
def own_square(r: Rows, S: Symmetric) -> Scalar:
    """s' dk s of a record at s = (S, 1)."""
    s = (S[0], S[1], S[2], S[3], S[4], S[5], 1.0)
    E = 0.0
    for i in range(7):
        E += r[dk_at(i, i)] * s[i] * s[i]
        for j in range(i + 1, 7):
            E += 2.0 * r[dk_at(i, j)] * s[i] * s[j]
    return E
