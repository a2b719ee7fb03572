"""Impulses where contacts slip and joints stop: generalised Newton steps (Alart & Curnier 1991), many states at once.

Sweeps (`cone`) take hundreds of turns where a contact that slips and a stop act on one limb. A Newton step solves all
rows together, for the state that each law is in: a contact opens, sticks, or slips along p = f - r w; a joint is free,
slips, sticks or is at a stop. Where steps do not converge, whoever calls goes on by sweeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bough.types import FloatArray

STEPS, CONVERGED, SHARE = 25, 1e-6, 1e-13  # a change that is small is the last but one: steps converge quadratically


class RowProblem(NamedTuple):
    """w = A lam + b of a batch, and its laws: joints first, then normal and two tangents of each contact."""

    A: FloatArray  # (batch, rows, rows)
    b: FloatArray  # (batch, rows)
    friction: FloatArray  # (batch, laws) an impulse for joints, a coefficient for contacts
    lower: FloatArray  # (batch, laws) velocities of joints
    upper: FloatArray  # (batch, laws)

    def some(self, rows: Any) -> RowProblem:
        """These states alone."""
        return RowProblem(*(x[rows] for x in self))


def newton_impulses(problem: RowProblem, start: FloatArray) -> FloatArray:
    """lam (batch, rows) from `start`, as near as the steps come."""
    lam, left = start.copy(), np.arange(len(start))
    scale = np.abs(np.diagonal(problem.A, axis1=-2, axis2=-1))
    for _ in range(STEPS):
        some = problem.some(left)
        F, G = _linearised(some, lam[left])
        try:
            change = -np.linalg.solve(G, F[..., None])[..., 0]
        except np.linalg.LinAlgError:
            return lam
        change[~np.isfinite(change).all(axis=1)] = 0.0
        lam[left] += change
        speed = np.abs(change * scale[left]).max(axis=1)
        left = left[speed > CONVERGED * (1.0 + np.abs(some.b).max(axis=1))]
        if not len(left):
            break
    return lam


def _linearised(problem: RowProblem, lam: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F (batch, rows), zero where all laws hold, and its generalised derivative G (batch, rows, rows)."""
    A, b, friction, lower, upper = problem
    rows = lam.shape[1]
    joints = (3 * friction.shape[1] - rows) // 2
    own, one = np.diagonal(A, axis1=-2, axis2=-1), np.eye(rows)
    w = (A @ lam[..., None])[..., 0] + b
    F, G = lam.copy(), np.broadcast_to(one, A.shape).copy()
    soft = A + SHARE * own.max(axis=1)[:, None, None] * one  # redundant rows get the least impulses

    def hold(at: Any, goal: Any) -> None:
        """Rows whose velocity is known."""
        F[at], G[at] = w[at] - goal, soft[at]

    z = w[:, :joints] - own[:, :joints] * lam[:, :joints]
    f, shrink = friction[:, :joints], own[:, :joints] * friction[:, :joints]
    free = z - np.clip(z, -shrink, shrink)
    goal = np.clip(free, lower[:, :joints], upper[:, :joints])
    known = (free != goal) | ((free == 0.0) & (f > 0.0))
    F[:, :joints] = np.where(known, 0.0, lam[:, :joints] + f * np.sign(free))
    at = np.nonzero(known)
    hold(at, goal[at])
    # contacts
    n = np.arange(joints, rows, 3)
    r = 1.0 / own[:, n]
    mu, t = friction[:, joints:], np.stack([n + 1, n + 2], axis=-1)
    press = lam[:, n] - r * w[:, n]
    p = lam[:, t] - r[..., None] * w[:, t]
    size = np.linalg.norm(p, axis=-1)
    sticks, slips = (press > 0.0) & (size <= mu * press), (press > 0.0) & (size > mu * press)
    state, c = np.nonzero(sticks | slips)
    hold((state, n[c]), 0.0)
    state, c = np.nonzero(sticks)
    hold((state, n[c] + 1), 0.0)
    hold((state, n[c] + 2), 0.0)
    state, c = np.nonzero(slips)
    k, x, mu, normal = t[c], p[state, c] / size[state, c][:, None], mu[state, c][:, None], n[c]
    pair = state[:, None], k
    bent = mu[..., None] * np.maximum(lam[state, normal], 0.0)[:, None, None] / size[state, c][:, None, None]
    turn = bent * (np.eye(2) - x[:, :, None] * x[:, None, :])
    F[pair] = lam[pair] - mu * lam[state, normal][:, None] * x
    G[pair] = one[k] - turn @ (one[k] - r[state, c][:, None, None] * A[pair])
    G[state[:, None], k, normal[:, None]] -= mu * x
    return F, G
