"""The same fit as a semidefinite program (Wensing, Kim & Slotine 2018): every pseudo-inertia is a linear matrix
inequality, P_b >= 0, and the model that was given pulls with |P0^-1/2 (P - P0) P0^-1/2|^2. Needs cvxpy."""

from __future__ import annotations

import numpy as np

from bough.errors import NumericalError, required
from bough.identification.consistent import BASIS, THINNEST, Prior, pseudo_inertia
from bough.types import FloatArray


def fit_by_inequalities(R: FloatArray, z: FloatArray, prior: Prior, weight: float) -> FloatArray:
    """x, inertias then terms, that makes |R x - z|^2 + weight |x - prior|^2 least among those that are physical.

    The second norm is the curvature of the divergence of `consistent` at the prior.
    """
    cvxpy = required("cvxpy", "lmi", 'identify with method="lmi"')
    P0, count = pseudo_inertia(prior.rows), len(prior.rows)
    x = cvxpy.Variable(prior.rows.size + len(prior.terms))
    start = np.concatenate([prior.rows.ravel(), prior.terms])
    pull, constraints = [], []
    for b in range(count):
        root = np.linalg.inv(np.linalg.cholesky(P0[b]))  # P0^-1 = root' root
        scaled = np.einsum("ij,kjl,ml->kim", root, BASIS, root).reshape(10, 16).T
        moved = scaled @ x[10 * b : 10 * b + 10]
        pull.append(cvxpy.sum_squares(moved - np.eye(4).ravel()))
        constraints.append(cvxpy.reshape(moved, (4, 4), order="C") >> THINNEST * np.eye(4))
    terms = x[10 * count :]
    if len(prior.terms):
        pull.append(cvxpy.sum_squares(cvxpy.multiply(1.0 / prior.terms, terms) - 1.0))
        constraints.append(terms >= 0.0)
    size = np.maximum(np.linalg.norm(R @ start - z), 1e-12)  # solvers like numbers near one
    misfit = cvxpy.sum_squares((R / size) @ x - z / size)
    problem = cvxpy.Problem(cvxpy.Minimize(misfit + weight / size**2 * sum(pull)), constraints)
    problem.solve(solver="CLARABEL")
    if x.value is None:
        raise NumericalError(f"identify: the semidefinite program was not solved ({problem.status}); raise prior=")
    found: FloatArray = np.asarray(x.value, float)
    found[10 * count :] = np.maximum(found[10 * count :], 0.0)
    return found
