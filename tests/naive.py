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


def step_with_laws(model, H, C, q, v, tau, dt, integrator="semi_implicit_euler"):
    """(q, v) after a step of a model whose joints are revolute or prismatic, from functions H(q) and C(q, v).

    Semi-implicit Euler is `step_with_rows`. In the other rules joints that stick or are at a stop after it are locked:
    an impulse gives them their velocity, which they keep; the others keep their friction, and no stop is passed.
    """
    limits, count = model.limits, len(v)
    after, lam = step_with_rows(model, H(q), C(q, v), q, v, tau, dt)
    if integrator == "semi_implicit_euler":
        return q + dt * after, after
    x = np.array([q[model.joint(name).q][0] for name in model.joint_names])
    lower, upper = np.minimum((limits.lower - x) / dt, 0.0), np.maximum((limits.upper - x) / dt, 0.0)
    rough = model.friction > 0.0
    stopped = (np.abs(after - lower) < 1e-9) & (lam > 0.0) | (np.abs(after - upper) < 1e-9) & (lam < 0.0)
    locked = (rough & (np.abs(after) < 1e-9)) | stopped
    free, rub = np.flatnonzero(~locked), np.where(locked, 0.0, -model.friction * np.sign(after))
    v = v.copy()
    if locked.any():
        jump = np.where(locked, np.where(stopped, np.clip(after, lower, upper), 0.0) - v, 0.0)
        M = H(q)
        jump[free] = -np.linalg.solve(M[np.ix_(free, free)], M[np.ix_(free, np.flatnonzero(locked))] @ jump[locked])
        v += jump

    def rate(y):
        x, u = y[:count], y[count:]
        force = tau + rub - C(x, u) - model.stiffness * (x - model.rest) - model.damping * u
        out = np.zeros(count)
        out[free] = np.linalg.solve(H(x)[np.ix_(free, free)], force[free])
        return np.r_[u, out]

    y = np.r_[q, v]
    if integrator == "runge_kutta_4":
        a = rate(y)
        b = rate(y + dt / 2 * a)
        c = rate(y + dt / 2 * b)
        y = y + dt / 6 * (a + 2 * b + 2 * c + rate(y + dt * c))
    else:
        middle = y
        for _ in range(60):
            middle = y + dt / 2 * rate(middle)
        y = 2 * middle - y
    return np.clip(y[:count], np.minimum(q, limits.lower), np.maximum(q, limits.upper)), y[count:]


def step_with_rows(model, H, C, q, v, tau, dt, contacts=(), loops=None):
    """The velocity after a semi-implicit step from dense H and C, and impulses: of all joints, then of contacts.

    (H + dt B) u = H v + dt (tau - C - K x); u is projected onto loops J v = 0, and impulses act within them. Contacts
    are (J (3, nv) with the normal first, distance, friction). By Gauss-Seidel sweeps, in which a contact is projected
    onto its cone after the change of variables of de Saxce & Feng (1998): lam = P(lam - r (w + mu |w_t| n)).
    """
    nv, limits = len(v), model.limits
    M = H + dt * np.diag(model.damping)
    spring = model.stiffness * model.difference(model.rest_configuration, q)
    u = np.linalg.solve(M, H @ v + dt * (tau - C - spring))
    inverse = np.linalg.inv(M)
    if loops is not None:
        inverse = inverse - inverse @ loops.T @ np.linalg.pinv(loops @ inverse @ loops.T, rcond=1e-9) @ loops @ inverse
        u = inverse @ M @ u
    x = np.array([q[model.joint(name).q][0] for name in model.joint_names])
    lower, upper = np.minimum((limits.lower - x) / dt, 0.0), np.maximum((limits.upper - x) / dt, 0.0)
    J = np.vstack([np.eye(nv), *(c[0] for c in contacts)])
    A, b, friction = J @ inverse @ J.T, J @ u, dt * model.friction
    for c, (_, distance, _) in enumerate(contacts):
        b[nv + 3 * c] += max(distance, 0.0) / dt
    lam, own = np.zeros(len(b)), np.diag(A)
    for _ in range(100_000):
        before = lam.copy()
        for i in range(nv):
            z = b[i] + A[i] @ lam - own[i] * lam[i]
            rest = z - np.clip(z, -own[i] * friction[i], own[i] * friction[i])
            lam[i] = (np.clip(rest, lower[i], upper[i]) - z) / own[i] if own[i] > 1e-12 else 0.0
        for c, (_, _, mu) in enumerate(contacts):
            at = slice(nv + 3 * c, nv + 3 * c + 3)
            w = b[at] + A[at] @ lam
            w[0] += mu * np.linalg.norm(w[1:])
            lam[at] = onto_cone(lam[at] - w / np.linalg.norm(A[at, at], 2), mu)
        if np.abs(A @ (lam - before)).max() <= 1e-14 * (1 + np.abs(b).max()):
            break
    return u + inverse @ J.T @ lam, lam


def onto_cone(f, mu):
    """The point of |f_t| <= mu f_n that is nearest to f."""
    size = np.linalg.norm(f[1:])
    if size <= mu * f[0]:
        return f
    if mu * size <= -f[0]:
        return np.zeros(3)
    normal = (f[0] + mu * size) / (1 + mu * mu)
    return np.r_[normal, mu * normal * f[1:] / size]
