"""Impulses of dry friction and stops at the end of a step (Moreau 1988): the nearest velocity that both allow.

With A = M^-1 on the freedoms concerned and u the velocity without them, the impulses lam make v = u + A lam the minimum
of 1/2 |v - u|^2 in the metric M + sum of friction_i |v_i|, lower_i <= v_i <= upper_i. As zero is allowed and costs
nothing, |v| <= |u| in that metric: neither friction nor stops can ever feed energy in, whatever the step.
"""

from __future__ import annotations

import numpy as np

from bough.types import FloatArray

# Newton's steps end when no freedom changes between sticking, slipping and stopping; sweeps are the safe road behind.
NEWTON_STEPS, SWEEPS, TOLERANCE = 30, 2000, 1e-13


def joint_impulses(
    A: FloatArray, u: FloatArray, friction: FloatArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """lam (batch, k) for A (batch, k, k), u (batch, k), friction (k,) in N m s, and bounds (batch, k) around zero.

    Semismooth Newton: given which freedoms stick, slip or stop, lam is linear in u; a wrong guess corrects itself.
    """
    lam, last = np.zeros_like(u), None
    own, one = np.diagonal(A, axis1=-2, axis2=-1), np.eye(u.shape[-1])
    for _ in range(NEWTON_STEPS):
        z = u + _times(A, lam) - own * lam
        s = _shrink(z, own * friction)
        low, high, stuck = s < lower, s > upper, (s == 0.0) & (friction > 0.0)
        state = np.stack([low, high, stuck, s > 0.0])
        if last is not None and (state == last).all():
            return lam
        last, held = state, low | high | stuck
        goal = np.where(low, lower, np.where(high, upper, 0.0))
        known = np.where(held, goal - u, -friction * np.sign(s))
        lam = np.linalg.solve(np.where(held[..., None], A, one), known[..., None])[..., 0]
    return _by_sweeps(A, u, friction, (lower, upper))


def _by_sweeps(A: FloatArray, u: FloatArray, friction: FloatArray, bounds: tuple[FloatArray, FloatArray]) -> FloatArray:
    """The same by Gauss-Seidel sweeps, which always converge."""
    lam, own = np.zeros_like(u), np.diagonal(A, axis1=-2, axis2=-1)
    for _ in range(SWEEPS):
        before = lam.copy()
        for i in range(u.shape[-1]):
            z = u[..., i] + (A[..., i, :] * lam).sum(axis=-1) - own[..., i] * lam[..., i]
            v = np.clip(_shrink(z, own[..., i] * friction[i]), bounds[0][..., i], bounds[1][..., i])
            lam[..., i] = (v - z) / own[..., i]
        if np.abs(lam - before).max(initial=0.0) <= TOLERANCE * np.abs(lam).max(initial=0.0):
            break
    return lam


def _shrink(x: FloatArray, by: FloatArray) -> FloatArray:
    """x moved towards zero by at most `by`."""
    return x - np.clip(x, -by, by)


def _times(A: FloatArray, x: FloatArray) -> FloatArray:
    return (A @ x[..., None])[..., 0]
