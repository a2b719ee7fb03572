"""The sparse factorization Lambda^-1 = Y Y' = Y_D Y_d' for any H and J on a tree, with or without a robot.

Featherstone 2010, sections 6 to 8: Y = J L^-1 with H = L' L, Y_d = J L_d^-1 and Y_D = Y_d D^-1 with H = L_d' D L_d have
the pattern of J, so that products with them visit the paths of its rows only (Figs. 5, 6 and 8 to 10).
"""

from __future__ import annotations

from typing import Any, NamedTuple
from warnings import warn

import numpy as np
import numpy.typing as npt

from bough.compile.kernel import kernel
from bough.errors import NonFiniteError, ShapeError
from bough.opspace.sweeps.jacobian import (
    DofTree,
    JacobianPattern,
    jacobian_times,
    jacobian_transpose_times,
    outer_product,
    solve_rows,
    solve_rows_unit,
)
from bough.sparsity import ltdl, ltl
from bough.sparsity.routines import run
from bough.tree import Tree
from bough.types import FloatArray, IntArray, Rows, Scalar


class SparseFactorization(NamedTuple):
    """Y = J L^-1 (m, n) and Lambda^-1 = Y Y' (m, m), from H = L' L."""

    Y: FloatArray
    inverse_inertia: FloatArray


class UnitSparseFactorization(NamedTuple):
    """Y_d = J L_d^-1 and Y_D = Y_d D^-1 (m, n), and Lambda^-1 = Y_D Y_d' (m, m), from H = L_d' D L_d."""

    Y_d: FloatArray
    Y_D: FloatArray
    inverse_inertia: FloatArray


class SparseRows:
    """J (m, n) whose rows belong to paths of a tree: its nonzeros and all their ancestors are stored, packed.

    Columns are in the order of the tree's nodes. `support` (m, n), of booleans, gives the pattern where zeros of J are
    accidental; without it the pattern is that of the nonzeros, closed towards the root. `packed` is the pattern as the
    kernels take it.
    """

    def __init__(self, tree: Tree, J: npt.ArrayLike, support: npt.ArrayLike | None = None) -> None:
        full = np.asarray(J, float)
        if full.ndim != 2 or full.shape[1] != tree.n or not tree.n:
            raise ShapeError(f"J has shape {full.shape}: expected (m, {tree.n}), one column for each node of the tree")
        if not np.isfinite(full).all():
            raise NonFiniteError(f"J is not finite in row {np.argwhere(~np.isfinite(full))[0][0]}")
        mask = full != 0 if support is None else np.asarray(support, bool)
        if mask.shape != full.shape or np.any(full[~mask]):
            raise ShapeError(f"the support must have shape {full.shape} and contain every nonzero of J")
        self.tree, self.m = tree, len(full)
        self.packed = _packed_pattern(tree, mask[:, tree.order])
        rows = np.repeat(np.arange(self.m), np.diff(self.packed.of_row))
        self._places = rows, tree.order[self.packed.dof]
        self._entries = full[self._places]

    @property
    def pattern(self) -> npt.NDArray[np.bool_]:
        """(m, n): where J, Y, Y_d and Y_D are not zero by structure."""
        mask = np.zeros((self.m, self.tree.n), bool)
        mask[self._places] = True
        return mask

    def times(self, x: npt.ArrayLike) -> FloatArray:
        """J x, (m,): sum of d_i multiplications, an addition less in each row (Fig. 5)."""
        y = np.empty(self.m)
        run(_times, *self.packed[:3], self._entries, self._vector(x, self.tree.n)[self.tree.order], y)
        return y

    def transpose_times(self, x: npt.ArrayLike) -> FloatArray:
        """J' x, (n,): sum of d_i (m + a) (Fig. 6)."""
        y = np.empty(self.tree.n)
        run(_transpose_times, *self.packed[:3], self._entries, self._vector(x, self.m), y, np.zeros(1))
        return y[self.tree.rank]

    def factorization(self, H: Any) -> SparseFactorization:
        """Y and Lambda^-1 by LTL (Figs. 8 and 10): no matrix is inverted."""
        L, Y, A = ltl(H, self.tree).packed.astype(float), self._entries.copy(), np.empty((self.m, self.m))
        run(_factorize, *self.packed[:3], self.tree.regular, self.tree.rows, L, Y, A, np.zeros(1))
        return SparseFactorization(self._full(Y), A)

    def unit_factorization(self, H: Any) -> UnitSparseFactorization:
        """Y_d, Y_D and Lambda^-1 by LTDL (Figs. 9 and 10), at the same cost."""
        L, Y, A = ltdl(H, self.tree).packed.astype(float), self._entries.copy(), np.empty((self.m, self.m))
        YD = np.empty_like(Y)
        run(_factorize_unit, *self.packed[:3], self.tree.regular, self.tree.rows, L, Y, YD, A, np.zeros(1))
        return UnitSparseFactorization(self._full(Y), self._full(YD), A)

    def innovations(self, H: Any) -> SparseFactorization:
        """The former name of `factorization`."""
        warn("SparseRows.innovations is called factorization now", DeprecationWarning, stacklevel=2)
        return self.factorization(H)

    def unit_innovations(self, H: Any) -> UnitSparseFactorization:
        """The former name of `unit_factorization`."""
        warn("SparseRows.unit_innovations is called unit_factorization now", DeprecationWarning, stacklevel=2)
        return self.unit_factorization(H)

    def _full(self, entries: FloatArray) -> FloatArray:
        full = np.zeros((self.m, self.tree.n))
        full[self._places] = entries
        return full

    def _vector(self, x: npt.ArrayLike, size: int) -> FloatArray:
        vector = np.asarray(x, float)
        if vector.shape != (size,):
            raise ShapeError(f"x has shape {vector.shape}: expected ({size},)")
        return vector


