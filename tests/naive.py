"""Slow and obvious oracles, written from the definitions. Never imported by the package."""

from __future__ import annotations

import numpy as np

# Trees: parent arrays in any order, -1 = base.


def path(parent, i):
    return [*path(parent, parent[i]), i] if i >= 0 else []


def subtree(parent, i):
    return {j for j in range(len(parent)) if i in path(parent, j)}


def children(parent, i):
    return [j for j in range(len(parent)) if parent[j] == i]


def common_ancestor(parent, i, j):
    shared = [k for k in path(parent, i) if k in path(parent, j)]
    return shared[-1] if shared else -1


def depth_first(parent, i=-1):
    below = [k for child in children(parent, i) for k in depth_first(parent, child)]
    return below if i < 0 else [i, *below]


def pattern(parent):
    """True where i and j lie on one path."""
    paths = [set(path(parent, i)) for i in range(len(parent))]
    return np.array([[i in paths[j] or j in paths[i] for j in range(len(parent))] for i in range(len(parent))])


def sums(parent):
    """(D0, D1, D2) of Featherstone 2005."""
    d = [len(path(parent, i)) for i in range(len(parent))]
    return sum(min(1, x - 1) for x in d), sum(x - 1 for x in d), sum(x * (x - 1) // 2 for x in d)


# Factorizations: dense, in a numbering with parents before children.


def ltl(H):
    """Lower triangular L with H = L' L: Cholesky of H with rows and columns reversed."""
    return np.linalg.cholesky(H[::-1, ::-1])[::-1, ::-1].T


def ltdl(H):
    """Unit lower triangular L and d with H = L' diag(d) L."""
    L = ltl(H)
    return L / np.diag(L)[:, None], np.diag(L) ** 2


# Physics: every body in world coordinates, spatial vectors (angular, linear) about the world's origin, dense matrices.
# A body is given as `models.Body`; q and v follow the order of the bodies. Precision is that of the arrays given.


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def motion_transform(R, p):
    """Motions given in the frame placed at (R, p), seen in the frame in which it is placed."""
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def motion_cross(v):
    """v x, for motions; minus its transpose is v x*, for forces."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def turn(axis, angle):
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def quaternion_rotation(q):
    x, y, z, w = q / np.linalg.norm(q)
    K = skew([x, y, z])
    return np.eye(3) + 2 * w * K + 2 * K @ K


def joint(kind, q, axes, pitch):
    """Placement (R, p) of the moved joint frame, and the freedoms (6, dofs) in that frame."""
    none, a = np.zeros(3), np.asarray(axes).reshape(-1, 3)
    if kind in ("revolute", "continuous", "helical"):
        return turn(a[0], q[0]), pitch * q[0] * a[0], np.concatenate([a[0], pitch * a[0]])[:, None]
    if kind == "prismatic":
        return np.eye(3), q[0] * a[0], np.concatenate([none, a[0]])[:, None]
    if kind == "cylindrical":
        S = np.stack([np.concatenate([a[0], none]), np.concatenate([none, a[0]])], axis=1)
        return turn(a[0], q[0]), q[1] * a[0], S
    if kind == "universal":
        second = turn(a[1], q[1])
        S = np.stack([np.concatenate([second.T @ a[0], none]), np.concatenate([a[1], none])], axis=1)
        return turn(a[0], q[0]) @ second, none, S
    if kind == "planar":
        return turn(np.eye(3)[2], q[2]), np.array([q[0], q[1], 0]), np.eye(6)[:, [3, 4, 2]]
    if kind == "spherical":
        return quaternion_rotation(q[:4]), none, np.eye(6)[:, :3]
    if kind == "floating":
        return quaternion_rotation(q[3:7]), q[:3], np.eye(6)[:, [3, 4, 5, 0, 1, 2]]
    return np.eye(3), none, np.zeros((6, 0))


def body_inertia(body):
    m, c = body.options["mass"], skew(body.options["com"])
    return np.block([[body.options["inertia"] + m * c @ c.T, m * c], [m * c.T, m * np.eye(3)]])


NQ = {"planar": 3, "spherical": 4, "floating": 7}


class Mechanism:
    """World placements, Jacobians, bias accelerations and inertias of all bodies at one state."""

    def __init__(self, bodies, q, v, gravity=(0, 0, -9.81)):
        self.placement, self.J, self.I, self.gravity = [], [], [], np.asarray(gravity)
        self.bias, velocity, nv, armature = [], [], len(v), []
        at_q = at_v = 0
        for body in bodies:
            R0, p0 = self.placement[body.parent] if body.parent >= 0 else (np.eye(3), np.zeros(3))
            R0, p0 = R0 @ body.R, p0 + R0 @ body.p
            options = body.options
            RJ, pJ, S = joint(body.joint, q[at_q:], options["axis"], options.get("pitch", 0.0))
            R, p = R0 @ RJ, p0 + R0 @ pJ
            J = self.J[body.parent].copy() if body.parent >= 0 else np.zeros((6, nv), v.dtype)
            J[:, at_v : at_v + S.shape[1]] = motion_transform(R, p) @ S
            inward = motion_transform(R.T, -R.T @ p)
            self.placement.append((R, p))
            self.J.append(J)
            self.I.append(inward.T @ body_inertia(body) @ inward)
            velocity.append(J @ v)
            # the freedoms are fixed in the body, except the first of a universal joint, fixed in the body before
            mine = np.zeros(nv, v.dtype)
            mine[at_v : at_v + S.shape[1]] = v[at_v : at_v + S.shape[1]]
            carried = motion_cross(velocity[-1]) @ J @ mine
            if body.joint == "universal":
                carried -= motion_cross(J[:, at_v + 1] * v[at_v + 1]) @ J[:, at_v] * v[at_v]
            self.bias.append(carried + (self.bias[body.parent] if body.parent >= 0 else 0))
            armature += [options.get("armature", 0.0)] * S.shape[1]
            at_q += 0 if body.joint == "fixed" else NQ.get(body.joint, S.shape[1])
            at_v += S.shape[1]
        self.v, self.velocity, self.armature = v, velocity, np.diag(armature)

    def mass_matrix(self):
        return sum(J.T @ I @ J for J, I in zip(self.J, self.I, strict=True)) + self.armature

    def inverse_dynamics(self, qdd):
        """d'Alembert: the forces that the motion of each body takes, felt at the joints."""
        tau, gravity = self.armature @ qdd, np.concatenate([np.zeros(3), self.gravity])
        for J, I, v, bias in zip(self.J, self.I, self.velocity, self.bias, strict=True):
            tau = tau + J.T @ (I @ (J @ qdd + bias - gravity) - motion_cross(v).T @ I @ v)
        return tau

    def kinetic_energy(self):
        return self.v @ self.mass_matrix() @ self.v / 2

    def mass(self):
        return sum(I[5, 5] for I in self.I)

    def center_of_mass(self):
        return sum(np.array([I[2, 4], I[0, 5], I[1, 3]]) for I in self.I) / self.mass()

    def potential_energy(self):
        return -self.mass() * self.gravity @ self.center_of_mass()

    def momentum(self):
        """[linear, angular] about the world's origin."""
        h = sum(I @ v for I, v in zip(self.I, self.velocity, strict=True))
        return np.concatenate([h[3:], h[:3]])

    def centroidal_momentum(self):
        h = self.momentum()
        return np.concatenate([h[:3], h[3:] - np.cross(self.center_of_mass(), h[:3])])

    def center_of_mass_jacobian(self):
        return sum(I[3:] @ J for I, J in zip(self.I, self.J, strict=True)) / self.mass()

    def frame(self, body, R, p, reference):
        """Placement (4, 4), Jacobian (6, nv) [linear, angular] and bias acceleration (6,) of a frame on a body."""
        R, p = self.placement[body][0] @ R, self.placement[body][1] + self.placement[body][0] @ p
        at = {"local": (R, p), "world": (np.eye(3), np.zeros(3)), "local_world_aligned": (np.eye(3), p)}[reference]
        X = np.linalg.inv(motion_transform(*at))[[3, 4, 5, 0, 1, 2]]
        J, bias = X @ self.J[body], X @ self.bias[body]
        if reference == "local_world_aligned":
            velocity = J @ self.v
            bias[:3] += np.cross(velocity[3:], velocity[:3])
        return np.block([[R, p[:, None]], [np.zeros(3), 1]]), J, bias


def step_with_laws(model, H, C, q, v, tau, dt):
    """(q, v) after a semi-implicit step of a model whose joints are revolute or prismatic, from dense H and C.

    (H + dt B) u = H v + dt (tau - C - K x); then the impulses of stops and dry friction that make the velocity the
    nearest one to u that both allow, by Gauss-Seidel sweeps.
    """
    limits, M = model.limits, H + dt * np.diag(model.damping)
    spring = model.stiffness * model.difference(model.rest_configuration, q)
    push = tau - C - spring - model.damping * v
    u = v + np.linalg.solve(M, dt * push)
    A, friction = np.linalg.inv(M), dt * model.friction
    x = np.array([q[model.joint(name).q][0] for name in model.joint_names])
    lower, upper = np.minimum((limits.lower - x) / dt, 0.0), np.maximum((limits.upper - x) / dt, 0.0)
    lam, own = np.zeros_like(u), np.diag(A)
    for _ in range(20_000):
        before = lam.copy()
        for i in range(len(u)):
            z = u[i] + A[i] @ lam - own[i] * lam[i]
            free = z - np.clip(z, -own[i] * friction[i], own[i] * friction[i])
            lam[i] = (np.clip(free, lower[i], upper[i]) - z) / own[i]
        if np.abs(lam - before).max(initial=0.0) <= 1e-15 * np.abs(lam).max(initial=0.0):
            break
    v = u + A @ lam
    return model.integrate(q, dt * v), v
