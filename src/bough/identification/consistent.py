"""Inertias that some rigid body has: least squares in the cone of positive pseudo-inertias.

P = [[S, h], [h', m]], S = tr(J)/2 1 - J, is linear in the ten numbers of a body, and positive if and only if some
density of mass makes it (Wensing, Kim & Slotine 2018). With P0 that of the model, D = tr(P0^-1 P) - log det P is least
at P0 and infinite at the edge (the entropic divergence of Lee, Wensing & Park 2020): it holds what measurements do not
show, and keeps all bodies physical. |R x - z|^2 / 2 + prior D is convex: Newton's method finds its only minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bough.errors import NumericalError
from bough.types import FloatArray

PLACES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))  # of xx xy yy xz yz zz
STEPS, SHRINK = 60, 0.1  # Newton's steps for each weight, and how weights go down to the final one
THINNEST = 1e-9  # an eigenvalue of P0, relative to its trace, that counts as zero


def _basis() -> FloatArray:
    """(10, 4, 4): P is the sum of x_k basis_k."""
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(PLACES, start=4):
        J = np.zeros((3, 3))
        J[i, j] = J[j, i] = 1.0
        E[k, :3, :3] = np.trace(J) / 2.0 * np.eye(3) - J
    return E


BASIS = _basis()


def pseudo_inertia(rows: FloatArray) -> FloatArray:
    """(n, 4, 4) from ten numbers m, m c, xx xy yy xz yz zz."""
    P: FloatArray = np.einsum("nk,kij->nij", rows, BASIS)
    return P


def ten_numbers(P: FloatArray) -> FloatArray:
    """The reverse."""
    S = P[:, :3, :3]
    J = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S
    return np.stack([P[:, 3, 3], *(P[:, k, 3] for k in range(3)), *(J[:, i, k] for i, k in PLACES)], axis=1)


def thickened(rows: FloatArray) -> FloatArray:
    """Bodies inside the cone: those that are none, or thin to rounding, are made a little thicker."""
    values, vectors = np.linalg.eigh(pseudo_inertia(rows))
    floor = THINNEST * np.maximum(values.sum(axis=1), 1e-6)[:, None]
    return ten_numbers(np.einsum("nij,nj,nkj->nik", vectors, np.maximum(values, floor), vectors))


class Prior(NamedTuple):
    """Where the divergence is least: inertias (n, 10) in the cone, and positive terms of drives."""

    rows: FloatArray
    terms: FloatArray


def fit_in_the_cone(R: FloatArray, z: FloatArray, prior: Prior, weight: float) -> FloatArray:
    """x, inertias then terms, that makes |R x - z|^2 / 2 + weight D least."""
    x = np.concatenate([prior.rows.ravel(), prior.terms])
    least = float(np.sum((R @ x - z) ** 2))
    now = max(weight, least / len(x))  # strong at first, to stay in the middle of the cone
    while True:
        x = _newton(R, z, prior, now, x)
        if now <= weight:
            return x
        now = max(SHRINK * now, weight)


def _newton(R: FloatArray, z: FloatArray, prior: Prior, weight: float, x: FloatArray) -> FloatArray:
    value = _objective(R, z, prior, weight, x)
    for _ in range(STEPS):
        slope, root = _divergence_slopes(prior, x)
        # (R'R + weight root root') step = -(R'r + weight slope), as a least-squares problem, which keeps digits
        both = np.concatenate([R, np.sqrt(weight) * root.T])
        right = np.concatenate([z - R @ x, -np.sqrt(weight) * np.linalg.solve(root, slope)])
        step = np.linalg.lstsq(both, right, rcond=None)[0]
        length = 1.0
        while length > 1e-12 and not (ahead := _objective(R, z, prior, weight, x + length * step)) <= value:
            length /= 2.0
        if length <= 1e-12:
            return x
        gain, x, value = value - ahead, x + length * step, ahead
        if gain <= 1e-13 * abs(value):
            return x
    return x


def _objective(R: FloatArray, z: FloatArray, prior: Prior, weight: float, x: FloatArray) -> float:
    """Infinite outside the cone."""
    n = prior.rows.size
    P, terms = pseudo_inertia(x[:n].reshape(-1, 10)), x[n:]
    values = np.linalg.eigvalsh(P)
    if not ((values > 0.0).all() and (terms > 0.0).all()):
        return np.inf
    pull = np.einsum("nij,nji->", np.linalg.inv(pseudo_inertia(prior.rows)), P) - np.log(values).sum()
    pull += np.sum(terms / prior.terms - np.log(terms))
    return float(np.sum((R @ x - z) ** 2) / 2.0 + weight * pull)


def _divergence_slopes(prior: Prior, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The gradient of D, and a factor F of its Hessian F F'."""
    n = prior.rows.size
    P, terms = pseudo_inertia(x[:n].reshape(-1, 10)), x[n:]
    inverse, first = np.linalg.inv(P), np.linalg.inv(pseudo_inertia(prior.rows))
    slope = np.concatenate([np.einsum("nij,kji->nk", first - inverse, BASIS).ravel(), 1.0 / prior.terms - 1.0 / terms])
    GE = np.einsum("nij,kjl->nkil", inverse, BASIS)
    curve = np.einsum("nkil,nmli->nkm", GE, GE)
    root = np.zeros((len(x), len(x)))
    for b in range(len(P)):
        size = np.sqrt(np.einsum("kk->k", curve[b]))  # scaled, because numbers of a body differ by orders
        try:
            factor = np.linalg.cholesky(curve[b] / np.outer(size, size))
        except np.linalg.LinAlgError:
            raise NumericalError("identify: a body has become too thin to compute with; raise prior=") from None
        root[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = size[:, None] * factor
    root[np.arange(n, len(x)), np.arange(n, len(x))] = 1.0 / terms
    return slope, root
