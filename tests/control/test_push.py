"""G1 is pushed at its torso: it stands where it can, and falls within its torque limits where it cannot."""

from dataclasses import replace

import numpy as np
import pytest

import bough
from bough.control import Contact, ContactDetector, Gains, WholeBody
from bough.errors import TaskError
from bough.simulate import Contacts, rollout
from robots import urdfs

pytest.importorskip("qpsolvers")

DT, PUSH = 2e-3, (0.1, 0.2)
FEET = ("left_ankle_roll_link", "right_ankle_roll_link")
SOLE = {"size": (0.15, 0.05), "point": (0.035, 0.0, -0.035), "friction": 0.6}
STANCE = {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3, "elbow": 0.6, "shoulder_pitch": 0.2}
UPRIGHT = ("torso_link", "pelvis")


@pytest.fixture(scope="module")
def standing():
    """The model, its general code, and a stance with both soles on the ground."""
    path = next((p for p in urdfs().values() if p.name == "g1_29dof_rev_1_0.urdf"), None)
    if path is None:
        pytest.skip("needs example-robot-data")
    model = bough.load(path, floating_base=True)
    dyn, q = bough.Dynamics(model, general=True), model.neutral.copy()
    for side in ("left", "right"):
        for name, angle in STANCE.items():
            q[model.joint(f"{side}_{name}_joint").q] = angle
    q[2] -= dyn.placement(q, FEET[0])[2, 3] - 0.035
    return model, dyn, q


def pushed(standing, force, duration):
    """The motion, and the largest torque over its limit of all that was commanded."""
    model, dyn, start = standing
    tasks = [bough.center_of_mass(), *map(bough.orientation, UPRIGHT)]
    references = {"center_of_mass": dyn.center_of_mass(start)}
    references |= {f"orientation({name})": dyn.placement(start, name) for name in UPRIGHT}
    how = {"weights": {"center_of_mass": 10.0}, "gains": Gains(400.0), "posture": start, "dt": DT, "general": True}
    soles = [Contact(foot, **SOLE) for foot in FEET]
    controller, ratios = WholeBody(model, tasks, soles, references=references, **how), []

    def torque(t, q, v):
        tau = controller(t, q, v).tau
        assert not tau[:6].any()
        ratios.append((np.abs(tau) / model.limits.effort)[6:].max())
        return tau + (dyn.jacobian(q, "torso_link")[:3].T @ force if PUSH[0] <= t < PUSH[1] else 0.0)

    ground = Contacts.from_soles(model, FEET, **SOLE)
    motion = rollout(
        model, start, np.zeros(model.nv), duration=duration, dt=DT, tau=torque, contacts=ground, dynamics=dyn
    )
    return motion, max(ratios)


@pytest.mark.parametrize("direction", [(1, 0, 0), (0, 1, 0), (-1, 0, 0)])
def test_it_stands_up_to_sixty_newtons(standing, direction):
    motion, ratio = pushed(standing, 60.0 * np.array(direction), 1.0)
    assert ratio <= 1.0
    assert abs(motion.q[-1, 2] - standing[2][2]) < 0.02
    assert np.abs(motion.v[-1, :6]).max() < 0.2


def test_it_falls_within_its_torque_limits(standing):
    motion, ratio = pushed(standing, np.array([-500.0, 0.0, 0.0]), 0.8)
    assert ratio <= 1.0
    assert np.isfinite(motion.q).all()
    assert motion.q[-1, 2] < standing[2][2] - 0.05


