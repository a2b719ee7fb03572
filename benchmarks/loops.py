"""Loops and contacts beside Pinocchio: two algorithms for loops, two contact solvers; on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.absent import installed
from benchmarks.dynamics import BATCH
from benchmarks.opspace import both_precisions
from benchmarks.robots import DT, RADIUS, SOLVED, SPEED
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.engines.pinocchio import pinocchio_model
from bough.app.bench.states import check, layout
from bough.app.bench.timing import Call, Contestant, contest
from bough.dynamics.dynamics import Dynamics
from bough.errors import ModelError
from bough.model import Builder, Model
from bough.opspace import ConstrainedDynamics, close_loops
from bough.simulate import ContactPoint, Contacts, Ensemble, rollout
from bough.types import FloatArray
from bough.zoo.robots import LEGS as FEET

LEGS, JOINTS = (2, 4, 6), 6  # of parallel robots; joints of a leg
LINKS = (12, 30)  # of rings
STATES, IN_BATCH = 2, 16  # different configurations: taken in turn by calls, and by the rows of a batch
CONTACT = 1e-8  # tolerance of Pinocchio's contact solvers
CASE = "forward dynamics with loops"
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0))


def rows() -> list[Timing]:
    """Parallel robots, rings of one loop, and a step on the ground."""
    models = [parallel_robot(legs) for legs in LEGS] + [ring(links) for links in LINKS]
    return [*(row for model in models for row in (single(model), batch(model))), *one_robot()]


def parallel_robot(legs: int) -> Model:
    """A floating platform on so many legs of six joints, whose ends are pinned to it: 3 rows a leg."""
    angles, q = 2.0 * np.pi * np.arange(legs) / legs, np.tile([0.3, -0.4, 0.5, 0.3, -0.2, 0.4], legs)
    return _closed(f"parallel robot, {legs} legs", angles, q, platform=True)


def ring(links: int) -> Model:
    """A chain of so many links whose end is pinned to the base."""
    q = 0.3 * np.random.default_rng(0).normal(size=links)
    return _closed(f"ring of {links} links", np.zeros(1), q, platform=False)


def _closed(name: str, angles: FloatArray, q: FloatArray, platform: bool) -> Model:
    """Limbs about the z axis, at a configuration at which their ends are pinned where they are."""
    size = len(q) // len(angles)

    def builder() -> Builder:
        made = Builder(name)
        if platform:
            made.add_body("platform", joint="floating", mass=5.0, inertia=np.diag([0.2, 0.2, 0.3]))
        for k, a in enumerate(angles):
            for i in range(size):
                at = (np.cos(a), np.sin(a), 0.0) if i == 0 else (0.0, 0.0, 0.3)
                made.add_body(
                    f"leg{k}_{i}", "world" if i == 0 else f"leg{k}_{i - 1}", placement=at, axis=AXES[i % 3],
                    mass=0.5, com=(0.0, 0.0, 0.15), inertia=np.diag([0.005, 0.005, 0.001]),
                )  # fmt: skip
        return made

    tree = builder().build()
    start = tree.neutral.copy()
    start[tree.nq - len(q) :] = q
    closed = builder()
    for k in range(len(angles)):
        T = Dynamics(tree, general=True).placement(start, f"leg{k}_{size - 1}")
        tip = T[:3, :3] @ [0.0, 0.0, 0.3] + T[:3, 3]
        other = "platform" if platform else "world"
        closed.add_closure(f"leg{k}_{size - 1}", other, point=(0.0, 0.0, 0.3), other_point=tip, name=f"pin{k}")
    return closed.build()


def single(model: Model) -> Timing:
    """One call at rest, at closed configurations in turn."""
    ours, tau = ConstrainedDynamics(model), np.random.default_rng(1).normal(size=model.nv)
    at_rest, states = np.zeros(model.nv), closed_states(model)
    calls: dict[str, Contestant] = {"bough": [partial(ours, q, at_rest, tau) for q in states]}
    calls |= pinocchio(model, states, tau, [ours(q, at_rest, tau).qdd for q in states])
    rows = sum(closure.rows for closure in model.closures)
    return Timing("loops, single call", model.name, CASE, contest(calls), f"{model.nv} DoF, {rows} rows")


def closed_states(model: Model, count: int = STATES) -> list[FloatArray]:
    """Configurations with closed loops."""
    rng, found = np.random.default_rng(2), []
    for _ in range(count):
        start = model.integrate(model.neutral, 0.3 * rng.normal(size=model.nv))
        closed = close_loops(model, start)
        if not closed.success:
            raise ModelError(f"the loops of {model.name!r} do not close: {closed.gap:.1e} m are left")
        found.append(closed.q)
    return found


def pinocchio(
    model: Model, states: list[FloatArray], tau: FloatArray, expected: list[FloatArray]
) -> dict[str, list[Call]]:
    """Its constrained dynamics by a sparse factorization and by articulated bodies, each checked to give the same."""
    import pinocchio as pin

    twin, order, frames = pinocchio_model(model), layout(model), model.frames
    contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for closure in model.closures:
        ends: list[Any] = []
        for k in (model.frame(closure.frame), model.frame(closure.other)):
            ends += [int(frames.body[k]) + 1, pin.SE3(np.array(frames.R[k]), np.array(frames.p[k]))]
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, twin, *ends, pin.LOCAL))
        data.append(contacts[-1].createData())
    sparse, bodies = twin.createData(), twin.createData()
    pin.initConstraintDynamics(twin, sparse, contacts, data)
    pin.computeJointMinimalOrdering(twin, bodies, contacts)
    weights = {"constraintDynamics": 1e-10, "lcaba": 1e-4}  # of the proximal term: those with the least error
    at_rest, torques = np.zeros(model.nv), tau[order.v]
    found: dict[str, list[Call]] = {}
    for name, own in (("constraintDynamics", sparse), ("lcaba", bodies)):
        settings, function = pin.ProximalSettings(1e-12, weights[name], 3), partial(getattr(pin, name), twin, own)
        calls: list[Callable[[], Any]] = [
            partial(function, q[order.q], at_rest, torques, contacts, data, settings) for q in states
        ]
        for call, qdd in (*zip(calls, expected, strict=True),) * 2:
            check(f"pin.{name} on {model.name}", call(), qdd[order.v])
        found[f"pin.{name}"] = list(calls)
    return found


def batch(model: Model) -> Timing:
    """Many closed configurations in one call, per configuration."""
    ours, states = ConstrainedDynamics(model), closed_states(model, IN_BATCH)
    Q, V = np.resize(states, (BATCH, model.nq)), np.zeros((BATCH, model.nv))
    T = np.random.default_rng(1).normal(size=(BATCH, model.nv))
    times = contest(both_precisions(ours, (Q, V, T)), seconds=0.3).per(BATCH)
    return Timing(f"loops, batch of {BATCH}", model.name, CASE, times)


# Contacts


def one_robot() -> list[Timing]:
    """One step of one quadruped on four feet that stick, at two states in turn, beside Pinocchio's contact solvers."""
    model, soft = zoo.quadruped(damping=0.0), zoo.quadruped(stiffness=60.0, damping=2.0)
    feet = [ContactPoint(f"{leg}_foot", radius=RADIUS) for leg, *_ in FEET]
    start = model.rest_configuration.copy()
    start[2] = 0.36
    contacts = Contacts(feet, friction=1.0)
    q = rollout(soft, start, np.zeros(model.nv), duration=1.0, dt=DT, contacts=contacts).q[-1]
    tau = np.zeros(model.nv)
    tau[6:] = -soft.stiffness[6:] * (q[7:] - soft.rest[6:])
    speeds = 0.1 * SPEED * np.random.default_rng(0).normal(size=(2, model.nv))
    robot = Ensemble(model, q[None], speeds[:1], dt=DT, contacts=contacts)

    def step(v: Any) -> Any:
        robot.reset(slice(None), q[None], v[None])
        robot.step(tau=tau)
        return robot.v[0]

    calls: dict[str, Any] = {"bough": [partial(step, v) for v in speeds]}
    expected, notes = [step(v).copy() for v in speeds], []
    if installed("pinocchio") and hasattr(import_module("pinocchio"), "ADMMConstraintSolver"):
        for solver in ("ADMM", "PGS"):
            peer = PinocchioStep(model, q, tau, [foot.frame for foot in feet], solver)
            gaps = [check(f"pin {solver}", peer(v), x, SOLVED) for v, x in zip(speeds, expected, strict=True)]
            calls[f"pin.aba, pin.crba, {solver}"] = [partial(peer, v) for v in speeds]
            alone = contest({solver: peer.solve}, 0.3)[solver]
            notes.append(
                f"{solver}: same velocities to {max(gaps):.0e}, {peer.iterations} iterations in {1e6 * alone:.0f} us"
            )
    return [
        Timing("one step with contacts", model.name, "four feet that stick, 2 ms", contest(calls), "; ".join(notes))
    ]


