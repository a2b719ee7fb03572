"""Operational space: Lambda^-1, Lambda, full pass and control loop, beside Pinocchio and the recipe users write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.absent import Requirements, robot_file
from benchmarks.dynamics import BATCH, G1, MANY
from benchmarks.timing import Timing
from bough import zoo
from bough.app.bench.engines.pinocchio import pinocchio_model
from bough.app.bench.states import check, layout, random_states
from bough.app.bench.timing import Call, Contestant, contest
from bough.compile.settings import on_threads
from bough.control import Gains, Reference, TaskController
from bough.dynamics.engine import bind_arrays
from bough.io import load
from bough.model import Model
from bough.opspace import METHODS, ConstrainedDynamics, OperationalSpace, pose
from bough.opspace.methods import prepare
from bough.opspace.tracking import Tracker
from bough.types import FloatArray

Contestants = dict[str, Contestant]
TALOS = "talos_reduced.urdf"
REQUIRED = Requirements((TALOS, G1))
ENDS = ("arm_left_7_link", "arm_right_7_link", "leg_left_6_link", "leg_right_6_link")


def rows() -> list[Timing]:
    """ASIMO and a real humanoid with hands and feet (24 rows); the 24-link robot with two hands."""
    found: list[Timing] = []
    for model, frames in robots():
        peers = Peers(model, frames)
        peers.agree()
        found += [*single(peers), *by_method(peers), *batch(peers)]
    return [*found, *constrained(), *two_hands()]


def robots() -> list[tuple[Model, Sequence[str]]]:
    talos = robot_file(TALOS)
    real = [(load(talos, floating_base=True, mimic="independent"), ENDS)] if talos else []
    return [(zoo.asimo(), zoo.asimo_tasks()), *real]


class State(NamedTuple):
    """Configuration and velocity, in Bough's and in Pinocchio's order."""

    q: FloatArray
    v: FloatArray
    pin_q: FloatArray
    pin_v: FloatArray


class Peers:
    """One model with pose tasks, the same in Pinocchio, and the dense recipe on Pinocchio's H and J."""

    def __init__(self, model: Model, frames: Sequence[str]) -> None:
        import pinocchio as pin

        self.model, self.frames = model, frames
        self.space = OperationalSpace(model, [pose(f) for f in frames])
        self.pin = pinocchio_model(model)
        numbers = [model.frame(f) for f in frames]
        self.joints = [int(model.frames.body[k]) + 1 for k in numbers]
        places = [pin.SE3(model.frames.R[k], model.frames.p[k]) for k in numbers]
        self.ids = [
            self.pin.addFrame(pin.Frame(f, j, at, pin.FrameType.OP_FRAME))
            for f, j, at in zip(frames, self.joints, places, strict=True)
        ]
        self.data = self.pin.createData()
        six = pin.ContactType.CONTACT_6D
        pairs = zip(self.joints, places, strict=True)
        self.contacts = [pin.RigidConstraintModel(six, self.pin, j, at, pin.LOCAL) for j, at in pairs]
        self.contact_data = [c.createData() for c in self.contacts]
        states = random_states(model)
        order = layout(model)
        self.states = [State(s.q, s.v, s.q[order.q], s.v[order.v]) for s in states]
        self.back = np.argsort(order.v)

    def turns(self, function: Callable[[State], Any]) -> list[Call]:
        """A call at all states, to be taken in turn."""
        return [partial(function, s) for s in self.states]

    def agree(self) -> None:
        """Refuse to time what gives other results."""
        for s in self.states:
            self.agree_at(s)

    def agree_at(self, s: State) -> None:
        local = OperationalSpace(self.model, [pose(f, "local") for f in self.frames])
        check("pin.computeDelassusMatrix", self.delassus(s), local.inverse_inertia(s.q))
        check("the recipe: Lambda^-1", self.recipe(s)[2], self.space.inverse_inertia(s.q))
        check("the recipe: Lambda", np.linalg.inv(self.recipe(s)[2]), self.space.inertia(s.q))
        J, beta, Lam, Jbar, N = self.full_recipe(s)
        back, ours = self.back, self.space.full(s.q, s.v)
        pairs = {
            "J": (J[:, back], ours.J),
            "beta": (beta, ours.bias),
            "Lambda": (Lam, ours.inertia),
            "Jbar": (Jbar[back], ours.jbar),
            "N": (N[np.ix_(back, back)], ours.nullspace),
        }
        for name, (found, wanted) in pairs.items():
            check(f"the recipe: {name}", found, wanted)

    def delassus(self, s: State) -> Any:
        import pinocchio as pin

        return pin.computeDelassusMatrix(self.pin, self.data, s.pin_q, self.contacts, self.contact_data, 0.0)

    def recipe(self, s: State) -> tuple[Any, Any, Any]:
        """H, J and Lambda^-1 as users write it today: crba, frame Jacobians, solve."""
        import pinocchio as pin

        H = pin.crba(self.pin, self.data, s.pin_q)
        H = np.triu(H) + np.triu(H, 1).T
        pin.computeJointJacobians(self.pin, self.data, s.pin_q)
        pin.updateFramePlacements(self.pin, self.data)
        aligned = pin.LOCAL_WORLD_ALIGNED
        J = np.vstack([pin.getFrameJacobian(self.pin, self.data, k, aligned) for k in self.ids])
        return H, J, J @ np.linalg.solve(H, J.T)

    def full_recipe(self, s: State) -> tuple[Any, ...]:
        """J, beta, Lambda, Jbar and N by dense arithmetic."""
        import pinocchio as pin

        H, J, Lam_inv = self.recipe(s)
        pin.forwardKinematics(self.pin, self.data, s.pin_q, s.pin_v, 0 * s.pin_v)
        aligned = pin.LOCAL_WORLD_ALIGNED
        drift = [pin.getFrameClassicalAcceleration(self.pin, self.data, k, aligned).vector for k in self.ids]
        C = pin.nonLinearEffects(self.pin, self.data, s.pin_q, s.pin_v)
        Hinv_Jt = np.linalg.solve(H, J.T)
        Lam = np.linalg.inv(Lam_inv)
        Jbar = Hinv_Jt @ Lam
        return J, np.concatenate(drift) - Hinv_Jt.T @ C, Lam, Jbar, np.eye(len(H)) - Jbar @ J


