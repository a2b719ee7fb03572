"""G1 is pushed at its torso: it stands where it can, and falls within its torque limits where it cannot."""

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