class PinocchioStep:
    """A step by velocities and impulses: Pinocchio's free acceleration, Delassus operator and contact solver."""

    def __init__(self, model: Model, q: Any, tau: Any, frames: list[str], solver: str) -> None:
        pin: Any = import_module("pinocchio")
        self.pin, self.order, self.twin = pin, layout(model), pinocchio_model(model)
        self.data, self.q, self.tau = self.twin.createData(), q[self.order.q], tau[self.order.v]
        self.models, self.contacts = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        pin.forwardKinematics(self.twin, self.data, self.q)
        for k in map(model.frame, frames):
            joint = int(model.frames.body[k]) + 1
            at = pin.SE3(np.eye(3), self.data.oMi[joint].act(np.array(model.frames.p[k])) - [0.0, 0.0, RADIUS])
            contact = pin.PointContactConstraintModel(self.twin, 0, at, joint, self.data.oMi[joint].actInv(at))
            contact.setFriction(1.0)
            self.models.append(pin.ConstraintModel(contact))
            self.contacts.append(self.models[-1].createData())
        self.factor = pin.ConstraintCholeskyDecomposition(self.twin, self.data, self.models, self.contacts)
        self.solver = getattr(pin, f"{solver}ConstraintSolver")(3 * len(frames))
        self.result = getattr(pin, f"{solver}SolverResult")
        self.settings = getattr(pin, f"{solver}SolverSettings")()
        self.settings.max_iterations = 1000
        for name in ("absolute", "relative"):
            setattr(self.settings, f"{name}_feasibility_tol", CONTACT)
            setattr(self.settings, f"{name}_complementarity_tol", CONTACT)
        self.drift, self.iterations = np.zeros(3 * len(frames)), 0

    def __call__(self, v: Any) -> Any:
        pin, twin, data = self.pin, self.twin, self.data
        speed = v[self.order.v]
        free = speed + DT * pin.aba(twin, data, self.q, speed, self.tau)
        pin.crba(twin, data, self.q, pin.Convention.WORLD)
        pin.computeJointJacobians(twin, data, self.q)
        for model, contact in zip(self.models, self.contacts, strict=True):
            model.calc(twin, data, contact)
        self.factor.compute(twin, data, self.models, self.contacts, 1e-9)
        J = np.vstack([m.jacobian(twin, data, c) for m, c in zip(self.models, self.contacts, strict=True)])
        self.drift = J @ free
        impulse = self.solve()
        after = speed + DT * pin.aba(twin, data, self.q, speed, self.tau + J.T @ impulse / DT)
        return after[np.argsort(self.order.v)]

    def solve(self) -> Any:
        """The contact solver alone, from a cold start."""
        result, operator = self.result(), self.factor.getDelassusOperatorCholeskyExpression()
        self.solver.solve(operator, self.drift, self.models, self.contacts, self.settings, result)
        self.iterations = result.iterations
        return result.retrieveConstraintImpulses()