def _packed_pattern(tree: Tree, mask: npt.NDArray[np.bool_]) -> JacobianPattern:
    """The pattern of rows in depth-first columns, closed towards the root."""
    closed = mask.copy()
    closed[~mask.any(axis=1), 0] = True  # a row of zeros keeps one, at a root: kernels expect an entry
    for k in range(tree.n - 1, 0, -1):
        if tree.regular[k] >= 0:
            closed[:, tree.regular[k]] |= closed[:, k]
    row, dof = np.nonzero(closed)
    of_row = np.searchsorted(row, np.arange(len(mask) + 1)).astype(np.int64)
    place = np.full(closed.shape, -1, np.int64)
    place[row, dof] = np.arange(len(dof))
    above: IntArray = tree.regular[dof]
    up = np.where(above >= 0, place[row, above], -1)
    return JacobianPattern(of_row, dof.astype(np.int64), up.astype(np.int64), up, up)


# Kernels on flat arrays


@kernel
def _times(of_row: Rows, dof: Rows, up: Rows, J: Rows, x: Rows, y: Rows) -> None:
    jacobian_times(JacobianPattern(of_row, dof, up, up, J), J, x, y)


@kernel
def _transpose_times(of_row: Rows, dof: Rows, up: Rows, J: Rows, x: Rows, y: Rows, zero: Scalar) -> None:
    jacobian_transpose_times(JacobianPattern(of_row, dof, up, up, J), J, x, y, zero[0])


@kernel
def _factorize(
    of_row: Rows, dof: Rows, up: Rows, parent: Rows, rows: Rows, L: Rows, Y: Rows, A: Rows, zero: Scalar
) -> None:
    p = JacobianPattern(of_row, dof, up, up, Y)
    solve_rows(p, DofTree(parent, rows), L, Y)
    outer_product(p, Y, Y, A, zero[0])


@kernel
def _factorize_unit(
    of_row: Rows, dof: Rows, up: Rows, parent: Rows, rows: Rows, L: Rows, Y: Rows, YD: Rows, A: Rows, zero: Scalar
) -> None:
    p = JacobianPattern(of_row, dof, up, up, Y)
    solve_rows_unit(p, DofTree(parent, rows), L, Y, YD)
    outer_product(p, YD, Y, A, zero[0])
