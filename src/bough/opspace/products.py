"""How Jbar, N and joint forces follow from what is known of a state: by dense products, or by the packed factor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bough.compile.settings import on_threads, threads
from bough.errors import BoughError, ShapeError
from bough.opspace.quantities import FullPass
from bough.types import RealArray

if TYPE_CHECKING:
    from bough.opspace.space import OperationalSpace
    from bough.opspace.state import OperationalState


BLOCK, PART = 64, 512  # rows of a batch that go together, and that are worth a thread


class ByMatrices:
    """Dense products of J and H^-1 J', which come from one call: best on small models, and all that mimics allow."""

    def jbar(self, op: OperationalState) -> RealArray:
        return op.weighted.weighted @ op.inertia

    def nullspace(self, op: OperationalState) -> RealArray:
        return identity(op.jbar.shape[-2], op.q.dtype) - op.jbar @ op.weighted.J

    def joint_forces(self, op: OperationalState, F: RealArray, tau0: RealArray) -> RealArray:
        """tau0 + J' (F - Lambda (H^-1 J')' tau0)."""
        moved = apply(np.swapaxes(op.weighted.weighted, -1, -2), tau0)
        return tau0 + apply(np.swapaxes(op.weighted.J, -1, -2), F - apply(op.inertia, moved))


class ByFactor:
    """Sparse products on packed J and the packed LTDL factor of H (Featherstone 2010, eqs. 9, 10 and 33)."""

    def __init__(self, space: OperationalSpace) -> None:
        self.space = space

    def jbar(self, op: OperationalState) -> RealArray:
        known = op.factored
        return self.space.function("jbar").call(known.L, known.YD, op.inertia)

    def nullspace(self, op: OperationalState) -> RealArray:
        return self.space.function("nullspace").call(op.factored.J, op.jbar)

    def joint_forces(self, op: OperationalState, F: RealArray, tau0: RealArray) -> RealArray:
        known = op.factored
        return self.space.function("joint_forces").call(known.J, known.L, op.inertia, F, tau0)


def full_pass(space: OperationalSpace, q: RealArray, v: RealArray, **given: Any) -> FullPass:
    """All quantities by dense products, in this precision."""
    if not given and q.ndim == v.ndim == 2 and len(q) == len(v) > BLOCK:
        with suppress(BoughError):  # said again below, of rows of the whole batch
            return _full_batch(space, q, v)
    J, X, Lam_inv, beta = space.function("dynamics", given).call(q, v, **given)
    Lam = space.invert(Lam_inv)
    multiply = np.dot if J.ndim == 2 else np.matmul  # the first has less to decide
    Jbar = multiply(X, Lam)
    N = multiply(Jbar, J)
    return FullPass(J, beta, Lam_inv, Lam, Jbar, np.subtract(identity(space.model.nv, N.dtype), N, out=N))


def _full_batch(space: OperationalSpace, q: RealArray, v: RealArray) -> FullPass:
    """The full pass of a batch, a few rows at a time: what one step leaves, the next finds in a cache."""
    m, n = space.tasks.size, space.model.nv
    shapes = ((m, n), (m,), (m, m), (m, m), (n, m), (n, n))
    found = FullPass(*(np.empty((len(q), *shape), v.dtype) for shape in shapes))
    parts = min(threads(), -(-len(q) // PART))
    ends = [len(q) * k // parts for k in range(parts + 1)]
    work = partial(_full_rows, space, q, v, found)
    with ThreadPoolExecutor(parts) if parts > 1 else nullcontext() as pool:
        list((pool.map if pool else map)(work, ends[:-1], ends[1:]))
    return found


def _full_rows(space: OperationalSpace, q: RealArray, v: RealArray, found: FullPass, begin: int, end: int) -> None:
    """Rows from `begin` to `end`, on one thread."""
    one, H_inv_Jt = identity(v.shape[-1], v.dtype), np.empty((BLOCK, *found.jbar.shape[1:]), v.dtype)
    for start in range(begin, end, BLOCK):
        rows = slice(start, min(start + BLOCK, end))
        J, beta, Lam_inv, Lam, Jbar, N = (x[rows] for x in found)
        X = H_inv_Jt[: len(J)]
        space.function("dynamics").call(q[rows], v[rows], out=(J, X, Lam_inv, beta), threads=1)
        with on_threads(1):
            Lam[...] = space.invert(Lam_inv)
        np.matmul(X, Lam, out=Jbar)
        np.subtract(one, np.matmul(Jbar, J, out=N), out=N)


@cache
def identity(n: int, dtype: np.dtype[Any]) -> RealArray:
    """(n, n), not to be changed."""
    return np.eye(n, dtype=dtype)


def apply(A: RealArray, x: RealArray) -> RealArray:
    """A x for a matrix and a vector, or for batches of both."""
    if x.shape[-1:] != A.shape[-1:]:
        raise ShapeError(f"expected a vector of {A.shape[-1]} numbers, or rows of them, got shape {x.shape}")
    return (A @ x[..., None])[..., 0]
