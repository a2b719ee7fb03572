"""Matrices with the branch-induced pattern (Featherstone 2005, eq. 6): dense, scipy.sparse and packed ancestor rows.

Packed: the lower triangle in depth-first numbering, row after row; element (k, j) of an ancestor j
is at `tree.rows[k] + depth(j) - 1`. Dense and sparse matrices are in the user's order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bough.errors import FactorizationError, NonFiniteError, OptionError, ShapeError, TooLargeError, required
from bough.tree import Tree
from bough.types import FloatArray, IntArray

Float = NDArray[np.floating[Any]]
Names = Sequence[str] | None
Triangle = Literal["lower", "upper", "symmetric"]


LARGEST_COUNTED = 10**6  # nonzeros of H that `density` counts one by one


def dof_name(i: int, names: Names) -> str:
    """The name of DoF i in an error."""
    return f"DoF {i}" if names is None else f"DoF {i} ({names[i]})"


def packed_size(tree: Tree) -> int:
    """Number of elements of packed rows: D1 + n."""
    return tree.D1 + tree.n


def diagonal(tree: Tree) -> IntArray:
    """Where the diagonal lies in packed rows: at the end of each; kept with the tree."""
    found: IntArray | None = tree.__dict__.get("_diagonal")
    if found is None:
        found = tree.__dict__["_diagonal"] = tree.rows[1:] - 1
    return found


def empty_packed(tree: Tree, dtype: np.dtype[Any], what: str) -> Float:
    """Uninitialised packed rows, if they fit."""
    require_memory(packed_size(tree) * dtype.itemsize, f"{what} of {tree.n} DoF")
    return np.empty(packed_size(tree), dtype)


def pack(H: Any, tree: Tree, names: Names = None) -> Float:
    """A fresh copy of symmetric H (dense, scipy.sparse or packed rows) as packed rows, float32 or float64.

    Refuses a wrong shape, an entry that is not finite or lies between two branches, and a matrix that is not symmetric.
    """
    dtype = float_dtype(H.dtype if hasattr(H, "dtype") else np.asarray(H).dtype)
    if hasattr(H, "tocoo"):
        lower, upper = _from_sparse(H, tree, dtype, names)
    else:
        H = np.asarray(H)
        if H.shape == (packed_size(tree),):
            lower = upper = H.astype(dtype)
        else:
            lower, upper = _from_dense(H, tree, dtype, names)
    finite = np.isfinite(lower) & np.isfinite(upper)
    if not finite.all():
        i, j = element(tree, int(np.argmin(finite)))
        raise FactorizationError(f"H is not finite at {dof_name(i, names)}, {dof_name(j, names)}")
    if upper is not lower:
        _require_symmetric(lower, upper, tree, names)
    return lower


def element(tree: Tree, p: int) -> tuple[int, int]:
    """Row and column, in the user's order, of element p of packed rows."""
    k = int(np.searchsorted(tree.rows, p, side="right")) - 1
    return int(tree.order[k]), int(tree.order[tree.ancestors[p]])


def to_dense(packed: Float, tree: Tree, triangle: Triangle = "symmetric") -> Float:
    """An (n, n) matrix with `packed` as its lower or upper triangle (up to numbering), or as both."""
    row, column = _indices(tree)
    packed = _one_each(packed, row)
    require_memory(tree.n**2 * packed.itemsize, f"a dense {tree.n} x {tree.n} matrix")
    dense = np.zeros((tree.n, tree.n), packed.dtype)
    if triangle != "upper":
        dense[row, column] = packed
    if triangle != "lower":
        dense[column, row] = packed
    return dense


def to_scipy(packed: Float, tree: Tree, triangle: Triangle = "symmetric") -> Any:
    """The same as a scipy.sparse.csr_array."""
    coo_array = required("scipy.sparse", "sparse", "a sparse matrix").coo_array
    row, column = _indices(tree)
    packed = _one_each(packed, row)
    if triangle == "upper":
        row, column = column, row
    elif triangle == "symmetric":
        off = row != column
        row, column = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
        packed = np.concatenate([packed, packed[off]])
    return coo_array((packed, (row, column)), shape=(tree.n, tree.n)).tocsr()


def to_columns(x: Any, tree: Tree, dtype: np.dtype[Any]) -> Float:
    """A fresh, contiguous (n, k) copy of x, (n,) or (n, k), with its rows in depth-first order."""
    x = np.asarray(x)
    if x.ndim not in (1, 2) or len(x) != tree.n:
        raise ShapeError(f"x has shape {x.shape}: expected ({tree.n},) or ({tree.n}, k)")
    float_dtype(x.dtype)
    if not np.isfinite(x).all():
        raise NonFiniteError(f"x is not finite at row {np.argwhere(~np.isfinite(x))[0][0]}")
    return np.take(x.reshape(tree.n, math.prod(x.shape[1:])), tree.order, axis=0).astype(dtype, copy=False)


def from_columns(columns: Float, tree: Tree, like: Any) -> Float:
    """The columns with their rows in the user's order, in the shape of `like`."""
    return np.take(columns, tree.rank, axis=0).reshape(np.shape(like))


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to compute in: float32 and float64 stay, integers become float64."""
    if dtype.kind in "iu":
        return np.dtype(np.float64)
    if dtype not in (np.float32, np.float64):
        raise ShapeError(f"an array of type {dtype} was given: expected float32 or float64")
    return dtype


def _indices(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns, in the user's order, of all elements of packed rows."""
    return np.repeat(tree.order, tree.depth[tree.order]), tree.order[tree.ancestors]


