"""`Factor`: a factorized matrix with the branch-induced pattern (Featherstone 2005; Shimanovskij), and all it can do.

Vectors, matrices and DoF numbers are in the user's order; with n DoF, x may be (n,) or (n, k).
Costs are for each column of x, in terms of the tree's D1 and D2.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bough import _display as display
from bough.errors import FactorizationError, NonFiniteError, NumericalError, ShapeError
from bough.sparsity.ltdl import ltdl, ltdl_product, ltdl_solve
from bough.sparsity.ltl import ltl, ltl_product, ltl_solve, ltl_to_ltdl
from bough.sparsity.pattern import (
    Float,
    Names,
    density,
    diagonal,
    dof_name,
    from_columns,
    pack,
    to_columns,
    to_dense,
    to_scipy,
)
from bough.sparsity.products import GENERAL, UNIT, multiply_diagonal
from bough.sparsity.routines import run, vector_function, vector_gate
from bough.sparsity.selected_inverse import selected_inverse
from bough.sparsity.stretch import DEEP, ltdl_in_blocks, panel_size
from bough.sparsity.udut import udut, udut_solve
from bough.sparsity.update import rank_one_update
from bough.tree import Tree

Kernel = Callable[..., None]
Format = Literal["dense", "scipy", "packed"]
MethodName = Literal["ltl", "ltdl", "udut"]


class FactorKernels(NamedTuple):
    """The kernels that make and use one kind of factor."""

    factorize: Kernel
    product: Kernel
    solve: Kernel
    lmul: Kernel
    ltmul: Kernel
    lsolve: Kernel
    ltsolve: Kernel


METHODS: dict[MethodName, FactorKernels] = {
    "ltl": FactorKernels(ltl, ltl_product, ltl_solve, *GENERAL),
    "ltdl": FactorKernels(ltdl, ltdl_product, ltdl_solve, *UNIT),
    "udut": FactorKernels(udut, ltdl_product, udut_solve, *UNIT),
}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Factor:
    """H = L' D L, with L of the pattern of the tree: lower triangular if parents come before children.

    `method` "ltl" has D = 1; "ltdl" and "udut" have a unit diagonal in L; for "udut", U = L'.
    `packed` holds the rows of L in depth-first numbering, with D in place of a unit diagonal.
    """

    tree: Tree
    method: MethodName
    packed: Float
    names: Names = None

    def __init__(self, tree: Tree, method: MethodName, packed: Float, names: Names = None) -> None:
        self.__dict__.update(tree=tree, method=method, packed=packed, names=names)  # one by one takes twice as long

    def __repr__(self) -> str:
        """A summary: the method, the size, how much of L is stored, and the range of the pivots."""
        kind = {"ltl": "H = L' L", "ltdl": "H = L' D L", "udut": "H = U D U'"}[self.method]
        n, pivots = self.tree.n, self._diagonal**2 if self.method == "ltl" else self._diagonal
        shape = f"{n} DoF, {len(self.packed)} elements of {n * (n + 1) // 2}, {self.packed.dtype}"
        return f"Factor({kind}: {shape}, pivots {pivots.min(initial=np.inf):.3g} to {pivots.max(initial=0):.3g})"

    def _repr_html_(self) -> str:
        """For notebooks: the pattern of L, which has no fill-in."""
        share = np.tril(density(self.tree, min(self.tree.n, 64))) if self.tree.n else np.zeros((0, 0))
        return f"<code>{escape(repr(self))}</code><br>{display.pattern(share, 'nonzeros of L')}"

    @property
    def L(self) -> Float:
        """The triangular factor, dense (n, n)."""
        return self.to_dense()

    @property
    def U(self) -> Float:
        """L', the factor of H = U D U', dense (n, n)."""
        return self.to_dense().T

    @property
    def D(self) -> Float:
        """The diagonal of D, (n,)."""
        return np.ones_like(self._diagonal) if self.method == "ltl" else self._diagonal[self.tree.rank]

    def to_dense(self) -> Float:
        """L as a dense (n, n) matrix."""
        return to_dense(self._rows_of_L(), self.tree, "lower")

    def to_scipy(self) -> Any:
        """L as a scipy.sparse.csr_array."""
        return to_scipy(self._rows_of_L(), self.tree, "lower")

    def solve(self, b: ArrayLike, out: Any = None) -> Float:
        """H^-1 b, in the array `out` if there is one: n d + 2 D1 (m + a); LTL n d more.

        With `out` a small tree is served by code of its own, which the first such call compiles.
        """
        if out is not None and self._solve_vector(self.packed, b, out) == 0:
            found: Float = out
            return found
        if out is None and type(b) is np.ndarray and b.ndim == 1:
            try:
                return self._solve(self.packed, b)
            except ShapeError:  # which is said of b below
                b = np.asarray(b)
        x = self._apply(b, METHODS[self.method].solve)
        if out is None:
            return x
        if not isinstance(out, np.ndarray) or (out.shape, out.dtype) != (x.shape, x.dtype):
            got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ShapeError(f"solve: out must be a {x.dtype} array {x.shape}, got {got}")
        out[...] = x
        return out

    @cached_property
    def _solve(self) -> Callable[..., Float]:
        return vector_function(self.tree, METHODS[self.method].solve, self.packed.dtype).call

    @cached_property
    def _solve_vector(self) -> Callable[..., int]:
        """(packed, b, x) -> 0 for vectors that fit."""
        return vector_gate(self.tree, METHODS[self.method].solve, self.packed)

    @cached_property
    def _factorize_rows(self) -> Callable[..., int]:
        """(H, packed) -> 0 for packed rows that fit, where this is an LTDL factor."""
        return vector_gate(self.tree, ltdl, self.packed) if self.method == "ltdl" else lambda H, packed: 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Factor, (self.tree, self.method, self.packed, self.names)

    def refactor(self, H: Any) -> Factor:
        """Put the factor of another matrix in the place of this one: packed rows without a new object.

        A small tree is served by code of its own, which the first call compiles.

        H has the dtype of this factor. Where H is refused, the former numbers are lost.
        """
        if self._factorize_rows(H, self.packed) != 0:
            other = factorize_by(H, self.tree, self.method, self.names).packed
            if other.dtype != self.packed.dtype:
                raise ShapeError(f"refactor: H must be {self.packed.dtype} like the factor, got {other.dtype}")
            self.packed[:] = other
        return self

    def lmul(self, x: ArrayLike) -> Float:
        """L x: D1 (m + a); LTL n m more."""
        return self._apply(x, METHODS[self.method].lmul)

    def ltmul(self, x: ArrayLike) -> Float:
        """L' x: D1 (m + a); LTL n m more."""
        return self._apply(x, METHODS[self.method].ltmul)

    def lsolve(self, x: ArrayLike) -> Float:
        """L^-1 x: D1 (m + a); LTL n d more."""
        return self._apply(x, METHODS[self.method].lsolve)

    def ltsolve(self, x: ArrayLike) -> Float:
        """L^-T x: D1 (m + a); LTL n d more."""
        return self._apply(x, METHODS[self.method].ltsolve)

    def hmul(self, x: ArrayLike) -> Float:
        """H x = L' D L x: n m + 2 D1 (m + a); LTL n m more."""
        method = METHODS[self.method]
        middle = () if self.method == "ltl" else (multiply_diagonal,)
        return self._apply(x, method.lmul, *middle, method.ltmul)

    def logdet(self) -> float:
        """log det H = sum log D."""
        log = float(np.sum(np.log(self._diagonal, dtype=np.float64)))
        return 2 * log if self.method == "ltl" else log

    def reconstruct(self, format: Format = "dense") -> Any:
        """H itself: D1 m + D2 (m + a); LTL n m more."""
        H = self.packed.copy()
        run(METHODS[self.method].product, self.tree.regular, self.tree.rows, H)
        return self._formatted(H, format)

    def selected_inverse(self, format: Format = "dense") -> Any:
        """The entries of H^-1 where H is not zero by structure, zeros elsewhere: n d + 2 D2 m + (2 D2 - D1) a."""
        L = self._as_ltdl()
        Z = np.empty_like(L)
        run(selected_inverse, self.tree.regular, self.tree.rows, L, Z)
        return self._formatted(Z, format)

    def update(self, v: ArrayLike, scale: float = 1.0) -> Factor:
        """The LTDL factor of H + scale v v', for v (n,) that is zero off one path root..tip: O(depth^2)."""
        column = to_columns(v, self.tree, self.packed.dtype)[:, 0]
        if np.shape(v) != (self.tree.n,):
            raise ShapeError(f"v has shape {np.shape(v)}: expected ({self.tree.n},)")
        support = np.flatnonzero(column)
        L = self._as_ltdl()
        if support.size:
            tip = support[-1:]
            path = self.tree.ancestors[self.tree.rows[tip[0]] : self.tree.rows[tip[0] + 1]]
            for k in np.setdiff1d(support, path):
                here, there = self.tree.order[k], self.tree.order[tip[0]]
                raise ShapeError(f"v is not zero at DoF {here} and DoF {there}, which lie on different branches")
            s = np.array([scale], L.dtype)
            run(rank_one_update, self.tree.regular, self.tree.rows, L, tip, column[path], s)
        updated = replace(self, method="udut" if self.method == "udut" else "ltdl", packed=L)
        updated.require_positive()
        return updated

    def require_positive(self) -> None:
        """Refuse a factor with a pivot that is not positive, naming the DoF at which it broke down."""
        pivots = self._diagonal
        if pivots.min(initial=np.inf) > 0 and pivots.max(initial=0.0) < np.inf:  # false for NaN
            return
        for k in np.flatnonzero(~((pivots > 0) & np.isfinite(pivots)))[::-1]:
            where = dof_name(int(self.tree.order[k]), self.names)
            raise FactorizationError(f"H is not positive definite: the pivot of {where} is {pivots[k]:.3g}")

    @property
    def _diagonal(self) -> Float:
        """The diagonal of the packed rows, in depth-first order."""
        return self.packed.take(diagonal(self.tree))

    def _rows_of_L(self) -> Float:
        rows = self.packed.copy()
        if self.method != "ltl":
            rows[self.tree.rows[1:] - 1] = 1
        return rows

    def _as_ltdl(self) -> Float:
        rows = self.packed.copy()
        if self.method == "ltl":
            run(ltl_to_ltdl, self.tree.regular, self.tree.rows, rows)
        return rows

    def _apply(self, x: ArrayLike, *kernels: Kernel) -> Float:
        if type(x) is np.ndarray and x.ndim == 1 and len(kernels) == 1:
            try:
                return vector_function(self.tree, kernels[0], self.packed.dtype).call(self.packed, x)
            except ShapeError:  # which is said of x below
                pass
        columns = to_columns(x, self.tree, self.packed.dtype)
        for kernel in kernels:
            run(kernel, self.tree.regular, self.tree.rows, self.packed, columns)
        return from_columns(columns, self.tree, x)

    def _formatted(self, packed: Float, format: Format) -> Any:
        if format == "packed":
            return packed
        return to_scipy(packed, self.tree) if format == "scipy" else to_dense(packed, self.tree)