def single(p: Peers) -> list[Timing]:
    """One call from Python, everything from q included."""
    recipe = "crba, frame Jacobians, numpy"
    cases: dict[str, Contestants] = {
        "Lambda^-1": {
            "bough": p.turns(lambda s: p.space.inverse_inertia(s.q)),
            "pin.computeDelassusMatrix": p.turns(p.delassus),
            recipe: p.turns(p.recipe),
        },
        "Lambda": {
            "bough": p.turns(lambda s: p.space.inertia(s.q)),
            recipe: p.turns(lambda s: np.linalg.inv(p.recipe(s)[2])),
        },
        "J, beta, Lambda, Jbar, N": {
            "bough": p.turns(lambda s: p.space.full(s.q, s.v)),
            recipe: p.turns(p.full_recipe),
        },
    }
    return [Timing("operational space, single call", p.model.name, case, contest(c)) for case, c in cases.items()]


def constrained() -> list[Timing]:
    """Forward dynamics with two feet held, 12 rows, beside pin.constraintDynamics; batches too."""
    import pinocchio as pin

    path = robot_file(G1)
    if not path:
        return []
    model, feet = load(path, floating_base=True), ("left_ankle_roll_link", "right_ankle_roll_link")
    p = Peers(model, feet)
    ours = ConstrainedDynamics(OperationalSpace(model, [pose(f, "local") for f in feet]))
    models, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for contact in p.contacts:
        models.append(contact)
        data.append(contact.createData())
    pin.initConstraintDynamics(p.pin, p.data, models, data)
    settings, tau = pin.ProximalSettings(1e-12, 1e-10, 3), np.zeros(model.nv)
    at_rest = []  # the feet, where all kinds of acceleration are one
    for s in p.states:
        v = ours.space(s.q, s.v).nullspace.T @ s.v
        at_rest.append(s._replace(v=v, pin_v=v[np.argsort(p.back)]))

    def theirs(s: State) -> Any:
        return pin.constraintDynamics(p.pin, p.data, s.pin_q, s.pin_v, tau, models, data, settings)

    for s in at_rest:
        check("pin.constraintDynamics", theirs(s)[p.back], ours(s.q, s.v, tau).qdd)
    one: Contestants = {
        "bough": [partial(ours, s.q, s.v, tau) for s in at_rest],
        "pin.constraintDynamics": [partial(theirs, s) for s in at_rest],
    }
    found = [Timing("constrained dynamics, single call", model.name, "two feet held", contest(one))]
    for size in (BATCH, MANY):
        Q = model.random_configuration(np.random.default_rng(0), batch=size)
        V, T = np.ones((size, model.nv)), np.zeros((size, model.nv))
        times = contest(both_precisions(ours, (Q, V, T)), seconds=0.5).per(size)
        found.append(Timing(f"constrained dynamics, batch of {size}", model.name, "two feet held", times))
    return found


