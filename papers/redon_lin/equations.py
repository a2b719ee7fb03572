"""Eqs. 1 to 9, Lemma 1, the four error bounds and the order of an update, as printed, on small random linkages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bough import zoo
from bough.adaptive.tree.assembly import assembly_tree
from bough.dynamics import Dynamics
from bough.types import FloatArray
from papers.featherstone2010.section7 import at_origin
from papers.result import MEASURED, Result, Row, exact, ratio, text

CLOSE, TRIALS, JOINTS = 1e-8, 100, 9
EPS = (0.5, 0.1, 0.01)
LEAVES, UPDATED = 2**14, (1, 16, 256, 4096)
REMARKS = (
    "Everything is evaluated as printed, densely, with all spatial vectors at the origin of the world: so the handles "
    "of a body share one frame, and eq. 3 holds. Conventions that the paper leaves open: a_1 of B minus a_2 of A is "
    "S qdd, and f_1 of B is the force on B (errata E24, E25). Linkages: random trees of revolute joints, random forces "
    "on all bodies and joints, joined in random order; a body with several open joints has one handle (E28). "
    "The reference is M qdd = Q + J' f, solved by `Dynamics.forward_dynamics`.",
)


@dataclass
class Node:
    """An articulated body: its handles (one a body with open joints), eqs. 1 and 8, and what it was joined from."""

    handles: list[int]
    Phi: FloatArray
    b: FloatArray
    Psi: FloatArray
    p: FloatArray
    eta: float = 0.0
    joint: int = -1  # the child body of the principal joint
    children: tuple[Node, ...] = ()
    bodies: frozenset[int] = frozenset()
    more: dict[str, Any] = field(default_factory=dict)  # V, W, U, R, beta, gamma

    def of(self, x: FloatArray, *rows: Sequence[int]) -> FloatArray:
        """The blocks of a matrix or vector that belong to these bodies."""
        places = [[6 * self.handles.index(k) + i for k in some for i in range(6)] for some in rows]
        return x[np.ix_(*(np.array(place, int) for place in places))]


class Linkage:
    """A random tree of revolute joints at a random configuration, under random forces; exact accelerations."""

    def __init__(self, seed: int, joints: int = JOINTS, gravity: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        model, self.rng = zoo.random_tree(joints, seed).with_gravity((0.0, 0.0, -gravity)), rng
        q, self.Q = model.random_configuration(rng), rng.normal(size=joints)
        wrenches = rng.normal(size=(joints, 6)) * 10.0 ** rng.uniform(-2, 1, size=(joints, 1))
        dynamics = Dynamics(model, general=True)
        self.qdd = np.asarray(dynamics.forward_dynamics(q, 0 * self.Q, self.Q, wrenches))
        self.S, self.I, self.f = np.zeros((joints, 6)), np.zeros((joints, 6, 6)), np.zeros((joints, 6))
        J = np.zeros((joints, 6, joints))
        for i, body in enumerate(model.body_names):
            T, own = dynamics.placement(q, body), dynamics.jacobian(q, body, "local_world_aligned")
            p, force, moment = T[:3, 3], wrenches[i, :3], wrenches[i, 3:]
            J[i] = np.vstack([own[3:], own[:3] + np.cross(p, own[3:].T).T])
            self.S[i], self.I[i] = J[i][:, i], at_origin(model.inertias[i], T)
            self.f[i] = [*(moment + np.cross(p, force)), *force]
        self.a = J @ self.qdd  # of all bodies
        self.parent = [int(k) for k in model.parent]

    def leaf(self, i: int) -> Node:
        """Eq. 3."""
        inverse = np.linalg.inv(self.I[i])
        none = np.zeros((6, 6))
        return Node([i], inverse, inverse @ self.f[i], none, none[0], bodies=frozenset([i]))

    def is_open(self, i: int, inside: frozenset[int]) -> bool:
        """Has body i a joint to the outside?"""
        return any((i in pair) and not set(pair) <= inside for pair in enumerate(self.parent))

    def join(self, A: Node, B: Node, joint: int) -> Node:
        """Eqs. 2 and 9: A holds the parent of the joint, B the child."""
        a, S, Q = self.parent[joint], self.S[joint][:, None], self.Q[joint : joint + 1]
        bodies = A.bodies | B.bodies
        one = [k for k in A.handles if self.is_open(k, bodies)]
        two = [k for k in B.handles if self.is_open(k, bodies)]
        Phi_1A, Phi_12A, Phi_2A = A.of(A.Phi, one, one), A.of(A.Phi, one, [a]), A.of(A.Phi, [a], [a])
        Phi_1B, Phi_21B, Phi_2B = B.of(B.Phi, [joint], [joint]), B.of(B.Phi, two, [joint]), B.of(B.Phi, two, two)
        Psi_1A, Psi_12A, Psi_2A = A.of(A.Psi, one, one), A.of(A.Psi, one, [a]), A.of(A.Psi, [a], [a])
        Psi_1B, Psi_21B, Psi_2B = B.of(B.Psi, [joint], [joint]), B.of(B.Psi, two, [joint]), B.of(B.Psi, two, two)
        V = np.linalg.inv(Phi_2A + Phi_1B)
        D = np.linalg.inv(S.T @ V @ S)
        W = V - V @ S @ D @ S.T @ V
        beta = A.of(A.b, [a]) - B.of(B.b, [joint])
        gamma = W @ beta + V @ S @ D @ Q
        U = D @ S.T @ V
        R = D @ (Q - S.T @ V @ beta)
        N, H, dp = U.T @ U, Psi_2A + Psi_1B, A.of(A.p, [a]) - B.of(B.p, [joint])
        Y, Z = N + W @ H @ W, 2 * U.T @ R + W @ dp - 2 * W @ H @ gamma
        Phi_21C = Phi_21B @ W @ Phi_12A.T
        Psi_21C = -Phi_21B @ Y @ Phi_12A.T + Phi_21B @ W @ Psi_12A.T + Psi_21B @ W @ Phi_12A.T
        Phi = np.block([[Phi_1A - Phi_12A @ W @ Phi_12A.T, Phi_21C.T], [Phi_21C, Phi_2B - Phi_21B @ W @ Phi_21B.T]])
        Psi_1C = Psi_1A + Phi_12A @ Y @ Phi_12A.T - (Phi_12A @ W @ Psi_12A.T + Psi_12A @ W @ Phi_12A.T)
        Psi_2C = Psi_2B + Phi_21B @ Y @ Phi_21B.T - (Phi_21B @ W @ Psi_21B.T + Psi_21B @ W @ Phi_21B.T)
        b = np.concatenate([A.of(A.b, one) - Phi_12A @ gamma, B.of(B.b, two) + Phi_21B @ gamma])
        p_1C = A.of(A.p, one) - Phi_12A @ Z - 2 * Psi_12A @ gamma
        p_2C = B.of(B.p, two) + Phi_21B @ Z + 2 * Psi_21B @ gamma
        eta = A.eta + B.eta + float(R @ R + gamma @ H @ gamma - gamma @ dp)
        Psi, p = np.block([[Psi_1C, Psi_21C.T], [Psi_21C, Psi_2C]]), np.concatenate([p_1C, p_2C])
        known = {"V": V, "D": D, "W": W, "beta": beta, "gamma": gamma, "one": one, "two": two}
        return Node(one + two, Phi, b, Psi, p, eta, joint, (A, B), bodies, known)

    def assembled(self) -> Node:
        """All bodies, joined in random order; what is left open is the joint to the base."""
        nodes = {i: self.leaf(i) for i in range(len(self.parent))}
        for joint in self.rng.permutation(np.arange(1, len(self.parent))).tolist():
            A, B = nodes[self.parent[joint]], nodes[joint]
            made = self.join(A, B, joint)
            nodes |= dict.fromkeys(made.bodies, made)
        return nodes[0]

    def root(self, B: Node, gravity: FloatArray | float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Eqs. 6 and 7: the acceleration of the joint to the fixed base, and its force."""
        S, Q, V, b = self.S[0][:, None], self.Q[:1], np.linalg.inv(B.Phi), B.b - gravity
        qdd = np.linalg.inv(S.T @ V @ S) @ (Q + S.T @ V @ b)
        return qdd, V @ (S @ qdd - b)

    def split(self, C: Node, f: FloatArray) -> tuple[float, FloatArray, tuple[FloatArray, FloatArray]]:
        """Eqs. 4 and 5: acceleration and force of the principal joint, and the forces on all handles of A and B."""
        (A, B), x, joint = C.children, C.more, C.joint
        a, S, n = self.parent[joint], self.S[joint][:, None], 6 * len(x["one"])
        f_1A, f_2B = f[:n], f[n:]
        e = A.of(A.Phi, [a], x["one"]) @ f_1A - B.of(B.Phi, [joint], x["two"]) @ f_2B
        qdd = x["D"] @ (self.Q[joint : joint + 1] - S.T @ x["V"] @ (e + x["beta"]))
        f_1B = x["W"] @ e + x["gamma"]
        return (
            float(qdd[0]),
            f_1B,
            (on_handles(A, x["one"], f_1A, a, -f_1B), on_handles(B, x["two"], f_2B, joint, f_1B)),
        )