def _from_dense(H: Any, tree: Tree, dtype: np.dtype[Any], names: Names) -> tuple[Float, Float]:
    if H.shape != (tree.n, tree.n):
        size = packed_size(tree)
        raise ShapeError(f"H has shape {H.shape}: expected ({tree.n}, {tree.n}), or ({size},) for packed rows")
    row, column = _indices(tree)
    lower, upper = H[row, column].astype(dtype), H[column, row].astype(dtype)
    diagonal = tree.rows[1:] - 1
    inside = np.count_nonzero(lower) + np.count_nonzero(upper) - np.count_nonzero(lower[diagonal])
    if np.count_nonzero(H) != inside:
        stray = H != 0
        stray[row, column] = stray[column, row] = False
        i, j = np.argwhere(stray)[0]
        raise _stray_error(int(i), int(j), names)
    return lower, upper


def _from_sparse(H: Any, tree: Tree, dtype: np.dtype[Any], names: Names) -> tuple[Float, Float]:
    if H.shape != (tree.n, tree.n):
        raise ShapeError(f"H has shape {H.shape}: expected ({tree.n}, {tree.n})")
    entries = H.tocsr().tocoo()  # sums duplicates
    a, b = tree.rank[entries.row], tree.rank[entries.col]
    below, above = np.maximum(a, b), np.minimum(a, b)
    inside = below < above + tree.size[tree.order[above]]
    for e in np.flatnonzero(~inside & (entries.data != 0)):
        raise _stray_error(int(entries.row[e]), int(entries.col[e]), names)
    place = tree.rows[below] + tree.depth[tree.order[above]] - 1
    lower = empty_packed(tree, dtype, "the inertia matrix")
    upper = np.zeros_like(lower)
    lower[:] = 0
    for triangle, chosen in ((lower, inside & (a >= b)), (upper, inside & (a <= b))):
        triangle[place[chosen]] = entries.data[chosen]
    return lower, upper


def _stray_error(i: int, j: int, names: Names) -> FactorizationError:
    where = f"{dof_name(i, names)} and {dof_name(j, names)}"
    return FactorizationError(f"H is not zero between {where}, which lie on different branches of the tree")


def _require_symmetric(lower: Float, upper: Float, tree: Tree, names: Names) -> None:
    """Rounding is forgiven: half the digits must agree."""
    gap = np.abs(lower - upper)
    scale = np.abs(lower).max(initial=0)
    if gap.max(initial=0) > np.sqrt(np.finfo(lower.dtype).eps) * scale:
        i, j = element(tree, int(np.argmax(gap)))
        raise FactorizationError(
            f"H is not symmetric at {dof_name(i, names)}, {dof_name(j, names)}: fill both triangles"
        )


def _one_each(packed: Float, row: IntArray) -> Float:
    given = np.asarray(packed)
    if given.shape != row.shape:
        raise ShapeError(f"packed rows of this tree hold {row.shape} numbers, got {given.shape}")
    return given


def require_memory(nbytes: int, what: str) -> None:
    """Refuse an allocation of `nbytes` that the machine cannot hold; `what` begins the sentence."""
    available = available_memory()
    if nbytes > available:
        raise TooLargeError(f"{what} needs {readable(nbytes)} of memory: {readable(available)} are available")


def available_memory() -> int:
    """Bytes that can be allocated now; all that the machine has where the system does not say more."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("MemAvailable"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        if hasattr(os, "sysconf"):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return 2**47  # unknown: the address space of the processor


def readable(nbytes: float) -> str:
    """A size in decimal units, such as "4.01 TB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"


def density(tree: Tree, size: int) -> FloatArray:
    """(size, size) fractions of nonzeros of H in equal cells; of a large tree, from a few rows of each cell."""
    if size < 1:
        raise OptionError(f"density: size must be at least 1, got {size}")
    if tree.D1 + tree.n > LARGEST_COUNTED:
        return _sampled(tree, size)
    rows = np.repeat(tree.order, tree.depth[tree.order]) * size // tree.n
    columns = tree.order[tree.ancestors] * size // tree.n
    below = np.bincount(rows * size + columns, minlength=size * size).reshape(size, size).astype(float)
    own = np.bincount(np.arange(tree.n) * size // tree.n, minlength=size)
    whole = below + below.T - np.diag(own)
    share: FloatArray = whole / np.outer(own, own)
    return share


def _sampled(tree: Tree, size: int) -> FloatArray:
    """As `density`, in O(size * depth)."""
    rows = np.unique(np.linspace(0, tree.n - 1, min(tree.n, 4 * size)).astype(np.int64))
    place = rows * size // tree.n
    below, node = np.zeros((size, size)), rows
    while node.size:
        np.add.at(below, (place, node * size // tree.n), 1.0)
        above = np.asarray(tree.parent)[node]
        place, node = place[above >= 0], above[above >= 0]
    own = np.bincount(np.arange(tree.n) * size // tree.n, minlength=size)
    sampled = np.bincount(rows * size // tree.n, minlength=size)
    share = below / np.outer(np.maximum(sampled, 1), own)
    whole: FloatArray = np.minimum(share + share.T, 1.0)
    return whole