def factorize(H: Any, tree: Tree, method: MethodName = "ltdl", names: Names = None) -> Factor:
    """Factorize symmetric positive definite H, dense (n, n), scipy.sparse or packed rows, float32 or float64.

    Cost D1 d + D2 (m + a); LTL n square roots more. An error names the DoF, by `names` too if they are given.
    """
    return factorize_by(H, tree, method, names)


def factorize_by(H: Any, tree: Tree, method: MethodName, names: Names) -> Factor:
    """`factorize`, for functions that explain their own arguments."""
    if names is not None and len(names) != tree.n:
        raise ShapeError(f"{len(names)} names were given for {tree.n} DoF")
    quick = _factor_of_rows(H, tree) if method == "ltdl" else None
    if quick is not None:
        return Factor(tree, method, quick, names)
    factor = Factor(tree, method, pack(H, tree, names), names)
    with suppress(ValueError):  # an interpreted square root refuses the pivot that is reported below
        deep = method != "ltl" and tree.height >= DEEP
        panel = (np.zeros(panel_size(tree.height), factor.packed.dtype),) if deep else ()
        run(ltdl_in_blocks if deep else METHODS[method].factorize, tree.regular, tree.rows, factor.packed, *panel)
    factor.require_positive()
    return factor


def _factor_of_rows(H: Any, tree: Tree) -> Float | None:
    """L of packed rows by code bound to the tree; None for other matrices, and for what is refused by name then."""
    if type(H) is not np.ndarray or H.ndim != 1 or H.dtype.char not in "fd":
        return None
    try:
        found: Float = vector_function(tree, ltdl, H.dtype).call(H)
    except (NonFiniteError, NumericalError, ShapeError):
        return None
    return found