def on_handles(node: Node, bodies: Sequence[int], f: FloatArray, at: int, force: FloatArray) -> FloatArray:
    """Forces on all handles of a node: those on the handles that stay, and that of the joint."""
    found = np.zeros((len(node.handles), 6))
    for k, part in (*zip(bodies, f.reshape(-1, 6), strict=True), (at, force)):
        found[node.handles.index(k)] += part
    return found.ravel()


def total(C: Node, f: FloatArray) -> float:
    """Eq. 8."""
    return max(0.0, float(f @ C.Psi @ f + f @ C.p + C.eta))


class Joint(NamedTuple):
    """An inner node under forces on its handles, with the acceleration and force of its principal joint."""

    node: Node
    f: FloatArray
    qdd: float
    force: FloatArray


def below(x: Linkage, C: Node, f: FloatArray) -> Iterator[Joint]:
    """All joints inside a node."""
    if C.children:
        qdd, force, parts = x.split(C, f)
        yield Joint(C, f, qdd, force)
        for child, part in zip(C.children, parts, strict=True):
            yield from below(x, child, part)


def close(found: Any, expected: Any) -> bool:
    """Equal to rounding."""
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return bool(np.abs(np.asarray(found) - expected).max(initial=0.0) <= CLOSE * scale)


def equations(seed: int) -> dict[str, bool]:
    """Each equation on one linkage."""
    x = Linkage(seed)
    whole = x.assembled()
    qdd, f = x.root(whole)
    joints = list(below(x, whole, f))
    left = np.einsum("nij,nj->ni", x.I, x.a) - x.f
    left[0] -= f
    for j in joints:
        left[j.node.joint] -= j.force
        left[x.parent[j.node.joint]] += j.force
    loads = [(j.node, x.rng.normal(size=len(j.node.p))) for j in joints]
    heavy = Linkage(seed, gravity=9.81)
    weighed = x.root(whole, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81]))
    falling = [j.qdd for j in below(x, whole, weighed[1])]
    order = [j.node.joint for j in joints]
    return {
        "eqs. 1 to 3: Phi f + b are the accelerations of the handles, at every node": all(
            close(j.node.Phi @ j.f + j.node.b, x.a[j.node.handles].ravel()) for j in joints
        ),
        "eq. 4: the accelerations of all inner joints": close([j.qdd for j in joints], x.qdd[order]),
        "eqs. 5 and 7: the forces of all joints balance every body": close(left, 0.0 * left),
        "eq. 6: the joint to the fixed base": close(qdd, x.qdd[:1]),
        "gravity: b_1 - a_g at the root, a_g upwards (E26)": close([*weighed[0], *falling], heavy.qdd[[0, *order]]),
        "Lemma 1 and eq. 8: A(C) is the sum of squared accelerations inside C, at every node": all(
            close(total(j.node, j.f), sum(k.qdd**2 for k in below(x, j.node, j.f))) for j in joints
        ),
        "eq. 9: the same under other forces on the handles of C": all(
            close(total(C, g), sum(k.qdd**2 for k in below(x, C, g))) for C, g in loads
        ),
    }


