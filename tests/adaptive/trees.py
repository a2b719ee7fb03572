"""Assembly trees redone by the kernels as plain Python, and what their clusters are as dense equations."""

from __future__ import annotations

import numpy as np

from adaptive.linkages import TYPES, random_linkage
from bough.adaptive.tree.algebra import full
from bough.adaptive.tree.assembly import make_metric
from bough.adaptive.tree.blocks import full_six, symmetric_six
from bough.adaptive.tree.layout import RIGID, TOTAL, make_keeps, make_layout, make_shared, make_state
from bough.adaptive.tree.passes import place_all
from bough.dynamics.newton_euler import gyroscopic_force, squares
from bough.joints import freedom

EYE = [tuple(row) for row in np.eye(6)]


def skew(a):
    return np.cross(np.eye(3), a)


def six_by_six(I):
    """(6, 6) of the ten numbers of a rigid inertia."""
    J, h = np.array([[I[0], I[3], I[4]], [I[3], I[1], I[5]], [I[4], I[5], I[2]]]), np.array(I[6:9])
    return np.block([[J, skew(h)], [skew(h).T, I[9] * np.eye(3)]])


def symmetric(r, at):
    return np.array([symmetric_six(r, at, e) for e in EYE]).T


def general(r, at):
    return np.array([full_six(r, at, e) for e in EYE]).T


class PlainTree:
    """A random linkage under forces and torques, all its nodes redone."""

    def __init__(self, seed, size=7, types=TYPES, keeps=TOTAL | RIGID):
        self.rng = rng = np.random.default_rng(seed)
        self.twin = random_linkage(seed, size, types, forest=False)
        model = self.model = self.twin.model
        self.m, (self.plan, link) = model.mechanism, make_layout(model)
        assert (self.plan.copies == 1).all()
        shared = make_shared(model)
        shared.q[:], shared.tau[:] = model.random_configuration(rng), rng.normal(size=len(shared.tau))
        shared.force[self.plan.last] = rng.normal(size=(len(self.plan.last), 6))
        self.st = make_state(model, self.plan, link, make_metric(model, link, None), shared, False)
        place_all(self.m, self.plan, self.st)
        self.nodes = range(len(self.plan.left))
        for n in self.nodes:
            full(self.m, self.plan, self.st, n, make_keeps(keeps))

    def record(self, n):
        return self.st.record[self.plan.offset[n] : self.plan.offset[n + 1]]

    def pose(self, b):
        """(R, p) of body b in its parent's frame."""
        x = self.st.X[self.plan.last[b]]
        return x[:9].reshape(3, 3), x[9:]

    def clusters(self):
        return [(n, Cluster(self, n)) for n in self.nodes]


class Cluster:
    """Node n as bodies with accelerations J y + c, where y = (near handle unless it is the ground, joints)."""

    def __init__(self, tree, n, w=(0.0, 0.0, 0.0)):
        plan, m, st = tree.plan, tree.m, tree.st
        self.tree, self.ground = tree, plan.near[n] == len(plan.parent)
        self.joints, self.bodies, waiting = [], [], [n]
        while waiting:
            code = waiting.pop()
            if code < 0:
                self.bodies.append(int(plan.leaf_body[~code]))
            else:
                self.joints.append(int(plan.body[code]))
                waiting += [plan.left[code], plan.right[code]]
        self.joints.sort()
        self.dofs = np.concatenate([np.arange(plan.dof[b], plan.dof[b + 1]) for b in self.joints])
        self.near, base = int(plan.near[n]), 0 if self.ground else 6
        size = base + len(self.dofs)
        up = -m.gravity if self.ground else np.zeros(3)
        self.J, self.c = {self.near: np.eye(6, size) if base else np.zeros((6, size))}, {self.near: np.zeros(6)}
        self.X, self.w = {self.near: np.eye(6)}, {self.near: np.array(w)}
        self.c[self.near][3:] = up
        at = base
        for b in self.joints:
            p = len(plan.parent) if plan.parent[b] < 0 else int(plan.parent[b])
            R, r = tree.pose(b)
            X = np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(r), R.T]])
            turn = np.concatenate([np.zeros(3), np.cross(self.w[p], np.cross(self.w[p], r))])
            self.J[b], self.c[b] = X @ self.J[p], X @ (self.c[p] + turn)
            self.X[b], self.w[b] = X @ self.X[p], R.T @ self.w[p]
            for k in range(plan.dof[b], plan.dof[b + 1]):
                self.J[b][:, at] += freedom(m, k, 1.0) if plan.simple[b] else st.freedoms[k]
                at += 1
        self.real = [b for b in self.bodies if b < len(plan.parent)]
        self.ten = {b: tuple(m.inertia[plan.last[b]]) for b in self.real}
        self.I = {b: six_by_six(self.ten[b]) for b in self.real}
        turning = {b: gyroscopic_force(self.ten[b], squares(tuple(self.w[b]))) for b in self.real}
        self.F = {b: st.force[plan.last[b]] - turning[b] for b in self.real}
        self.M = sum((self.J[b].T @ self.I[b] @ self.J[b] for b in self.real), np.zeros((size, size)))
        self.Q = np.concatenate([np.zeros(base), st.tau[self.dofs]])
        self.handles = [self.near]
        if plan.handles[n] == 2:
            while n >= 0 and plan.handles[n] == 2:
                n = int(plan.right[n])
            self.handles.append(int(plan.leaf_body[~n] if n < 0 else plan.near[n]))

    def motion(self, *forces):
        """y under forces on the handles."""
        pull = self.Q + sum((self.J[b].T @ (self.F[b] - self.I[b] @ self.c[b]) for b in self.real), 0.0 * self.Q)
        for b, f in zip(self.handles, forces, strict=False):
            pull = pull + self.J[b].T @ f
        return np.linalg.solve(self.M, pull)

    def accelerations(self, *forces):
        y = self.motion(*forces)
        return {b: self.J[b] @ y + self.c[b] for b in self.J}

    def rigid(self, *forces):
        """The same with all joints locked."""
        if self.ground:
            return {b: self.c[b] for b in self.J}
        total = sum(self.X[b].T @ (self.F[b] - self.I[b] @ self.c[b]) for b in self.real)
        for b, f in zip(self.handles, forces, strict=False):
            total = total + self.X[b].T @ f
        a = np.linalg.solve(sum(self.X[b].T @ self.I[b] @ self.X[b] for b in self.real), total)
        return {b: self.X[b] @ a + self.c[b] for b in self.J}

    def released(self, *forces):
        """What release of its joints adds, squared in the mass metric."""
        free, held = self.accelerations(*forces), self.rigid(*forces)
        return sum((free[b] - held[b]) @ self.I[b] @ (free[b] - held[b]) for b in self.real)
