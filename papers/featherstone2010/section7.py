"""Section 7 and eq. 32: the innovations factorization by spatial operators beside LTDL, and Jbar from L and Y."""

from __future__ import annotations

from typing import Any

import numpy as np

from bough import zoo
from bough.dynamics import Dynamics
from bough.model import Model
from bough.opspace import OperationalSpace, pose
from bough.sparsity import ltdl, ltl
from bough.types import FloatArray
from papers.result import Result, exact

CLOSE = 1e-10


class Operators:
    """The operators of section 7 as dense matrices, all spatial vectors at the origin of the world.

    There phi(i, j) is 1 for every body i that carries body j. Angular components come first.
    """

    def __init__(self, model: Model, q: FloatArray, targets: list[int]) -> None:
        n, parent = model.nv, model.parent
        S = np.zeros((n, 6))
        I = np.zeros((n, 6, 6))
        dynamics = Dynamics(model)
        for i, body in enumerate(model.body_names):
            T, J = dynamics.placement(q, body), dynamics.jacobian(q, body, "local_world_aligned")[:, i]
            S[i] = [*J[3:], *(J[:3] + np.cross(T[:3, 3], J[3:]))]
            I[i] = at_origin(model.inertias[i], T)
        P, D, G = I.copy(), np.zeros(n), np.zeros((n, 6))
        step = np.zeros((n, 6, 6))  # 1 - G S', what an articulated force loses at a joint
        for i in range(n - 1, -1, -1):
            D[i] = S[i] @ P[i] @ S[i]
            G[i] = P[i] @ S[i] / D[i]
            step[i] = np.eye(6) - np.outer(G[i], S[i])
            if parent[i] >= 0:
                P[parent[i]] += step[i] @ P[i]
        carried = [[i in model.tree.path(j) for j in range(n)] for i in range(n)]
        phi = np.kron(np.array(carried, float), np.eye(6))
        self.psi = phi.copy()
        for j in range(n):
            product = np.eye(6)
            for i in reversed(model.tree.path(j).tolist()):
                self.psi[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = product
                product = step[i] @ product
        self.H = np.zeros((n, 6 * n))
        K = np.zeros((6 * n, n))
        for i in range(n):
            self.H[i, 6 * i : 6 * i + 6] = S[i]
            if parent[i] >= 0:
                K[6 * parent[i] : 6 * parent[i] + 6, i] = G[i]
        self.D, self.factor = np.diag(D), np.eye(n) + self.H @ phi @ K
        self.inverse = np.eye(n) - self.H @ self.psi @ K
        self.B = np.zeros((6 * n, 6 * len(targets)))
        for k, i in enumerate(targets):
            p = dynamics.placement(q, model.body_names[i])[:3, 3]
            self.B[6 * i : 6 * i + 6, 6 * k : 6 * k + 6] = pick_off(p)


def at_origin(inertia: FloatArray, T: FloatArray) -> FloatArray:
    """(6, 6) of a body at the origin of the world, from its ten numbers in its own frame."""
    mass, h = inertia[0], T[:3, :3] @ inertia[1:4] + inertia[0] * T[:3, 3]
    xx, xy, yy, xz, yz, zz = inertia[4:]
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # about the body's origin
    c = inertia[1:4] / mass
    about = own - mass * (c @ c * np.eye(3) - np.outer(c, c))
    d = h / mass
    J = T[:3, :3] @ about @ T[:3, :3].T + mass * (d @ d * np.eye(3) - np.outer(d, d))
    return np.block([[J, cross(h)], [cross(h).T, mass * np.eye(3)]])


def cross(x: FloatArray) -> FloatArray:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def pick_off(p: FloatArray) -> FloatArray:
    """A wrench (force, moment) at p as a moment at the origin and a force."""
    return np.block([[cross(p), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])


def run(full: bool = False) -> Result:
    """Tree 1, one degree of freedom a joint, two bodies as operational points; operators formed densely."""
    model = zoo.tree1()
    q = model.random_configuration(np.random.default_rng(2))
    targets = [3, 6]
    found = Operators(model, q, targets)
    M = Dynamics(model).mass_matrix(q)
    op = OperationalSpace(model, [pose(model.body_names[i]) for i in targets])(q)
    unit, root = ltdl(M, model.dof_tree), ltl(M, model.dof_tree)
    Y_d = np.linalg.solve(unit.L.T, op.J.T).T
    Y = np.linalg.solve(root.L.T, op.J.T).T
    picked = found.B.T @ found.psi.T @ found.H.T
    scaled = picked @ np.diag(np.diag(found.D) ** -0.5)
    rows = [3, 4, 9]  # angular ones: all twelve depend on each other on seven joints, and their Lambda does not exist
    J, lam = op.J[rows], np.linalg.inv(op.inverse_inertia[np.ix_(rows, rows)])
    jbar = np.linalg.solve(root.L, Y[rows].T @ lam)

    def same(a: Any, b: Any) -> bool:
        return bool(np.abs(a - b).max() <= CLOSE * max(1.0, float(np.abs(b).max())))

    return Result((
        exact("eq. 24: M = (1 + H phi K) D (1 + H phi K)'", True, same(found.factor @ found.D @ found.factor.T, M)),
        exact("eq. 25: (1 + H phi K)^-1 = 1 - H psi K", True, same(found.inverse, np.linalg.inv(found.factor))),
        exact("eq. 26: M^-1 = (1 - H psi K)' D^-1 (1 - H psi K)", True,
              same(found.inverse.T @ np.linalg.inv(found.D) @ found.inverse, np.linalg.inv(M))),
        exact("L_d = (1 + H phi K)', and D of LTDL, with one degree of freedom a joint", True,
              same(found.factor.T, unit.L) and same(np.diag(found.D), unit.D)),
        exact("eq. 27: Lambda^-1 = B' psi' H' D^-1 H psi B", True,
              same(picked @ np.linalg.inv(found.D) @ picked.T, op.inverse_inertia)),
        exact("eq. 28: Y_d = B' psi' H'", True, same(picked, Y_d)),
        exact("eq. 29: Y = B' psi' H' D^-1/2", True, same(scaled, Y)),
        exact("eq. 32: Jbar = L^-1 Y' Lambda", True, same(jbar, np.linalg.solve(M, J.T @ lam))),
    ))  # fmt: skip