class Pass(NamedTuple):
    """A partial back-substitution: A of the whole linkage, accelerations that were computed, and A of the queue."""

    whole: float
    computed: dict[int, float]
    queue: list[float]


def passes(x: Linkage) -> Iterator[Pass]:
    """Section 4.3: what is known before each node of the queue is taken, the largest A first."""
    B = x.assembled()
    qdd, f = x.root(B)
    whole = float(qdd @ qdd) + total(B, f)
    yield Pass(whole, {}, [whole])
    computed, queue = {0: float(qdd[0])}, [(total(B, f), B, f)]
    while queue:
        yield Pass(whole, dict(computed), [A for A, _, _ in queue])
        queue.sort(key=lambda entry: entry[0])
        _, C, f = queue.pop()
        if C.children:
            computed[C.joint], _, parts = x.split(C, f)
            queue += [(total(child, part), child, part) for child, part in zip(C.children, parts, strict=True)]
    yield Pass(whole, computed, [0.0])


# Whether a pass may stop at eps; and the error that it then has (definition 2), from exact and omitted accelerations
RULES: dict[str, tuple[Callable[[Pass, float], bool], Callable[[FloatArray, FloatArray], float]]] = {
    "absolute linkage error": (
        lambda p, eps: sum(p.queue) <= eps**2,
        lambda qdd, omitted: float(np.linalg.norm(omitted)),
    ),
    "relative linkage error": (
        lambda p, eps: sum(p.queue) <= eps**2 * p.whole,
        lambda qdd, omitted: float(np.linalg.norm(omitted) / np.linalg.norm(qdd)),
    ),
    "absolute joint error": (
        lambda p, eps: max(p.queue) <= eps**2,
        lambda qdd, omitted: float(np.abs(omitted).max()),
    ),
    "relative joint error, beside the largest acceleration computed": (
        lambda p, eps: max(p.queue) <= eps**2 * max((a * a for a in p.computed.values()), default=0.0),
        lambda qdd, omitted: float(np.abs(omitted).max() / np.abs(qdd).max()),
    ),
    "relative joint error, beside the root of A as printed": (
        lambda p, eps: max(p.queue) <= eps**2 * p.whole,
        lambda qdd, omitted: float(np.abs(omitted).max() / np.abs(qdd).max()),
    ),
}