def both_precisions(function: Callable[..., Any], arrays: Sequence[Any]) -> Contestants:
    """A batch in float64 and float32, on one thread and on all."""
    single = [x.astype(np.float32) for x in arrays]
    return {
        "bough": lambda: function(*arrays, threads=1),
        "bough float32": lambda: function(*single, threads=1),
        "bough, all threads": lambda: function(*arrays),
        "bough float32, all threads": lambda: function(*single),
    }


def by_method(p: Peers) -> list[Timing]:
    """Every method for Lambda^-1 on the same robot."""
    contestants: Contestants = {
        f"bough {name}": [partial(p.space.function(name).call, s.q) for s in p.states] for name in METHODS
    }
    return [Timing("Lambda^-1 by method", p.model.name, p.space.method, contest(contestants, seconds=0.3))]


def batch(p: Peers) -> list[Timing]:
    """Many configurations in one call, beside a loop over Pinocchio; time per configuration."""
    loop = bind_arrays(*prepare(p.space.method, p.space.tasks), general=True)
    found = []
    for size in (BATCH, MANY):
        Q = p.model.random_configuration(np.random.default_rng(0), batch=size)
        V = np.random.default_rng(1).normal(size=(size, p.model.nv))
        function = p.space.function(p.space.method)
        times = contest(both_precisions(function, (Q,)), seconds=0.5)
        if size == BATCH:
            times = times | contest({"bough general code": partial(loop, Q, threads=1)}, seconds=0.5)
        seconds = times.per(size) | contest({"loop over pin.computeDelassusMatrix": p.turns(p.delassus)})
        group = f"operational space, batch of {size}"
        found.append(Timing(group, p.model.name, "Lambda^-1", seconds))
        full = contest(both_precisions(partial(on, p.space.full), (Q, V)), seconds=0.5).per(size)
        full = full | contest({"loop over crba, frame Jacobians, numpy": p.turns(p.full_recipe)})
        found.append(Timing(group, p.model.name, "J, beta, Lambda, Jbar, N", full))
    return found


def on(function: Callable[..., Any], *arrays: Any, threads: int | None = None) -> Any:
    """A function of several steps on so many threads."""
    with on_threads(threads):
        return function(*arrays)


def two_hands() -> list[Timing]:
    """The 24-link robot of Chang & Khatib: Lambda, and a control loop of kinematics, Lambda, forces and limits."""
    model = zoo.ck_standin()
    space = OperationalSpace(model, [pose("left_hand"), pose("right_hand")])
    states, v = [s.q for s in random_states(model)], np.zeros(model.nv)
    targets = {name: Reference(at) for name, at in Tracker(space).positions(states[0]).items()}
    controller = TaskController(space, targets, gains=Gains(400.0), posture=states[0])
    near = [states[0], states[0] + 0.01]
    cases: dict[str, Contestants] = {
        "Lambda": {"bough": [lambda q=q: space.inertia(q) for q in states]},  # type: ignore[misc]
        "control loop": {"bough": [partial(controller, 0.0, q, v) for q in near]},
    }
    return [Timing("two-handed robot, single call", model.name, case, contest(c)) for case, c in cases.items()]