def wild_states(model, stance, rng):
    """Any posture within its limits, legs folded or not, and speeds up to 1.03 times their limits."""
    q, v = stance.copy(), rng.choice([0.0, 0.1, 1.0, 5.0]) * rng.normal(size=model.nv)
    coordinates, dofs = model.scalar_joints
    kind = rng.integers(3)
    q = model.integrate(q, rng.choice([0.0, 0.05, 0.3, 1.0]) * rng.normal(size=model.nv))
    if kind == 1:
        q[coordinates] = model.random_configuration(rng)[coordinates]
    if kind == 2:
        for side in ("left", "right"):
            knee, hip = (model.joint(f"{side}_{name}_joint") for name in ("knee", "hip_pitch"))
            q[knee.q], q[hip.q] = model.limits.upper[knee.v], model.limits.lower[hip.v]
    q[coordinates] = np.clip(q[coordinates], model.limits.lower[dofs], model.limits.upper[dofs])
    if rng.random() < 0.4:
        share = rng.choice([-1.03, -0.99, -0.5, 0.0, 0.5, 0.99, 1.03], size=len(dofs))
        v[dofs] = model.limits.velocity[dofs] * share
    return q, v


@pytest.mark.native("takes long")
@pytest.mark.parametrize("priority", [0, 1])
@pytest.mark.parametrize("friction", [0.0, 0.05, 0.6])
@pytest.mark.parametrize("weak", ["none", "some", "all"])
def test_physical_facts_hold_in_any_state(standing, weak, friction, priority):
    """Torques within limits, some of them zero; forces in their cones; the dynamics to rounding."""
    model, dyn, stance = standing
    rng, effort = np.random.default_rng([len(weak), int(100 * friction), priority]), model.limits.effort.copy()
    if weak != "none":
        effort[rng.choice(np.arange(6, model.nv), 5, replace=False) if weak == "some" else slice(6, None)] = 0.0
    model = replace(model, limits=model.limits._replace(effort=effort))
    soles = [Contact(foot, **SOLE | {"friction": friction}) for foot in FEET]
    tasks = [bough.center_of_mass(), bough.orientation("torso_link")]
    how = {"posture": stance, "dt": DT, "general": True, "priorities": {"orientation(torso_link)": priority}}
    controller = WholeBody(model, tasks, soles, **how)
    space = bough.OperationalSpace(model, [sole.task() for sole in soles], general=True)
    gave_way = set()
    for k in range(40):
        q, v = wild_states(model, stance, rng)
        held = [FEET, FEET[:1], FEET[1:], ()][k % 4]
        controller.forget()
        command = controller(0.0, q, v, held)
        force = np.concatenate([command.forces.get(foot, np.zeros(6)) for foot in FEET])
        expected = dyn.inverse_dynamics(q, v, command.qdd) - space.jacobian(q).T @ force
        assert np.abs(expected - command.tau).max() <= 1e-9 * max(1.0, np.abs(force).max(), np.abs(command.qdd).max())
        assert (np.abs(command.tau[6:]) <= effort[6:]).all()
        assert not command.tau[:6].any()
        for sole in soles:
            if sole.frame in held:
                assert (sole.cone @ command.forces[sole.frame]).max() <= 1e-6
        assert command.success == (not command.conflicts)
        gave_way |= {name.split(" of ")[0] for name in command.conflicts}
    assert gave_way == {"velocity or position limit", "contact"}


def test_contacts_are_detected_with_hysteresis():
    detect = ContactDetector(FEET, made=20.0, broken=5.0)
    left, right = FEET
    for forces, expected in (
        ((30, 10), (left,)),
        ((10, 25), FEET),
        ((4, 6), (right,)),
        ((0, 0), ()),
        ((19, 21), (right,)),
    ):
        assert detect(dict(zip(FEET, forces, strict=True))) == expected
    with pytest.raises(TaskError, match="made > broken"):
        ContactDetector(FEET, made=1.0, broken=2.0)
    for bad in ({left: 1.0}, {left: 1.0, right: np.nan}, {left: 1.0, right: "2"}, {left: 1.0, right: np.ones(2)}):
        with pytest.raises(TaskError, match="a finite normal force for each of"):
            detect(bad)
    with pytest.raises(TaskError, match="frames are a list"):
        ContactDetector(left)
