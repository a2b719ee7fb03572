"""Kernels of this package as routines: bound to one tree, then called on many vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bough.compile.kernel import from_text, kernel
from bough.compile.routine import Constants, Routine
from bough.compile.scalar import step
from bough.compile.settings import interpreted
from bough.errors import NumericalError
from bough.sparsity.ltdl import ltdl, ltdl_solve
from bough.sparsity.ltl import ltl_solve
from bough.sparsity.products import GENERAL, UNIT
from bough.sparsity.stretch import ltdl_in_blocks, panel_size
from bough.sparsity.udut import udut_solve
from bough.tree import Tree
from bough.types import IntArray, Rows, Workspace

if TYPE_CHECKING:
    from bough.compile.run.call import BoundFunction

# What `apply` can do, by number
PRODUCTS: dict[Callable[..., None], int] = {
    product: k for k, product in enumerate((ltdl_solve, ltl_solve, udut_solve, *UNIT, *GENERAL))
}


class PackedRows(NamedTuple):
    """The packed rows of a tree, and which product."""

    parent: IntArray  # (n,) depth-first
    rows: IntArray  # (n + 1,)
    order: IntArray  # (n,) the user's number of each node
    product: IntArray  # (1,)


@kernel
def factorize_copy(t: PackedRows, H: Rows, L: Rows, w: Workspace) -> None:
    """L and D of H, both in packed rows, not finite if a pivot is not positive; H is kept."""
    for k in range(len(H)):
        L[k] = H[k]
    if len(w.panel) > 0:
        ltdl_in_blocks(t.parent, t.rows, L, w.panel)
    else:
        ltdl(t.parent, t.rows, L)
    if len(H) > 0:
        bad = H[0] - H[0]
        for k in range(len(t.parent)):
            bad = bad + step(-L[t.rows[k + 1] - 1])
        L[0] = L[0] + bad / step(-bad)  # 0 / 1 if no pivot is bad, else n / 0


@kernel
def apply(t: PackedRows, L: Rows, x: Rows, y: Rows, w: Workspace) -> None:
    """One product or substitution of a factor with a vector in the user's order."""
    for k in range(len(x)):
        w.column[k, 0] = x[t.order[k]]
    multiply(t.product[0], t.parent, t.rows, L, w.column)
    for k in range(len(x)):
        y[t.order[k]] = w.column[k, 0]


def _choice() -> Callable[..., None]:
    """multiply(product, parent, rows, L, x): the product with this number in PRODUCTS, in situ."""
    tests = [f"if product == {k}: {f.__name__}(parent, rows, L, x)" for f, k in PRODUCTS.items()]
    head, scope = "def multiply(product, parent, rows, L, x):", {f.__name__: f for f in PRODUCTS}
    return kernel(from_text("\n    ".join([head, *tests]), scope | {"__name__": __name__}, __file__))


multiply = _choice()

LTDL = Routine("ltdl", factorize_copy, inputs={"H": "packed"}, outputs={"L": "packed"}, work={"panel": "panel"})
APPLY = Routine("factor", apply, inputs={"L": "packed", "x": "n"}, outputs={"y": "n"}, work={"column": "n 1"})


FEW = 5_000  # operations that are worth code of their own


def vector_function(tree: Tree, kernel: Callable[..., None], dtype: np.dtype[Any], own: bool = False) -> BoundFunction:
    """(L, x) -> y for vectors of this tree, compiled on first use and kept with the tree.

    Of `ltdl`, H -> L with D on its diagonal, both in packed rows; an L that is not finite is refused. With `own` it is
    compiled for this tree alone where that takes few operations, for calls in a loop.
    """
    kept: dict[Any, BoundFunction] = tree.__dict__.setdefault("_bound_routines", {})
    key = kernel, dtype.char, own
    found = kept.get(key)
    if found is None:
        operations = tree.D1 + 2 * tree.D2 if kernel is ltdl else tree.n + 4 * tree.D1
        found = kept.setdefault(key, _bound(tree, kernel, dtype.char, general=not own or operations > FEW))
    return found


def vector_gate(tree: Tree, kernel: Callable[..., None], L: Any) -> Callable[..., int]:
    """(L, x, y), or (H, L) of `ltdl`, -> 0 where the last was computed: for arrays that fit, and for no others."""
    bound = vector_function(tree, kernel, L.dtype, own=True)
    with suppress(NumericalError):  # zeros have no result
        bound.call(*(np.zeros(x.shape, L.dtype) for x in bound.inputs))  # which compiles it
    return bound.gate


def _bound(tree: Tree, kernel: Callable[..., None], precision: str, general: bool) -> BoundFunction:
    from bough.compile.executions import bind_on_cpu

    routine = LTDL if kernel is ltdl else APPLY
    rows = PackedRows(tree.regular, tree.rows, tree.order, np.array([PRODUCTS.get(kernel, 0)]))
    sizes = {"n": tree.n, "packed": int(tree.rows[-1]), "panel": panel_size(tree.height)}
    execution = "general" if general else "specialised"
    return bind_on_cpu(routine, Constants((rows,)), sizes, execution, dtype=np.dtype(precision))


def run(kernel: Callable[..., None], *arrays: Any) -> None:
    """Call `kernel` on int64 and float arrays (flat, or 2-d and C-contiguous), which it may overwrite.

    Compiled; with BOUGH_INTERPRET=1 in the environment, as plain Python.
    """
    if interpreted():
        with np.errstate(all="ignore"):
            kernel(*arrays)
        return
    from bough.compile.run import direct

    direct.call(kernel, *arrays)