def bounds(trials: int = TRIALS) -> Iterator[Row]:
    """How often the error of a pass that stopped was above eps, by each rule."""
    broken, identity = dict.fromkeys(RULES, 0), True
    for seed in range(trials):
        x = Linkage(seed)
        found = list(passes(x))
        for p in found:
            omitted = np.delete(x.qdd, list(p.computed))
            identity = identity and close(np.sqrt(sum(p.queue)), np.linalg.norm(omitted))
        for name, (stops, error) in RULES.items():
            for eps in EPS:
                limit = eps * (1.0 if "relative" in name else float(np.abs(x.qdd).max()))
                p = next(p for p in found if stops(p, limit) or p is found[-1])
                omitted = x.qdd.copy()
                omitted[list(p.computed)] = 0.0
                broken[name] += error(x.qdd, omitted) > limit * (1.0 + CLOSE)
    yield exact("section 4.3: eps_c, the root of the sum of A over the queue, is the error", True, identity)
    for name, count in broken.items():
        note = f"above eps in {count} of {trials * len(EPS)} passes"
        yield exact(f"{name} <= eps", True, count == 0, note, erratum="E30" if "printed" in name else "")


def updates() -> Iterator[Row]:
    """Section 5.2: nodes above the bodies on which forces changed, in the balanced assembly tree of a chain."""
    tree, rng = assembly_tree(np.arange(LEAVES) - 1), np.random.default_rng(0)
    for count in UPDATED:
        above = set[int]()
        for node in tree.leaf_up[rng.choice(LEAVES, count, replace=False)].tolist():
            while node >= 0 and node not in above:
                above.add(node)
                node = int(tree.up[node])
        order = count * np.log2(LEAVES / count)
        what = f"section 5.2: nodes updated, N_U = {count:,} of N_J = {LEAVES:,}"
        note = "formula: N_U log2(N_J / N_U); an order, without its constant"
        yield Row(what, "", text(len(above)), ratio(order, float(len(above))), MEASURED, note, text(order))


def run(full: bool = False) -> Result:
    """All equations on random linkages, then the bounds, then the order."""
    found = [equations(seed) for seed in range(TRIALS // 5)]
    rows = [exact(what, True, all(x[what] for x in found), f"{len(found)} linkages") for what in found[0]]
    return Result((*rows, *bounds(), *updates()), remarks=REMARKS)
