"""`identify`: masses, inertias and terms of the drives from measured forces, by least squares that stay physical."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.errors import NumericalError, OptionError, required
from bough.identification.base import BaseParameters, seen_in
from bough.identification.consistent import BASIS, THINNEST, Prior, fit_in_the_cone, pseudo_inertia, thickened
from bough.identification.equations import Equations, check_drive, check_samples, equations, names_of
from bough.model import Model
from bough.types import FloatArray

Method = Literal["divergence", "lmi"]
Fit = Callable[[FloatArray, FloatArray, Prior, float], FloatArray]
SMALLEST_TERM = 1e-3  # what a term of a drive that the model lacks is thought to be


@dataclass(frozen=True, eq=False)
class Identification:
    """The identified parameters, in `model`; those the data does not determine stay near the prior model."""

    model: Model
    names: tuple[str, ...]  # of all unknowns: body.number, dof.term
    values: FloatArray
    standard_errors: FloatArray  # of each unknown alone; infinite where only a combination of it with others is seen
    residual: float  # root mean square of what is left, in units of `noise`
    free_residual: float  # the same for the best fit that need not be physical
    base: BaseParameters  # which combinations were seen in these measurements, and their condition number

    def __str__(self) -> str:
        return (
            f"{self.base.rank} of {len(self.names)} parameters identifiable, condition {self.base.condition:.3g}; "
            f"residual {self.residual:.4g}, {self.free_residual:.4g} without physical consistency"
        )


@explained
def identify(
    model: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    qdd: npt.ArrayLike,
    tau: npt.ArrayLike,
    *,
    drive: tuple[str, ...] = (),
    noise: npt.ArrayLike | None = None,
    prior: float = 1e-3,
    method: Method = "divergence",
) -> Identification:
    """Identify inertias of all bodies, and terms of the drives, from measured motions.

    tau = inverse dynamics + armature qdd + damping v + friction sign(v). Every result is physical: masses are positive,
    inertias are those of rigid bodies, friction is not negative.

    Parameters
    ----------
    model : the prior model
    q, v, qdd, tau : measured states and joint forces, (samples, n) each
    drive : terms to identify, of "armature", "damping" and "friction"
    noise : standard deviation of tau, one number or one for each DoF
    prior : weight of the prior model (see `consistent`); it determines what the measurements do not
    method : "divergence", Newton's method inside the cone of physical inertias, or "lmi", a semidefinite program by
        cvxpy whose results may lie on the boundary of the cone (bodies as thin as a rod)
    """
    if not 0.0 < prior < np.inf:
        raise OptionError(f"identify: prior must be positive, got {prior}")
    if method not in get_args(Method):
        raise OptionError(f"identify: method is 'divergence' or 'lmi', got {method!r}")
    drive = check_drive(drive)
    samples = check_samples(model, (q, v, qdd, tau), noise)
    found, names = equations(model, samples, drive), names_of(model, drive)
    x = _fitted(found, model, drive, prior, fit_in_the_cone if method == "divergence" else fit_by_inequalities)
    base = seen_in(found, names)
    left = float(np.sum((found.R @ x - found.z) ** 2)) + found.rest
    free = _least(found)
    spread = left / max(found.rows - base.rank, 1)
    return Identification(
        _corrected(model, x, drive), names, x, _standard_errors(found, spread),
        float(np.sqrt(left / found.rows)), float(np.sqrt(free / found.rows)), base,
    )  # fmt: skip


def _least(found: Equations) -> float:
    best = np.linalg.lstsq(found.R, found.z, rcond=1e-12)[0]
    return float(np.sum((found.R @ best - found.z) ** 2)) + found.rest


def _fitted(found: Equations, model: Model, drive: tuple[str, ...], prior: float, fit: Fit) -> FloatArray:
    """Inertias and terms, all inside the cone."""
    terms = [np.maximum(getattr(model, name), SMALLEST_TERM) for name in drive]
    start = Prior(thickened(model.inertias), np.concatenate([np.zeros(0), *terms]))
    return fit(found.R, found.z, start, prior)


def _standard_errors(found: Equations, spread: float) -> FloatArray:
    """Of each unknown alone, to first order; infinite where it is not determined."""
    scale = np.linalg.norm(found.R, axis=0)
    W = found.R / np.where(scale > 0.0, scale, 1.0)
    _, s, Vt = np.linalg.svd(W)
    good = s > 1e-9 * s.max(initial=0.0)
    seen = np.sum(Vt[good] ** 2, axis=0) > 1.0 - 1e-6
    variance = np.sum((Vt[good] / s[good][:, None]) ** 2, axis=0)
    return np.where(seen & (scale > 0.0), np.sqrt(spread * variance) / np.where(scale > 0.0, scale, 1.0), np.inf)


def _corrected(model: Model, x: FloatArray, drive: tuple[str, ...]) -> Model:
    """The model with all that was found."""
    n, nv = len(model.joints), model.nv
    better = model.with_inertias(x[: 10 * n].reshape(n, 10), check=False)
    terms = dict(zip(drive, x[10 * n :].reshape(len(drive), nv), strict=True))
    passive = better.passive._replace(**{k: a for k, a in terms.items() if k != "armature"})
    mechanism = better.mechanism
    if "armature" in terms:
        mechanism = mechanism._replace(armature=terms["armature"][mechanism.v_index])
    return replace(better, passive=passive, mechanism=mechanism)


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
