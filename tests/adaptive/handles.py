"""Divide and conquer with any number of handles, small and dense (Featherstone 1999; Redon & Lin 2005; K-form).

An articulated body answers forces f on its handles (6 numbers each, stacked) by a = Phi f + b, and its joints by a
total acceleration A = f' Psi f + f' p + eta. Two bodies are put side by side, then a joint between two handles is
closed; a loop is the same with both handles on one body. Phi over the handles left open is the inverse
operational-space inertia Lambda^-1 of those handles. Everything is in one common frame, angular part first; relative
to free fall, so the ground accelerates by -g.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bough.errors import ShapeError, UnknownNameError
from bough.types import FloatArray

# Constraint directions softer than this against the stiffest are redundant: their force is not determined.
REDUNDANT = 1e-10


@dataclass(frozen=True)
class Articulated:
    """An articulated body with open handles; `closed` remembers how it was made, for accelerations afterwards."""

    handles: tuple[Hashable, ...]
    Phi: FloatArray
    b: FloatArray
    Psi: FloatArray
    p: FloatArray
    eta: float = 0.0
    closed: Any = field(default=None, repr=False)

    def at(self, handle: Hashable) -> slice:
        """Where a handle sits in stacked vectors."""
        if handle not in self.handles:
            raise UnknownNameError(f"there is no open handle {handle!r}: open are {list(self.handles)}")
        k = 6 * self.handles.index(handle)
        return slice(k, k + 6)

    def total_acceleration(self, f: npt.ArrayLike | None = None) -> float:
        """The weighted sum of squares of all joint accelerations inside, under forces f on the handles."""
        x = np.zeros(len(self.b)) if f is None else np.asarray(f, float)
        return float(x @ self.Psi @ x + x @ self.p + self.eta)

    def inverse_inertia(self, handle: Hashable) -> FloatArray:
        """Lambda^-1 of a handle, (6, 6)."""
        return np.array(self.Phi[self.at(handle), self.at(handle)])


def leaf(handle: Hashable, inertia: npt.ArrayLike, force: npt.ArrayLike | None = None) -> Articulated:
    """A rigid body: spatial inertia (6, 6) and applied force (6,)."""
    I = np.asarray(inertia, float)
    if I.shape != (6, 6):
        raise ShapeError(f"inertia of {handle!r}: expected shape (6, 6), got {I.shape}")
    Phi = np.linalg.inv(I)
    b = Phi @ (np.zeros(6) if force is None else np.asarray(force, float))
    return Articulated((handle,), Phi, b, np.zeros((6, 6)), np.zeros(6))


def ground(handle: Hashable, gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> Articulated:
    """The ground: no force moves it."""
    b = np.concatenate([np.zeros(3), -np.asarray(gravity, float)])
    return Articulated((handle,), np.zeros((6, 6)), b, np.zeros((6, 6)), np.zeros(6))


def side_by_side(A: Articulated, B: Articulated) -> Articulated:
    """Two bodies as one, not yet joined."""
    blocks = [
        np.block([[X, np.zeros((len(X), len(Y)))], [np.zeros((len(Y), len(X))), Y]])
        for X, Y in ((A.Phi, B.Phi), (A.Psi, B.Psi))
    ]
    b, p = np.concatenate([A.b, B.b]), np.concatenate([A.p, B.p])
    return Articulated(A.handles + B.handles, blocks[0], b, blocks[1], p, A.eta + B.eta, ("pair", A, B))


def close(
    C: Articulated,
    i: Hashable,
    j: Hashable,
    S: npt.ArrayLike,
    Q: npt.ArrayLike = (),
    weight: npt.ArrayLike | None = None,
) -> Articulated:
    """Close a joint from handle i (parent's side) to handle j: a_j - a_i = S qdd, S (6, d), joint force Q (d,).

    Both handles stay open. Works for loops, redundant ones included; a weld is S of shape (6, 0).
    """
    S = np.asarray(S, float).reshape(6, -1)
    Q = np.asarray(Q, float) if np.size(Q) else np.zeros(S.shape[1])
    w = np.eye(S.shape[1]) if weight is None else np.asarray(weight, float)
    E = np.zeros((len(C.b), 6))
    E[C.at(j)], E[C.at(i)] = np.eye(6), -np.eye(6)
    K, d = E.T @ C.Phi @ E, E.T @ C.Phi
    W, U, D = joint_response(K, S)
    beta = -E.T @ C.b
    gamma, R = W @ beta + U.T @ Q, D @ Q - U @ beta
    # forces on the handles before: M f + E gamma
    M, Eg, Ud = np.eye(len(C.b)) - E @ W @ d, E @ gamma, U @ d
    Psi = M.T @ C.Psi @ M + Ud.T @ w @ Ud
    p = M.T @ (C.p + 2.0 * C.Psi @ Eg) + 2.0 * Ud.T @ w @ R
    eta = C.eta + float(Eg @ C.Psi @ Eg + Eg @ C.p + R @ w @ R)
    return Articulated(
        C.handles, C.Phi - d.T @ W @ d, C.b + d.T @ gamma, Psi, p, eta, ("joint", C, M, Eg, Ud, R, (i, j))
    )


def joint_response(K: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """W, U, D of a joint: constraint force f = W (gap in acceleration) + U' Q, joint acceleration D Q - U (gap)."""
    d = S.shape[1]
    u, _, _ = np.linalg.svd(S, full_matrices=True)
    T = u[:, d:]
    Ta = S @ np.linalg.inv(S.T @ S) if d else np.zeros((6, 0))
    W = T @ np.linalg.pinv(T.T @ K @ T, rcond=REDUNDANT, hermitian=True) @ T.T
    return W, Ta.T @ (np.eye(6) - K @ W), Ta.T @ (K - K @ W @ K) @ Ta


def accelerations(C: Articulated, f: npt.ArrayLike | None = None) -> dict[tuple[Hashable, Hashable], FloatArray]:
    """qdd of every joint inside, by its pair of handles, under forces f on the open handles."""
    found: dict[tuple[Hashable, Hashable], FloatArray] = {}
    todo = [(C, np.zeros(len(C.b)) if f is None else np.asarray(f, float))]
    while todo:
        body, force = todo.pop()
        if body.closed is None:
            continue
        kind, inner, *rest = body.closed
        if kind == "pair":
            todo += [(inner, force[: len(inner.b)]), (rest[0], force[len(inner.b) :])]
        else:
            M, Eg, Ud, R, name = rest
            found[name] = R + Ud @ force
            todo.append((inner, M @ force + Eg))
    return found
